"""Conversations with a model over the entries of a release: what it is asked, and what its replies become."""
