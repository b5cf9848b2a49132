"""What has changed since a moment, for programs that follow a project. More rows than needed are no error."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db.models import Min, Q, QuerySet

from annotator.models import Dialogue, Job, Project

#: The kind of the jobs that publish dialogues.
_IMPORT = "import"


def dialogues_changed_since(project: Project) -> Callable[[QuerySet[Any], datetime], QuerySet[Any]]:
    """Return a function that narrows dialogues of a project down to those that may have changed since a moment.

    An import writes its dialogues long before it publishes them together. So while one was running, everything since
    its start may be new. (A time of publication in the rows would show which ones are gold items.)
    """

    def changed(rows: QuerySet[Any], moment: datetime) -> QuerySet[Any]:
        jobs = Job.objects.filter(Q(ended_at=None) | Q(ended_at__gte=moment), project=project, kind=_IMPORT)
        first = jobs.aggregate(first=Min("created_at"))["first"]
        return rows.filter(updated_at__gte=moment if first is None else min(first, moment))

    return changed


def parts_changed_since(dialogue: Dialogue) -> Callable[[QuerySet[Any], datetime], QuerySet[Any]]:
    """Return a function that narrows revisions or reviews of a dialogue down.

    All of them if the dialogue has changed: the end of a blind stage shows rows that were written before.
    """
    return lambda rows, moment: rows if dialogue.updated_at >= moment else rows.filter(created_at__gte=moment)
