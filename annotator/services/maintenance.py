"""Maintenance: the installation can be read but not changed, for example during an update.

It is a file in the data folder, which all web servers and workers share. So it costs no query, holds for all processes
at once, and works while the database does not.
"""

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.errors import DomainError, Invalid
from annotator.models import User
from annotator.services.access.operators import require_operator
from annotator.services.security_log import log_security

View = TypeVar("View")

#: Characters of what operators say about it.
MAX_MESSAGE = 300


class InMaintenance(DomainError):
    """Nothing can be changed now."""

    status = 503
    code = "maintenance"


@dataclass(frozen=True)
class Maintenance:
    """``message``: what operators say, such as when it ends; may be blank."""

    since: datetime
    message: str = ""


def maintenance() -> Maintenance | None:
    """Return the maintenance that is going on; None: there is none."""
    path = _path()
    try:
        return _read(path, path.stat().st_mtime_ns)
    except OSError:
        return None


def begin_maintenance(*, actor: User | None, message: str, request: HttpRequest | None = None) -> None:
    """Begin it, or change its message. ``actor``: None for the command line. Raises Hidden, Invalid."""
    if actor is not None:
        require_operator(actor)
    message = " ".join(message.split())
    if len(message) > MAX_MESSAGE:
        raise Invalid(
            _("The message has %(count)s characters; at most %(most)s are allowed. Shorten it.")
            % {"count": len(message), "most": MAX_MESSAGE},
            field="message",
        )
    going_on = maintenance()
    since = going_on.since if going_on is not None else timezone.now()
    part = _path().with_name("maintenance.part")
    part.write_text(json.dumps({"since": since.isoformat(), "message": message}, ensure_ascii=False))
    part.replace(_path())
    if going_on is None:
        log_security("maintenance_began", person=None, actor=actor, request=request, message=message)


def end_maintenance(*, actor: User | None, request: HttpRequest | None = None) -> None:
    """End it, if it is going on. Raises Hidden."""
    if actor is not None:
        require_operator(actor)
    with suppress(FileNotFoundError):
        _path().unlink()
        log_security("maintenance_ended", person=None, actor=actor, request=request)


def works_in_maintenance(view: View) -> View:
    """Mark a view, or a class of views, that may write during maintenance."""
    view.works_in_maintenance = True  # type: ignore[attr-defined]
    return view


def _path() -> Path:
    return Path(settings.DATA_DIR) / "maintenance"


@lru_cache(maxsize=1)
def _read(path: Path, changed: int) -> Maintenance:
    """Read the file. ``changed``: when, in nanoseconds. One that can't be read counts, too: somebody made it."""
    try:
        said = json.loads(path.read_text())
        return Maintenance(datetime.fromisoformat(said["since"]), str(said["message"]))
    except (ValueError, KeyError, TypeError):
        return Maintenance(datetime.fromtimestamp(changed / 1e9, UTC))
