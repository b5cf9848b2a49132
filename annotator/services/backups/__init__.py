"""Backups of the whole installation: database and files, made while people work, and restored."""
