"""Outages: a database or a disk that is temporarily unavailable, as opposed to errors in the program."""

import errno
import logging
import shutil

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError
from django.utils.translation import gettext as _

from annotator.core.text import gettext_noop

#: What Django raises if the database does not respond, is busy for too long, or ends a statement.
DATABASE = (OperationalError, InterfaceError)
#: PostgreSQL's codes of errors that are outages.
_BY_CODE = {
    "53100": gettext_noop("The database’s disk is full"),
    "53300": gettext_noop("The database has no free connections"),
    "55P03": gettext_noop("The database was busy: waiting for another change took too long"),
    "57014": gettext_noop("The database was busy: a step took too long"),
    "40P01": gettext_noop("The database was busy: two changes were waiting for each other"),
    "40001": gettext_noop("The database was busy: something else changed the same data at the same time"),
}
_FULL = (errno.ENOSPC, errno.EDQUOT)
#: The server's folder is not writable for this user, or its disk is broken, missing or read-only.
_CLOSED = (errno.EACCES, errno.EROFS, errno.EIO, errno.ESTALE)


def outage(error: BaseException | None) -> str:
    """Return what was missing, as an English sentence without its full stop; blank if the error is not an outage."""
    if isinstance(error, DATABASE):
        code, words = getattr(error.__cause__, "sqlstate", None), str(error)
        if code in _BY_CODE:
            return _BY_CODE[code]
        if "database is locked" in words:
            return gettext_noop("The database was busy: other changes took too long")
        if "too many c" in words or "remaining connection slots" in words:
            # A refused connection has no code.
            return _BY_CODE["53300"]
        if "disk is full" in words:
            return _BY_CODE["53100"]
        return gettext_noop("The database doesn’t respond, or the connection was lost")
    if isinstance(error, OSError) and error.errno in _CLOSED:
        return gettext_noop("The server can’t read or write its files")
    return full_disk(error)


def unusable(error: DatabaseError) -> str:
    """Return what a command reports about a database that it can't use."""
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return f"The database cannot be used ({reason}). Check DATABASE_URL and run “manage.py migrate”."


def full_disk(error: BaseException | None) -> str:
    """Return the same for a full disk of this machine."""
    return gettext_noop("The server’s disk is full") if isinstance(error, OSError) and error.errno in _FULL else ""


def has_room(size: int = 0) -> bool:
    """Return whether ``size`` more bytes fit on the data folder's disk and leave its reserve (``DISK_RESERVE_MB``)."""
    try:
        free = shutil.disk_usage(settings.DATA_DIR).free
    except OSError:
        # The folder is missing or closed: writing to it fails with its own error.
        return True
    return free - size >= settings.DISK_RESERVE_MB << 20


class NoRoom(OSError):
    """The disk has no room for ``size`` bytes (two copies of a file) and the reserve."""

    def __init__(self, size: int) -> None:
        need = -(-size // 2**20) + settings.DISK_RESERVE_MB
        super().__init__(
            errno.ENOSPC,
            _(
                "The server’s disk is too full for this file. It needs %(need)s MB, for two copies of the file and a "
                "reserve. Nothing was saved. Send a smaller or compressed file, or contact the operator of this server."
            )
            % {"need": f"{need:,}"},
        )


def require_room(size: int = 0) -> None:
    """Raise the error of a full disk before it is full, while the site itself can still write."""
    if not has_room(size):
        raise OSError(errno.ENOSPC, f"Less than {settings.DISK_RESERVE_MB} MB of disk would be free")


class OutagesInOneLine(logging.Filter):
    """Leaves out the traceback of an outage.

    It is of no use, and every page and every task of beat would fill a screen of the log with it.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record. Always return True."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and (_is_away(error) or full_disk(error)):
            line = record.getMessage()
            if type(error).__name__ not in line:
                line += f": {type(error).__name__}: {error}"
            record.msg, record.args = " ".join(line.split()), None
            record.exc_info = record.exc_text = None
        return True


def _is_away(error: BaseException) -> bool:
    """Return whether the database refused or ended a connection, or is full. Other refusals have other codes."""
    if not isinstance(error, OperationalError):
        return False
    code = getattr(error.__cause__, "sqlstate", "other")
    return code is None or code.startswith(("08", "53", "57P")) or "disk is full" in str(error)
