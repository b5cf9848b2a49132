"""Edits of single values, and of the dialogue so far."""

from typing import Any

from annotator.core.comparison.anchors import label_key, lookup, position
from annotator.core.editing.arguments import set_argument, set_arguments
from annotator.core.editing.labels import set_label
from annotator.core.editing.scope import Edit, line_ends
from annotator.core.editing.steps import set_dependencies

#: The fields that can be set, by place.
_DIALOGUE = frozenset({"env_info", "language"})
_MESSAGE = frozenset({"role", "content"})
_TASK = frozenset({"user_message", "policy", "information", "env_info"})
_STEP = {
    "call": frozenset({"name", "observation"}),
    "clarification": frozenset({"question", "user_reply"}),
    "answer": frozenset({"text", "answer_type"}),
}
#: Texts that are required, but may be empty; any other empty text is “not annotated”.
_REQUIRED = frozenset({"user_message", "content", "text of a candidate"})

ROLES = ("user", "assistant", "system", "tool")


def set_value(edit: Edit) -> str:
    """Set the value at the anchor. Blank texts and labels become null if null means “not annotated”."""
    parts = edit.parts()
    if label_key(parts):
        return set_label(edit)
    field = _settable(edit, parts)
    if field == "arguments":
        return set_arguments(edit) if len(parts) == 5 else set_argument(edit)
    if field == "depends_on":
        return set_dependencies(edit)
    value = edit.value()
    if field == "observation":
        return edit.put(edit.anchor, value)
    if field == "name":
        return edit.put(edit.anchor, edit.known_tool(value))
    if value is not None or field in _REQUIRED:
        value = edit.as_text(value)
    before = edit.at(edit.anchor)
    if isinstance(before, str) and line_ends(before) == value:
        # A browser changes line ends: that is not an edit.
        return edit.anchor
    if field not in _REQUIRED and value is not None and not value.strip():
        value = None
    return edit.put(edit.anchor, value)


def set_language(edit: Edit) -> str:
    edit.anchor = "/language"
    return set_value(edit)


def set_env_info(edit: Edit) -> str:
    """Set the environment information of the dialogue, or of the task at the anchor."""
    parts = edit.parts()
    edit.anchor = f"/tasks/{edit.task()['id']}/env_info" if parts[:1] == ("tasks",) else "/env_info"
    return set_value(edit)


def add_context(edit: Edit) -> str:
    """Add a message to the dialogue so far, at the end or after the message with index “after”."""
    context: list[dict[str, Any]] = edit.document["context"]
    role = edit.op.get("role")
    if role not in ROLES:
        edit.refuse(f"The role of a message must be one of: {', '.join(ROLES)}.", "/context")
    index = len(context) if edit.op.get("after") in (None, "") else edit.index("after", len(context)) + 1
    context.insert(index, {"role": role, "content": edit.text("content", "")})
    return f"/context/{index}"


def set_context(edit: Edit) -> str:
    """Change the role, the content or both of the message at the anchor."""
    message = edit.document["context"][_message(edit)]
    for name in _MESSAGE & edit.op.keys():
        message[name] = edit.text(name)
    return edit.anchor


def delete_context(edit: Edit) -> str:
    context = edit.document["context"]
    index = _message(edit)
    del context[index]
    return f"/context/{min(index, len(context) - 1)}" if context else "/context"


def _message(edit: Edit) -> int:
    parts, context = edit.parts(), edit.document["context"]
    index = position(parts[1], len(context)) if len(parts) == 2 and parts[0] == "context" else -1
    if index < 0:
        edit.refuse("The dialogue so far has no such message. Reload the page.")
    return index


def _settable(edit: Edit, parts: tuple[str, ...]) -> str:
    """Return the field that the anchor names, if it can be set."""
    if len(parts) == 1 and parts[0] in _DIALOGUE:
        return parts[0]
    if len(parts) == 3 and parts[0] == "context" and parts[2] in _MESSAGE:
        edit.at(f"/context/{parts[1]}")
        return parts[2]
    if len(parts) == 3 and parts[0] == "tasks" and parts[2] in _TASK:
        edit.task()
        return parts[2]
    if len(parts) == 5 and parts[2] == "candidate_messages" and parts[4] == "text":
        edit.at(edit.anchor)
        return "text of a candidate"
    if len(parts) > 4 and parts[0] == "tasks" and parts[2] == "steps":
        field, step = parts[4], edit.step()
        if field in ("arguments", "observation") and step["type"] == "call":
            return field
        if len(parts) == 5 and (field == "depends_on" or field in _STEP[step["type"]]):
            return field
    if lookup(edit.document, edit.anchor, edit) is edit:
        edit.at(edit.anchor)
    edit.refuse("This place cannot be set as one value.")
