"""Edits of a call's arguments and of the tool's result."""

from typing import Any

from annotator.core.comparison.anchors import join, lookup, position
from annotator.core.comparison.placing import ABSENT
from annotator.core.editing.json_text import JsonProblem, read_json
from annotator.core.editing.scope import Edit, line_ends
from annotator.core.schema.canonical import escape

MAX_REASON = 500


def set_argument(edit: Edit) -> str:
    """Set one argument, or a value inside one; a new key is added, “-” appends to a list."""
    parts = _argument(edit)
    value = edit.value()
    container = edit.at(join(parts[:-1]))
    if isinstance(container, list):
        key = parts[-1]
        index = len(container) if key == "-" else position(key, len(container))
        if index < 0:
            edit.refuse(f"The list has no item {key[:40]}.")
        container[index : index + 1] = [value]
        return join((*parts[:-1], str(index)))
    if not isinstance(container, dict):
        edit.refuse("This value is not an object, so it cannot have arguments of its own.", join(parts[:-1]))
    if not parts[-1]:
        edit.refuse("Give the argument a name.")
    container[parts[-1]] = edit.as_text(value) if isinstance(value, str) else value
    _drop_reasons(edit)
    return edit.anchor


def delete_argument(edit: Edit) -> str:
    parts = _argument(edit)
    edit.at(edit.anchor)
    container = edit.at(join(parts[:-1]))
    del container[position(parts[-1], len(container)) if isinstance(container, list) else parts[-1]]
    _drop_reasons(edit)
    return join(parts[:-1])


def rename_argument(edit: Edit) -> str:
    """Rename an argument; keep its position, its value and the reason why it may be inferred."""
    parts = _argument(edit)
    edit.at(edit.anchor)
    name = edit.text("to")
    container = edit.at(join(parts[:-1]))
    if not isinstance(container, dict):
        edit.refuse("Items of a list have no names.")
    if not name.strip():
        edit.refuse("Give the argument a name.")
    if name == parts[-1]:
        return edit.anchor
    if name in container:
        edit.refuse(f"There is already an argument called {name[:80]}. Delete it first.")
    items = [(name if key == parts[-1] else key, value) for key, value in container.items()]
    container.clear()
    container.update(items)
    old, new = (join((*parts[5:-1], key)) for key in (parts[-1], name))
    step = edit.step("call")
    step["inferable"] = {
        new + key[len(old) :] if key == old or key.startswith(f"{old}/") else key: reason
        for key, reason in step["inferable"].items()
    }
    return join((*parts[:-1], name))


def set_arguments(edit: Edit) -> str:
    """Replace all arguments, given as “value” or as JSON “text”."""
    step = edit.step("call")
    anchor = f"{edit.step_anchor()}/arguments"
    if "text" in edit.op:
        try:
            value = read_json(edit.text("text"))
        except JsonProblem as problem:
            edit.refuse(str(problem), anchor)
    else:
        value = edit.value()
    if not isinstance(value, dict):
        edit.refuse('Arguments must be a JSON object, such as {"city": "Oslo"}.', anchor)
    step["arguments"] = value
    _drop_reasons(edit)
    return anchor


def set_inferable(edit: Edit) -> str:
    """Set the reason why an argument's value may be inferred; no reason removes the mark.

    The argument is what “anchor” names, or “argument” (a name, or a path such as /filters/price) of the call there.
    """
    step = edit.step("call")
    parts = edit.parts()
    if len(parts) > 5 and parts[4] == "arguments":
        key = join(parts[5:])
    else:
        name = edit.text("argument")
        key = name if name.startswith("/") else f"/{escape(name)}"
    reason = " ".join(edit.text("reason", "").split()) if edit.op.get("reason") is not None else ""
    if len(reason) > MAX_REASON:
        edit.refuse(f"The reason has {len(reason)} characters. The limit is {MAX_REASON}.")
    if reason:
        edit.at(f"{edit.step_anchor()}/arguments{key}")
        step["inferable"][key] = reason
    else:
        step["inferable"].pop(key, None)
    return f"{edit.step_anchor()}/arguments{key}"


def set_observation(edit: Edit) -> str:
    """Set the tool's result, given as “value” or as “text”; see ``observed``."""
    step = edit.step("call")
    anchor = f"{edit.step_anchor()}/observation"
    step["observation"] = observed(edit, step["observation"], anchor)
    return anchor


def observed(edit: Edit, before: Any, anchor: str) -> Any:
    """Return the result after an edit; ``before`` is the current one.

    “as” says what a “text” is: json or text. The default is the current kind, or JSON if there is none. So typing never
    turns a value into a text or a text into a value. An empty JSON text means that there is no observation.
    """
    if "text" not in edit.op:
        return edit.value()
    text, kind = edit.text("text"), edit.op.get("as", "text" if isinstance(before, str) else "json")
    if kind not in ("json", "text"):
        edit.refuse("“as” must be json or text.", anchor)
    if kind == "text":
        # A browser changes line ends, and posts an empty field for a missing value: neither is an edit.
        same = before is None if not text else isinstance(before, str) and line_ends(before) == text
        return before if same else text
    if not text.strip():
        return None
    try:
        value = read_json(text)
    except JsonProblem as problem:
        edit.refuse(f"{problem} If the tool returned plain text, choose Text.", anchor)
    if isinstance(value, str):
        edit.refuse("This JSON is just text. Choose Text, and write it without quotation marks.", anchor)
    return value


def _argument(edit: Edit) -> tuple[str, ...]:
    step, parts = edit.step("call"), edit.parts()
    if len(parts) < 6 or parts[4] != "arguments":
        edit.refuse("This edit needs the anchor of an argument, such as /tasks/t1/steps/s1/arguments/city.")
    if not isinstance(step["arguments"], dict):
        edit.refuse("The arguments are not valid JSON. Edit them as JSON first.")
    return parts


def _drop_reasons(edit: Edit) -> None:
    """Remove the reasons of arguments that no longer exist."""
    step = edit.step("call")
    if step["inferable"]:
        step["inferable"] = {
            key: reason
            for key, reason in step["inferable"].items()
            if lookup(edit.document, f"{edit.step_anchor()}/arguments{key}", ABSENT) is not ABSENT
        }
