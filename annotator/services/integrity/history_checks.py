"""The job that checks a project's whole history, in portions, since there may be a million events."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_noop

from annotator.models import Dialogue, Event, Job, Project, User
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import chain_problems, loose_problems
from annotator.services.integrity.checkpoints import checkpoint_problems
from annotator.services.integrity.content_checks import content_problems, toolset_problems
from annotator.services.jobs.jobs import Running, job_kind, start_job

JOB = "history"
#: Dialogues read in one step; problems listed on the page, the others are counted.
PORTION, MAX_NAMED = 500, 50
#: More checks of rows against the history, by keys of dialogues with unbroken chains; registered by other apps.
RECORDS: list[Callable[[Sequence[int]], Iterable[str]]] = []
#: The same for rows that belong to no dialogue.
PROJECT_RECORDS: list[Callable[[Project], Iterable[str]]] = []


def start_check(*, actor: User, project: Project) -> Job:
    """Start a check of a project's history, or return the running one. Raises Denied."""
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        # A second request waits here, then finds the job of the first.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        last = last_check(project)
        if last is not None and not last.ended:
            return last
        return start_job(actor=actor, project=project, kind=JOB, parameters={})


def last_check(project: Project) -> Job | None:
    """Return the newest check, running or ended."""
    return Job.objects.filter(project=project, kind=JOB).select_related("requester").order_by("-pk").first()


def history_problems(project: Project) -> Iterator[str]:
    """Yield a sentence for each problem in the history of a project and in the rows that it is about."""
    after = 0
    while keys := _portion(project, after):
        yield from _problems_among(keys)
        after = keys[-1]
    yield from _problems_of(project)


def _problems_of(project: Project) -> Iterator[str]:
    """Yield the problems that belong to no dialogue."""
    yield from toolset_problems(project)
    for look in PROJECT_RECORDS:
        yield from look(project)
    yield from loose_problems(project)
    yield from checkpoint_problems(project)


def _portion(project: Project, after: int) -> list[int]:
    dialogues = Dialogue.objects.filter(project=project, pk__gt=after).order_by("pk")
    return list(dialogues.values_list("pk", flat=True)[:PORTION])


def _problems_among(keys: Sequence[int]) -> Iterator[str]:
    broken = set()
    for key, problem in chain_problems(keys):
        broken.add(key)
        yield problem
    yield from content_problems(keys)
    # Rows are only compared with unbroken chains.
    sound = [key for key in keys if key not in broken]
    for look in RECORDS:
        yield from look(sound)


@job_kind(JOB, gettext_noop("History check"), repeatable=True)
def _run(running: Running) -> dict[str, Any]:
    project = running.job.project
    after: int = running.checkpoint.get("after", 0)
    done: int = running.checkpoint.get("done", 0)
    count: int = running.checkpoint.get("count", 0)
    named: list[str] = running.checkpoint.get("named", [])
    total = Dialogue.objects.filter(project=project).count()
    while keys := _portion(project, after):
        found = list(_problems_among(keys))
        after, done, count, named = keys[-1], done + len(keys), count + len(found), [*named, *found][:MAX_NAMED]
        with running.chunk() as chunk:
            state = {"after": after, "done": done, "count": count, "named": named}
            chunk.advance(done=done, total=total, checkpoint=state)
    found = list(_problems_of(project))
    return {
        "events": Event.objects.filter(project=project).count(),
        "problems": count + len(found),
        "named": [*named, *found][:MAX_NAMED],
    }
