"""What is logged."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured

from annotator.config import environment as env
from annotator.config.settings.mode import EMBEDDED

LOG_FORMAT = env.choice("LOG_FORMAT", ("json", "text"), default="text" if EMBEDDED else "json")
# A line for each request, with its view and not its address.
REQUEST_LOG = env.boolean("REQUEST_LOG", default=not EMBEDDED)

_syslog = env.text("SECURITY_SYSLOG")
_host, _, _port = _syslog.rpartition(":")
if _syslog and not (_host and _port.isascii() and _port.isdigit() and 0 < int(_port) < 65536):
    raise ImproperlyConfigured(f"SECURITY_SYSLOG is “{_syslog}”; it must be a host and a port, like 10.0.0.5:514.")

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"},
        "json": {"()": "annotator.config.logs.JsonLines"},
    },
    "filters": {
        "secrets": {"()": "annotator.config.logs.HideSecrets"},
        "no_traceback": {"()": "annotator.config.logs.NoTraceback"},
        "outages": {"()": "annotator.services.jobs.outages.OutagesInOneLine"},
        "context": {"()": "annotator.config.logs.AddContext"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": LOG_FORMAT,
            "filters": ["outages", "secrets", "context"],
        }
    },
    "root": {"handlers": ["stderr"], "level": env.level("LOG_LEVEL", default="WARNING")},
    "loggers": {
        # Deletions are always logged.
        "annotator.services.jobs.retention": {"level": "INFO"},
        "annotator.requests": {"level": "INFO"},
        "django.security.DisallowedHost": {"filters": ["no_traceback"]},
    },
}
if _syslog:
    # Facility auth, in one JSON line for each event.
    LOGGING["handlers"]["syslog"] = {
        "class": "annotator.config.logs.Syslog",
        "address": (_host.strip("[]"), int(_port)),
        "facility": "auth",
    }
    LOGGING["loggers"]["assay.security"] = {"handlers": ["syslog"], "level": "INFO", "propagate": False}
