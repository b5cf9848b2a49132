"""Statistics of what dialogues consist of: of a selection, at once or in the background, and of a release."""
