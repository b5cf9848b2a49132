"""What changed between two releases: by dialogue and field, in words, with the version number that fits."""
