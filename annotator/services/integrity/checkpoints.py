"""Checkpoints: one hash over everything that has happened in a project, written now and then.

A dialogue's chain of events shows what was removed from its middle or altered, but not that its end was cut off, nor
anything about events of the project as a whole. A checkpoint is an event itself; it holds the hash of the checkpoint
before it and of every event since. Nothing has to wait for it: it looks at what has come to rest.
"""

import hashlib
from datetime import timedelta

from django.db import transaction
from django.db.models import Max, Min
from django.utils import timezone

from annotator.models import Event, Project
from annotator.services.history.events import append_event

KIND = "project.checkpoint"
#: Events younger than this are left for the next time: a transaction that began before may still be writing older ids.
REST = timedelta(hours=1)
_BEFORE_ALL = -(2**63)


def write_checkpoints(*, rest: timedelta = REST) -> int:
    """A checkpoint for every project in which something has happened; returns how many were written."""
    return sum(write_checkpoint(project=project, rest=rest) is not None for project in Project.objects.order_by("pk"))


def write_checkpoint(*, project: Project, rest: timedelta = REST) -> Event | None:
    """Seal what has happened since the last checkpoint and has come to rest. None where nothing has."""
    with transaction.atomic():
        # Two workers: the second waits here, then finds nothing to do.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        last = Event.objects.filter(project=project, kind=KIND).order_by("-pk").first()
        since, digest = (last.after["through"], last.after["digest"]) if last else (_BEFORE_ALL, "")
        events = Event.objects.filter(project=project, pk__gt=since, created_at__lt=timezone.now() - rest)
        # An import that is cancelled takes its events back; what came after waits with it.
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
    """A sentence for each checkpoint that does not hold: an event before it was removed, altered or slipped in.

    It says of which time, and by how many events. Checkpoints that follow a broken one are judged by what that one
    says, so that each tells of its own time alone.
    """
    problems, since, digest, began = [], _BEFORE_ALL, "", "the beginning"
    for checkpoint in Event.objects.filter(project=project, kind=KIND).order_by("pk"):
        said = checkpoint.after
        sealed, count = _seal(project, since, said["through"], digest)
        ended = f"{checkpoint.created_at:%Y-%m-%d %H:%M} UTC"
        if (sealed, count) != (said["digest"], said["events"]):
            missing = said["events"] - count
            what = "an event was changed or exchanged"
            if missing:
                what = f"{abs(missing)} {'fewer' if missing > 0 else 'more'} than the {said['events']} that were sealed"
            problems.append(f"checkpoint {checkpoint.pk} does not hold: between {began} and {ended}, {what}")
        since, digest, began = said["through"], said["digest"], ended
    return problems


def _seal(project: Project, since: int, through: int, digest: str) -> tuple[str, int]:
    """The hash of (digest, then the hashes of the events after ``since`` up to ``through``), and their number."""
    sealed, count = hashlib.sha256(digest.encode()), 0
    hashes = Event.objects.filter(project=project, pk__gt=since, pk__lte=through).order_by("pk")
    for one in hashes.values_list("hash", flat=True).iterator(5000):
        sealed.update(one.encode())
        count += 1
    return sealed.hexdigest(), count
