"""A pasted trajectory as batches of calls.

Accepted are: a list of batches, each a list of ``{"name", "arguments"}``; a flat list of such calls, one call per
batch; and messages in the OpenAI format, where each message with ``tool_calls`` is a batch. Arguments may be an object
or its JSON text. Calls that represent an answer or a question in the published formats are left out.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.decision_tree.task import CallCard
from annotator.core.editing.json_text import JsonProblem, read_json
from annotator.core.schema import SchemaProblem, canonical

#: Calls in one trajectory; a task has at most 64.
MAX_TRAJECTORY_CALLS = 256
#: Names of calls that represent an answer and a question in the published formats.
NOT_CALLS = frozenset({"prepare_to_answer", "ask_user_for_required_parameters"})

_FORMS = (
    'Use a list of batches such as [[{"name": "…", "arguments": {…}}], …], a flat list of calls (one call per batch), '
    "or messages with tool_calls."
)


class TrajectoryProblem(ValueError):
    """The text is not a valid trajectory; the message says what is wrong, where, and what to do."""


@dataclass(frozen=True)
class Trajectory:
    """``batches`` of ``{"name", "arguments"}``; ``left_out`` are the names of ignored calls, each once."""

    batches: tuple[tuple[dict[str, Any], ...], ...]
    left_out: tuple[str, ...] = ()


def read_trajectory(text: str) -> Trajectory:
    """Parse a trajectory. Raises TrajectoryProblem."""
    if not text.strip():
        raise TrajectoryProblem(f"Enter a trajectory. {_FORMS}")
    try:
        value = read_json(text)
    except JsonProblem as problem:
        raise TrajectoryProblem(str(problem)) from None
    raw = _batches(value)
    total = sum(len(batch) for batch in raw)
    if total > MAX_TRAJECTORY_CALLS:
        raise TrajectoryProblem(f"The text has {total:,} calls. At most {MAX_TRAJECTORY_CALLS} are allowed.")
    left_out: dict[str, None] = {}
    batches = []
    for number, entries in enumerate(raw, 1):
        calls = []
        for place, entry in enumerate(entries, 1):
            call = _call(entry, f"Batch {number}, call {place}")
            if call["name"] in NOT_CALLS:
                left_out[call["name"]] = None
            else:
                calls.append(call)
        if calls or not entries:
            batches.append(tuple(calls))
    if not any(batches):
        raise TrajectoryProblem(f"The text has no calls. {_FORMS}")
    return Trajectory(tuple(batches), tuple(left_out))


def write_trajectory(path: Iterable[Sequence[CallCard]]) -> str:
    """Return batches of reference calls as a text to paste, with one line for each call."""
    batches = []
    for batch in path:
        calls = (json.dumps({"name": card.name, "arguments": card.arguments}, ensure_ascii=False) for card in batch)
        batches.append("  [\n    " + ",\n    ".join(calls) + "\n  ]")
    return "[\n" + ",\n".join(batches) + "\n]"


def _batches(value: Any) -> list[list[Any]]:
    """Return the raw calls, batch by batch."""
    if isinstance(value, dict):
        if isinstance(value.get("messages"), list):
            return _batches(value["messages"])
        value = [value]
    if not isinstance(value, list):
        raise TrajectoryProblem(f"The trajectory is not a list. {_FORMS}")
    out: list[list[Any]] = []
    for number, entry in enumerate(value, 1):
        if isinstance(entry, list):
            out.append(entry)
        elif not isinstance(entry, dict):
            raise TrajectoryProblem(f"Entry {number} is neither a batch nor a call. {_FORMS}")
        elif "tool_calls" in entry or "role" in entry:
            calls = entry.get("tool_calls") or []
            if not isinstance(calls, list):
                raise TrajectoryProblem(f"Entry {number}: “tool_calls” must be a list.")
            if calls:
                out.append(calls)
        else:
            out.append([entry])
    return out


def _call(entry: Any, where: str) -> dict[str, Any]:
    if isinstance(entry, dict) and isinstance(entry.get("function"), dict):
        entry = entry["function"]
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"]:
        raise TrajectoryProblem(f"{where} has no name. {_FORMS}")
    where = f"{where} ({_name(entry['name'], where)[:80]})"
    arguments = entry.get("arguments", {})
    if isinstance(arguments, str):
        try:
            arguments = read_json(arguments)
        except JsonProblem as problem:
            raise TrajectoryProblem(f"{where}: the arguments are not valid JSON. {problem}") from None
    if not isinstance(arguments, dict):
        raise TrajectoryProblem(f"{where}: the arguments must be an object.")
    try:
        canonical(arguments)
    except SchemaProblem as problem:
        raise TrajectoryProblem(f"{where}: {problem}") from None
    return {"name": entry["name"], "arguments": arguments}


def _name(name: str, where: str) -> str:
    try:
        canonical([name])
    except SchemaProblem as problem:
        raise TrajectoryProblem(f"{where}: the name is not valid. {problem.problems[0].message}") from None
    return name
