"""Scores of models on released items. Pure: dialogues in, figures out."""
