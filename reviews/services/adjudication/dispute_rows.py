"""One disputed place as the page shows it: both values in words, whose it was before, and how to write a third."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from annotator.core.comparison import Discrepancy, Label, describe, lookup, readable, value_text
from annotator.core.comparison.anchors import ordered_list, split
from annotator.core.comparison.changes import same_value
from annotator.core.comparison.consequences import is_whole
from annotator.errors import Invalid
from annotator.presentation.dialogue import INFORMATION_LABELS, POLICY_LABELS
from reviews.services.submission.rulings import Dispute, is_text, read_rulings, with_value

_NOTHING = object()
#: What the value of a label may be.
LABELS: dict[str, dict[str, str]] = {
    "policy": POLICY_LABELS,
    "information": INFORMATION_LABELS,
    "answer_type": {"tool": "What the tools returned", "chat": "Its own knowledge"},
    "language": {"en": "English", "zh": "Chinese"},
}


#: Letters and lines after which a text may be higher than its column.
LONG, LONG_LINES = 500, 12


@dataclass
class DisputeRow:
    """One disputed place, ready for a page. Values as text; None where a version has nothing there."""

    number: int
    anchor: str
    place: str
    label: str
    #: text, json, label, dependencies, or order (of which there is no third).
    editor: str
    left: str | None
    right: str | None
    #: What the author had, where it is neither side's; ``base_is``: whose it is otherwise, in words.
    base: str | None = None
    three_way: bool = False
    base_is: str = ""
    #: Whether the values are to be read as they are: JSON, steps.
    mono: bool = False
    #: A task or step that only one side has: its name in words.
    one_sided: str = ""
    #: Whether "none" says something else than left and right do.
    may_be_none: bool = False
    options: list[tuple[str, str]] = field(default_factory=list)
    #: Of dependencies: (step, in words, the kind chosen or blank).
    steps: list[tuple[str, str, str]] = field(default_factory=list)
    choice: str = ""
    value: str = ""
    reason_kind: str = ""
    reason: str = ""
    follow: bool = False
    #: The number and kind of the place whose reason holds here too.
    inherited: tuple[int, str] | None = None
    problem: str = ""
    moot: str = ""
    settled: bool = False
    #: Both have added it alike: it may be left as it is.
    optional: bool = False

    @property
    def long(self) -> bool:
        """Whether a value scrolls in a region of its own, which then takes the focus."""
        texts = [text for text in (self.left, self.right, self.base) if text]
        return any(len(text) > LONG or text.count("\n") > LONG_LINES for text in texts)

    @property
    def kind(self) -> str:
        """The reason that holds: its own, else the one it follows."""
        return self.reason_kind or (self.inherited[1] if self.inherited else "")


def dispute_row(
    number: int,
    place: Discrepancy,
    dispute: Dispute,
    given: Mapping[str, Any],
    draft: dict[str, Any] | None = None,
) -> DisputeRow:
    """The row of a place. ``given``: what was filled in; ``draft``: the expert's, where what they edited is offered."""
    parts = split(place.anchor)
    name = parts[-1] if parts else ""
    order = ordered_list(place.anchor) is not None
    whole = is_whole(parts)
    editor = _editor(place, name, order)
    base = lookup(dispute.base, place.anchor, _NOTHING)
    base_text = None if base is _NOTHING else shown(base, name)
    left = None if place.left is None and _absent(dispute.left.document, place) else shown(place.left, name)
    right = None if place.right is None and _absent(dispute.aligned, place) else shown(place.right, name)
    row = DisputeRow(
        number=number,
        anchor=place.anchor,
        place=dispute.words(place.anchor),
        label=place.label,
        editor=editor,
        left=left,
        right=right,
        mono=editor == "json",
        one_sided=place.label if whole and (left is None or right is None) else "",
        may_be_none=(whole or name in _optional(place)) and left is not None and right is not None,
        options=list(LABELS[name].items()) if editor == "label" else [],
        choice=str(given.get("choice", "")),
        value=str(given.get("value", "")),
        reason_kind=str(given.get("reason_kind", "")),
        reason=str(given.get("reason", "")),
        follow=bool(given.get("follow")),
    )
    if base_text == left:
        row.base_is = "left"
    elif base_text == right:
        row.base_is = "right"
    else:
        row.base, row.three_way = base_text, True
    plain = _prefilled(place, editor) if editor in ("text", "json", "label") else ""
    if not row.value or (row.value == plain and row.choice != "third"):
        row.value = _edited(place, base, draft, editor) or plain
    return row


def add_steps(row: DisputeRow, place: Discrepancy, dispute: Dispute) -> None:
    """What a row of a page needs besides: of dependencies, every step there may be one on."""
    if row.editor == "dependencies":
        row.steps = _steps(split(place.anchor), dispute, place, row.value)


def unwritten(dispute: Dispute, anchor: str, draft: dict[str, Any] | None = None) -> str:
    """What the form sends as the third version of a place where nobody has written one."""
    place = dispute.find(anchor)
    if place is None:
        return ""
    row = dispute_row(0, place, dispute, {}, draft)
    if row.editor == "dependencies":
        add_steps(row, place, dispute)
        return json.dumps([{"id": key, "kind": kind} for key, _, kind in row.steps if kind])
    if row.editor == "label" and row.value not in dict(row.options):
        return row.options[0][0]
    return row.value.replace("\r\n", "\n").replace("\r", "\n")


def _editor(place: Discrepancy, name: str, order: bool) -> str:
    if order:
        return "order"
    if name in LABELS and place.label in (Label.POLICY, Label.INFORMATION, Label.ANSWER, Label.OTHER):
        return "label"
    if name == "depends_on":
        return "dependencies"
    return "text" if is_text(place) else "json"


def _optional(place: Discrepancy) -> tuple[str, ...]:
    """The name of an argument may go: neither side's value, and none in its place."""
    parts = split(place.anchor)
    return (parts[5],) if len(parts) == 6 and parts[4] == "arguments" else ()


def _absent(document: dict[str, Any], place: Discrepancy) -> bool:
    return lookup(document, place.anchor, _NOTHING) is _NOTHING


def shown(value: Any, name: str) -> str:
    if value is None:
        return "not annotated"
    if name == "depends_on" and value == []:
        return "nothing"
    if name in LABELS and isinstance(value, str):
        return LABELS[name].get(value, value)
    if isinstance(value, dict) and isinstance(value.get("steps"), list):
        return "\n\n".join([str(value.get("user_message") or ""), *map(readable, value["steps"])])
    return readable(value)


def _edited(place: Discrepancy, base: Any, draft: dict[str, Any] | None, editor: str) -> str:
    """What the expert has made of a place in the dialogue itself; blank where they have not."""
    own = _NOTHING if draft is None else lookup(draft, place.anchor, _NOTHING)
    if own is _NOTHING or editor == "order" or same_value(own, base):
        return ""
    return json.dumps(own) if editor == "dependencies" else _written(own, editor)


def _prefilled(place: Discrepancy, editor: str) -> str:
    return _written(place.left if place.left is not None else place.right, editor)


def _written(value: Any, editor: str) -> str:
    if editor == "json" and isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else value_text(value)


def _steps(parts: tuple[str, ...], dispute: Dispute, place: Discrepancy, typed: str) -> list[tuple[str, str, str]]:
    """Every other step of the task that either side has, and the kind of the dependency on it."""
    chosen: dict[str, str] = {}
    value = place.left
    if typed:
        try:
            (line,) = read_rulings({place.anchor: {"choice": "third", "value": typed, "typed": True}})
            value = with_value(line, dispute, {}, False).value
        except Invalid:
            value = None
    if isinstance(value, list):
        chosen = {str(one.get("id")): str(one.get("kind")) for one in value if isinstance(one, dict)}
    out: dict[str, str] = {}
    for document in (dispute.left.document, dispute.aligned):
        steps: list[dict[str, Any]] = next((task["steps"] for task in document["tasks"] if task["id"] == parts[1]), [])
        for step in steps:
            if step["id"] != parts[3] and step["type"] != "answer":
                out.setdefault(step["id"], describe(document, f"/tasks/{parts[1]}/steps/{step['id']}"))
    return [(key, words, chosen.get(key, "")) for key, words in out.items()]
