"""Statistics of a selection, the filtered list of dialogues, as its reader sees it.

Small selections are counted while their reader waits, larger ones by a job, which keeps its result. Only dialogues that
the list shows count, with the content that its reader may open, so the figures reveal no more than the list. Gold items
count like others for those whom they test; for overseers, who see them marked, the known answers count instead.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db import transaction
from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import Length
from django.http import QueryDict
from django.utils.translation import gettext as _

from annotator.core.roles import Role
from annotator.core.text import gettext_noop
from annotator.errors import Conflict
from annotator.models import Dialogue, Job, JobState, Project, Revision, User
from annotator.models.content import DialogueQuerySet
from annotator.models.jobs import JOB_ENDED
from annotator.services.access.permissions import OVERSEERS, require_role, roles_in
from annotator.services.dialogues.listing import Filters, shown_dialogues
from annotator.services.jobs.jobs import Running, cancel_job, job_kind, lock_requester, start_job
from benchmark.services.dataset_statistics.counting import SLICE, Counting
from reviews.services.protocols.versions import stage_titles

KIND = "dataset_statistics"
#: The most dialogues, and characters of their contents, that are counted while somebody waits.
AT_ONCE, CHARACTERS_AT_ONCE = 2_000, 20_000_000
#: Groups of similar dialogues that are named.
GROUPS = 10


@dataclass(frozen=True)
class Counted:
    """The statistics of a selection at one time: ``DatasetStatistics.summary``.

    ``unreadable``: its dialogues that have no content that the reader may open, which are not counted.
    """

    statistics: dict[str, Any]
    unreadable: int
    at: datetime | None = None


@dataclass(frozen=True)
class SelectionStatistics:
    """``counted`` is None for a large selection until a job has counted it; ``job`` is the last one, if any."""

    counted: Counted | None
    job: Job | None = None


@dataclass(frozen=True)
class SimilarGroups:
    """Groups of similar dialogues of which a selection has at least two: how many, and how many dialogues are in them.

    ``largest``: the first dialogue of those with the most dialogues in the selection, and how many these are.
    """

    groups: int
    dialogues: int
    largest: list[tuple[Dialogue, int]]


def read_statistics(*, actor: User, project: Project, filters: Filters) -> SelectionStatistics:
    """Return the statistics of the actor's list with these filters. Raises UnknownFilter.

    A selection of more than AT_ONCE dialogues, or of very long ones, is not counted here.
    """
    heads = list(_heads(actor, project, filters)[: AT_ONCE + 1])
    if len(heads) <= AT_ONCE and _characters(actor, heads) <= CHARACTERS_AT_ONCE:
        return SelectionStatistics(_count(actor, heads))
    job = last_job(actor=actor, project=project, filters=filters)
    if job is None or job.state != JobState.DONE:
        return SelectionStatistics(None, job)
    return SelectionStatistics(Counted(job.result["statistics"], job.result["unreadable"], job.ended_at), job)


def last_job(*, actor: User, project: Project, filters: Filters) -> Job | None:
    """Return the last job that counted, or is counting, the actor's list with these filters."""
    return _jobs(actor, project, filters).order_by("-pk").first()


def start_counting(*, actor: User, project: Project, filters: Filters) -> Job:
    """Start a job that counts the actor's list with these filters, or return the one that is doing it.

    Raises UnknownFilter, and Conflict if a job of the actor is counting another list.
    """
    require_role(actor=actor, project=project, roles=frozenset(Role))
    shown_dialogues(actor=actor, project=project, filters=filters)
    with transaction.atomic():
        lock_requester(actor.pk)
        running = Job.objects.filter(project=project, requester=actor, kind=KIND).exclude(state__in=JOB_ENDED)
        same = _jobs(actor, project, filters).filter(pk__in=running.values("pk")).first()
        if same is not None:
            return same
        if running.exists():
            raise Conflict(_("Another list is being counted for you. Wait until it is finished, or cancel it."))
        return start_job(actor=actor, project=project, kind=KIND, parameters=_parameters(actor, project, filters))


def cancel_counting(*, actor: User, project: Project, filters: Filters) -> None:
    """Cancel the job that counts the actor's list with these filters, if there is one."""
    job = _jobs(actor, project, filters).exclude(state__in=JOB_ENDED).first()
    if job is not None:
        cancel_job(actor=actor, job=job)


@job_kind(KIND, gettext_noop("Dataset statistics"), quiet=True)
def run_counting(running: Running) -> dict[str, Any]:
    """Run a job of the kind ``dataset_statistics``. Another attempt begins again, because nothing is written."""
    project, actor = running.job.project, running.job.requester
    assert actor is not None  # noqa: S101
    require_role(actor=actor, project=project, roles=frozenset(Role))
    query = QueryDict(running.job.parameters["filters"])
    filters = Filters.of(query, project=project, stages=lambda: stage_titles(project))
    heads = list(_heads(actor, project, filters))

    def progress(done: int) -> None:
        with running.chunk() as chunk:
            chunk.advance(done=done, total=len(heads))

    counted = _count(actor, heads, progress=progress)
    return {"statistics": counted.statistics, "unreadable": counted.unreadable}


def similar_groups(*, actor: User, project: Project, filters: Filters) -> SimilarGroups | None:
    """Return the groups of similar dialogues within the actor's list; None for all but overseers."""
    if not roles_in(project, actor) & OVERSEERS:
        return None
    # The list is the outer query, because the search names its table, which has another name in a subquery.
    rows = _selection(actor, project, filters).order_by().exclude(similar=None).values_list("similar__group_id")
    members = rows.annotate(members=Count("pk")).filter(members__gt=1)
    found = list(members.order_by("-members", "similar__group_id"))
    firsts = Dialogue.objects.visible_to(actor).in_bulk([group for group, _ in found[:GROUPS]])
    largest = [(firsts[group], count) for group, count in found[:GROUPS] if group in firsts]
    return SimilarGroups(len(found), sum(count for _, count in found), largest)


def _selection(actor: User, project: Project, filters: Filters) -> DialogueQuerySet:
    rows = shown_dialogues(actor=actor, project=project, filters=filters)
    return rows.counted() if roles_in(project, actor) & OVERSEERS else rows


def _heads(actor: User, project: Project, filters: Filters) -> "QuerySet[Dialogue, int | None]":
    """Return the keys of the newest revisions in a selection, which may be None."""
    return _selection(actor, project, filters).order_by("pk").values_list("head_id", flat=True)


def _characters(actor: User, heads: list[int | None]) -> int:
    """Return how many characters the contents of at most AT_ONCE revisions have; the database counts them."""
    rows = Revision.objects.unsealed_for(actor).filter(pk__in=[key for key in heads if key is not None])
    found: int = rows.aggregate(characters=Sum(Length("content"), default=0))["characters"]
    return found


def _count(actor: User, heads: list[int | None], *, progress: Callable[[int], None] | None = None) -> Counted:
    """Count the contents of revisions."""
    counting = Counting()
    # The list has shown these dialogues.
    revisions = Revision.objects.unsealed_for(actor)
    for start in range(0, len(heads), SLICE):
        counting.add(revisions, [key for key in heads[start : start + SLICE] if key is not None])
        if progress is not None:
            progress(min(start + SLICE, len(heads)))
    return Counted(counting.statistics.summary(), len(heads) - counting.statistics.dialogues)


def _parameters(actor: User, project: Project, filters: Filters) -> dict[str, Any]:
    """Return what a job's result depends on: it is not shown to somebody who has lost the right to see as much."""
    return {"filters": urlencode(filters.active), "oversees": bool(roles_in(project, actor) & OVERSEERS)}


def _jobs(actor: User, project: Project, filters: Filters) -> QuerySet[Job]:
    given = {f"parameters__{name}": value for name, value in _parameters(actor, project, filters).items()}
    return Job.objects.filter(project=project, requester=actor, kind=KIND, **given)
