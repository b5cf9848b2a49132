"""Suggestions: values that a program proposes for places of a dialogue, for people to accept or refuse.

A place is an anchor (``/tasks/t1/policy``, ``/tasks/t1/steps/s2/arguments/city``). A dependency has a place of its own:
``/tasks/t1/steps/s2/depends_on/s1`` with its kind as the value; ``/tasks/t1/steps/s2/depends_on`` with ``[]`` says that
the step depends on nothing. A suggestion is never part of the document: it has the value only when somebody accepts it.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from annotator.core.comparison.anchors import (
    AnchorMissing,
    Document,
    find,
    join,
    label_key,
    lookup,
    position,
    split,
)
from annotator.core.comparison.placing import ABSENT
from annotator.core.fields import CustomField, span_problem, value_problem
from annotator.core.schema import canonical
from annotator.core.schema.documents import AnswerType, DependencyKind, Information, Policy
from annotator.core.schema.labels import label_value, labelled_parts
from annotator.core.suggestion_shape import PlaceKind, Suggested, SuggestionProblem, listed

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


def fitted(
    document: Document, one: Suggested, tools: Collection[str] | None = None, fields: Sequence[CustomField] = ()
) -> Suggested:
    """Return a suggestion with the kind of its place, and with its value as a document would store it.

    ``tools``: the names of the tools that calls may have; None: any. ``fields``: the project's custom fields. Raises
    SuggestionProblem if the document has no such place, or if the value is not allowed there.
    """
    kind = kind_of(document, one, tools, fields)
    # The members of a set are sorted; otherwise, an accepted suggestion would not look like the value that it gave.
    return replace(one, kind=kind, value=label_value(one.value) if kind is PlaceKind.LABEL else one.value)


def kind_of(
    document: Document, one: Suggested, tools: Collection[str] | None = None, fields: Sequence[CustomField] = ()
) -> PlaceKind:
    """Return the kind of a suggestion's place; see ``fitted``. Raises SuggestionProblem."""
    try:
        parts = split(one.place)
    except AnchorMissing:
        parts = ()
    of_dialogue = _OF_DIALOGUE.get(document["kind"])
    if of_dialogue is None:
        _refuse("place", "Suggestions are possible for dialogues of tasks and for single tasks only.")
    if label_key(parts):
        return _label(document, parts, one.value, fields)
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
            "place", f"Nothing can be suggested for {one.place[:80]}. A task has: {listed(of_task)}; and its steps."
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
        _refuse("place", f"Nothing can be suggested for {one.place[:80]}. This step has: {listed(fields)}.")
    if field == "depends_on":
        return _dependency(task, step, parts, value)
    if field == "arguments":
        return _argument(document, parts, value)
    if field == "name" and tools is not None and value not in tools:
        _refuse("value", f"The toolset has no tool {str(value)[:80]}. Its tools: {listed(tools)}.")
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


def _label(document: Document, parts: tuple[str, ...], value: Any, fields: Sequence[CustomField]) -> PlaceKind:
    *above, _, key = parts
    anchor = join(above)
    scope, part = next(((scope, part) for at, scope, part in labelled_parts(document) if at == anchor), ("", {}))
    here = [field for field in fields if field.scope == scope]
    field = next((one for one in here if one.key == key), None)
    if not scope:
        _refuse("place", f"The dialogue has no dialogue, task, call or answer at {anchor[:80]}.")
    if field is None:
        known = listed([one.key for one in here])
        _refuse("place", f"The project has no custom field “{key[:40]}” for this {scope}. Its fields there: {known}.")
    try:
        value = label_value(value)
    except ValueError as error:
        _refuse("value", f"{error}.")
    if problem := value_problem(field, value) or span_problem(field, value, part):
        _refuse("value", f"“{field.title}”: {problem}")
    return PlaceKind.LABEL


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
        _refuse("place", f"There is no {what} “{key[:80]}” {where}. Known: {listed([one['id'] for one in items])}.")
    return items[index]


def _where(document: Document, fields: Collection[str]) -> str:
    tasks = listed([task["id"] for task in document["tasks"]])
    return f"A dialogue of this kind has: {listed(fields)}; and the tasks {tasks}."


def _quoted(value: Any) -> str:
    text = canonical(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _refuse(field: str, message: str) -> NoReturn:
    raise SuggestionProblem(field, message)
