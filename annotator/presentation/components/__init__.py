"""The parts of pages as data and plain functions. ``annotator.templatetags.components`` provides them to templates."""
