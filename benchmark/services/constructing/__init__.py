"""Constrained cases made from the cases of a project. They are imported and reviewed like other candidates."""
