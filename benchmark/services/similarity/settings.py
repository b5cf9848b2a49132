"""From which overlap a project calls two dialogues near-duplicates, and the search that follows a change."""

from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.checks.similarity import THRESHOLD
from annotator.errors import Conflict, Invalid
from annotator.models import Job, Project, User
from annotator.models.jobs import JOB_ENDED
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import start_job
from benchmark.core.grouping import Extent
from benchmark.models import SimilaritySettings
from benchmark.services.similarity.pairs import LOWEST

KIND = "near_duplicates"
#: The thresholds that every preview shows, with the one in question.
STEPS = (50, 60, 70, 80, 90, 100)


def threshold_of(project: Project) -> int:
    """Return the overlap in percent from which two dialogues of a project are near-duplicates."""
    rows = SimilaritySettings.objects.filter(project=project)
    return rows.values_list("threshold", flat=True).first() or THRESHOLD


def preview(*, actor: User, project: Project, threshold: int | None = None) -> list[Extent]:
    """Return what thresholds would report, as counted at the end of the last search. Changes nothing.

    Raises Denied, and Invalid for a threshold that cannot be chosen.
    """
    require_administrator(actor=actor, project=project)
    asked = [] if threshold is None else [_checked(threshold)]
    counted = SimilaritySettings.objects.filter(project=project).values_list("extents", flat=True).first() or []
    known = {one[0]: Extent(*one) for one in counted}
    wanted = sorted({*STEPS, threshold_of(project), *asked})
    return [known.get(percent, Extent(percent, 0, 0)) for percent in wanted]


def running_search(project: Project) -> Job | None:
    """Return the unfinished search in the whole project."""
    jobs = Job.objects.filter(project=project, kind=KIND, parameters={})
    return jobs.exclude(state__in=JOB_ENDED).first()


def lock_searches(project: Project) -> None:
    """Let one transaction at a time compare dialogues of the project, or change how they are compared.

    This lock is taken before those of the project and of its dialogues.
    """
    SimilaritySettings.objects.get_or_create(project=project)
    SimilaritySettings.objects.select_for_update().get(project=project)


def change_threshold(*, actor: User, project: Project, threshold: int, seen: int | None = None) -> Job | None:
    """Set the threshold and search the whole project with it; return the job, None if nothing changes.

    ``seen``: the threshold that the actor started from. Raises Denied, Invalid, and Conflict if somebody else has
    changed it meanwhile, or while a search is running.
    """
    require_administrator(actor=actor, project=project)
    _checked(threshold)
    with transaction.atomic():
        # A second request waits here, then finds the job of the first.
        lock_searches(project)
        now = threshold_of(project)
        if threshold == now:
            return None
        if seen is not None and seen != now:
            sentence = _("Somebody else set the threshold to %(now)s %%. Nothing was saved; save again to replace it.")
            raise Conflict(sentence % {"now": now}, threshold=now)
        job = _start(actor, project)
        values: dict[str, Any] = {"threshold": threshold, "changed_by": actor, "changed_at": timezone.now()}
        SimilaritySettings.objects.update_or_create(project=project, defaults=values)
        append_event(
            actor=actor,
            project=project,
            kind="similarity.changed",
            before={"threshold": now},
            after={"threshold": threshold},
        )
        return job


def search_again(*, actor: User, project: Project) -> Job:
    """Compare all dialogues of the project again. Raises Denied, and Conflict while a search is running."""
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        lock_searches(project)
        return _start(actor, project)


def _start(actor: User, project: Project) -> Job:
    if running_search(project) is not None:
        raise Conflict(_("A search of the whole project is running. Wait until it has ended, or cancel it first."))
    return start_job(actor=actor, project=project, kind=KIND, parameters={})


def _checked(threshold: int) -> int:
    if not LOWEST <= threshold <= 100:
        sentence = _("The threshold must be between %(lowest)s and 100 %%.")
        raise Invalid(sentence % {"lowest": LOWEST}, field="threshold")
    return threshold
