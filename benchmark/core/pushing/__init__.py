"""Sends the files of a release to a place outside: a folder, a git repository, an S3-compatible store or a hub."""
