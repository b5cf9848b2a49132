"""Texts that a model translates or rewrites, in batches: each answer is checked, or asked for again."""
