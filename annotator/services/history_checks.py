"""Checking a project's whole history from its page: by a job, in portions, since there may be a million events."""

from typing import Any

from django.db import transaction

from annotator.models import Dialogue, Event, Job, Project, User
from annotator.services.access import require_administrator
from annotator.services.checkpoints import checkpoint_faults
from annotator.services.content_checks import content_faults
from annotator.services.events import chain_faults, loose_faults
from annotator.services.jobs import Running, job_kind, start_job

JOB = "history"
#: Dialogues whose chains and versions one step reads; faults that the page names, the others are counted.
PORTION, MOST_NAMED = 500, 50


def start_check(*, actor: User, project: Project) -> Job:
    """Check the history of a project; where somebody has begun that already, it is theirs. Raises Denied."""
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        # Two people at once: the second waits here, then finds the first one's.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        last = last_check(project)
        if last is not None and not last.ended:
            return last
        return start_job(actor=actor, project=project, kind=JOB, parameters={})


def last_check(project: Project) -> Job | None:
    """The newest check, under way or ended."""
    return Job.objects.filter(project=project, kind=JOB).select_related("requester").order_by("-pk").first()


@job_kind(JOB, "Checking the history")
def _run(running: Running) -> dict[str, Any]:
    project = running.job.project
    after: int = running.checkpoint.get("after", 0)
    done: int = running.checkpoint.get("done", 0)
    count: int = running.checkpoint.get("count", 0)
    named: list[str] = running.checkpoint.get("named", [])
    dialogues = Dialogue.objects.filter(project=project).order_by("pk")
    total = dialogues.count()
    while keys := list(dialogues.filter(pk__gt=after).values_list("pk", flat=True)[:PORTION]):
        found = [*chain_faults(project, among=keys), *content_faults(project, among=keys)]
        after, done, count, named = keys[-1], done + len(keys), count + len(found), [*named, *found][:MOST_NAMED]
        with running.chunk() as chunk:
            state = {"after": after, "done": done, "count": count, "named": named}
            chunk.advance(done=done, total=total, checkpoint=state)
    found = [*loose_faults(project), *checkpoint_faults(project)]
    return {
        "events": Event.objects.filter(project=project).count(),
        "faults": count + len(found),
        "named": [*named, *found][:MOST_NAMED],
    }
