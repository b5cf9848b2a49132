"""Replays as rows for pipelines, in the form of the published checker's results."""

from collections.abc import Mapping
from typing import Any

from annotator.core.constraints.model import Constraint
from annotator.core.constraints.native import read_constraint
from annotator.core.constraints.replay import Turn, replay
from annotator.core.constraints.rounds import Call, Round
from annotator.core.constraints.taxonomy import constraint_problems
from annotator.core.schema.errors import SchemaProblem
from annotator.core.schema.toolsets import CompiledToolset

MAX_CONSTRAINTS = 500
MAX_ROUNDS = 1_000
MAX_CALLS = 1_000


class NotATrajectory(ValueError):
    """A record that cannot be replayed; the message says what is wrong."""


def replay_row(record: object) -> dict[str, Any]:
    """Return the row of a record ``{"constraints": […], "turns": [{"tool_calls": […]} | {"final": text} …],
    "tools"?}``.

    A call is a tool's name or ``{"name", "arguments"}``; with ``tools`` as JSON Schemas, toolset constraints are judged
    by them (a list of names says nothing about arguments). The row has one list for each turn, with an entry for each
    call or final response that violates something. Reaching the limit of rounds is not a violation: the published
    checker ends the task and reports none. Raises NotATrajectory.
    """
    if not isinstance(record, Mapping):
        raise NotATrajectory("A trajectory must be a JSON object with “constraints” and “turns”.")
    constraints = [_constraint(i, each) for i, each in enumerate(_listed(record, "constraints"))]
    if len(constraints) > MAX_CONSTRAINTS:
        raise NotATrajectory(f"There are {len(constraints)} constraints. The limit is {MAX_CONSTRAINTS}.")
    turns = _listed(record, "turns")
    if len(turns) > MAX_ROUNDS:
        raise NotATrajectory(f"There are {len(turns):,} turns. The limit is {MAX_ROUNDS:,}.")
    rounds = [_round(i, turn) for i, turn in enumerate(turns)]
    try:
        replayed = replay(constraints, rounds, toolset=_toolset(record.get("tools")))
    except SchemaProblem as problem:
        raise NotATrajectory(problem.problems[0].message) from problem
    return {"turns": [_turn_row(turn) for turn in replayed.turns]}


def _turn_row(turn: Turn) -> list[dict[str, Any]]:
    found: dict[int | None, list[str]] = {}
    for each in turn.broken:
        if each.breach.label != "MAX ROUND":
            found.setdefault(each.breach.call, []).append(each.breach.label)
    calls = sorted(call for call in found if call is not None)
    rows: list[dict[str, Any]] = [{"call": call, "violations": found[call]} for call in calls]
    return [*rows, {"final": True, "violations": found[None]}] if None in found else rows


def _listed(record: Mapping[str, Any], key: str) -> list[Any]:
    if key not in record:
        raise NotATrajectory(f"“{key}” is missing.")
    if not isinstance(record[key], list):
        raise NotATrajectory(f"“{key}” is not a list.")
    value: list[Any] = record[key]
    return value


def _constraint(position: int, record: object) -> Constraint:
    try:
        constraint = read_constraint(record)
        problems = constraint_problems(constraint)
    except SchemaProblem as problem:
        problems = problem.problems
    if problems:
        place, sentence = problems[0].pointer, problems[0].message
        raise NotATrajectory(f"Constraint {position} ({place or '/'}): {sentence}")
    return constraint


def _round(position: int, turn: object) -> Round:
    if not isinstance(turn, Mapping) or ("final" in turn) == ("tool_calls" in turn):
        raise NotATrajectory(f"Turn {position} needs either “tool_calls” or “final”.")
    if "final" in turn:
        if not isinstance(turn["final"], str):
            raise NotATrajectory(f"The final response of turn {position} is not text.")
        return Round(final=turn["final"])
    calls = turn["tool_calls"]
    if not isinstance(calls, list) or not calls:
        raise NotATrajectory(f"The calls of turn {position} are not a list with at least one call.")
    if len(calls) > MAX_CALLS:
        raise NotATrajectory(f"Turn {position} has {len(calls):,} calls. The limit is {MAX_CALLS:,}.")
    return Round(tuple(_call(position, i, call) for i, call in enumerate(calls)))


def _call(turn: int, position: int, call: object) -> Call:
    if isinstance(call, str) and call:
        return Call(call)
    if isinstance(call, Mapping) and isinstance(call.get("name"), str) and call["name"]:
        arguments = call.get("arguments")
        if arguments is None or isinstance(arguments, dict | str):
            return Call(call["name"], arguments)
    raise NotATrajectory(f"Call {position} of turn {turn} must be a tool's name, or a name with arguments.")


def _toolset(tools: object) -> CompiledToolset | None:
    if tools is None or (isinstance(tools, list) and all(isinstance(tool, str) for tool in tools)):
        return None
    if not isinstance(tools, list):
        raise NotATrajectory("“tools” is not a list.")
    try:
        return CompiledToolset.of_tools(tools)
    except SchemaProblem as problem:
        raise NotATrajectory(f"The tools cannot be read: {problem.problems[0].message}") from problem
