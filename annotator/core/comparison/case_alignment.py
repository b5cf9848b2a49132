"""Match the constraints, rounds and calls that two people added to a case independently.

New items get random ids, so an item that two people add gets two ids. Two items are the same if their content is equal,
or else if they have the same subject: a constraint's category and the tools in its parameters, a round's tools, or a
call's tool.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import orjson

from annotator.core.comparison.anchors import Document
from annotator.core.schema.exact_json import dumps

Thing = dict[str, Any]
#: What two items must have in common to be the same; None if they cannot be.
Key = Callable[[Thing], Hashable | None]


def align_case(left: Document, right: Document) -> Document:
    """Return ``right`` with the ids of its parts changed to those of the same parts in ``left``."""
    changed: Document = {}
    constraints = renamed(right["constraints"], pairs(left["constraints"], right["constraints"], _CONSTRAINT))
    if constraints is not right["constraints"]:
        changed["constraints"] = constraints
    ours, theirs = left["reference_trajectory"], right["reference_trajectory"]
    if ours and theirs:
        rounds = _rounds(ours, theirs)
        if rounds is not theirs:
            changed["reference_trajectory"] = rounds
    return {**right, **changed} if changed else right


def _rounds(left: list[Thing], right: list[Thing]) -> list[Thing]:
    rounds = renamed(right, pairs(left, right, _ROUND))
    by_id = {round_["id"]: round_ for round_ in left}
    used = {call["id"] for round_ in right for call in round_["calls"]}
    out = []
    for round_ in rounds:
        known = by_id.get(round_["id"])
        names = pairs(known["calls"], round_["calls"], _CALL) if known else {}
        # A call that this version has in another round keeps its id, so this one cannot have it.
        names = {old: new for old, new in names.items() if new not in used}
        calls = renamed(round_["calls"], names)
        out.append(round_ if calls is round_["calls"] else {**round_, "calls": calls})
    return rounds if all(a is b for a, b in zip(out, rounds, strict=True)) else out


def pairs(left: list[Thing], right: list[Thing], keys: Iterable[Key]) -> dict[str, str]:
    """Return id in ``right`` → id in ``left``, for items whose id only one side has."""
    ids = [{thing["id"] for thing in side} for side in (left, right)]
    ours = [thing for thing in left if thing["id"] not in ids[1]]
    theirs = [thing for thing in right if thing["id"] not in ids[0]]
    names: dict[str, str] = {}
    for key in keys if ours and theirs else ():
        free: dict[Hashable, list[str]] = {}
        for thing in ours:
            mark = key(thing)
            if mark is not None and thing["id"] not in names.values():
                free.setdefault(mark, []).append(thing["id"])
        for thing in theirs:
            waiting = free.get(key(thing)) if thing["id"] not in names else None
            if waiting:
                names[thing["id"]] = waiting.pop(0)
    return names


def renamed(things: list[Thing], names: dict[str, str]) -> list[Thing]:
    if not names:
        return things
    return [{**thing, "id": names[thing["id"]]} if thing["id"] in names else thing for thing in things]


def written(*values: Any) -> bytes:
    return dumps(values, option=orjson.OPT_SORT_KEYS)


def _rule(constraint: Thing) -> Hashable:
    words = (constraint["text"] or "").split()
    return written(constraint["category"], words, *(constraint[key] for key in ("parameters", "variants", "validator")))


def _text(constraint: Thing) -> Hashable | None:
    words = (constraint["text"] or "").split()
    return (constraint["category"], *words) if words else None


def _subject(constraint: Thing) -> Hashable | None:
    """Return category and tools if parameters state the rule; None for code, which is never taken for the same."""
    if not constraint["category"] or not constraint["parameters"]:
        return None
    return constraint["category"], frozenset(_names(list(constraint["parameters"].values())))


def _names(values: Iterable[Any]) -> Iterable[str]:
    """Yield the tools that a category's parameters name, in lists or as keys."""
    for value in values:
        if isinstance(value, dict):
            yield from value
        elif isinstance(value, list):
            yield from (one for one in value if isinstance(one, str))
            yield from _names(one for one in value if isinstance(one, list))


def _call_content(call: Thing) -> Hashable:
    return written(call["name"], call["arguments"])


def _round_content(round_: Thing) -> Hashable | None:
    if not round_["calls"] and not round_["final"]:
        return None
    calls = [[call["name"], call["arguments"]] for call in round_["calls"]]
    return written(calls, (round_["final"] or "").split())


def _round_tools(round_: Thing) -> Hashable:
    return tuple(sorted(call["name"] for call in round_["calls"])), round_["final"] is None


_CONSTRAINT: tuple[Key, ...] = (_rule, _text, _subject)
_ROUND: tuple[Key, ...] = (_round_content, _round_tools)
_CALL: tuple[Key, ...] = (_call_content, lambda call: call["name"])
