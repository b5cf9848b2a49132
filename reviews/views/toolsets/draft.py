"""Functions while somebody changes them: the form of one function, applied to the JSON of all."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from annotator.core.schema.exact_json import load_stored
from annotator.core.tools.editing import MAX_ROWS, TYPES, EditProblem, Row, edited, rows_of
from annotator.presentation.dialogue import pretty
from annotator.services.toolsets.importing import read_content
from annotator.translation import translated

#: Before the names of the fields of the function that is open.
PREFIX = "f:"
#: Buttons after which the form goes on; others preview or save.
_GO_ON = ("open", "close", "add", "remove", "apply")


class FunctionsDraft:
    """The functions as they are in the form: stored ones, or what was posted.

    ``opened``: the index of the function whose form is shown; None for none. ``problem``: the field and the sentence,
    if that form cannot be applied.
    """

    def __init__(self, tools: list[dict[str, Any]]) -> None:
        self.tools = tools
        self.opened: int | None = None
        self.goes_on = False
        self.problem: tuple[str, str] | None = None
        self._typed: dict[str, str] = {}

    @classmethod
    def posted(cls, post: Mapping[str, str]) -> "FunctionsDraft":
        """Return what was posted, with the form of the open function applied. Raises Invalid if it is not tools."""
        draft = cls(_read(post.get("tools", "")))
        draft.goes_on = any(name in post for name in _GO_ON)
        open_now = draft._index(post.get("function", ""))
        if open_now is not None and "remove" in post:
            del draft.tools[open_now]
        elif open_now is not None:
            draft._apply(open_now, {key[len(PREFIX) :]: text for key, text in post.items() if key.startswith(PREFIX)})
        # The rows of a form are numbered in the order of the stored content.
        draft.tools = _read(draft.text)
        if draft.problem is not None or "apply" in post:
            draft.opened = open_now
        elif "add" in post:
            draft.tools.append(_new_function(draft.names))
            draft.opened = len(draft.tools) - 1
        elif "open" in post:
            draft.opened = draft._index(post["open"])
        return draft

    @property
    def text(self) -> str:
        return pretty(self.tools)

    @property
    def names(self) -> list[str]:
        return [_function(tool)["name"] for tool in self.tools]

    def form(self) -> dict[str, Any] | None:
        """Return what the form of the open function shows; None if none is open."""
        if self.opened is None:
            return None
        function = _function(self.tools[self.opened])
        rows = rows_of(function)
        field, sentence = self.problem or ("", "")
        types = [(one, one) for one in TYPES]
        return {
            "number": self.opened,
            "name": self._shown("name", function["name"]),
            "description": self._shown("description", function.get("description") or ""),
            "rows": [self._row(row) for row in rows[:MAX_ROWS]],
            "too_many": len(rows) > MAX_ROWS,
            "new": {name: self._shown(f"new-{name}", "") for name in _FIELDS}
            | {"types": types, "errors": self._errors("new")},
            "errors": {name: sentence if field == name else "" for name in ("name", "description")},
            "inside": [("", _("the function")), *((row.key, row.full_name) for row in rows[:MAX_ROWS] if row.holds)],
            "field": field,
            "sentence": sentence,
        }

    def refuse(self, problem: tuple[str, str], typed: dict[str, str]) -> None:
        """Show what was typed into the form of the open function, and why it cannot be applied."""
        self.problem, self._typed = problem, typed

    def _row(self, row: Row) -> dict[str, Any]:
        stored = {
            "name": row.name, "type": row.type, "required": "on" if row.required else "",
            "description": row.description, "choices": row.choices, "default": row.default, "delete": "",
        }  # fmt: skip
        types = [(one, one or _("any")) for one in dict.fromkeys([*TYPES, row.type])]
        shown = {name: self._shown(row.field(name), value) for name, value in stored.items()}
        return shown | {
            "errors": self._errors(row.key),
            "key": row.key,
            "full_name": row.full_name,
            "types": types,
        }

    def _shown(self, field: str, stored: str) -> str:
        # A form sends nothing for a box without a tick.
        return self._typed.get(field, "") if self._typed else stored

    def _errors(self, key: str) -> dict[str, str]:
        field, sentence = self.problem or ("", "")
        return {name: sentence if field == f"{key}-{name}" else "" for name in _FIELDS}

    def _apply(self, at: int, given: dict[str, str]) -> None:
        tool = self.tools[at]
        try:
            changed = edited(_function(tool), given)
        except EditProblem as problem:
            self.refuse((problem.field, translated(problem.message)), given)
            return
        self.tools[at] = tool | {"function": changed} if "function" in tool else changed

    def _index(self, text: str) -> int | None:
        at = int(text) if text.isascii() and text.isdigit() and len(text) < 5 else -1
        return at if 0 <= at < len(self.tools) else None


_FIELDS = ("name", "type", "inside", "description", "required", "choices", "default")


def _read(text: str) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = load_stored(read_content(text))["tools"]
    return tools


def _function(tool: dict[str, Any]) -> dict[str, Any]:
    function: dict[str, Any] = tool.get("function", tool)
    return function


def _new_function(names: list[str]) -> dict[str, Any]:
    name, number = "new_function", 1
    while name in names:
        number += 1
        name = f"new_function_{number}"
    parameters = {"type": "object", "properties": {}}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}
