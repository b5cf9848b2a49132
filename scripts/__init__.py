"""What `make` calls: start, test and check the project. Benchmarks and screenshots.

What runs before packages are installed imports only the standard library.
"""
