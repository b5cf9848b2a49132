"""What trajectories of single tasks came to, stored by content without dialogue and person."""

from typing import Any

from django.db import models
from django.utils import timezone

from annotator.core.schema import load_text


class Execution(models.Model):
    """The result of one trajectory. ``key`` is the hash of everything that determines it.

    Only people who can see a trajectory can compute its key, so an execution reveals nothing.
    """

    key = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    #: JSON text as ``annotator.core.execution.subjects.Record`` writes it; last, because it may be large.
    record = models.TextField()

    def __str__(self) -> str:
        return f"execution {self.key[:12]}"

    def data(self) -> dict[str, Any]:
        """Return the record as a JSON value."""
        return load_text(self.record)
