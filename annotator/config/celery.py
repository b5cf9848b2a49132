"""The Celery application. Its messages only wake workers; the work is described in job rows."""

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
    """If a setting is wrong, exit with the message alone, without Celery's traceback."""
    try:
        settings.INSTALLED_APPS  # noqa: B018 - reads them all
    except ImproperlyConfigured as mistake:
        sys.exit(str(mistake))


@worker_init.connect
def limit_jobs(**_: Any) -> None:
    """Set time limits before the first connection is opened and before the worker forks."""
    if settings.DATABASES["default"]["ENGINE"] == "annotator.config.postgresql":
        import_module("annotator.config.postgresql.limits").limit_jobs(settings.DATABASES["default"])
