"""A dispute as its page shows it: places in groups with what has been ruled so far, and what the rulings make."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from annotator.checks import Finding
from annotator.comparison import (
    Change,
    describe,
    diff,
    lookup,
    lost_dependencies,
    moot_places,
)
from annotator.comparison.anchors import covers, owner, split
from annotator.errors import Invalid
from annotator.graph_pairs import GraphPair, pair_graphs
from annotator.models import Draft, User
from annotator.schema import load_text
from reviews.models import Slot
from reviews.protocols import Protocol
from reviews.services.adjudication import (
    Dispute,
    RulingLine,
    choices_of,
    read_rulings,
    settle_document,
    with_value,
)
from reviews.services.dispute_places import PlaceRow, place_row, shown
from reviews.services.protocols import parse
from reviews.services.stage_checks import check_for_stage
from reviews.services.waivers import live_waivers


@dataclass
class Agreed:
    """What both sides have alike at one place. ``changed``: both changed it, in the same way, against the author.

    ``own``: what the expert has written there instead, which then counts; blank where they have not.
    """

    anchor: str
    place: str
    text: str
    changed: bool
    mono: bool
    own: str = ""
    #: Whether it can be edited besides: what both have added is not in the version the expert edits.
    editable: bool = True
    #: Of what both have added alike: what the expert writes there instead.
    row: PlaceRow | None = None


@dataclass
class Group:
    """The disputed places of one task, or of the dialogue's own fields."""

    title: str
    key: str
    rows: list[PlaceRow] = field(default_factory=list)
    agreed: list[Agreed] = field(default_factory=list)
    graphs: GraphPair | None = None

    @property
    def changed_alike(self) -> int:
        return sum(one.changed for one in self.agreed)


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
    #: Places that both have added alike, where something else may be written.
    alike: list[PlaceRow] = field(default_factory=list)

    @property
    def settled(self) -> int:
        return sum(row.settled for row in self.rows)

    def row_at(self, anchor: str) -> PlaceRow | None:
        """The disputed place that an anchor means: itself, what it lies in, else what lies in it."""
        for row in (*self.rows, *self.alike):
            if covers(row.anchor, anchor):
                return row
        return next((row for row in self.rows if anchor and covers(anchor, row.anchor)), None)


def effective_rulings(dispute: Dispute, given: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Rulings as a page's form has them, ready for ``submit_review``: a reason said to hold for all that follow does.

    Places come in the dialogue's order; a place with a reason of its own keeps it.
    """
    out: dict[str, dict[str, Any]] = {}
    kind = note = ""
    for place in (*dispute.places, *dispute.alike):
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
    for number, place in enumerate((*dispute.places, *dispute.alike), 1):
        row = place_row(number, place, dispute, given.get(place.anchor, {}))
        row.optional = number > len(dispute.places)
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
    outcome = Outcome(ready=all(row.settled or (row.optional and not row.choice) for row in rows))
    if outcome.ready:
        _read_outcome(outcome, actor=actor, slot=slot, dispute=dispute, draft=draft, lines=lines, kinds=kinds)
    rows, alike = rows[: len(dispute.places)], rows[len(dispute.places) :]
    return Sheet(rows, _groups(dispute, rows, alike, draft, whole=whole), outcome, alike)


def _good_lines(
    rows: list[PlaceRow],
    rulings: Mapping[str, Mapping[str, Any]],
    dispute: Dispute,
    draft: Draft,
    edited: bool,
    kinds: frozenset[str],
) -> list[tuple[RulingLine, RulingLine]]:
    """The rulings that can stand, as given and with third values read; other rows note what is wrong with theirs."""
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
    stage = parse(slot.protocol).stage(slot.stage)
    found = check_for_stage(document, slot.revision.toolset_revision, project=slot.dialogue.project, stage=stage)
    waived = live_waivers(actor=actor, dialogue=slot.dialogue)
    outcome.errors = [one for one in found if one.severity == "error"]
    outcome.warnings = [
        one for one in found if one.severity == "warning" and (one.check, one.anchor, one.value_hash) not in waived
    ]


# --- groups -----------------------------------------------------------------------------------------------------------


def _groups(dispute: Dispute, rows: list[PlaceRow], alike: list[PlaceRow], draft: Draft, *, whole: bool) -> list[Group]:
    groups: dict[str, Group] = {}
    for row in rows:
        parts = split(row.anchor)
        key = parts[1] if len(parts) > 1 and parts[0] == "tasks" else ""
        if key not in groups:
            groups[key] = Group(title=_title(dispute, key), key=key)
        groups[key].rows.append(row)
    if whole:
        changed = {change.anchor: change for change in diff(dispute.base, dispute.left.document)}
        titles, content = (dispute.left.title, dispute.right.title), draft.document()
        editors = {row.anchor: row for row in alike}
        for key, group in groups.items():
            group.agreed = _agreed(dispute, key, rows, changed, content, editors)
            if key:
                group.graphs = pair_graphs(dispute.left.document, dispute.aligned, key, titles=titles)
        # Nothing is disputed there, and yet it is not as it was.
        for key in ("", *(task["id"] for task in dispute.left.document.get("tasks", ()))):
            if key not in groups:
                both = [one for one in _agreed(dispute, key, rows, changed, content, editors) if one.changed]
                if both:
                    groups[key] = Group(title=_title(dispute, key), key=key, agreed=both)
    return list(groups.values())


def _title(dispute: Dispute, key: str) -> str:
    title = dispute.words(f"/tasks/{key}") if key else "the dialogue itself"
    return f"{title[0].upper()}{title[1:]}"


def _agreed(
    dispute: Dispute,
    task_id: str,
    rows: list[PlaceRow],
    changed: Mapping[str, Change],
    draft: dict[str, Any],
    editors: Mapping[str, PlaceRow],
) -> list[Agreed]:
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
        places = [f"/{key}" for key in document if key not in ("kind", "extra", "tasks", "context", "tool_codes")]
        # Of a constrained case: constraints, rounds and calls that both have added.
        places += [anchor for anchor in editors if not covers("/tasks", anchor)]
    out = []
    for anchor in places:
        value = lookup(document, anchor, None)
        if (value in (None, {}) and anchor not in editors) or any(
            covers(row.anchor, anchor) or covers(anchor, row.anchor) for row in rows
        ):
            continue
        touched = any(covers(anchor, one) or one == owner(anchor) for one in changed)
        name = anchor.rpartition("/")[2]
        one = Agreed(anchor, describe(document, anchor), shown(value, name), touched, not isinstance(value, str))
        mine, before = lookup(draft, anchor, None), lookup(dispute.base, anchor, None)
        one.editable, one.row = before is not None, editors.get(anchor)
        if mine != before:
            one.own = shown(mine, name) if mine is not None else "Nothing"
        out.append(one)
    return out
