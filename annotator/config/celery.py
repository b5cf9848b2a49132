"""The Celery application. It only wakes workers: what is to be done stands in job rows."""

import os
import sys
from importlib import import_module
from typing import Any

from celery import Celery
from celery.signals import worker_init
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.config.settings")

app = Celery("assay")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@app.on_configure.connect
def read_settings(**_: Any) -> None:
    """End with the sentence alone where a setting is wrong: celery would put it at the end of its traceback."""
    try:
        settings.INSTALLED_APPS  # noqa: B018 - reads them all
    except ImproperlyConfigured as mistake:
        sys.exit(str(mistake))


@worker_init.connect
def limit_jobs(**_: Any) -> None:
    """Before the first connection is opened, and before the worker forks."""
    if settings.DATABASES["default"]["ENGINE"] == "annotator.config.postgresql":
        import_module("annotator.config.postgresql.limits").limit_jobs(settings.DATABASES["default"])
