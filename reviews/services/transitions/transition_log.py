"""Collects the events and counter changes of a transition, and writes them together at its end."""

from collections import Counter as Tally
from typing import Any

from annotator.models import Dialogue, Project, User
from annotator.services.history.events import EventLine, append_events
from reviews.services.statistics.counters import write_deltas


class Journal:
    """The log of one transition of one dialogue, which the caller has locked."""

    def __init__(self, *, actor: User | None, project: Project, dialogue: Dialogue) -> None:
        self.actor, self.project, self.dialogue = actor, project, dialogue
        self._lines: list[EventLine] = []
        self._deltas: Tally[str] = Tally()

    def event(
        self,
        kind: str,
        *,
        before: dict[str, Any] | None = None,
        after: dict[str, Any] | None = None,
        sealed: bool = False,
    ) -> None:
        """Add an event. ``sealed``: it belongs to a blind stage that has not ended."""
        self._lines.append(EventLine(kind, before or {}, after or {}, sealed))

    def unseal(self) -> None:
        """Unseal the events added so far, because this transition settles the blind stage."""
        self._lines = [EventLine(line.kind, line.before, line.after) for line in self._lines]

    def count(self, key: str, delta: int = 1) -> None:
        """Change a counter; ``reviews.services.statistics.counters`` lists the keys."""
        self._deltas[key] += delta

    def status(self, before: str, after: str) -> None:
        """Count the dialogue under its new status."""
        if before != after:
            self.count(f"status:{before}", -1)
            self.count(f"status:{after}")

    def write(self) -> None:
        """Write everything in the caller's transaction."""
        append_events(actor=self.actor, project=self.project, dialogue=self.dialogue, lines=self._lines)
        write_deltas(project_id=self.project.pk, deltas=self._deltas)
        self._lines, self._deltas = [], Tally()
