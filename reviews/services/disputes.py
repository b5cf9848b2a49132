"""A dispute as its page shows it: places in groups with what has been ruled so far, and what the rulings make."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from annotator.checks import Finding
from annotator.comparison import (
    Change,
    Discrepancy,
    Label,
    describe,
    diff,
    lookup,
    lost_dependencies,
    moot_places,
    readable,
    value_text,
)
from annotator.comparison.anchors import covers, ordered_list, owner, split
from annotator.errors import Invalid
from annotator.graph_pairs import GraphPair, pair_graphs
from annotator.models import Draft, User
from annotator.presentation import INFORMATION_LABELS, POLICY_LABELS
from annotator.schema import load_text
from annotator.services.revisions import check_document
from reviews.models import Slot
from reviews.protocols import Protocol
from reviews.services.adjudication import (
    Dispute,
    RulingLine,
    choices_of,
    is_text,
    read_rulings,
    settle_document,
    with_value,
)
from reviews.services.waivers import live_waivers

_NOTHING = object()
#: What the value of a label may be.
LABELS: dict[str, dict[str, str]] = {
    "policy": POLICY_LABELS,
    "information": INFORMATION_LABELS,
    "answer_type": {"tool": "What the tools returned", "chat": "Its own knowledge"},
    "language": {"en": "English", "zh": "Chinese"},
}


@dataclass
class PlaceRow:
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

    @property
    def kind(self) -> str:
        """The reason that holds: its own, else the one it follows."""
        return self.reason_kind or (self.inherited[1] if self.inherited else "")


@dataclass
class Agreed:
    """What both sides have alike at one place. ``changed``: both changed it, in the same way, against the author."""

    place: str
    text: str
    changed: bool
    mono: bool


@dataclass
class Group:
    """The disputed places of one task, or of the dialogue's own fields."""

    title: str
    key: str
    rows: list[PlaceRow] = field(default_factory=list)
    agreed: list[Agreed] = field(default_factory=list)
    graphs: GraphPair | None = None


@dataclass
class Outcome:
    """What the rulings make, once every place is settled. ``problem``: why they make nothing."""

    ready: bool = False
    problem: str = ""
    anchors: list[str] = field(default_factory=list)
    #: What goes with what was left out, as sentences.
    notes: list[str] = field(default_factory=list)
    errors: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return self.ready and not self.problem and not self.errors and not self.warnings


@dataclass
class Sheet:
    """The whole page: groups of places, and how far one has got."""

    rows: list[PlaceRow]
    groups: list[Group]
    outcome: Outcome

    @property
    def settled(self) -> int:
        return sum(row.settled for row in self.rows)

    def row_at(self, anchor: str) -> PlaceRow | None:
        """The disputed place that an anchor means: itself, what it lies in, else what lies in it."""
        for row in self.rows:
            if covers(row.anchor, anchor):
                return row
        return next((row for row in self.rows if anchor and covers(anchor, row.anchor)), None)


def effective_rulings(dispute: Dispute, given: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Rulings as a page's form has them, ready for ``submit_review``: a reason said to hold for all that follow does.

    Places come in the dialogue's order; a place with a reason of its own keeps it.
    """
    out: dict[str, dict[str, Any]] = {}
    kind = note = ""
    for place in dispute.places:
        row = dict(given.get(place.anchor, {}))
        if not row.get("reason_kind") and kind:
            row |= {"reason_kind": kind, "reason": row.get("reason") or note}
        if row.get("follow") and row.get("reason_kind"):
            kind, note = str(row["reason_kind"]), str(row.get("reason") or "")
        if row:
            row.pop("follow", None)
            out[place.anchor] = row | {"typed": True}
    for anchor in given.keys() - out.keys():
        out[anchor] = {key: value for key, value in given[anchor].items() if key != "follow"}
    return out


def read_sheet(
    *,
    actor: User,
    slot: Slot,
    dispute: Dispute,
    draft: Draft,
    protocol: Protocol,
    given: Mapping[str, Mapping[str, Any]],
    whole: bool = True,
) -> Sheet:
    """The page of a dispute with what has been filled in. ``whole``: also the agreeing places and the graphs."""
    rulings = effective_rulings(dispute, given)
    kinds = protocol.finding_kinds()
    rows, inherited = [], None
    for number, place in enumerate(dispute.places, 1):
        row = _row(number, place, dispute, given.get(place.anchor, {}))
        row.inherited = None if row.reason_kind else inherited
        if row.follow and row.kind:
            inherited = (number, row.kind)
        rows.append(row)
    lines = _good_lines(rows, rulings, dispute, draft, draft.content != slot.revision.content, kinds)
    moot = moot_places(
        dispute.left.document, dispute.right.document, dispute.places, choices_of([read for _, read in lines])
    )
    for row in rows:
        row.moot = moot.get(row.anchor, "")
        row.settled = row.settled or (bool(row.moot) and not row.problem)
    outcome = Outcome(ready=all(row.settled for row in rows))
    if outcome.ready:
        _read_outcome(outcome, actor=actor, slot=slot, dispute=dispute, draft=draft, lines=lines, kinds=kinds)
    return Sheet(rows, _groups(dispute, rows, whole=whole), outcome)


def _good_lines(
    rows: list[PlaceRow],
    rulings: Mapping[str, Mapping[str, Any]],
    dispute: Dispute,
    draft: Draft,
    edited: bool,
    kinds: frozenset[str],
) -> list[tuple[RulingLine, RulingLine]]:
    """The rulings that can stand, as given and with third values read; the other rows note what is wrong with theirs."""
    lines, content = [], draft.document()
    for row in rows:
        if not row.choice:
            continue
        try:
            (line,) = read_rulings({row.anchor: rulings[row.anchor]})
            lines.append((line, with_value(line, dispute, content, edited)))
        except Invalid as error:
            row.problem = error.sentence
        else:
            row.settled = row.kind in kinds
    return lines


def _read_outcome(
    outcome: Outcome,
    *,
    actor: User,
    slot: Slot,
    dispute: Dispute,
    draft: Draft,
    lines: list[tuple[RulingLine, RulingLine]],
    kinds: frozenset[str],
) -> None:
    given, read = [line for line, _ in lines], [line for _, line in lines]
    try:
        text, _ = settle_document(slot=slot, text=draft.content, lines=given, kinds=kinds, dispute=dispute)
    except Invalid as error:
        outcome.problem = error.sentence
        outcome.anchors = [*error.details.get("anchors", []), *filter(None, [error.details.get("anchor")])]
        return
    document = load_text(text)
    sides = dispute.left.document, dispute.right.document
    outcome.notes = lost_dependencies(*sides, dispute.places, choices_of(read), document)
    found = check_document(document, slot.revision.toolset_revision, project=slot.dialogue.project, stage="submit")
    waived = live_waivers(actor=actor, dialogue=slot.dialogue)
    outcome.errors = [one for one in found if one.severity == "error"]
    outcome.warnings = [
        one for one in found if one.severity == "warning" and (one.check, one.anchor, one.value_hash) not in waived
    ]


# --- rows -------------------------------------------------------------------------------------------------------------


def _row(number: int, place: Discrepancy, dispute: Dispute, given: Mapping[str, Any]) -> PlaceRow:
    parts = split(place.anchor)
    name = parts[-1] if parts else ""
    order = ordered_list(place.anchor) is not None
    whole = (len(parts) == 2 and parts[0] == "tasks") or (len(parts) == 4 and parts[2] == "steps")
    editor = _editor(place, name, order)
    base = lookup(dispute.base, place.anchor, _NOTHING)
    base_text = None if base is _NOTHING else _text(base, name)
    left = None if place.left is None and _absent(dispute.left.document, place) else _text(place.left, name)
    right = None if place.right is None and _absent(dispute.aligned, place) else _text(place.right, name)
    row = PlaceRow(
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
    if not row.value and editor in ("text", "json", "label"):
        row.value = _prefilled(place, editor)
    if editor == "dependencies":
        row.steps = _steps(parts, dispute, place, row.value)
    return row


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


def _text(value: Any, name: str) -> str:
    if value is None:
        return "not annotated"
    if name == "depends_on" and value == []:
        return "nothing"
    if name in LABELS and isinstance(value, str):
        return LABELS[name].get(value, value)
    if isinstance(value, dict) and isinstance(value.get("steps"), list):
        return "\n\n".join([str(value.get("user_message") or ""), *map(readable, value["steps"])])
    return readable(value)


def _prefilled(place: Discrepancy, editor: str) -> str:
    value = place.left if place.left is not None else place.right
    if editor == "json" and isinstance(value, str):
        return f'"{value}"'
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
    out = {}
    for document in (dispute.left.document, dispute.aligned):
        task = next((task for task in document["tasks"] if task["id"] == parts[1]), {"steps": []})
        for step in task["steps"]:
            if step["id"] != parts[3] and step["type"] != "answer":
                out.setdefault(step["id"], describe(document, f"/tasks/{parts[1]}/steps/{step['id']}"))
    return [(key, words, chosen.get(key, "")) for key, words in out.items()]


# --- groups -----------------------------------------------------------------------------------------------------------


def _groups(dispute: Dispute, rows: list[PlaceRow], *, whole: bool) -> list[Group]:
    groups: dict[str, Group] = {}
    for row in rows:
        parts = split(row.anchor)
        key = parts[1] if len(parts) > 1 and parts[0] == "tasks" else ""
        if key not in groups:
            title = dispute.words(f"/tasks/{key}") if key else "the dialogue itself"
            groups[key] = Group(title=f"{title[0].upper()}{title[1:]}", key=key)
        groups[key].rows.append(row)
    if whole:
        changed = {change.anchor: change for change in diff(dispute.base, dispute.left.document)}
        titles = (dispute.left.title, dispute.right.title)
        for key, group in groups.items():
            group.agreed = _agreed(dispute, key, rows, changed)
            if key:
                group.graphs = pair_graphs(dispute.left.document, dispute.aligned, key, titles=titles)
    return list(groups.values())


def _agreed(dispute: Dispute, task_id: str, rows: list[PlaceRow], changed: Mapping[str, Change]) -> list[Agreed]:
    """What both sides have alike in a task, field by field; of the dialogue's own fields for the blank task."""
    document = dispute.left.document
    if task_id:
        task = next((task for task in document["tasks"] if task["id"] == task_id), None)
        if task is None:
            return []
        places = [f"/tasks/{task_id}/{key}" for key in ("user_message", "policy", "information", "env_info")]
        for step in task["steps"]:
            places += [f"/tasks/{task_id}/steps/{step['id']}/{key}" for key in step if key not in ("id", "type")]
    else:
        places = ["/env_info", "/language"]
    out = []
    for anchor in places:
        value = lookup(document, anchor, None)
        if value in (None, {}) or any(covers(row.anchor, anchor) or covers(anchor, row.anchor) for row in rows):
            continue
        touched = any(covers(anchor, one) or one == owner(anchor) for one in changed)
        name = anchor.rpartition("/")[2]
        out.append(Agreed(describe(document, anchor), _text(value, name), touched, not isinstance(value, str)))
    return out
