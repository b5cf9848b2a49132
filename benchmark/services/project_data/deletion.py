"""Deletes whole projects: the only way on which content, reviews and events ever go.

An administrator plans the deletion of an archived project after an export has everything. For some days it can be
cancelled. Then a task deletes the files and all rows, in portions: each is a transaction of its own, so the task can be
killed at any time and goes on later. A row of ``ProjectDeletion`` stays.

The guards of append-only tables let rows go whose project has a deletion that has started, and no others. Events of
dialogues are chained in their dialogue and sealed in their project, so those of other projects still verify.
"""

import logging
import shutil
import unicodedata
from datetime import timedelta

from django.apps import apps
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.text import message
from annotator.errors import Conflict, Invalid
from annotator.models import Job, Membership, NoticeKind, Project, ProjectDeletion, Role, User
from annotator.models.jobs import JOB_ENDED
from annotator.services.access.permissions import require_administrator
from annotator.services.archiving import require_archived
from annotator.services.database.statements import database_time
from annotator.services.history.events import append_event
from annotator.services.members import void_tokens_of_outsiders
from annotator.services.notices.notices import members_with, notify
from benchmark.models import ErrataLink, Release, SharedBoard
from benchmark.services.project_data.export import export_files, export_since_archived
from benchmark.services.project_data.tables import BACKWARDS, ProjectTable, project_tables, stored_files
from benchmark.services.stored_files import full_path
from reviews.services.toolset_review.settings import forget_toolset_review

#: For how long a planned deletion can be cancelled.
GRACE_DAYS = 30
#: Rows deleted in one transaction, and transactions of one run of the task.
PORTION, MAX_PORTIONS = 500, 200

_LOG = logging.getLogger(__name__)


def plan_deletion(*, actor: User, project: Project, name: str) -> ProjectDeletion:
    """Plan the deletion of an archived project. ``name``: its name, typed as a confirmation. Repeating it changes
    nothing. The other administrators are notified.

    Raises Denied; Invalid for another name; Conflict if the project is not archived, a public link is open, or no
    export was made since it was archived.
    """
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        project = Project.objects.select_for_update().get(pk=project.pk)
        require_archived(project)
        known = planned_deletion(project)
        if known is not None:
            return known
        links = open_links(project)
        if links:
            sentence = _(
                "Public links are open for these releases: %(releases)s. What was published must stay verifiable. "
                "Restore the project, switch the links off, and archive and export it again."
            )
            raise Conflict(sentence % {"releases": ", ".join(links)}, releases=links)
        if export_since_archived(project) is None:
            raise Conflict(_("There is no export since the project was archived. Export it and keep the file first."))
        if _as_seen(name) != _as_seen(project.name):
            raise Invalid(_("Type the name of the project: %(name)s.") % {"name": project.name}, field="name")
        now = timezone.now()
        deletion = ProjectDeletion.objects.create(
            project_key=project.pk,
            project_public_id=project.public_id,
            slug=project.slug,
            name=project.name,
            person=actor,
            created_at=now,
            due_at=now + timedelta(days=GRACE_DAYS),
        )
        append_event(
            actor=actor,
            project=project,
            kind="project.deletion_planned",
            after={"deletion": deletion.public_id, "due_at": deletion.due_at.isoformat()},
        )
        notify(
            actor=actor, project=project, people=members_with(project, Role.ADMINISTRATOR), kind=NoticeKind.ALARM,
            text=message(
                "%(person)s has planned the deletion of the project. For %(days)s days, it can be cancelled.",
                person=str(actor), days=GRACE_DAYS,
            ),
            target=reverse("project-archive", args=[project.slug]), subject=deletion.public_id,
        )  # fmt: skip
    return deletion


def _as_seen(name: str) -> str:
    """Return a name as a page shows it: people can't see repeated spaces, nor how an accent is encoded."""
    return " ".join(unicodedata.normalize("NFC", name).split())


def cancel_deletion(*, actor: User, project: Project) -> None:
    """Cancel the planned deletion of a project; the project stays archived. Raises Denied, or Conflict if it has
    started. Does nothing if none is planned.
    """
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        project = Project.objects.select_for_update().get(pk=project.pk)
        deletion = planned_deletion(project)
        if deletion is None:
            return
        if deletion.started_at is not None:
            raise Conflict(_("The deletion of this project has started, so it can’t be cancelled."))
        deletion.delete()
        append_event(
            actor=actor,
            project=project,
            kind="project.deletion_cancelled",
            before={"deletion": deletion.public_id, "due_at": deletion.due_at.isoformat()},
        )


def planned_deletion(project: Project) -> ProjectDeletion | None:
    """Return the deletion of a project that is planned or in progress."""
    return ProjectDeletion.objects.filter(project_key=project.pk).select_related("person").first()


def refuse_if_planned(project: Project) -> None:
    """Raise Conflict if the deletion of a project is planned or in progress."""
    if planned_deletion(project) is not None:
        raise Conflict(_("The deletion of this project is planned. Cancel it first."))


def open_links(project: Project) -> list[str]:
    """Return the versions of the project's releases that have a public link."""
    boards = SharedBoard.objects.filter(release__project=project).values("release")
    errata = ErrataLink.objects.filter(release__project=project).values("release")
    releases = Release.objects.filter(Q(pk__in=boards) | Q(pk__in=errata))
    return list(releases.order_by("pk").values_list("version", flat=True))


# --- the task --------------------------------------------------------------------------------------------------------


def delete_due_projects() -> int:
    """Delete projects whose time has come, at most ``MAX_PORTIONS`` portions of rows; return how many were deleted.

    Goes on where an earlier run ended. A failure of one does not stop the others.
    """
    left, count = MAX_PORTIONS, 0
    for deletion in ProjectDeletion.objects.filter(due_at__lte=database_time(), ended_at=None).order_by("due_at", "pk"):
        if left <= 0:
            break
        try:
            left -= _go_on(deletion, left)
        except Exception:
            _LOG.exception("could not go on with deletion %s of project %s", deletion.public_id, deletion.slug)
            continue
        count += deletion.ended_at is not None
    return count


def _go_on(deletion: ProjectDeletion, most: int) -> int:
    """Delete up to ``most`` portions of rows; return how many were deleted."""
    if not _start(deletion):
        return 0
    _delete_files(deletion.project_key)
    done = 0
    for label, column in BACKWARDS:
        # A dialogue names one of its revisions, and they name it.
        rows = apps.get_model(label)._base_manager.filter(project=deletion.project_key)
        named = rows.exclude(**{column: None}).order_by("pk").values_list("pk", flat=True)
        while keys := list(named[:PORTION]):
            if done >= most:
                return done
            rows.filter(pk__in=keys).update(**{column: None})
            done += 1
    # Projects whose toolsets were reviewed here stay; they have no toolset review any more.
    forget_toolset_review(deletion.project_key)
    for table in reversed(project_tables()):
        before: int | None = None
        while keys := _last_keys(table, deletion.project_key, before):
            if done >= most:
                return done
            with transaction.atomic():
                rows = table.model._base_manager.filter(pk__in=keys)
                rows._raw_delete(rows.db)
            before, done = keys[-1], done + 1
    deletion.ended_at = timezone.now()
    deletion.save(update_fields=["ended_at"])
    _LOG.info("deleted project %s (%s)", deletion.slug, deletion.project_public_id)
    return done


def _start(deletion: ProjectDeletion) -> bool:
    """Start a deletion that is due, so that it can't be cancelled and the guards let its rows go. False: not now."""
    with transaction.atomic():
        project = Project.objects.select_for_update().filter(pk=deletion.project_key).first()
        if not ProjectDeletion.objects.filter(pk=deletion.pk).exists():
            # It was cancelled a moment ago.
            return False
        deletion.refresh_from_db()
        if deletion.started_at is not None or project is None:
            return True
        if Job.objects.filter(project=project).exclude(state__in=JOB_ENDED).exists():
            # An export or a check; the next run looks again.
            return False
        deletion.started_at = max(timezone.now(), deletion.due_at)
        deletion.save(update_fields=["started_at"])
        # From now on the project does not exist for anyone.
        members = list(Membership.objects.live().filter(project=project).values_list("user", flat=True))
        Membership.objects.filter(project=project).delete()
        void_tokens_of_outsiders(members)
    return True


def _delete_files(project_id: int) -> None:
    for name in stored_files(project_id):
        full_path(name).unlink(missing_ok=True)
    for release in Release.objects.filter(project=project_id).values_list("public_id", flat=True):
        shutil.rmtree(full_path(f"releases/{release}"), ignore_errors=True)
    for export in export_files(Job.objects.filter(project=project_id)):
        export.unlink(missing_ok=True)


def _last_keys(table: ProjectTable, project_id: int, before: int | None) -> list[int]:
    """Return keys of rows of a project, the last ones first: rows that name others of their table come after them."""
    rows = table.rows(project_id).order_by("-pk")
    if before is not None:
        rows = rows.filter(pk__lt=before)
    return list(rows.values_list("pk", flat=True)[:PORTION])
