"""Suggestions: values that a program proposes for places of a dialogue, for people to accept or refuse.

A place is an anchor (``/tasks/t1/policy``, ``/tasks/t1/steps/s2/arguments/city``). A dependency has a place of its own:
``/tasks/t1/steps/s2/depends_on/s1`` with its kind as the value; ``/tasks/t1/steps/s2/depends_on`` with ``[]`` says that
the step depends on nothing. A suggestion is never part of the document: it has the value only when somebody accepts it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import Any, NoReturn

from annotator.core.comparison.anchors import AnchorMissing, Document, find, join, lookup, position, split
from annotator.core.comparison.changes import same_value
from annotator.core.comparison.placing import ABSENT
from annotator.core.schema import SchemaProblem, canonical
from annotator.core.schema.documents import AnswerType, DependencyKind, Information, Policy

#: Characters of a place, of a source, and of a value as JSON.
MAX_PLACE = 600
MAX_SOURCE = 120
MAX_VALUE = 20_000
#: The source of the dependencies that an import turns into suggestions.
OF_IMPORT = "import"
_FIELDS = frozenset({"place", "value", "source", "score"})
#: Ids that a sentence lists.
_LISTED = 10


class PlaceKind(StrEnum):
    """What a suggestion is about; acceptance is counted for each."""

    POLICY = "policy"
    INFORMATION = "information"
    ANSWER_TYPE = "answer_type"
    LANGUAGE = "language"
    CATEGORY = "category"
    TEXT = "text"
    TOOL = "tool"
    ARGUMENT = "argument"
    OBSERVATION = "observation"
    DEPENDENCY = "dependency"


class SuggestionProblem(ValueError):
    """A suggestion that cannot be stored: the field that is wrong, and a sentence that says what to do."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True)
class Suggested:
    """A suggestion. ``source``: the name of the model or script; ``score``: its certainty from 0 to 1, or None."""

    place: str
    value: Any
    source: str
    score: float | None = None
    kind: str = ""


#: The fields of each kind of document, by name: of the dialogue, of its tasks.
_OF_DIALOGUE = {
    "multi_turn": {"language": PlaceKind.LANGUAGE, "env_info": PlaceKind.TEXT},
    "single_task": {"language": PlaceKind.LANGUAGE, "env_info": PlaceKind.TEXT, "category": PlaceKind.CATEGORY},
}
_OF_TASK = {
    "multi_turn": {
        "user_message": PlaceKind.TEXT, "policy": PlaceKind.POLICY, "information": PlaceKind.INFORMATION,
    },
    "single_task": {"user_message": PlaceKind.TEXT},
}  # fmt: skip
_OF_STEP = {
    "call": {"name": PlaceKind.TOOL, "arguments": PlaceKind.ARGUMENT, "observation": PlaceKind.OBSERVATION},
    "clarification": {"question": PlaceKind.TEXT, "user_reply": PlaceKind.TEXT},
    "answer": {"text": PlaceKind.TEXT, "answer_type": PlaceKind.ANSWER_TYPE},
}
#: Fields of steps that only dialogues of several tasks have.
_MULTI_TURN_ONLY = ("observation", "depends_on")
#: The values of labels; a language is one of the document's schema.
_VALUES: dict[str, Collection[str]] = {
    PlaceKind.POLICY: tuple(Policy),
    PlaceKind.INFORMATION: tuple(Information),
    PlaceKind.ANSWER_TYPE: tuple(AnswerType),
    PlaceKind.LANGUAGE: ("en", "zh"),
    PlaceKind.DEPENDENCY: tuple(DependencyKind),
}
_MAX_CATEGORY = 80


def read_suggestion(raw: Any) -> Suggested:
    """Return a suggestion of ``{"place", "value", "source" [, "score"]}``. Its place is not looked up.

    Raises SuggestionProblem.
    """
    if not isinstance(raw, Mapping):
        raise SuggestionProblem("", "A suggestion must be an object with “place”, “value” and “source”.")
    for name in ("place", "value", "source"):
        if raw.get(name) is None:
            raise SuggestionProblem(name, f"The suggestion has no {name}. Add it.")
    unknown = sorted(str(name)[:40] for name in raw if name not in _FIELDS)
    if unknown:
        raise SuggestionProblem("", f"A suggestion has no field “{unknown[0]}”. Its fields: {_listed(_FIELDS)}.")
    place, source = raw["place"], raw["source"]
    if not isinstance(place, str) or not place.startswith("/") or len(place) > MAX_PLACE or "\0" in place:
        raise SuggestionProblem(
            "place", f"The place must be text such as /tasks/t1/policy, with at most {MAX_PLACE} characters."
        )
    if not isinstance(source, str) or not source.strip() or len(source) > MAX_SOURCE or not source.isprintable():
        raise SuggestionProblem(
            "source", f"The source must name the model or script, with 1 to {MAX_SOURCE} printable characters."
        )
    try:
        size = len(canonical(raw["value"]))
    except SchemaProblem as problem:
        raise SuggestionProblem("value", f"The value can’t be stored: {problem}") from None
    if size > MAX_VALUE:
        raise SuggestionProblem("value", f"The value has {size:,} characters as JSON. The limit is {MAX_VALUE:,}.")
    return Suggested(place, raw["value"], source.strip(), _read_score(raw.get("score")))


def _read_score(score: Any) -> float | None:
    if score is None:
        return None
    try:
        number = float(score) if isinstance(score, int | float) and not isinstance(score, bool) else float("nan")
    except OverflowError:
        number = float("nan")
    if not isfinite(number) or not 0 <= number <= 1:
        raise SuggestionProblem("score", "The score must be a number from 0 to 1, or null.")
    return number


def kind_of(document: Document, one: Suggested, tools: Collection[str] | None = None) -> PlaceKind:
    """Return the kind of a suggestion's place. ``tools``: the names of the tools that calls may have; None: any.

    Raises SuggestionProblem if the document has no such place, or if the value is not allowed there.
    """
    try:
        parts = split(one.place)
    except AnchorMissing:
        parts = ()
    of_dialogue = _OF_DIALOGUE.get(document["kind"])
    if of_dialogue is None:
        _refuse("place", "Suggestions are possible for dialogues of tasks and for single tasks only.")
    if len(parts) == 1 and parts[0] in of_dialogue:
        return _checked(of_dialogue[parts[0]], one.value)
    if len(parts) < 3 or parts[0] != "tasks":
        _refuse("place", f"Nothing can be suggested for {one.place[:80]}. {_where(document, of_dialogue)}")
    task = _item(document["tasks"], parts[1], "task", "in this dialogue")
    of_task = _OF_TASK[document["kind"]]
    if len(parts) == 3 and parts[2] in of_task:
        return _checked(of_task[parts[2]], one.value)
    if len(parts) < 5 or parts[2] != "steps":
        _refuse(
            "place", f"Nothing can be suggested for {one.place[:80]}. A task has: {_listed(of_task)}; and its steps."
        )
    return _kind_in_step(document, task, parts, one, tools)


def _kind_in_step(
    document: Document, task: dict[str, Any], parts: tuple[str, ...], one: Suggested, tools: Collection[str] | None
) -> PlaceKind:
    step = _item(task["steps"], parts[3], "step", f"in task {task['id']}")
    field, value = parts[4], one.value
    fields = _OF_STEP[step["type"]] | {"depends_on": PlaceKind.DEPENDENCY}
    if document["kind"] != "multi_turn":
        fields = {name: kind for name, kind in fields.items() if name not in _MULTI_TURN_ONLY}
    if field not in fields or (len(parts) > 5 and field not in ("arguments", "depends_on")):
        _refuse("place", f"Nothing can be suggested for {one.place[:80]}. This step has: {_listed(fields)}.")
    if field == "depends_on":
        return _dependency(task, step, parts, value)
    if field == "arguments":
        return _argument(document, parts, value)
    if field == "name" and tools is not None and value not in tools:
        _refuse("value", f"The toolset has no tool {str(value)[:80]}. Its tools: {_listed(tools)}.")
    return _checked(fields[field], value)


def _dependency(task: dict[str, Any], step: dict[str, Any], parts: tuple[str, ...], value: Any) -> PlaceKind:
    if len(parts) == 5:
        if value != []:
            _refuse(
                "value",
                "Here, only [] is possible: the step depends on nothing. Suggest each dependency at its own place, "
                f"{join(parts)}/ID of the other step.",
            )
        return PlaceKind.DEPENDENCY
    other = _item(task["steps"], parts[5], "step", f"in task {task['id']}")
    if len(parts) > 6 or other["id"] == step["id"] or other["type"] == "answer":
        _refuse("place", f"{step['id']} can’t depend on {'/'.join(parts[5:])[:80]}. Choose another step of its task.")
    return _checked(PlaceKind.DEPENDENCY, value)


def _argument(document: Document, parts: tuple[str, ...], value: Any) -> PlaceKind:
    if len(parts) == 5:
        if not isinstance(value, dict):
            _refuse("value", "The arguments of a call must be an object.")
        return PlaceKind.ARGUMENT
    holder = lookup(document, join(parts[:-1]), ABSENT)
    if not isinstance(holder, dict) and not (isinstance(holder, list) and position(parts[-1], len(holder)) >= 0):
        _refuse("place", f"The call has no {join(parts[4:])[:80]}. Suggest the value around it instead.")
    return PlaceKind.ARGUMENT


def _checked(kind: PlaceKind, value: Any) -> PlaceKind:
    allowed = _VALUES.get(kind)
    if allowed is not None and (not isinstance(value, str) or value not in allowed):
        _refuse("value", f"{_quoted(value)} isn’t allowed here. Use one of: {', '.join(allowed)}.")
    if kind in (PlaceKind.TEXT, PlaceKind.CATEGORY, PlaceKind.TOOL) and not (isinstance(value, str) and value.strip()):
        _refuse("value", "The value must be text that isn’t blank.")
    if kind is PlaceKind.CATEGORY and len(value.strip()) > _MAX_CATEGORY:
        _refuse("value", f"A category has at most {_MAX_CATEGORY} characters.")
    return kind


def _item(items: list[dict[str, Any]], key: str, what: str, where: str) -> dict[str, Any]:
    index = find(items, key)
    if index < 0:
        _refuse("place", f"There is no {what} “{key[:80]}” {where}. Known: {_listed([one['id'] for one in items])}.")
    return items[index]


def _where(document: Document, fields: Collection[str]) -> str:
    tasks = _listed([task["id"] for task in document["tasks"]])
    return f"A dialogue of this kind has: {_listed(fields)}; and the tasks {tasks}."


def _listed(names: Collection[str]) -> str:
    shown = sorted(names) if isinstance(names, set | frozenset) else list(names)
    return ", ".join([*shown[:_LISTED], *(["…"] if len(shown) > _LISTED else [])]) or "none"


def _quoted(value: Any) -> str:
    text = canonical(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _refuse(field: str, message: str) -> NoReturn:
    raise SuggestionProblem(field, message)


def current_value(document: Document, place: str) -> Any:
    """Return what the document has at a suggestion's place: for a dependency its kind. ABSENT if the place is gone."""
    edge = _edge(place)
    if edge is None:
        value = lookup(document, place, ABSENT)
        # An argument that the call does not have yet has a place if its call has.
        return None if value is ABSENT and _is_new_argument(document, place) else value
    step, needed = edge
    edges = lookup(document, f"{step}/depends_on", ABSENT)
    if edges is ABSENT or lookup(document, join([*split(step)[:-1], needed]), ABSENT) is ABSENT:
        return ABSENT
    return next((one["kind"] for one in edges or () if one["id"] == needed), None)


def is_taken(document: Document, place: str, value: Any) -> bool:
    """Return whether the document has the suggested value at the place."""
    now = current_value(document, place)
    return now is not ABSENT and same_value(now, value)


def operation_of(place: str, value: Any) -> dict[str, Any]:
    """Return the edit operation that makes the suggested value the document's."""
    edge = _edge(place)
    if edge is None:
        return {"op": "set", "anchor": place, "value": value}
    step, needed = edge
    return {"op": "add_dependency", "anchor": step, "id": needed, "kind": value}


def edge_of(place: str) -> tuple[str, str, str] | None:
    """Return (task id, step id, id of the step it needs) of a dependency's place; None for other places."""
    edge = _edge(place)
    if edge is None:
        return None
    parts = split(edge[0])
    return parts[1], parts[3], edge[1]


def _edge(place: str) -> tuple[str, str] | None:
    parts = split(place)
    if len(parts) == 6 and parts[0] == "tasks" and parts[2] == "steps" and parts[4] == "depends_on":
        return join(parts[:4]), parts[5]
    return None


def _is_new_argument(document: Document, place: str) -> bool:
    parts = split(place)
    if len(parts) < 6 or parts[4] != "arguments":
        return False
    return isinstance(lookup(document, join(parts[:-1]), ABSENT), dict)


def take_dependencies(document: Document, source: str = OF_IMPORT) -> tuple[Document, list[Suggested]]:
    """Return the document with no dependencies annotated, and those that it had as suggestions.

    Only a dialogue of several tasks has dependencies that people annotate; others are returned unchanged.
    """
    if document["kind"] != "multi_turn":
        return document, []
    found: list[Suggested] = []
    tasks = []
    for task in document["tasks"]:
        steps = []
        for step in task["steps"]:
            place = join(["tasks", task["id"], "steps", step["id"], "depends_on"])
            edges = step["depends_on"]
            if edges is not None:
                found += [_kept(join([*split(place), one["id"]]), one["kind"], source) for one in edges]
                found += [] if edges else [_kept(place, [], source)]
            steps.append({**step, "depends_on": None})
        tasks.append({**task, "steps": steps})
    return {**document, "tasks": tasks}, found


def _kept(place: str, value: Any, source: str) -> Suggested:
    return Suggested(place, value, source, None, PlaceKind.DEPENDENCY)
