"""Edits of a toolset: its functions, by form, as JSON or one text at a time."""

from collections.abc import Mapping
from typing import Any

from annotator.core.comparison.anchors import below, find, join, label_key
from annotator.core.comparison.placing import copied
from annotator.core.editing import values
from annotator.core.editing.case_parts import new_id
from annotator.core.editing.json_text import JsonProblem, read_json
from annotator.core.editing.problems import EditProblem
from annotator.core.editing.scope import Edit, line_ends
from annotator.core.schema.canonical import canonical, value_hash
from annotator.core.schema.exact_json import load_stored
from annotator.core.schema.tool_places import ToolPlace, place_in_tool
from annotator.core.schema.toolsets import MAX_NAME, MAX_TOOLS
from annotator.core.tools import editing

Tool = dict[str, Any]

#: The fields of a form with more would not be shown.
MAX_FIELDS = 8 * (editing.MAX_ROWS + 1)


def set_value(edit: Edit) -> str:
    """Set the language, a label, the name of a function, or a description of it or of a parameter."""
    parts = edit.parts()
    if edit.anchor == "/language" or label_key(parts):
        return values.set_value(edit)
    place = place_in_tool(parts[3:]) if len(parts) > 3 and parts[0] == "tools" and parts[2] == "tool" else None
    if place is None or not (place.is_prose or _is_name(place)):
        edit.refuse("This place cannot be set as text. Change the function by its form, or as JSON.")
    holder = edit.at(join(parts[:-1]))
    value = edit.value()
    text = "" if value is None else line_ends(edit.as_text(value))
    if not isinstance(holder, dict):
        edit.refuse("This place cannot be set as text. Change the function by its form, or as JSON.")
    before = holder.get(parts[-1])
    if isinstance(before, str) and line_ends(before) == text:
        # A browser changes line ends: that is not an edit.
        return edit.anchor
    return edit.put(edit.anchor, _checked_name(edit, text) if _is_name(place) else text)


def set_json(edit: Edit) -> str:
    """Set a whole tool or the parameters of its function, given as “value” or as JSON “text”."""
    parts = edit.parts()
    whole = len(parts) == 3 and parts[0] == "tools" and parts[2] == "tool"
    place = place_in_tool(parts[3:]) if len(parts) > 3 and parts[0] == "tools" and parts[2] == "tool" else None
    if not whole and (place is None or place.parameter or place.field != ("parameters",)):
        edit.refuse("This place cannot be set as JSON.")
    edit.at(join(parts[:-1]))
    return edit.put(edit.anchor, _json(edit))


def set_function(edit: Edit) -> str:
    """Change the function at the anchor by the fields of its form, given as “value” (see ``tools.editing.edited``).

    The fields of parameters are numbered. “of” is the hash of the function that the form showed; of any, if left out.
    """
    one = _tool(edit)
    tool: Tool = one["tool"]
    # The form numbers parameters in their stored order.
    function = load_stored(canonical(tool.get("function", tool)))
    shown = edit.op.get("of")
    if shown is not None and shown != value_hash(function):
        edit.refuse("This function was changed in the meantime. Reload the page, then make your changes again.")
    fields = edit.value()
    if not isinstance(fields, Mapping) or len(fields) > MAX_FIELDS:
        edit.refuse("“value” must be the fields of the form of a function.")
    given = {str(key): edit.as_text(value, str(key)[:80]) for key, value in fields.items()}
    try:
        changed = editing.edited(function, given)
    except editing.EditProblem as problem:
        raise EditProblem(_anchor(one), problem.message.english, field=problem.field) from None
    one["tool"] = {**tool, "function": changed} if "function" in tool else changed
    return _anchor(one)


def add_tool(edit: Edit) -> str:
    """Add a function, named by “name” or described by the JSON “text”, at the end or after another one."""
    tools: list[Tool] = edit.document["tools"]
    _check_room(edit, tools)
    if "text" in edit.op or "value" in edit.op:
        tool = _json(edit)
    else:
        parameters: Tool = {"type": "object", "properties": {}}
        function = {"name": _checked_name(edit, edit.text("name", "")), "description": "", "parameters": parameters}
        tool = {"type": "function", "function": function}
    index = edit.after(tools)
    return _insert(tools, len(tools) if index is None else index, tool)


def duplicate_tool(edit: Edit) -> str:
    """Add a copy of the function after it, with another name."""
    one, tools = _tool(edit), edit.document["tools"]
    _check_room(edit, tools)
    tool: Tool = copied(one["tool"])
    function = tool.get("function", tool)
    names = {other["tool"].get("function", other["tool"])["name"] for other in tools}
    number = 2
    while (name := f"{function['name'][: MAX_NAME - 8]}_{number}") in names:
        number += 1
    function["name"] = name
    return _insert(tools, find(tools, one["id"]) + 1, tool)


def delete_tool(edit: Edit) -> str:
    """Delete a function; return the anchor of its successor, or else of the last one."""
    one, tools = _tool(edit), edit.document["tools"]
    if len(tools) == 1:
        edit.refuse("A toolset has at least one function. Add another one before you delete this one.")
    index = find(tools, one["id"])
    del tools[index]
    return _anchor(tools[min(index, len(tools) - 1)])


def move_tool(edit: Edit) -> str:
    """Move a function up or down, or to a position."""
    one, tools = _tool(edit), edit.document["tools"]
    index = find(tools, one["id"])
    tools.insert(edit.target(tools, index), tools.pop(index))
    return _anchor(one)


def _tool(edit: Edit) -> Tool:
    parts = edit.parts()
    if len(parts) < 2 or parts[0] != "tools":
        edit.refuse("This edit needs the anchor of a function, such as /tools/f1.")
    one: Tool = edit.at(join(parts[:2]))
    return one


def _anchor(one: Tool) -> str:
    return below("/tools", one["id"])


def _insert(tools: list[Tool], index: int, tool: Any) -> str:
    one = {"id": new_id("f", (other["id"] for other in tools)), "tool": tool}
    tools.insert(index, one)
    return _anchor(one)


def _check_room(edit: Edit, tools: list[Tool]) -> None:
    if len(tools) >= MAX_TOOLS:
        edit.refuse(f"A toolset has at most {MAX_TOOLS:,} functions. Delete one first.", "/tools")


def _is_name(place: ToolPlace) -> bool:
    return not place.parameter and place.field == ("name",)


def _checked_name(edit: Edit, text: str) -> str:
    name = text.strip()
    if not name or len(name) > MAX_NAME:
        raise EditProblem(edit.anchor, f"Give it a name of at most {MAX_NAME} characters.", field="name")
    return name


def _json(edit: Edit) -> Any:
    if "text" not in edit.op:
        return edit.value()
    try:
        return read_json(edit.text("text"))
    except JsonProblem as problem:
        edit.refuse(str(problem))
