"""What is logged."""

from annotator.config import environment as env

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "filters": {
        "secrets": {"()": "annotator.config.logs.HideSecrets"},
        "no_traceback": {"()": "annotator.config.logs.NoTraceback"},
        "outages": {"()": "annotator.services.jobs.outages.OutagesInOneLine"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["outages", "secrets"]}},
    "root": {"handlers": ["stderr"], "level": env.level("LOG_LEVEL", default="WARNING")},
    "loggers": {
        # Deletions are always logged.
        "annotator.services.jobs.retention": {"level": "INFO"},
        "django.security.DisallowedHost": {"filters": ["no_traceback"]},
    },
}
