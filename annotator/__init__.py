"""Dialogues, people and projects; also what belongs to the whole installation."""

#: The version of Assay, as in pyproject.toml.
VERSION = "0.1.0"
