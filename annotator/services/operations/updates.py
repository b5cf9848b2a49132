"""The versions of Assay that this installation has had, and what they changed."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db import connections
from django.utils import timezone

from annotator import VERSION
from annotator.models import InstalledVersion, Job, JobState, User
from annotator.services.access.operators import require_operator

#: Versions that are listed.
MOST_VERSIONS = 50
#: A link to another file of the project, which this site does not serve.
_FILE_LINK = re.compile(r"\[([^\[\]]{0,200})\]\((?!https?:)[^()]{0,200}\)")


@dataclass(frozen=True)
class Updates:
    """``running``: how many jobs are running now."""

    version: str
    installed: list[InstalledVersion]
    running: int


def updates(*, actor: User) -> Updates:
    """Return what operators see before and after an update. Raises Hidden for all but operators."""
    require_operator(actor)
    installed = list(InstalledVersion.objects.order_by("-installed_at")[:MOST_VERSIONS])
    return Updates(VERSION, installed, Job.objects.filter(state=JobState.RUNNING).count())


@lru_cache(maxsize=1)
def changes() -> str:
    """Return the changelog as Markdown, without its title and without links to files."""
    try:
        text = (settings.BASE_DIR / "CHANGELOG.md").read_text()
    except OSError:
        return ""
    return _FILE_LINK.sub(r"\1", text.partition("\n")[2].strip())


def note_version(using: str = "default", **of_signal: Any) -> None:
    """Record that this version has migrated the database. Receives ``post_migrate``."""
    connection = connections[using]
    # Migrations backwards may have removed the table.
    if InstalledVersion._meta.db_table in connection.introspection.table_names():
        InstalledVersion.objects.using(using).get_or_create(version=VERSION, defaults={"installed_at": timezone.now()})
