"""Composites: several single tasks in one dialogue, in which the result of a call may come later."""
