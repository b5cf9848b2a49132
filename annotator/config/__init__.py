"""Settings, root addresses, Celery and the web server. They name apps as strings."""

from annotator.config.celery import app as celery_app

__all__ = ["celery_app"]
