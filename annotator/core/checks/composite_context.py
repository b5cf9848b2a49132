"""The parts of a composite that checks read: its tasks, and the single tasks as they are now."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotator.core.checks.context import Context
from annotator.core.composites.members import Single


class CompositeContext(Context):
    """One composite to check."""

    #: The project's single tasks by id; None if they are not known.
    singles: Mapping[str, Single] | None = None

    @property
    def composite(self) -> Sequence[dict[str, Any]]:
        return [self.document]

    @property
    def members(self) -> Iterator[tuple[str, dict[str, Any], Single]]:
        """The anchor, the task and the single task of each member that there is."""
        for task in self.tasks:
            single = (self.singles or {}).get(task.task["single"])
            if single is not None:
                yield task.anchor, task.task, single
