"""A dispute as its page shows it: groups of places with their rulings, and the result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _

from annotator.core.checks import Finding
from annotator.core.comparison import diff, lookup, lost_dependencies, moot_anchors
from annotator.core.comparison.anchors import AnchorIndex, covers, lineage, owner, split
from annotator.core.schema import load_text
from annotator.errors import Invalid
from annotator.models import Draft, User
from annotator.presentation.graph_pairs import GraphPair, pair_graphs
from annotator.translation import place_name
from reviews.core.protocols import Protocol
from reviews.models import Slot
from reviews.services.adjudication.dispute_rows import DisputeRow, add_steps, dispute_row, shown
from reviews.services.protocols.versions import parse
from reviews.services.submission.rulings import (
    Dispute,
    RulingLine,
    capital,
    choices_of,
    read_rulings,
    settle_document,
    with_value,
)
from reviews.services.submission.waivers import check_for_stage, live_waivers

#: Places on one page. Each has about ten form fields, and its texts are compared word by word.
ROWS_PER_PAGE = 100


@dataclass
class Agreed:
    """A place where both sides agree. ``changed``: both changed it in the same way.

    ``own``: the senior reviewer's own version, which then counts; blank if there is none.
    """

    anchor: str
    place: str
    text: str
    changed: bool
    mono: bool
    own: str = ""
    #: Whether it can be edited: what both sides added is not in the version that the senior reviewer edits.
    editable: bool = True
    #: For what both sides added: the senior reviewer's third version.
    row: DisputeRow | None = None


@dataclass
class Group:
    """The disputed places of one task, or of the dialogue's own fields."""

    title: str
    key: str
    rows: list[DisputeRow] = field(default_factory=list)
    agreed: list[Agreed] = field(default_factory=list)
    graphs: GraphPair | None = None
    #: What the user says in the task: the message and the replies; without those that are places.
    said: list[str] = field(default_factory=list)

    @property
    def changed_alike(self) -> int:
        return sum(one.changed for one in self.agreed)


@dataclass
class Outcome:
    """The result, once every place is settled. ``problem``: why there is no result."""

    ready: bool = False
    problem: str = ""
    anchors: list[str] = field(default_factory=list)
    #: Sentences about what is removed together with the parts that are left out.
    notes: list[str] = field(default_factory=list)
    errors: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return self.ready and not self.problem and not self.errors and not self.warnings


@dataclass
class RulingSheet:
    """All places with their progress; those of one page in groups."""

    rows: list[DisputeRow]
    #: The groups on the page.
    groups: list[Group]
    outcome: Outcome
    #: Places that both sides have added, where a third version is optional.
    alike: list[DisputeRow] = field(default_factory=list)
    #: The places of the page, of both kinds, and the number of places before them.
    page: list[DisputeRow] = field(default_factory=list)
    start: int = 0

    @property
    def starts(self) -> list[tuple[int, int, int]]:
        """Return (places before, number of the first, number of the last) of every page."""
        count = len(self.rows) + len(self.alike)
        return [(start, start + 1, min(start + ROWS_PER_PAGE, count)) for start in range(0, count, ROWS_PER_PAGE)]

    @property
    def settled(self) -> int:
        return sum(row.settled for row in self.rows)

    def row_at(self, anchor: str) -> DisputeRow | None:
        """Return the disputed place of an anchor: the place itself, the one around it, or the first one in it."""
        own = next((self._at[one] for one in lineage(anchor) if one in self._at), None)
        return own or (self._around.get(anchor) if anchor else None)

    @cached_property
    def _at(self) -> dict[str, DisputeRow]:
        """Return the places by anchor; there may be thousands of places and of findings."""
        return {row.anchor: row for row in (*self.rows, *self.alike)}

    @cached_property
    def _around(self) -> dict[str, DisputeRow]:
        """Return the first disputed place inside each anchor."""
        return {one: row for row in reversed(self.rows) for one in lineage(row.anchor)}


def effective_rulings(dispute: Dispute, given: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the rulings of a form for ``submit_review``, with the reasons that apply to all following places.

    Places are in the dialogue's order; a place with its own reason keeps it.
    """
    out: dict[str, dict[str, Any]] = {}
    kind = note = ""
    for place in (*dispute.discrepancies, *dispute.alike):
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


def read_ruling_sheet(
    *,
    actor: User,
    slot: Slot,
    dispute: Dispute,
    draft: Draft,
    protocol: Protocol,
    given: Mapping[str, Mapping[str, Any]],
    whole: bool = True,
    start: int = 0,
) -> RulingSheet:
    """Return the page of a dispute that contains place number ``start`` (from 0), with the stored form.

    ``whole``: with the agreeing places and the graphs.
    """
    rulings = effective_rulings(dispute, given)
    kinds = protocol.error_type_keys()
    places, rows, inherited = [*dispute.discrepancies, *dispute.alike], [], None
    edited = draft.document() if draft.content != slot.revision.content else None
    for number, place in enumerate(places, 1):
        row = dispute_row(number, place, dispute, given.get(place.anchor, {}), edited)
        row.optional = number > len(dispute.discrepancies)
        row.inherited = None if row.reason_kind else inherited
        if row.follow and row.kind:
            inherited = (number, row.kind)
        rows.append(row)
    lines = _good_lines(rows, rulings, dispute, draft, edited is not None, kinds)
    moot = moot_anchors(
        dispute.left.document,
        dispute.right.document,
        dispute.discrepancies,
        choices_of([read for _given, read in lines]),
    )
    for row in rows:
        row.moot = moot.get(row.anchor, "")
        row.settled = row.settled or (bool(row.moot) and not row.problem)
    outcome = Outcome(ready=all(row.settled or (row.optional and not row.choice) for row in rows))
    if outcome.ready:
        _read_outcome(outcome, actor=actor, slot=slot, dispute=dispute, draft=draft, lines=lines, kinds=kinds)
        for row in rows:
            if row.anchor in outcome.anchors:
                row.problem, row.settled = outcome.problem, False
    start = max(0, min(start, len(rows) - 1)) // ROWS_PER_PAGE * ROWS_PER_PAGE
    page = rows[start : start + ROWS_PER_PAGE]
    sheet = RulingSheet(
        rows[: len(dispute.discrepancies)], [], outcome, rows[len(dispute.discrepancies) :], page, start
    )
    if whole:
        for row, place in zip(page, places[start:], strict=False):
            add_steps(row, place, dispute)
    sheet.groups = _groups(dispute, sheet, draft, whole=whole)
    return sheet


def _good_lines(
    rows: list[DisputeRow],
    rulings: Mapping[str, Mapping[str, Any]],
    dispute: Dispute,
    draft: Draft,
    edited: bool,
    kinds: frozenset[str],
) -> list[tuple[RulingLine, RulingLine]]:
    """Return the valid rulings, as given and with third values read; set the problem of the other rows."""
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
    given, read = [line for line, _read in lines], [line for _given, line in lines]
    try:
        text, _rulings = settle_document(slot=slot, text=draft.content, lines=given, kinds=kinds, dispute=dispute)
    except Invalid as error:
        outcome.problem = error.sentence
        outcome.anchors = [*error.details.get("anchors", []), *filter(None, [error.details.get("anchor")])]
        return
    document = load_text(text)
    sides = dispute.left.document, dispute.right.document
    outcome.notes = lost_dependencies(*sides, dispute.discrepancies, choices_of(read), document)
    stage = parse(slot.protocol).stage(slot.stage)
    seen = slot.revision
    found = check_for_stage(document, seen.toolset_revision, project=slot.dialogue.project, stage=stage, seen=seen)
    waived = live_waivers(actor=actor, dialogue=slot.dialogue)
    outcome.errors = [one for one in found if one.severity == "error"]
    outcome.warnings = [
        one for one in found if one.severity == "warning" and (one.check, one.anchor, one.value_hash) not in waived
    ]


# --- groups -----------------------------------------------------------------------------------------------------------


def _groups(dispute: Dispute, sheet: RulingSheet, draft: Draft, *, whole: bool) -> list[Group]:
    groups: dict[str, Group] = {}
    for row in sheet.page:
        key = _group_of(row.anchor)
        if key not in groups:
            groups[key] = Group(title=_title(dispute, key), key=key)
        if not row.optional:
            groups[key].rows.append(row)
    if whole:
        reading = _Reading(dispute, sheet, draft.document())
        titles = (dispute.left.title, dispute.right.title)
        begun = {_group_of(row.anchor) for row in sheet.rows[: sheet.start]}
        for key, group in groups.items():
            group.agreed = [
                one for one in reading.agreed(key) if one.row or (key not in begun and (group.rows or one.changed))
            ]
            if key and group.rows:
                group.graphs = pair_graphs(dispute.left.document, dispute.aligned, key, titles=titles)
                group.said = reading.said(key)
        if sheet.start + ROWS_PER_PAGE >= len(sheet.rows) + len(sheet.alike):
            # Groups without a dispute that both sides changed come last.
            known = {_group_of(row.anchor) for row in (*sheet.rows, *sheet.alike)}
            for key in ("", *(task["id"] for task in dispute.left.document.get("tasks", ()))):
                if key not in known:
                    both = [one for one in reading.agreed(key) if one.changed]
                    if both:
                        groups[key] = Group(title=_title(dispute, key), key=key, agreed=both)
    return list(groups.values())


def _group_of(anchor: str) -> str:
    parts = split(anchor)
    return parts[1] if len(parts) > 1 and parts[0] == "tasks" else ""


def _title(dispute: Dispute, key: str) -> str:
    return capital(dispute.words(f"/tasks/{key}")) if key else _("The dialogue")


class _Reading:
    """The fields where both sides agree, task by task."""

    def __init__(self, dispute: Dispute, sheet: RulingSheet, draft: dict[str, Any]) -> None:
        self.dispute, self.draft = dispute, draft
        self.editors = {row.anchor: row for row in sheet.page if row.optional}
        self.alike = {row.anchor for row in sheet.alike}
        self.disputed = AnchorIndex(row.anchor for row in sheet.rows)
        self.changed = {change.anchor for change in diff(dispute.base, dispute.left.document)}
        self.touched = {one for anchor in self.changed for one in lineage(anchor)}

    def said(self, task_id: str) -> list[str]:
        """Return what the user says in a task, as the senior reviewer has edited it, without what is disputed."""
        steps = lookup(self.dispute.left.document, f"/tasks/{task_id}/steps", None) or []
        anchors = [f"/tasks/{task_id}/user_message"]
        anchors += [f"/tasks/{task_id}/steps/{step['id']}/user_reply" for step in steps if "user_reply" in step]
        out = []
        for anchor in anchors:
            if self.disputed.touching(anchor) is None:
                mine, before = lookup(self.draft, anchor, None), lookup(self.dispute.base, anchor, None)
                out.append(mine if mine != before else lookup(self.dispute.left.document, anchor, None))
        return [text for text in out if isinstance(text, str) and text.strip()]

    def agreed(self, task_id: str) -> list[Agreed]:
        """Return the agreeing places of a task, or of the dialogue's own fields if the id is blank."""
        dispute, out = self.dispute, []
        document = dispute.left.document
        for anchor in self._places(task_id):
            value = lookup(document, anchor, None)
            if value in (None, {}) and anchor not in self.alike:
                continue
            if self.disputed.touching(anchor) is not None:
                continue
            touched = anchor in self.touched or owner(anchor) in self.changed
            name = anchor.rpartition("/")[2]
            one = Agreed(anchor, place_name(document, anchor), shown(value, name), touched, not isinstance(value, str))
            mine, before = lookup(self.draft, anchor, None), lookup(dispute.base, anchor, None)
            one.editable, one.row = before is not None, self.editors.get(anchor)
            if mine != before:
                one.own = shown(mine, name) if mine is not None else _("Removed")
            out.append(one)
        return out

    def _places(self, task_id: str) -> list[str]:
        document = self.dispute.left.document
        if not task_id:
            left_out = ("kind", "extra", "tasks", "context", "tool_codes", "tools")
            places = [f"/{key}" for key in document if key not in left_out]
            # There may be hundreds of functions.
            tools = (f"/tools/{one['id']}" for one in document.get("tools", ()))
            places += [one for one in tools if one in self.touched and f"{one}/tool" not in self.editors]
            # In a constrained case: constraints, rounds and calls that both sides have added.
            return places + [anchor for anchor in self.editors if not covers("/tasks", anchor)]
        task = next((task for task in document["tasks"] if task["id"] == task_id), None)
        if task is None:
            return []
        places = [f"/tasks/{task_id}/{key}" for key in ("user_message", "policy", "information", "env_info")]
        for step in task["steps"]:
            places += [f"/tasks/{task_id}/steps/{step['id']}/{key}" for key in step if key not in ("id", "type")]
        return places
