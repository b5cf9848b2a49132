"""The parts that language variants of a dialogue share: everything except the words, which are translated."""

from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]


#: Keys whose texts are not translated: labels, names of tools.
_LABELS = frozenset({"scenario", "dimension", "category", "name", "parameters", "first", "form"})
#: Below these, no key is a label; parameters are all of one kind.
_OPEN = frozenset({"arguments", "observation", "unsolved_set", "validator", "extra", "parameters"})


def shared_difference(one: Document, other: Document) -> str:
    """Return the first place, in words, where two variants differ but should not; blank if there is none."""
    for (location, mine), (_, theirs) in zip(_shared(one), _shared(other), strict=False):
        if mine != theirs:
            return location
    return "the number of tasks" if len(list(_shared(one))) != len(list(_shared(other))) else ""


def _shared(document: Document) -> Iterator[tuple[str, Any]]:
    """Yield (location in words, value) of everything shared; tasks and steps by position, because ids may differ."""
    yield "the kind of dialogue", document["kind"]
    if "tasks" not in document:
        for key in sorted(set(document) - {"language", "kind"}):
            yield key.replace("_", " "), _without_words(document[key], key)
        return
    yield "the dialogue so far", [message["role"] for message in document.get("context", ())]
    yield "the number of tasks", len(document["tasks"])
    for number, task in enumerate(document["tasks"], 1):
        yield f"the policy of task {number}", task["policy"]
        yield f"the information label of task {number}", task["information"]
        order = {step["id"]: position for position, step in enumerate(task["steps"])}
        yield f"the steps of task {number}", [(step["type"], step.get("name")) for step in task["steps"]]
        for step_number, step in enumerate(task["steps"], 1):
            where = f"of step {step_number} of task {number}"
            needs = step["depends_on"]
            yield (
                f"the dependencies {where}",
                needs if needs is None else {(order.get(one["id"], one["id"]), one["kind"]) for one in needs},
            )
            yield f"the arguments {where}", _without_words(step.get("arguments"), "arguments")
            yield f"the observation {where}", _without_words(step.get("observation"), "observation")
            yield f"the answer type {where}", step.get("answer_type")


def _without_words(value: Any, key: str) -> Any:
    """Return the content under a key with every text blanked, except labels; 40.0 is not 40, and true is not 1."""
    if isinstance(value, str):
        return value if key in _LABELS else ""
    if isinstance(value, dict):
        return {
            # The parameters of a built-in validator count as words; its name does not.
            inner: _without_words(one, key if key in _OPEN and (key, inner) != ("validator", "form") else inner)
            for inner, one in value.items()
        }
    return [_without_words(one, key) for one in value] if isinstance(value, list) else repr(value)
