"""When a worker last did what beat asks for: how one can tell from elsewhere that beat and the workers are alive."""

from typing import Any

from django.utils import timezone

from annotator.models import Routine

#: What beat asks for most often of all workers of the ordinary queue; it is done within a moment.
PULSE = "take-up-stale-jobs"


def note_routine(name: str, outcome: dict[str, Any] | None = None) -> None:
    """A worker has just done it."""
    values = {"ran_at": timezone.now(), "outcome": outcome or {}}
    Routine.objects.update_or_create(name=name, defaults=values)
