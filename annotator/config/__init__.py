"""Composition root: settings, URLs, Celery and WSGI. It names apps as strings."""

from annotator.config.celery import app as celery_app

__all__ = ["celery_app"]
