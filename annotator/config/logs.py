"""Filters for logs. They hide the secrets of links, with which a reader could join a project or set a password."""

import logging
import re
import socket
from contextlib import suppress
from logging.handlers import SysLogHandler

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
