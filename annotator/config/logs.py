"""Who reads a log may not do what a link allows whoever has it: to join a project, or to choose somebody's password."""

import logging
import re

_SECRET = re.compile(r"/(invitation|password/reset/key)/[^/?#\s\"']+")


def without_secrets(text: str) -> str:
    """The text with such links cut short."""
    return _SECRET.sub(r"/\1/…", text)


class WithoutSecrets(logging.Filter):
    """Cuts such links short in whatever is logged."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Always true."""
        record.msg, record.args = without_secrets(record.getMessage()), None
        return True


class OneLine(logging.Filter):
    """Leaves out where in the program something came up that strangers cause as often as they like."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Always true."""
        record.exc_info = record.exc_text = None
        return True
