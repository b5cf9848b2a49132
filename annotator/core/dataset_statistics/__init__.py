"""What dialogues consist of: labels, steps, tools, messages and constraints, counted over any number of them."""
