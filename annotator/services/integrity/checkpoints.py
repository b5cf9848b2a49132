"""Checkpoints: one hash over all events of a project, written at intervals.

A dialogue's chain detects removed and changed events, but not a removed end, nor changes of events that belong to no
dialogue. A checkpoint is an event with the hash of the previous checkpoint and of every event since. It covers only
events of some age, so that nothing has to wait for it.
"""

import hashlib
from datetime import timedelta

from django.db import transaction
from django.db.models import Max, Min
from django.utils import timezone

from annotator.models import Event, Project, ProjectDeletion
from annotator.services.history.events import append_event

KIND = "project.checkpoint"
#: Younger events are left to the next checkpoint, since a running transaction may still write older ids.
REST = timedelta(hours=1)
_BEFORE_ALL = -(2**63)


def write_checkpoints(*, rest: timedelta = REST) -> int:
    """Write a checkpoint for every project with new events; returns how many."""
    # One that is being deleted gets no more events.
    deleted = ProjectDeletion.objects.filter(started_at__isnull=False)
    projects = Project.objects.exclude(pk__in=deleted.values("project_key")).order_by("pk")
    return sum(write_checkpoint(project=project, rest=rest) is not None for project in projects)


def write_checkpoint(*, project: Project, rest: timedelta = REST) -> Event | None:
    """Write a checkpoint over the events since the last one that are old enough. None if there are none."""
    with transaction.atomic():
        # A second worker waits here, then finds nothing to do.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        last = Event.objects.filter(project=project, kind=KIND).order_by("-pk").first()
        since, digest = (last.after["through"], last.after["digest"]) if last else (_BEFORE_ALL, "")
        events = Event.objects.filter(project=project, pk__gt=since, created_at__lt=timezone.now() - rest)
        # A cancelled import removes its events, so later events wait until it has ended.
        unpublished = Event.objects.filter(project=project, dialogue__published=False).aggregate(first=Min("pk"))
        if unpublished["first"] is not None:
            events = events.filter(pk__lt=unpublished["first"])
        through = events.exclude(kind=KIND).aggregate(last=Max("pk"))["last"]
        if through is None:
            return None
        digest, count = _seal(project, since, through, digest)
        return append_event(
            actor=None, project=project, kind=KIND, after={"through": through, "events": count, "digest": digest}
        )


def checkpoint_problems(project: Project) -> list[str]:
    """Return a sentence for each checkpoint that does not match: an event before it was removed, changed or inserted.

    It names the time range and the number of events. A checkpoint after a broken one is compared with the hash that the
    broken one states, so that each is about its own time range only.
    """
    problems, since, digest, began = [], _BEFORE_ALL, "", "the beginning"
    for checkpoint in Event.objects.filter(project=project, kind=KIND).order_by("pk"):
        said = checkpoint.after
        sealed, count = _seal(project, since, said["through"], digest)
        ended = f"{checkpoint.created_at:%Y-%m-%d %H:%M} UTC"
        if (sealed, count) != (said["digest"], said["events"]):
            missing = said["events"] - count
            what = "an event was changed or replaced"
            if missing:
                more = "fewer" if missing > 0 else "more"
                what = f"there are {abs(missing)} {more} events than the recorded {said['events']}"
            problems.append(f"checkpoint {checkpoint.pk} does not match: between {began} and {ended}, {what}")
        since, digest, began = said["through"], said["digest"], ended
    return problems


def _seal(project: Project, since: int, through: int, digest: str) -> tuple[str, int]:
    """Hash ``digest`` and the hashes of the events after ``since`` up to ``through``. Returns the hash and a count."""
    sealed, count = hashlib.sha256(digest.encode()), 0
    hashes = Event.objects.filter(project=project, pk__gt=since, pk__lte=through).order_by("pk")
    for one in hashes.values_list("hash", flat=True).iterator(5000):
        sealed.update(one.encode())
        count += 1
    return sealed.hexdigest(), count
