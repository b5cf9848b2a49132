"""Composites drawn from verified single tasks."""
