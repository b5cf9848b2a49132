"""Settings, root addresses, Celery and the web server. They name apps as strings."""

import gc

# What a process imports stays. With Python's default of 700 objects, rounds of the garbage collector that find nothing
# took a quarter of the start of every process.
gc.set_threshold(50_000, 20, 20)

from annotator.config.celery import app as celery_app  # noqa: E402

__all__ = ["celery_app"]
