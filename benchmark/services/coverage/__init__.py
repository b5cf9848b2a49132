"""Coverage: what a project has of each kind, its targets, and what is needed next."""
