"""Adjudication: two versions side by side, a ruling at every place on which they differ, and the document they make."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from annotator.core.comparison import (
    ChoiceProblem,
    Discrepancy,
    added_alike,
    align,
    describe,
    discrepancies,
    in_reading_order,
    lookup,
    merge,
    moot_anchors,
    resolve_choices,
    same_content,
    with_fitting_remainder,
    with_remainder_of,
    with_values,
)
from annotator.core.comparison.anchors import AnchorIndex, split
from annotator.core.comparison.changes import same_value
from annotator.core.comparison.discrepancies import differences
from annotator.core.editing.json_text import JsonProblem, read_json
from annotator.core.schema import SchemaProblem, canonical, load_text
from annotator.errors import Invalid
from annotator.models import Revision
from annotator.services.dialogues.revisions import as_stored
from reviews.models import Review, Slot

#: ``none``: neither side's, and nothing in its place.
CHOICES = ("left", "right", "third", "none")
MAX_REASON = 1000

_NOTHING = object()
#: Fields that hold a text where they hold anything.
_TEXTS = frozenset(
    {"user_message", "policy", "information", "name", "question", "user_reply", "text", "answer_type", "final"}
)


@dataclass(frozen=True)
class RulingLine:
    """An expert's choice at one disputed place. ``value`` counts for a third one, if ``has_value``."""

    anchor: str
    choice: str
    reason_kind: str
    reason: str = ""
    value: Any = None
    has_value: bool = False
    #: Whether the value is what somebody typed on a page: JSON, wherever the disputed values are no texts.
    typed: bool = False


@dataclass(frozen=True)
class Side:
    """One version, without the name of whoever made it: an expert weighs reasons, not people."""

    title: str
    document: dict[str, Any]
    #: Null for the version that was there before.
    review: Review | None = None

    @property
    def verdict(self) -> str:
        return self.review.verdict if self.review else ""

    @property
    def reason(self) -> str:
        return self.review.reason if self.review else ""


@dataclass(frozen=True)
class Dispute:
    """What an expert has to settle. ``base`` is the version both sides began from; ``more``: further reviews.

    Where any version differs from that of the first reviewer, the first that does stands on the right.
    """

    base: dict[str, Any]
    left: Side
    right: Side
    discrepancies: list[Discrepancy]
    more: list[Side]

    @cached_property
    def aligned(self) -> dict[str, Any]:
        """The right version with the ids of its steps as the disputed places name them."""
        return align(self.left.document, self.right.document)

    @cached_property
    def alike(self) -> list[Discrepancy]:
        """What both sides have added alike, field by field: nobody has to rule there, but may write something else.

        The version that the expert edits has no such place.
        """
        return added_alike(self.base, self.left.document, self.aligned)

    @cached_property
    def disputed(self) -> dict[str, Discrepancy]:
        """The disputed places by their anchors: there may be thousands, and a ruling on each."""
        return {place.anchor: place for place in self.discrepancies}

    @cached_property
    def around(self) -> AnchorIndex:
        """The disputed places, to find whether another touches one of them."""
        return AnchorIndex(self.disputed)

    @cached_property
    def _by_anchor(self) -> dict[str, Discrepancy]:
        return {place.anchor: place for place in self.alike} | self.disputed

    def place_at(self, anchor: str) -> Discrepancy:
        """The place with that anchor, disputed or added alike."""
        return self._by_anchor[anchor]

    def find(self, anchor: str) -> Discrepancy | None:
        """The place with that anchor, if there is one."""
        return self._by_anchor.get(anchor)

    def words(self, anchor: str) -> str:
        """A disputed place in words."""
        holder = self.left.document if lookup(self.left.document, anchor, _NOTHING) is not _NOTHING else None
        return describe(holder or self.aligned, anchor)


def load_dispute(slot: Slot) -> Dispute | None:
    """The dispute that brought a slot's item to the expert; None for one that was drawn or came in the regular way, or
    that another expert has settled, whose version is looked at again like any other.

    Two reviewers: one on either side. More: the first, and the next one whose version says something else. One reviewer
    (of their own work, or beside the author): the version before on the left, theirs on the right. The caller has made
    sure that the actor holds the slot.
    """
    run = slot.stage_run.disputed_run
    if run is None:
        return None
    reviews = list(
        Review.objects.filter(stage_run=run, sealed=False)
        .select_related("made_revision", "slot")
        .prefetch_related("errors")
        .order_by("slot__index")
    )
    base = run.entry_revision.document()
    sides = [
        Side(
            title=f"Reviewer {number}",
            document=_as_written(review.made_revision, run.entry_revision) if review.made_revision else base,
            review=review,
        )
        for number, review in enumerate(reviews, 1)
    ]
    if len(sides) == 1:
        sides = [Side(title="Before", document=base), replace(sides[0], title="Reviewer")]
    left, *others = sides
    right = next((one for one in others if not same_content(left.document, one.document)), others[0])
    more = [one for one in others if one is not right]
    return Dispute(
        base=base,
        left=left,
        right=right,
        discrepancies=in_reading_order(
            left.document,
            align(left.document, right.document),
            discrepancies(left.document, right.document),
        ),
        more=more,
    )


def _as_written(made: Revision, base: Revision) -> dict[str, Any]:
    """A version with what storing it took from its native record: a ruling may take back the edit it went with."""
    document = made.document()
    whole = with_remainder_of(document, base.document())
    return whole if whole != document and _is_changed_by_storing(made.public_id, base.public_id) else document


@lru_cache(maxsize=4096)
def _is_changed_by_storing(made_id: str, base_id: str) -> bool:
    """Whether only storing removed what the version lacks of the native record.

    Every ruling asks, and the answer takes seconds for a long dialogue; versions do not change.
    """
    made, base = (Revision.objects.get(public_id=one) for one in (made_id, base_id))
    return as_stored(with_remainder_of(made.document(), base.document()), base) == made.content


def read_rulings(given: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> list[RulingLine]:
    """Rulings as a form ({anchor: {…}}) or the API ([{"anchor", …}]) sends them. Raises Invalid."""
    rows = [{**row, "anchor": anchor} for anchor, row in given.items()] if isinstance(given, Mapping) else given
    lines: dict[str, RulingLine] = {}
    for row in rows:
        line = RulingLine(
            anchor=str(row.get("anchor", "")),
            choice=str(row.get("choice", "")),
            reason_kind=str(row.get("reason_kind") or ""),
            reason=str(row.get("reason") or "").strip(),
            value=row.get("value"),
            has_value=row.get("value") not in (None, ""),
            typed=row.get("typed") is True,
        )
        if not line.choice:
            continue
        if line.choice not in CHOICES:
            raise Invalid(f"A ruling is one of: {', '.join(CHOICES)}.", anchor=line.anchor)
        if line.anchor in lines:
            raise Invalid(f"There are two rulings for {line.anchor}; keep one.", anchor=line.anchor)
        if len(line.reason) > MAX_REASON or "\x00" in line.reason:
            raise Invalid(
                f"A ruling's reason has at most {MAX_REASON:,} characters, none of them NUL.", anchor=line.anchor
            )
        lines[line.anchor] = line
    return list(lines.values())


def settle_document(
    *, slot: Slot, text: str, lines: list[RulingLine], kinds: frozenset[str], dispute: Dispute | None = None
) -> tuple[str, list[RulingLine]]:
    """What the rulings make of the dialogue, brought together with what the expert changed besides.

    ``text``: the expert's own draft; ``dispute``: of the slot, where it is at hand. Returns canonical text and the
    rulings, values filled in. Raises Invalid where a disputed place has no ruling or reason, or draft and ruling
    contradict each other. What was decided elsewhere so that nothing is left to decide needs no ruling.
    """
    dispute = dispute or load_dispute(slot)
    if dispute is None:
        if lines:
            raise Invalid("Nothing is disputed here; edit the dialogue itself.")
        return text, []
    draft = load_text(text)
    require_known(dispute, lines)
    lines = [with_value(line, dispute, draft, text != slot.revision.content) for line in lines]
    dispute, disputed = _rewritten(dispute, lines)
    choices = choices_of(disputed)
    moot = moot_anchors(dispute.left.document, dispute.right.document, dispute.discrepancies, choices)
    _require_complete(dispute, lines, kinds, moot)
    choices = dict.fromkeys(moot, "left") | choices
    try:
        settled = resolve_choices(dispute.base, dispute.left.document, dispute.right.document, choices)
        settled = with_fitting_remainder(settled, dispute.base, dispute.left.document, dispute.aligned)
    except (ChoiceProblem, SchemaProblem) as problem:
        raise Invalid(str(problem), anchors=getattr(problem, "anchors", [])) from None
    if text == slot.revision.content:
        return canonical(settled), lines
    before = slot.revision.document()
    result = merge(before, draft, settled)
    # Where nobody has to rule, because both reviewers changed the same, what the expert wrote instead counts.
    own = {one.anchor: "mine" for one in result.conflicts if dispute.around.touching(one.anchor) is None}
    if own:
        result = merge(before, draft, settled, choices=own)
    anchors = [conflict.anchor for conflict in result.conflicts]
    if not anchors:
        edited = {dispute.around.touching(change.anchor) for change in differences(before, draft)}
        # Ruled to stay as it was, and yet as the draft has it: nobody else has changed it, so it is no conflict.
        anchors = [
            line.anchor
            for line in disputed
            if line.anchor in edited
            and not same_value(*(lookup(one, line.anchor, _NOTHING) for one in (settled, result.document)))
        ]
    if anchors:
        raise Invalid(_contradiction(dispute, lines, anchors), anchors=anchors)
    return canonical(result.document), lines


def _contradiction(dispute: Dispute, lines: list[RulingLine], anchors: list[str]) -> str:
    """What is to be done at places that were ruled on and edited as well."""
    third = AnchorIndex(line.anchor for line in lines if line.choice == "third")
    written = [anchor for anchor in anchors if third.touching(anchor) is not None]
    ruled = [anchor for anchor in anchors if third.touching(anchor) is None]
    out = []
    for some, said, todo in (
        (ruled, "You ruled on a place and edited it as well", "Choose “third” there, or undo the edit."),
        (
            written,
            "You wrote a third version of a place and edited it otherwise in the dialogue",
            "Write the same in both, or undo the edit.",
        ),
    ):
        if some:
            out.append(f"{said}: {'; '.join(dispute.words(anchor) for anchor in some[:3])}. {todo}")
    return " ".join(out)


def _rewritten(dispute: Dispute, lines: list[RulingLine]) -> tuple[Dispute, list[RulingLine]]:
    """The dispute as if both sides had added what the expert writes instead; and the rulings on what is disputed."""
    ruled = [line for line in lines if line.anchor in dispute.disputed]
    values = {line.anchor: line.value for line in lines if line.anchor not in dispute.disputed}
    if not values:
        return dispute, ruled
    try:
        left, right = (with_values(one, values) for one in (dispute.left.document, dispute.aligned))
    except SchemaProblem as problem:
        first = problem.problems[0]
        anchor = AnchorIndex(values).touching(first.pointer) or next(iter(values))
        raise Invalid(f"{capital(dispute.words(anchor))}: {first.message}", anchor=anchor) from None
    dispute = replace(dispute, left=replace(dispute.left, document=left), right=replace(dispute.right, document=right))
    return dispute, ruled


def require_known(dispute: Dispute, lines: list[RulingLine]) -> None:
    """Raises Invalid for a ruling on a place that is not disputed; on what both added, only a third value is one."""
    foreign = {line.anchor for line in lines} - dispute.disputed.keys()
    if foreign:
        alike = {place.anchor for place in dispute.alike}
        foreign -= alike
        for line in lines:
            if line.anchor in alike and line.choice != "third":
                raise Invalid(
                    f"Both agree on {dispute.words(line.anchor)}; write something else there, or leave it as it is.",
                    anchor=line.anchor,
                )
    if foreign:
        first = dispute.words(min(foreign))
        raise Invalid(f"Nothing is disputed at {first}; load the page again.", anchors=sorted(foreign))


def _require_complete(
    dispute: Dispute, lines: list[RulingLine], kinds: frozenset[str], moot: Mapping[str, str]
) -> None:
    known, ruled = dispute.disputed, {line.anchor for line in lines}
    missing = [anchor for anchor in known if anchor not in ruled and anchor not in moot]
    if missing:
        raise Invalid(
            f"Rule on every disputed place; {len(missing)} of {len(known)} still have no ruling, the first: "
            f"{dispute.words(missing[0])}.",
            anchors=missing,
        )
    for line in lines:
        if line.reason_kind not in kinds:
            raise Invalid(
                f"Say which error type decides {dispute.words(line.anchor)}: a ruling needs its reason.",
                anchor=line.anchor,
            )


def with_value(line: RulingLine, dispute: Dispute, draft: dict[str, Any], edited: bool) -> RulingLine:
    """The ruling with its third value: as given, else as the expert's draft has it (perhaps nothing at all)."""
    if line.choice != "third":
        return replace(line, value=None, has_value=False)
    place = dispute.place_at(line.anchor)
    if line.has_value:
        return replace(line, value=read_value(line, place, dispute), has_value=True)
    # What both added is not in the expert's draft.
    if not edited or line.anchor not in dispute.disputed:
        raise Invalid(f"Give the third value for {dispute.words(line.anchor)}.", anchor=line.anchor)
    own = lookup(draft, line.anchor, _NOTHING)
    return replace(line, value=None if own is _NOTHING else own, has_value=own is not _NOTHING)


def is_text(place: Discrepancy) -> bool:
    """Whether the values at a disputed place are texts, and so a third one is."""
    values = [value for value in (place.left, place.right) if value is not None]
    return all(isinstance(value, str) for value in values) if values else split(place.anchor)[-1] in _TEXTS


def read_value(line: RulingLine, place: Discrepancy, dispute: Dispute) -> Any:
    """A third value as the disputed ones are, where somebody typed it: a text where they are texts, else JSON.

    Raises Invalid for what somebody typed that is no JSON; what a program sends stays what it is.
    """
    if not line.typed or not isinstance(line.value, str) or is_text(place):
        return line.value
    try:
        return read_json(line.value)
    except JsonProblem as problem:
        raise Invalid(f"{capital(dispute.words(place.anchor))}: {problem}", anchor=place.anchor) from None


def capital(words: str) -> str:
    """A sentence begins with a capital letter."""
    return words[:1].upper() + words[1:]


def choices_of(lines: list[RulingLine]) -> dict[str, Any]:
    """The rulings as ``annotator.core.comparison.resolve_choices`` takes them; third values as they were read."""
    return {line.anchor: _choice(line) for line in lines}


def _choice(line: RulingLine) -> str | dict[str, Any]:
    if line.choice == "none":
        return {"absent": True}
    if line.choice != "third":
        return line.choice
    return {"value": line.value} if line.has_value else {"absent": True}
