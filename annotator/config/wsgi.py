"""Entry point of the web server."""

import gc
import os
import sys
from importlib import import_module
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.config.settings")
try:
    if not settings.WHITENOISE_USE_FINDERS and not Path(settings.STATIC_ROOT, "staticfiles.json").is_file():
        # Every page would fail, one after the other.
        raise ImproperlyConfigured(
            f"There are no static files in {settings.STATIC_ROOT}: run manage.py collectstatic --noinput, with the "
            "same ASSAY_DATA and STATIC_ROOT, before you start."
        )
    application = get_wsgi_application()
except ImproperlyConfigured as mistake:
    # The sentence alone, not at the end of gunicorn's traceback. To it 3 says that no other worker can start either.
    sys.stderr.write(f"{mistake}\n")
    sys.exit(3)
if settings.DATABASES["default"]["ENGINE"] == "annotator.config.postgresql":
    # Before the first connection is opened. A row or a table that somebody holds must not silence the whole site.
    import_module("annotator.config.postgresql.limits").limit_requests(settings.DATABASES["default"])
# The addresses and all they lead to, before the first request asks for them, and before a server forks its workers.
import_module("annotator.config.urls")
# What is loaded by now stays for good: the collector need not walk over it again, nor a forked worker copy its pages.
# A request makes some ten thousand objects, nearly all of which are freed without the collector.
gc.collect()
gc.freeze()
gc.set_threshold(50_000, 20, 20)
