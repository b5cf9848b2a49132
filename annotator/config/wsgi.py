"""Entry point of the web server."""

import gc
import os
import sys
from importlib import import_module
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

from annotator.config.garbage import collect_between_requests
from annotator.config.preloading import load_pages
from annotator.config.reporting import start_reporting

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.config.settings")
try:
    if not settings.WHITENOISE_USE_FINDERS and not Path(settings.STATIC_ROOT, "staticfiles.json").is_file():
        # Without them, every page would fail.
        raise ImproperlyConfigured(
            f"There are no static files in {settings.STATIC_ROOT}. First run manage.py collectstatic --noinput, with "
            "the same ASSAY_DATA and STATIC_ROOT."
        )
    # Before the middleware is loaded, to which traces add their own.
    start_reporting()
    application = get_wsgi_application()
except ImproperlyConfigured as mistake:
    # The message alone, without gunicorn's traceback. Exit code 3 tells gunicorn that no other worker can start either.
    sys.stderr.write(f"{mistake}\n")
    sys.exit(3)
if settings.DATABASES["default"]["ENGINE"] == "annotator.config.postgresql":
    # Before the first connection is opened. A locked row or table must not block the whole site.
    import_module("annotator.config.postgresql.limits").limit_requests(settings.DATABASES["default"])
load_pages()
# Exclude what is loaded from garbage collection, so that forked workers share its memory.
gc.collect()
gc.freeze()
collect_between_requests()
