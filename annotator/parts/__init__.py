"""What pages are made of, as data and plain functions; ``annotator.templatetags.parts`` gives them to templates."""
