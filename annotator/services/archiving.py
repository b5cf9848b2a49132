"""Archives and restores projects.

An archived project is out of lists and queues, and nothing in it changes: its overseers read it, and what it has
published stays. ``load_membership`` refuses changes with a sentence, and the database refuses events, jobs and claims,
in case something asks elsewhere or at the same moment.
"""

from collections.abc import Callable
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotator.errors import Conflict
from annotator.models import ArchivedProject, Job, Project, User
from annotator.models.jobs import JOB_ENDED
from annotator.services.access.permissions import archived_refusal, require_administrator
from annotator.services.history.events import append_event

#: Each returns how many items of a project are in somebody's hands.
COUNT_OPEN_WORK: list[Callable[[Project], int]] = []
#: Each lets work go on in the transaction that restores a project: (project, how long it was archived).
RESTORED: list[Callable[[Project, timedelta], None]] = []
#: Each raises Conflict if the project cannot be restored now.
BEFORE_RESTORING: list[Callable[[Project], None]] = []
#: What the triggers of the database say (``annotator.0014``).
_OF_DATABASE = "the project is archived"


def count_open_work(project: Project) -> int:
    """Return how many items of a project are claimed."""
    return sum(count(project) for count in COUNT_OPEN_WORK)


def archive_project(*, actor: User, project: Project) -> Project:
    """Archive a project. Claims and drafts stay as they are until it is restored; an archived one stays archived.

    Raises Denied, or Conflict while jobs are waiting or running.
    """
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        # The whole lock: it waits for jobs that are being added, and new ones wait for it.
        project = Project.objects.select_for_update().get(pk=project.pk)
        if project.archived_at is not None:
            return project
        jobs = Job.objects.filter(project=project).exclude(state__in=JOB_ENDED).count()
        if jobs:
            sentence = ngettext(
                "%(count)d job is in progress. Wait until it has ended, or cancel it.",
                "%(count)d jobs are in progress. Wait until they have ended, or cancel them.",
                jobs,
            )
            raise Conflict(sentence % {"count": jobs}, jobs=jobs)
        append_event(actor=actor, project=project, kind="project.archived", after={"claims": count_open_work(project)})
        entry = ArchivedProject.objects.create(project=project, person=actor)
        project.archived_at = entry.created_at
        project.save(update_fields=["archived_at"])
    return project


def restore_project(*, actor: User, project: Project) -> Project:
    """Restore an archived project as it was: claims have as much time left as when it was archived.

    A project that is not archived stays as it is. Raises Denied, or Conflict if its deletion is planned.
    """
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        project = Project.objects.select_for_update().get(pk=project.pk)
        if project.archived_at is None:
            return project
        for check in BEFORE_RESTORING:
            check(project)
        pause = timezone.now() - project.archived_at
        ArchivedProject.objects.filter(project=project).delete()
        project.archived_at = None
        project.save(update_fields=["archived_at"])
        for go_on in RESTORED:
            go_on(project, pause)
        append_event(actor=actor, project=project, kind="project.restored")
    return project


def require_archived(project: Project) -> None:
    """Raise Conflict unless a project is archived. In the caller's transaction, which has locked it."""
    if project.archived_at is None:
        raise Conflict(_("Archive the project first."))


def as_refusal(error: Exception) -> Conflict | None:
    """Return the refusal with which the database has answered a change in an archived project; None for others."""
    if isinstance(error, IntegrityError) and _OF_DATABASE in str(error):
        return archived_refusal()
    return None
