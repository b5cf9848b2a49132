"""Single tasks as queries for which trajectories are sampled: their calls must return what they returned there."""

from collections.abc import Mapping
from typing import Any

from annotator.core.constraints.solving import text_of
from annotator.core.execution.running import Execution
from annotator.core.schema import read_document
from benchmark.core.sampling import SourceQuery, codes_of


def query_of_single_task(
    name: str,
    document: Mapping[str, Any],
    tools: list[Any],
    implementation: Mapping[str, Any] | None,
    execution: Execution | None,
) -> SourceQuery:
    """Return the query of a single task. ``execution``: what its calls came to, None if that is not known.

    Raises ValueError, with a sentence, for tools with a state, and for calls without results.
    """
    codes = codes_of(implementation)
    if any(document[one] is not None for one in ("initial_state", "now", "seed")):
        raise ValueError("It sets an initial state, a clock or a seed, which constrained cases can’t have.")
    (task,) = document["tasks"]
    stored = {
        "kind": "constrained", "language": document["language"], "user_query": task["user_message"],
        "system_prompt": task["env_info"] or document["env_info"], "unsolved_set": _results(task["steps"], execution),
        "tool_codes": codes,
    }  # fmt: skip
    return SourceQuery(name, read_document(stored), tools)


def _results(calls: list[Mapping[str, Any]], execution: Execution | None) -> dict[str, list[str]]:
    """Return the texts that the calls returned, by function."""
    if execution is not None:
        if any(one.is_error for one in execution.outcomes):
            raise ValueError("One of its calls returns an error.")
        returned = [(one.name, one.result) for one in execution.outcomes]
    else:
        returned = [(one["name"], one["observation"]) for one in calls]
    found: dict[str, list[str]] = {}
    for name, result in returned:
        if result is None:
            raise ValueError("One of its calls returns nothing, or has not run.")
        found.setdefault(name, []).append(text_of(result))
    return found
