"""Changes to a trajectory that mend what running it has shown. They are run again before anybody accepts them."""

from collections.abc import Sequence
from dataclasses import dataclass

from annotator.core.execution.call_text import write_call
from annotator.core.execution.dependencies import Dependencies
from annotator.core.execution.findings import is_first_call_unused
from annotator.core.execution.running import Execution
from annotator.core.execution.static_findings import static_findings
from annotator.core.sandbox.trajectories import ToolCall


@dataclass(frozen=True, slots=True)
class Mend:
    """One change. ``kind`` is ``add`` or ``delete``; ``calls`` the trajectory after it, as Python text."""

    kind: str
    #: The index of the call that is deleted, or that the new one comes before.
    index: int
    call: str
    calls: str


def suggest_mends(
    calls: Sequence[ToolCall],
    execution: Execution,
    dependencies: Dependencies | None,
    prerequisite: tuple[int, ToolCall] | None,
) -> list[Mend]:
    """Return the changes that may help, in the order of the trajectory."""
    texts = [write_call(call.name, call.arguments) for call in calls]
    found = []
    if prerequisite is not None:
        index, added = prerequisite
        text = write_call(added.name, added.arguments)
        found.append(Mend("add", index, text, "\n".join([*texts[:index], text, *texts[index:]])))
    unused = dependencies is not None and is_first_call_unused(execution, dependencies)
    # A first call that fails needs another one before it.
    if unused and not execution.outcomes[0].is_error:
        found.append(Mend("delete", 0, texts[0], "\n".join(texts[1:])))
    for kind, place in static_findings("", calls, ()):
        if kind == "repeated_call" and place is not None:
            found.append(Mend("delete", place, texts[place], "\n".join([*texts[:place], *texts[place + 1 :]])))
    return sorted(found, key=lambda mend: mend.index)
