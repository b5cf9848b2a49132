"""Filters for logs. They hide the secrets of links, with which a reader could join a project or set a password."""

import logging
import re

_SECRET = re.compile(r"/(invitation|password/reset/key)/[^/?#\s\"']+")


def hide_secrets(text: str) -> str:
    """Return the text without the secrets of links."""
    return _SECRET.sub(r"/\1/…", text)


class HideSecrets(logging.Filter):
    """Hides the secrets of links in log records."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record. Always return True."""
        record.msg, record.args = hide_secrets(record.getMessage()), None
        return True


class NoTraceback(logging.Filter):
    """Removes the traceback of errors that anybody can cause as often as they like."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record. Always return True."""
        record.exc_info = record.exc_text = None
        return True
