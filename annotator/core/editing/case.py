"""Edits of a constrained case: texts and labels, JSON values, observations, code."""

from typing import Any

from annotator.core.comparison.anchors import join, label_key
from annotator.core.constraints.taxonomy import find_category
from annotator.core.editing.arguments import observed
from annotator.core.editing.json_text import JsonProblem, read_json
from annotator.core.editing.labels import set_label
from annotator.core.editing.scope import Edit, line_ends
from annotator.core.schema.constrained import MAX_CODE

#: Texts and labels, by their place; blank ones become null if null means “not annotated”.
_FIELDS = frozenset({"system_prompt", "user_query", "answer", "scenario", "language"})
_CONSTRAINT = frozenset({"text", "anchor", "dimension"})
#: Texts that are required, but may be empty.
_REQUIRED = frozenset({"user_query", "name"})
_JSON_FIELDS = frozenset({"unsolved_set", "reference_trajectory"})
_JSON_CONSTRAINT = frozenset({"parameters", "variants", "validator"})
_JSON_CALL = frozenset({"arguments", "observation"})
#: Lists and objects that an empty text leaves empty; other values become null.
_EMPTY: dict[str, Any] = {"variants": [], "arguments": {}, "expected": []}


def set_value(edit: Edit) -> str:
    """Set the text or label at the anchor."""
    parts = edit.parts()
    if label_key(parts):
        return set_label(edit)
    field = _text_field(parts)
    if not field:
        return edit.refuse("This place cannot be set as text.")
    _known(edit, parts)
    value = edit.value()
    if value is None and field in _REQUIRED:
        value = ""
    if value is not None:
        value = edit.as_text(value)
        before = edit.at(edit.anchor)
        if isinstance(before, str) and line_ends(before) == value:
            # A browser changes line ends: that is not an edit.
            return edit.anchor
        if field == "name":
            value = edit.known_tool(value)
        elif field not in _REQUIRED and not value.strip():
            value = None
    return edit.put(edit.anchor, value)


def set_language(edit: Edit) -> str:
    edit.anchor = "/language"
    return set_value(edit)


def set_category(edit: Edit) -> str:
    """Set the category of the constraint; its dimension follows."""
    parts = edit.parts()
    if len(parts) != 2 or parts[0] != "constraints":
        edit.refuse("This edit needs the anchor of a constraint, such as /constraints/c0.")
    constraint = edit.at(edit.anchor)
    value = edit.value()
    category = find_category(edit.as_text(value)) if value else None
    if value and category is None:
        edit.refuse("Choose one of the categories of constraints.", f"{edit.anchor}/category")
    constraint["category"] = category.id if category else None
    if category:
        constraint["dimension"] = category.dimension.value
        if constraint["parameters"] is None:
            constraint["parameters"] = category.usual(list(edit.toolset.tools) if edit.toolset else [])
    return edit.anchor


def set_json(edit: Edit) -> str:
    """Set a value given as “value” or as JSON “text”; an empty text is null, or the empty list or object."""
    parts = edit.parts()
    field = _json_field(parts)
    if not field:
        return edit.refuse("This place cannot be set as JSON.")
    _known(edit, parts)
    if "text" not in edit.op:
        return edit.put(edit.anchor, edit.value())
    text = edit.text("text")
    if not text.strip():
        return edit.put(edit.anchor, _EMPTY.get(field))
    try:
        return edit.put(edit.anchor, read_json(text))
    except JsonProblem as problem:
        return edit.refuse(str(problem))


def set_observation(edit: Edit) -> str:
    """Set the result of a call's tool, given as “value” or as “text”, read as for a dialogue's call."""
    parts = edit.parts()
    if len(parts) != 4 or parts[0] != "reference_trajectory" or parts[2] != "calls":
        edit.refuse("This edit needs the anchor of a call, such as /reference_trajectory/r1/calls/s1.")
    anchor = f"{edit.anchor}/observation"
    return edit.put(anchor, observed(edit, edit.at(edit.anchor)["observation"], anchor))


def set_code(edit: Edit) -> str:
    """Set the code of a tool, or of a validator, with the name of its judging function in “function”.

    An empty text removes a validator. Its examples stay; a built-in validator is replaced by the code.
    """
    parts = edit.parts()
    text = edit.text("text")
    if len(text) > MAX_CODE:
        edit.refuse(f"The code has {len(text):,} characters. The limit is {MAX_CODE:,}.")
    if len(parts) == 2 and parts[0] == "tool_codes":
        if parts[1] not in edit.document["tool_codes"]:
            edit.known_tool(parts[1])
        return edit.put(edit.anchor, text)
    if len(parts) != 3 or parts[0] != "constraints" or parts[2] != "validator":
        edit.refuse("This edit needs the anchor of a validator, such as /constraints/c0/validator.")
    constraint = edit.at(join(parts[:2]))
    if not text.strip():
        constraint["validator"] = None
        return edit.anchor
    held = constraint["validator"] or {"good": [], "bad": []}
    function = edit.text("function", "").strip() or None if "function" in edit.op else held.get("function")
    constraint["validator"] = held | {"code": text, "function": function, "form": None, "parameters": None}
    return edit.anchor


def _text_field(parts: tuple[str, ...]) -> str:
    if len(parts) == 1 and parts[0] in _FIELDS:
        return parts[0]
    if len(parts) == 3 and parts[0] == "constraints" and parts[2] in _CONSTRAINT:
        return parts[2]
    if len(parts) == 3 and parts[0] == "reference_trajectory" and parts[2] == "final":
        return parts[2]
    return "name" if len(parts) == 5 and parts[2] == "calls" and parts[4] == "name" else ""


def _json_field(parts: tuple[str, ...]) -> str:
    if len(parts) == 1 and parts[0] in _JSON_FIELDS:
        return parts[0]
    if len(parts) == 2 and parts[0] == "unsolved_set":
        return "expected"
    if len(parts) == 3 and parts[0] == "constraints" and parts[2] in _JSON_CONSTRAINT:
        return parts[2]
    return parts[4] if len(parts) == 5 and parts[2] == "calls" and parts[4] in _JSON_CALL else ""


def _known(edit: Edit, parts: tuple[str, ...]) -> None:
    """Check that the item with an id to which the place belongs still exists."""
    if parts[0] == "unsolved_set" and len(parts) == 2:
        edit.at(edit.anchor)
    elif len(parts) > 2:
        edit.at(join(parts[:-1]))
