"""The Celery application. It only wakes workers: what is to be done stands in job rows."""

import os
from importlib import import_module
from typing import Any

from celery import Celery
from celery.signals import worker_init
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.config.settings")

app = Celery("assay")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_init.connect
def limit_jobs(**_: Any) -> None:
    """Before the first connection is opened, and before the worker forks."""
    if settings.DATABASES["default"]["ENGINE"] == "annotator.config.postgresql":
        import_module("annotator.config.postgresql.limits").limit_jobs(settings.DATABASES["default"])
