"""The input of an edit operation: a copy of the document, the operation's fields, and the tools."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Protocol

from annotator.core.comparison import AnchorMissing, resolve, split
from annotator.core.comparison.anchors import Document, below, find, join
from annotator.core.comparison.placing import copied, put
from annotator.core.editing.json_text import MAX_JSON
from annotator.core.editing.problems import EditProblem

#: The longest text of one edit, in characters.
MAX_TEXT = MAX_JSON


def line_ends(text: str) -> str:
    """Return a text as a browser returns it: every line end, also CR LF and a single CR, is one LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


class Tools(Protocol):
    """What the editor needs to know about a toolset."""

    tools: Any


class Edit:
    """One operation in progress. ``document`` is a private copy and may be changed."""

    def __init__(self, document: Document, op: Mapping[str, Any], toolset: Tools | None) -> None:
        self.document: Document = copied(document)
        self.op = op
        self.toolset = toolset
        self.anchor = self._anchor()

    def _anchor(self) -> str:
        anchor = self.op.get("anchor", "")
        if not isinstance(anchor, str) or (anchor and anchor[0] != "/"):
            raise EditProblem(
                "", "The edit has no valid place: “anchor” must be the path of a part, such as /tasks/t1."
            )
        return anchor

    # --- refusing

    def refuse(self, message: str, anchor: str | None = None, *, circle: Sequence[str] = ()) -> NoReturn:
        """End the edit with a sentence, which does not name the place itself: pages name ``anchor`` before it.

        ``circle``: the ids of steps that would wait for each other.
        """
        raise EditProblem(self.anchor if anchor is None else anchor, message, tuple(circle))

    # --- places

    def at(self, anchor: str) -> Any:
        """Return the current value."""
        try:
            return resolve(self.document, anchor)
        except AnchorMissing:
            self.refuse("This place no longer exists. Reload the page.", anchor)

    def parts(self) -> tuple[str, ...]:
        return split(self.anchor)

    def task(self) -> dict[str, Any]:
        """Return the task that the anchor names or lies in."""
        parts = self.parts()
        if len(parts) < 2 or parts[0] != "tasks":
            self.refuse("This edit needs the anchor of a task, such as /tasks/t1.")
        task: dict[str, Any] = self.at(join(parts[:2]))
        return task

    def step(self, kind: str = "") -> dict[str, Any]:
        """Return the step that the anchor names or lies in, of type ``kind`` if given."""
        parts = self.parts()
        if len(parts) < 4 or parts[0] != "tasks" or parts[2] != "steps":
            self.refuse("This edit needs the anchor of a step, such as /tasks/t1/steps/s1.")
        step: dict[str, Any] = self.at(join(parts[:4]))
        if kind and step["type"] != kind:
            self.refuse(f"This step is not of type {kind}.", join(parts[:4]))
        return step

    def step_anchor(self) -> str:
        return join(self.parts()[:4])

    def put(self, anchor: str, value: Any) -> str:
        """Write a value to an existing parent; return the anchor."""
        try:
            put(self.document, anchor, value)
        except AnchorMissing:
            self.refuse("This place no longer exists. Reload the page.", anchor)
        return anchor

    # --- the operation's fields

    def value(self) -> Any:
        """Return the new value, which must be given (null is a value)."""
        if "value" not in self.op:
            self.refuse("The edit has no value.")
        return self.op["value"]

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text of the operation, with normalised line ends (browsers post CR LF)."""
        return self.as_text(self.op.get(name, default), name)

    def as_text(self, value: Any, name: str = "value") -> str:
        """Return ``value`` if it is text of acceptable length."""
        if not isinstance(value, str):
            self.refuse(f"“{name}” must be text.")
        if len(value) > MAX_TEXT:
            self.refuse(f"The text has {len(value):,} characters. The limit is {MAX_TEXT:,}.")
        return value.replace("\r\n", "\n")

    def index(self, name: str, count: int) -> int:
        """Return a list index of the operation, from 0 up to but not including ``count``."""
        value = self.op.get(name)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 9:
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < count:
            return int(value)
        self.refuse(f"“{name}” must be a position from 0 to {count - 1}.")

    def target(self, items: list[dict[str, Any]], index: int) -> int:
        """Return where a list item at ``index`` goes: “to” a position, or “by” -1 or 1, which stops at the ends."""
        if "to" in self.op:
            return self.index("to", len(items))
        by = self.op.get("by")
        if not isinstance(by, int) or isinstance(by, bool) or by not in (-1, 1):
            self.refuse("“by” must be -1 (up) or 1 (down).")
        return min(max(index + by, 0), len(items) - 1)

    def after(self, items: list[dict[str, Any]]) -> int | None:
        """Return the index after the item that “after” names by id or anchor; None if the operation names none."""
        after = self.op.get("after")
        if after is None or after == "":
            return None
        key = split(after)[-1] if isinstance(after, str) and after[0] == "/" else after
        index = find(items, key) if isinstance(key, str) else -1
        if index < 0:
            self.refuse(f"There is no {str(after)[:80]} to insert after. Reload the page.")
        return index + 1

    def known_tool(self, name: Any) -> str:
        """Return ``name`` if the dialogue's toolset has such a tool."""
        if not isinstance(name, str) or not name.strip():
            self.refuse("Choose a tool for the call.")
        if self.toolset is not None and name not in self.toolset.tools:
            self.refuse(f"The dialogue's toolset has no tool {name[:80]}. Choose one of its tools.")
        return name


def task_anchor(task: Mapping[str, Any]) -> str:
    return below("/tasks", task["id"])


def child(task: Mapping[str, Any], step: Mapping[str, Any]) -> str:
    """Return the anchor of one of the task's steps."""
    return below(f"{task_anchor(task)}/steps", step["id"])
