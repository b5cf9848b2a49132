"""The parts of pages, as data and plain functions. ``annotator.templatetags.components`` gives them to templates."""
