"""The effect of choices at disputed places on each other: choices without effect, and parts removed with others."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from annotator.core.comparison.alignment import align
from annotator.core.comparison.anchor_wording import describe, step_words
from annotator.core.comparison.anchors import ORDER, Document, join, named, split
from annotator.core.comparison.changes import edges
from annotator.core.comparison.describing import value_text
from annotator.core.comparison.discrepancies import Discrepancy
from annotator.core.comparison.merging import Choice


def moot_anchors(
    left: Document, right: Document, disputed: Iterable[Discrepancy], choices: Mapping[str, Choice]
) -> dict[str, str]:
    """Return the anchors at which choices elsewhere make left and right equal: {anchor: reason, as a sentence}.

    These are dependencies that differ only in edges to omitted steps, and an order that differs only in omitted tasks.
    """
    right = align(left, right)
    disputed = list(disputed)
    #: Task → its steps that are left out; blank: the tasks themselves.
    gone: dict[str, set[str]] = {}
    for *above, key in map(split, dropped(disputed, choices)):
        if above[0] == "tasks":
            gone.setdefault("".join(above[1:2]), set()).add(key)
    out = {}
    for discrepancy in disputed:
        parts = split(discrepancy.anchor)
        if discrepancy.anchor == "/tasks" + ORDER:
            lost = gone.get("", set())
            kept = [[key for key in ids if key not in lost] for ids in (discrepancy.left, discrepancy.right)]
            common = [[key for key in ids if key in kept[0] and key in kept[1]] for ids in kept]
            if lost and common[0] == common[1]:
                out[discrepancy.anchor] = "Without the tasks that are left out, the order is the same in both."
        elif len(parts) == 5 and parts[4] == "depends_on":
            lost = gone.get(parts[1], set())
            sides = [edges(value) for value in (discrepancy.left, discrepancy.right)]
            differing = (sides[0] or frozenset()) ^ (sides[1] or frozenset())
            if None not in sides and lost and all(key in lost for key, _ in differing):
                names = sorted({key for key, _ in differing})
                words = ", ".join(describe(_holder(left, right, parts[1], key), _step(parts[1], key)) for key in names)
                out[discrepancy.anchor] = f"The only differences are dependencies on what is left out: {words}."
    return out


def dropped(disputed: Iterable[Discrepancy], choices: Mapping[str, Choice]) -> list[str]:
    """Return the anchors of the disputed tasks and steps, constraints, rounds and calls that the choices leave out."""
    out = []
    for discrepancy in disputed:
        choice = choices.get(discrepancy.anchor)
        if is_whole(split(discrepancy.anchor)) and choice is not None and _leaves_out(choice, discrepancy):
            out.append(discrepancy.anchor)
    return out


def is_whole(parts: Sequence[str]) -> bool:
    """Return whether these parts of an anchor name an item with an id, which is taken or left out as a whole."""
    return len(parts) in (2, 4) and named(tuple(parts[:-1]))


def lost_dependencies(
    left: Document, right: Document, disputed: Iterable[Discrepancy], choices: Mapping[str, Choice], settled: Document
) -> list[str]:
    """Return which steps no longer wait for a left-out step, as sentences."""
    right = align(left, right)
    out = []
    for anchor in dropped(disputed, choices):
        parts = split(anchor)
        if len(parts) != 4 or parts[0] != "tasks":
            continue
        waiting: dict[str, str] = {}
        kept = {step["id"]: step for task in settled["tasks"] if task["id"] == parts[1] for step in task["steps"]}
        for side in (left, right):
            for task in side["tasks"]:
                for step in task["steps"] if task["id"] == parts[1] else ():
                    needs = {one["id"] for one in step["depends_on"] or ()}
                    if parts[3] in needs and step["id"] in kept:
                        waiting[step["id"]] = step_words(kept[step["id"]])
        if waiting:
            what = describe(_holder(left, right, parts[1], parts[3]), anchor)
            words = ", ".join(waiting.values())
            verb = "waits" if len(waiting) == 1 else "wait"
            out.append(f"{what[0].upper()}{what[1:]} is left out, so {words} no longer {verb} for it.")
    return out


def readable(value: Any) -> str:
    """Return a disputed value as text to compare: a step as its tool, arguments, observation and dependencies.

    The same applies to a constraint, a round and a call of a constrained case; a tool of a toolset is its JSON.
    """
    if isinstance(value, dict) and value.keys() >= {"category", "parameters", "text"}:
        return _lines(f"{value['category'] or 'no category'}: {value['text'] or 'no text'}", value, _RULE_PARTS)
    if isinstance(value, dict) and value.keys() == {"id", "tool", "extra"}:
        return value_text(value["tool"])
    if isinstance(value, dict) and value.keys() >= {"calls", "final"}:
        final = [f"final response:\n{value['final']}"] if value["final"] is not None else []
        return "\n\n".join([*map(readable, value["calls"]), *final]) or "no calls and no final response"
    if isinstance(value, dict) and value.keys() >= {"name", "arguments", "observation"} and "type" not in value:
        return _lines(f"call {value['name']}", value, _PARTS)
    if not isinstance(value, dict) or "type" not in value or "depends_on" not in value:
        return value_text(value)
    needs = value["depends_on"]
    said = "not annotated" if needs is None else value_text(needs) if needs else "nothing"
    return f"{_lines(step_words(value), value, _PARTS)}\ndepends on: {said}"


def _lines(head: str, value: dict[str, Any], parts: Iterable[tuple[str, str]]) -> str:
    """Return a heading, followed by the parts that exist."""
    lines = [head]
    for key, words in parts:
        if value.get(key) not in (None, {}, []):
            lines += [f"{words}:", value_text(value[key])]
    return "\n".join(lines)


_RULE_PARTS = (
    ("parameters", "parameters"),
    ("variants", "variants"),
    ("anchor", "span of the system prompt"),
    ("validator", "validator"),
)
_PARTS = (
    ("arguments", "arguments"),
    ("observation", "observation"),
    ("inferable", "inferable"),
    ("question", "question"),
    ("user_reply", "user reply"),
    ("text", "text"),
    ("answer_type", "answer type"),
)


def _leaves_out(choice: Choice, discrepancy: Discrepancy) -> bool:
    if choice == "left":
        return discrepancy.left is None
    if choice == "right":
        return discrepancy.right is None
    return isinstance(choice, Mapping) and choice.get("absent") is True


def _step(task: str, key: str) -> str:
    return join(("tasks", task, "steps", key))


def _holder(left: Document, right: Document, task: str, key: str) -> Document:
    """Return the version that has the step; left if both do."""
    there = any(one["id"] == task and any(step["id"] == key for step in one["steps"]) for one in left["tasks"])
    return left if there else right
