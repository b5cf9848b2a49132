"""What is wrong with a single task, and can be seen without running it."""

import itertools
import re
from collections.abc import Iterable, Sequence

from annotator.core.execution.findings import Finding
from annotator.core.execution.numbers import whole_numbers
from annotator.core.sandbox.trajectories import ToolCall
from annotator.core.schema.canonical import canonical

#: A task has at least this many calls.
FEWEST_CALLS = 2


def static_findings(question: str, calls: Sequence[ToolCall], functions: Iterable[str]) -> list[Finding]:
    """Return ``too_short`` and ``function_named`` without a place, and ``repeated_call`` at the later call.

    ``functions``: the names that the question must not contain; ordinary words, such as “count”, are no such names.
    """
    found: list[Finding] = []
    if len(calls) < FEWEST_CALLS:
        found.append(("too_short", None))
    if named_functions(question, functions):
        found.append(("function_named", None))
    texts = [canonical([call.name, whole_numbers(dict(call.arguments))]) for call in calls]
    found += [("repeated_call", index) for index in range(1, len(texts)) if texts[index] == texts[index - 1]]
    return found


def named_functions(question: str, functions: Iterable[str]) -> list[str]:
    """Return the functions that a question names, in the order of ``functions``."""
    words = set(re.findall(r"\w+", question))
    return [name for name in functions if name in words and is_distinctive(name)]


def is_distinctive(name: str) -> bool:
    """Return whether a function's name is not an ordinary word."""
    return "_" in name.strip("_") or any(one.islower() and other.isupper() for one, other in itertools.pairwise(name))
