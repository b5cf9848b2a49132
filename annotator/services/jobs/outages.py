"""Outages, told from mistakes of the program: a database or a disk that is not there for a while."""

import errno
import logging
import shutil

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError

#: What Django raises where the database does not answer, is busy for too long, or ends a statement.
DATABASE = (OperationalError, InterfaceError)
#: What ends as an outage of its own, by PostgreSQL's codes.
_BY_CODE = {
    "53100": "The database’s disk is full",
    "53300": "The database has no connection left",
    "55P03": "The database was busy: what this had to wait for took too long",
    "57014": "The database was busy: one step took too long",
    "40P01": "The database was busy: this and something else waited for each other",
    "40001": "The database was busy: something else changed the same at the same moment",
}
_FULL = (errno.ENOSPC, errno.EDQUOT)
#: A folder of the server's that this user may not write to, or a disk that is broken, gone or for reading alone.
_CLOSED = (errno.EACCES, errno.EROFS, errno.EIO, errno.ESTALE)


def outage(error: BaseException | None) -> str:
    """What was not there, as a sentence without its full stop; blank for an error that is no outage."""
    if isinstance(error, DATABASE):
        code, words = getattr(error.__cause__, "sqlstate", None), str(error)
        if code in _BY_CODE:
            return _BY_CODE[code]
        if "database is locked" in words:
            return "The database was busy: others were writing for too long"
        if "too many c" in words or "remaining connection slots" in words:
            # An attempt to connect that is refused has no code.
            return _BY_CODE["53300"]
        if "disk is full" in words:
            return "The database’s disk is full"
        return "The database does not answer, or the connection to it was lost"
    if isinstance(error, OSError) and error.errno in _CLOSED:
        return "The server’s files cannot be read or written"
    return full_disk(error)


def unusable(error: DatabaseError) -> str:
    """What a command says of a database that it cannot work with."""
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return f"The database cannot be used ({reason}). Is DATABASE_URL right, and was “migrate” run?"


def full_disk(error: BaseException | None) -> str:
    """The same, of a disk of this machine that has no room left."""
    return "The server’s disk is full" if isinstance(error, OSError) and error.errno in _FULL else ""


def has_room(size: int = 0) -> bool:
    """Whether the data folder’s disk keeps its reserve (``DISK_RESERVE_MB``) when ``size`` bytes more are written."""
    try:
        free = shutil.disk_usage(settings.DATA_DIR).free
    except OSError:
        # A folder that is gone, or closed: whoever writes to it says so.
        return True
    return free - size >= settings.DISK_RESERVE_MB << 20


class NoRoom(OSError):
    """A file needs more of the disk than is free: ``size`` bytes, which are two copies of it, beside the reserve."""

    def __init__(self, size: int) -> None:
        need = -(-size // 2**20) + settings.DISK_RESERVE_MB
        super().__init__(
            errno.ENOSPC,
            f"The server’s disk has too little room for this file: {need:,} MB would have to be free, for two copies "
            "of it and a reserve. Nothing was kept. Send a smaller file, or pack it; else ask the server’s operator.",
        )


def require_room(size: int = 0) -> None:
    """Raises what a full disk raises, before it is full: then the site itself could keep nothing more."""
    if not has_room(size):
        raise OSError(errno.ENOSPC, f"Less than {settings.DISK_RESERVE_MB} MB of disk would be free")


class OutagesInOneLine(logging.Filter):
    """Leaves out where in the program a connection to the database, or room on a disk, was missed: that is no matter.

    Every page and every routine of beat would otherwise fill a screen of the log, as long as it lasts.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Always true."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and (_is_away(error) or full_disk(error)):
            line = record.getMessage()
            if type(error).__name__ not in line:
                line += f": {type(error).__name__}: {error}"
            record.msg, record.args = " ".join(line.split()), None
            record.exc_info = record.exc_text = None
        return True


def _is_away(error: BaseException) -> bool:
    """Whether the database took no connection, ended one, or has no room. (What else it refuses has another code.)"""
    if not isinstance(error, OperationalError):
        return False
    code = getattr(error.__cause__, "sqlstate", "other")
    return code is None or code.startswith(("08", "53", "57P")) or "disk is full" in str(error)
