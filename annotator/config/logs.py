"""Filters and the format of logs. They hide the secrets of links, with which a reader could join a project or set a
password.
"""

import logging
import re
import socket
from contextlib import suppress
from datetime import UTC, datetime
from logging.handlers import SysLogHandler
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from annotator.core import log_context

_SECRET = re.compile(r"/(invitation|password/reset/key|confirm-email)/[^/?#\s\"']+")


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


class Syslog(SysLogHandler):
    """Sends records to a syslog server by UDP, which never waits. The server's name is looked up once."""

    def createSocket(self) -> None:
        """Make the socket. Without the server's address, records are lost, and the log says so."""
        with suppress(OSError):
            host, port = str(self.address[0]), int(self.address[1])
            family, kind, _proto, _name, found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
            self.address = str(found[0]), int(found[1])
            self.unixsocket, self.socktype = False, kind
            self.socket = socket.socket(family, kind)


class AddContext(logging.Filter):
    """Adds what the thread works on: request, person, job and project."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record. Always return True."""
        for name, value in log_context.FIELDS.items():
            if value.get() and name not in vars(record):
                setattr(record, name, value.get())
        return True


class JsonLines(JsonFormatter):
    """Writes each record as one line of JSON: ``time`` (UTC), ``level``, ``logger``, ``message`` and what is known.

    ``error`` has the traceback. Of what callers add with ``extra``, only plain values are written, because Django adds
    whole requests.
    """

    def __init__(self) -> None:
        super().__init__("%(message)s", json_ensure_ascii=False)

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        """Leave out what is no plain value, and hide secrets also in tracebacks."""
        plain = {name: value for name, value in log_data.items() if isinstance(value, str | int | float)}
        if "exc_info" in plain:
            plain["error"] = plain.pop("exc_info")
        return {name: hide_secrets(value) if isinstance(value, str) else value for name, value in plain.items()}

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        """Add time, level and logger."""
        log_data["time"] = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        log_data |= {"level": record.levelname, "logger": record.name}
        super().add_fields(log_data, record, message_dict)
