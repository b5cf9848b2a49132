"""What `make` calls: start, test and check the project.

Imports only the standard library, so that it runs before packages are installed.
"""
