"""Single tasks over stateful tools: run their trajectories, and explain what each call depends on."""
