"""The single tasks of a composite, as the project has them now."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotator.core.composites.dialogue import most_rounds

#: Names that can be the id of a task; as ``schema.documents.Id``.
_ID = re.compile(r"[A-Za-z0-9_.:\-]{1,80}")


@dataclass(frozen=True, slots=True)
class Single:
    """A single task's current revision. ``faulty``: checks found errors in it.

    ``question``, ``category`` and ``calls`` are what composites repeat of it.
    """

    sha256: str
    toolset_sha256: str
    question: str
    category: str | None
    calls: int
    verified: bool = True
    faulty: bool = False

    def is_repeated_by(self, member: Mapping[str, Any]) -> bool:
        """Return whether a composite's task repeats this revision correctly."""
        repeated = (member["user_message"], member["category"], member["calls"])
        return repeated == (self.question, self.category, self.calls)


def member_of(
    name: str, document: Mapping[str, Any], *, sha256: str, toolset_sha256: str, number: int
) -> dict[str, Any]:
    """Return a composite's task that refers to a revision of the single task ``name``.

    ``document``: its content; ``number``: names the task if the single task's name cannot be an id.
    """
    [task] = document["tasks"]
    return {
        "id": name if _ID.fullmatch(name) else f"t{number}",
        "user_message": task["user_message"],
        "single": name,
        "sha256": sha256,
        "toolset_sha256": toolset_sha256,
        "category": document["category"],
        "calls": len(task["steps"]),
    }


def rounds_of(tasks: list[dict[str, Any]]) -> int:
    """Return the ceiling of messages for these tasks."""
    return most_rounds(sum(task["calls"] for task in tasks))
