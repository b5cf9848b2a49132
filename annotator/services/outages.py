"""Outages, told from mistakes of the program: a database or a disk that is not there for a while."""

import errno

from django.db import InterfaceError, OperationalError

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


def outage(error: BaseException | None) -> str:
    """What was not there, as a sentence without its full stop; blank for an error that is no outage."""
    if isinstance(error, DATABASE):
        code, words = getattr(error.__cause__, "sqlstate", None), str(error)
        if code in _BY_CODE:
            return _BY_CODE[code]
        if "database is locked" in words:
            return "The database was busy: others were writing for too long"
        if "disk is full" in words:
            return "The database’s disk is full"
        return "The database does not answer, or the connection to it was lost"
    return full_disk(error)


def full_disk(error: BaseException | None) -> str:
    """The same, of a disk of this machine that has no room left."""
    return "The server’s disk is full" if isinstance(error, OSError) and error.errno in _FULL else ""
