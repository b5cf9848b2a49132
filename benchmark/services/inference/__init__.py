"""Ask models about the entries of a release."""
