"""Everything `make` calls: starting, testing and checking the project.

Standard library only, so that it runs before anything is installed.
"""
