"""Tools of a Model Context Protocol server: the result of ``tools/list``.

https://modelcontextprotocol.io/specification: each tool has ``name``, ``inputSchema`` and, optionally, ``title``,
``description``, ``outputSchema`` and ``annotations``.
"""

from collections.abc import Mapping
from typing import Any

from annotator.core.text import gettext_noop as _
from annotator.core.text import message
from annotator.core.tools.sources.model import Note, ReadTools, SourceProblem, function

#: Keys of a tool that its function keeps.
_KEPT = {"name", "description", "inputSchema", "input_schema", "outputSchema"}
#: Anthropic writes the second one.
_INPUT = {"inputSchema", "input_schema"}


def tools_in(data: Any) -> list[Any] | None:
    """Return the tools of a ``tools/list`` result, also inside a JSON-RPC answer; None if this is something else."""
    if isinstance(data, Mapping) and isinstance(data.get("result"), Mapping):
        data = data["result"]
    tools = data.get("tools") if isinstance(data, Mapping) else data
    if not isinstance(tools, list) or not any(isinstance(one, Mapping) and _INPUT & one.keys() for one in tools):
        return None
    return tools


def read_mcp(data: Any) -> ReadTools:
    """Read a ``tools/list`` result. Raises SourceProblem."""
    listed = tools_in(data)
    if listed is None:
        raise SourceProblem(message(_("This is not a result of tools/list: no tool has an inputSchema.")))
    tools, notes = [], []
    for at, one in enumerate(listed):
        name = one.get("name") if isinstance(one, Mapping) else None
        if not isinstance(name, str) or not name.strip():
            raise SourceProblem(message(_("The tool has no name. Give it one.")), f"/tools/{at}")
        text = one.get("description") or one.get("title") or ""
        if not isinstance(text, str):
            raise SourceProblem(message(_("The description must be text.")), f"/tools/{at}/description")
        parameters = one.get("inputSchema") or one.get("input_schema") or {"type": "object", "properties": {}}
        tools.append(function(name, text, parameters, one.get("outputSchema")))
        used = _KEPT if one.get("description") else _KEPT | {"title"}
        left = sorted(str(key) for key in one if key not in used and one[key] not in (None, {}, []))
        if left:
            words = message(
                _("Left out, because a function has no place for it: %(keys)s."), keys=", ".join(left)[:200]
            )
            notes.append(Note(name, words))
    result = data.get("result") if isinstance(data, Mapping) else None
    if any(isinstance(one, Mapping) and one.get("nextCursor") for one in (data, result)):
        notes.append(Note("", message(_("The server has more tools on further pages (nextCursor). Import them, too."))))
    return ReadTools(tools, notes)
