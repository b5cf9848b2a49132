"""What a transition leaves behind beside its rows: events on the dialogue's chain and changes of counters.

Collected while it runs and written together at its end: one look at the chain and one insert each.
"""

from collections import Counter as Tally
from typing import Any

from annotator.models import Dialogue, Project, User
from annotator.services.history.events import EventLine, append_events
from reviews.services.statistics.counters import write_deltas


class Journal:
    """The traces of one transition of one dialogue, whose row the caller has locked."""

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
        """Say what happened. ``sealed``: it belongs to a blind stage that has not settled."""
        self._lines.append(EventLine(kind, before or {}, after or {}, sealed))

    def unseal(self) -> None:
        """The blind stage settles in this very transition: nothing of it is secret any more."""
        self._lines = [EventLine(line.kind, line.before, line.after) for line in self._lines]

    def count(self, key: str, delta: int = 1) -> None:
        """Change a counter; for the keys see ``reviews.services.statistics.counters``."""
        self._deltas[key] += delta

    def status(self, before: str, after: str) -> None:
        """The dialogue's status changes."""
        if before != after:
            self.count(f"status:{before}", -1)
            self.count(f"status:{after}")

    def write(self) -> None:
        """Write it all, in the caller's transaction."""
        append_events(actor=self.actor, project=self.project, dialogue=self.dialogue, lines=self._lines)
        write_deltas(project_id=self.project.pk, deltas=self._deltas)
        self._lines, self._deltas = [], Tally()
