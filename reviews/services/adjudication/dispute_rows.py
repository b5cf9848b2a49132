"""One disputed place as the page shows it: both values, the value before, and the editor of a third."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from annotator.core.comparison import Discrepancy, Label, lookup, readable, value_text
from annotator.core.comparison.anchors import ordered_list, split
from annotator.core.comparison.changes import same_value
from annotator.core.comparison.consequences import is_whole
from annotator.core.fields import CustomField, FieldType, value_words
from annotator.errors import Invalid
from annotator.presentation.components.labels import labels_at, words_of
from annotator.translation import place_name
from reviews.services.submission.passages import passages_of, text_of
from reviews.services.submission.rulings import Dispute, is_text, read_rulings, with_value

_NOTHING = object()
#: Characters and lines above which a text may be higher than its column.
LONG, LONG_LINES = 500, 12


@dataclass
class DisputeRow:
    """One disputed place, ready for a page. Values as text; None if a version has nothing there."""

    number: int
    anchor: str
    place: str
    label: str
    #: text, json, label, dependencies, passages (one a line), or order (which has no third version).
    editor: str
    left: str | None
    right: str | None
    #: The value before, if it is neither side's; otherwise ``base_is`` names the side.
    base: str | None = None
    three_way: bool = False
    base_is: str = ""
    #: Whether the values are shown in a fixed-width font: JSON, steps.
    mono: bool = False
    #: The label of a task or step that only one side has.
    one_sided: str = ""
    #: Whether the value is marked passages that the version under review asks for: one marks them in the dialogue.
    marks: bool = False
    #: Whether "none" differs from both left and right.
    may_be_none: bool = False
    options: list[tuple[str, str]] = field(default_factory=list)
    #: Of dependencies: (step, label, the chosen kind or blank).
    steps: list[tuple[str, str, str]] = field(default_factory=list)
    choice: str = ""
    value: str = ""
    reason_kind: str = ""
    reason: str = ""
    follow: bool = False
    #: The number and kind of the place whose reason also applies here.
    inherited: tuple[int, str] | None = None
    problem: str = ""
    moot: str = ""
    settled: bool = False
    #: Whether both sides have added it, so that no ruling is needed.
    optional: bool = False

    @property
    def long(self) -> bool:
        """Return whether a value scrolls in its own region, which then takes the focus."""
        texts = [text for text in (self.left, self.right, self.base) if text]
        return any(len(text) > LONG or text.count("\n") > LONG_LINES for text in texts)

    @property
    def kind(self) -> str:
        """Return the reason that applies: its own, or else the inherited one."""
        return self.reason_kind or (self.inherited[1] if self.inherited else "")


def dispute_row(
    number: int,
    place: Discrepancy,
    dispute: Dispute,
    given: Mapping[str, Any],
    draft: dict[str, Any] | None = None,
) -> DisputeRow:
    """Return the row of a place. ``given``: the stored form; ``draft``: that of the person, whose edits are offered."""
    parts = split(place.anchor)
    name = parts[-1] if parts else ""
    order = ordered_list(place.anchor) is not None
    whole = is_whole(parts)
    editor = _editor(place, name, order)
    base = lookup(dispute.base, place.anchor, _NOTHING)
    custom = place.label is Label.CUSTOM
    asked = dispute.field_at(place.anchor)
    options = [(key, _(label)) for key, label in labels_at(name).items()] if editor == "label" else []
    if asked is not None and asked.type in (FieldType.CHOICE, FieldType.SCALE):
        editor, options = "label", asked.choices
    if asked is not None and asked.type is FieldType.SPAN and _are_lines(place.anchor, asked, dispute, draft):
        editor = "passages"

    def said(value: Any) -> str:
        return value_words(value, asked) if custom else shown(value, name)

    base_text = None if base is _NOTHING else said(base)
    left = None if place.left is None and _absent(dispute.left.document, place) else said(place.left)
    right = None if place.right is None and _absent(dispute.aligned, place) else said(place.right)
    row = DisputeRow(
        number=number,
        anchor=place.anchor,
        place=dispute.words(place.anchor),
        label=place.label,
        editor=editor,
        left=left,
        right=right,
        mono=editor == "json" and not custom,
        marks=asked is not None and asked.type == FieldType.SPAN and base is not _NOTHING,
        one_sided=place.label if whole and (left is None or right is None) else "",
        may_be_none=(whole or name in _optional(place)) and left is not None and right is not None,
        options=options,
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
    plain = _prefilled(place, editor) if editor in ("text", "json", "label", "passages") else ""
    if not row.value or (row.value == plain and row.choice != "third"):
        row.value = _edited(place, base, draft, editor) or plain
    return row


def add_steps(row: DisputeRow, place: Discrepancy, dispute: Dispute) -> None:
    """Add the steps of a dependency editor to a row."""
    if row.editor == "dependencies":
        row.steps = _steps(split(place.anchor), dispute, place, row.value)


def unwritten(dispute: Dispute, anchor: str, draft: dict[str, Any] | None = None) -> str:
    """Return what the form sends as the third version if nobody has written one."""
    place = dispute.find(anchor)
    if place is None:
        return ""
    row = dispute_row(0, place, dispute, {}, draft)
    if row.editor == "dependencies":
        add_steps(row, place, dispute)
        return json.dumps([{"id": key, "kind": kind} for key, _label, kind in row.steps if kind])
    if row.editor == "label" and row.value not in dict(row.options):
        return row.options[0][0]
    return row.value.replace("\r\n", "\n").replace("\r", "\n")


def _editor(place: Discrepancy, name: str, order: bool) -> str:
    if order:
        return "order"
    if place.label is Label.CUSTOM:
        return "text" if is_text(place) else "json"
    if labels_at(name) and place.label in (Label.POLICY, Label.INFORMATION, Label.ANSWER, Label.OTHER):
        return "label"
    if name == "depends_on":
        return "dependencies"
    return "text" if is_text(place) else "json"


def _are_lines(anchor: str, field: CustomField, dispute: Dispute, draft: dict[str, Any] | None) -> bool:
    """Return whether all versions of marked words can be written as lines."""
    for document in (dispute.left.document, dispute.aligned, draft):
        spans = None if document is None else lookup(document, anchor, None)
        if document is not None and spans and passages_of(spans, text_of(document, anchor, field)) is None:
            return False
    return True


def _optional(place: Discrepancy) -> tuple[str, ...]:
    """Return the name of an argument or of a custom field, which may be removed instead of taking either side."""
    parts = split(place.anchor)
    if place.label is Label.CUSTOM:
        return parts[-1:]
    return (parts[5],) if len(parts) == 6 and parts[4] == "arguments" else ()


def _absent(document: dict[str, Any], place: Discrepancy) -> bool:
    return lookup(document, place.anchor, _NOTHING) is _NOTHING


def shown(value: Any, name: str) -> str:
    if value is None:
        return _("not annotated")
    if name == "depends_on" and value == []:
        return _("nothing")
    if labels_at(name) and isinstance(value, str):
        return words_of(name, value) if value else value
    if isinstance(value, dict) and isinstance(value.get("steps"), list):
        return "\n\n".join([str(value.get("user_message") or ""), *map(readable, value["steps"])])
    return readable(value)


def _edited(place: Discrepancy, base: Any, draft: dict[str, Any] | None, editor: str) -> str:
    """Return the senior reviewer's own edit of a place as text; blank if there is none."""
    own = _NOTHING if draft is None else lookup(draft, place.anchor, _NOTHING)
    if own is _NOTHING or editor == "order" or same_value(own, base):
        return ""
    return json.dumps(own) if editor == "dependencies" else _written(own, editor)


def _prefilled(place: Discrepancy, editor: str) -> str:
    return _written(place.left if place.left is not None else place.right, editor)


def _written(value: Any, editor: str) -> str:
    if editor == "passages" and isinstance(value, list):
        return "\n".join(one["text"] for one in value)
    if editor == "json" and isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else value_text(value)


def _steps(parts: tuple[str, ...], dispute: Dispute, place: Discrepancy, typed: str) -> list[tuple[str, str, str]]:
    """Return (step, label, kind of dependency) of every other step of the task on either side."""
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
                out.setdefault(step["id"], place_name(document, f"/tasks/{parts[1]}/steps/{step['id']}"))
    return [(key, words, chosen.get(key, "")) for key, words in out.items()]
