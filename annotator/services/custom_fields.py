"""A project's custom fields: the questions that it asks about its dialogues."""

from functools import lru_cache
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotator.core.fields import CustomField, read_fields, stored_fields
from annotator.core.schema import SchemaProblem
from annotator.core.schema.exact_json import dumps, loads
from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue, Project, User
from annotator.services.access.permissions import require_administrator
from annotator.services.database.compiled import compiled
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import start_job

#: The job that checks the dialogues with the new fields.
CHECK_JOB = "field_checks"


def fields_of(project: Project) -> tuple[CustomField, ...]:
    """Return the custom fields of a project, in the order in which they are asked."""
    return _read(dumps(project.custom_fields)) if project.custom_fields else ()


@lru_cache(maxsize=64)
def _read(stored: bytes) -> tuple[CustomField, ...]:
    return read_fields(loads(stored))


def refresh_fields(project: Project) -> bool:
    """Read the custom fields again if they have changed since the project was loaded; return whether they have.

    Call it under the lock of a dialogue that is checked with them: the job that follows a change waits for this lock.
    """
    if _fields_version(project.pk) == [project.fields_version]:
        return False
    project.refresh_from_db(fields=["custom_fields", "fields_version"])
    return True


@compiled
def _fields_version(project_id: int) -> QuerySet[Project, int]:
    return Project.objects.filter(pk=project_id).values_list("fields_version", flat=True)


def set_fields(*, actor: User | None, project: Project, fields: list[Any], seen: int) -> Project:
    """Replace a project's custom fields. ``seen`` is the version (``fields_version``) that the actor started from.

    Labels of dialogues stay as they are: the checks report those without a field, and a job repeats these checks for
    all dialogues. A repeated request changes nothing.
    Raises Denied, Invalid with the place of each problem, or Conflict if somebody else changed them since ``seen``.
    """
    if actor is not None:
        require_administrator(actor=actor, project=project)
    try:
        new = stored_fields(read_fields(fields))
    except SchemaProblem as problem:
        raise Invalid(
            _("The fields can’t be saved: %(problem)s") % {"problem": problem},
            problems=[{"pointer": p.pointer, "message": p.message} for p in problem.problems],
        ) from None
    with transaction.atomic():
        project = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        before = project.custom_fields
        if before == new:
            return project
        if project.fields_version != seen:
            raise Conflict(_("Somebody else changed the fields since you opened them. Reload, and change them again."))
        project.custom_fields, project.fields_version = new, seen + 1
        project.save(update_fields=["custom_fields", "fields_version"])
        append_event(
            actor=actor,
            project=project,
            kind="project.fields_changed",
            before={"version": seen, "fields": before},
            after={"version": seen + 1, "fields": new},
        )
        if Dialogue.objects.filter(project=project, published=True).exists():
            start_job(actor=actor, project=project, kind=CHECK_JOB, parameters={})
    return project
