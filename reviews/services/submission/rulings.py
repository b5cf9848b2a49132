"""Rulings on a dispute: two revisions, a ruling for every place that differs, and the resulting document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from django.utils.translation import gettext as _

from annotator.core.comparison import (
    ChoiceProblem,
    Discrepancy,
    added_alike,
    align,
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
from annotator.core.comparison.field_titles import field_at
from annotator.core.editing.json_text import JsonProblem, read_json
from annotator.core.fields import CustomField, FieldType
from annotator.core.schema import SchemaProblem, canonical, load_text
from annotator.errors import Invalid
from annotator.models import Revision
from annotator.services.custom_fields import fields_of
from annotator.services.dialogues.revisions import as_stored
from annotator.translation import place_name
from reviews.models import Review, Slot, Verdict
from reviews.services.submission.passages import read_passages, text_of

#: ``none``: remove what both sides have.
CHOICES = ("left", "right", "third", "none")
MAX_REASON = 1000

_NOTHING = object()
#: Fields whose value is a text or null.
_TEXTS = frozenset(
    {"user_message", "policy", "information", "name", "question", "user_reply", "text", "answer_type", "final"}
)


@dataclass(frozen=True)
class RulingLine:
    """A senior reviewer's choice at one disputed place. ``value``: of a third version, if ``has_value``."""

    anchor: str
    choice: str
    reason_kind: str
    reason: str = ""
    value: Any = None
    has_value: bool = False
    #: Whether the value was typed on a page: as JSON, unless the disputed values are texts.
    typed: bool = False


@dataclass(frozen=True)
class Side:
    """One revision, without the name of its author: a senior reviewer weighs reasons, not people."""

    title: str
    document: dict[str, Any]
    #: Null for the revision before the review.
    review: Review | None = None

    @property
    def verdict(self) -> str:
        return self.review.verdict if self.review else ""

    @property
    def reason(self) -> str:
        return self.review.reason if self.review else ""


@dataclass(frozen=True)
class Dispute:
    """What a senior reviewer has to settle. ``base``: the revision that both sides started from; ``more``: further
    reviews.

    The right side is the first revision that differs from that of the first reviewer.
    """

    base: dict[str, Any]
    left: Side
    right: Side
    discrepancies: list[Discrepancy]
    more: list[Side]
    #: The custom fields of the project.
    fields: tuple[CustomField, ...] = ()

    def field_at(self, anchor: str) -> CustomField | None:
        """Return the custom field whose value is at a place; None for any other place."""
        return field_at(anchor, self.fields)

    @cached_property
    def aligned(self) -> dict[str, Any]:
        """Return the right revision with the step ids that the disputed places use."""
        return align(self.left.document, self.right.document)

    @property
    def sides(self) -> list[Side]:
        return [self.left, self.right, *self.more]

    @property
    def is_about_a_rejection(self) -> bool:
        """Return whether a reviewer rejected the dialogue and no place differs, so no ruling gives a reason."""
        return not self.discrepancies and any(side.verdict == Verdict.REJECT for side in self.sides)

    @cached_property
    def alike(self) -> list[Discrepancy]:
        """Return what both sides have added identically, field by field; a ruling on it is optional.

        The version that the senior reviewer edits has no such place.
        """
        return added_alike(self.base, self.left.document, self.aligned)

    @cached_property
    def disputed(self) -> dict[str, Discrepancy]:
        """Return the disputed places by anchor; there may be thousands."""
        return {place.anchor: place for place in self.discrepancies}

    @cached_property
    def around(self) -> AnchorIndex:
        """Return an index that finds the disputed place another anchor touches."""
        return AnchorIndex(self.disputed)

    @cached_property
    def _by_anchor(self) -> dict[str, Discrepancy]:
        return {place.anchor: place for place in self.alike} | self.disputed

    def place_at(self, anchor: str) -> Discrepancy:
        """Return the place with this anchor, disputed or added by both."""
        return self._by_anchor[anchor]

    def find(self, anchor: str) -> Discrepancy | None:
        """Return the place with this anchor, if there is one."""
        return self._by_anchor.get(anchor)

    def words(self, anchor: str) -> str:
        """Return the label of a disputed place."""
        holder = self.left.document if lookup(self.left.document, anchor, _NOTHING) is not _NOTHING else None
        return place_name(holder or self.aligned, anchor, self.fields)


def load_dispute(slot: Slot) -> Dispute | None:
    """Return the dispute that a slot has to settle; None for an item that was drawn, came in the regular way, or was
    settled by another senior reviewer.

    Two reviewers: one on each side. More: the first, and the next one with a different version. One reviewer: the
    previous revision on the left, theirs on the right. The caller has checked that the actor holds the slot.
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
            title=_("Reviewer %(number)s") % {"number": number},
            document=_as_written(review.made_revision, run.entry_revision) if review.made_revision else base,
            review=review,
        )
        for number, review in enumerate(reviews, 1)
    ]
    if len(sides) == 1:
        sides = [Side(title=_("Before"), document=base), replace(sides[0], title=_("Reviewer"))]
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
        fields=fields_of(slot.project),
    )


def _as_written(made: Revision, base: Revision) -> dict[str, Any]:
    """Return a revision with the parts of its native record that storing removed; a ruling may undo that edit."""
    document = made.document()
    whole = with_remainder_of(document, base.document())
    return whole if whole != document and _is_changed_by_storing(made.public_id, base.public_id) else document


@lru_cache(maxsize=4096)
def _is_changed_by_storing(made_id: str, base_id: str) -> bool:
    """Return whether only storing removed what the revision lacks of the native record.

    Cached, because this takes seconds for a long dialogue and revisions do not change.
    """
    made, base = (Revision.objects.get(public_id=one) for one in (made_id, base_id))
    return as_stored(with_remainder_of(made.document(), base.document()), base) == made.content


def read_rulings(given: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> list[RulingLine]:
    """Read rulings as a form ({anchor: {…}}) or the API ([{"anchor", …}]) sends them. Raises Invalid."""
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
            raise Invalid(_("Choose one of: %(choices)s.") % {"choices": ", ".join(CHOICES)}, anchor=line.anchor)
        if line.anchor in lines:
            raise Invalid(
                _("There are two rulings for %(anchor)s. Keep one.") % {"anchor": line.anchor}, anchor=line.anchor
            )
        if len(line.reason) > MAX_REASON or "\x00" in line.reason:
            raise Invalid(
                _("The reason for a ruling may have at most %(limit)s characters and no NUL character.")
                % {"limit": f"{MAX_REASON:,}"},
                anchor=line.anchor,
            )
        lines[line.anchor] = line
    return list(lines.values())


def settle_document(
    *, slot: Slot, text: str, lines: list[RulingLine], kinds: frozenset[str], dispute: Dispute | None = None
) -> tuple[str, list[RulingLine]]:
    """Return the canonical text of the settled dialogue, merged with the senior reviewer's own edits, and the complete
    rulings.

    ``text``: the senior reviewer's draft; ``dispute``: that of the slot, if already loaded. Raises Invalid if a
    disputed place has no ruling or reason, or if draft and ruling contradict each other. A place that other rulings
    have decided needs none.
    """
    dispute = dispute or load_dispute(slot)
    if dispute is None:
        if lines:
            raise Invalid(_("This dialogue isn’t in dispute. Edit it in the workspace."))
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
        raise Invalid(str(problem), anchors=_places_of(problem, dispute)) from None
    if text == slot.revision.content:
        return canonical(settled), lines
    before = slot.revision.document()
    result = merge(before, draft, settled)
    # Where both reviewers made the same change, the senior reviewer's own edit counts.
    own = {one.anchor: "mine" for one in result.conflicts if dispute.around.touching(one.anchor) is None}
    if own:
        result = merge(before, draft, settled, choices=own)
    anchors = [conflict.anchor for conflict in result.conflicts]
    if not anchors:
        edited = {dispute.around.touching(change.anchor) for change in differences(before, draft)}
        # A ruling that keeps the old value while the draft changes it is no merge conflict, but a contradiction.
        anchors = [
            line.anchor
            for line in disputed
            if line.anchor in edited
            and not same_value(*(lookup(one, line.anchor, _NOTHING) for one in (settled, result.document)))
        ]
    if anchors:
        raise Invalid(_contradiction(dispute, lines, anchors), anchors=anchors)
    return canonical(result.document), lines


def _places_of(problem: ChoiceProblem | SchemaProblem, dispute: Dispute) -> list[str]:
    """Return the disputed places whose rulings cause a problem, as far as it says."""
    if isinstance(problem, ChoiceProblem):
        return list(problem.anchors)
    index = AnchorIndex(dispute.disputed)
    places = (index.touching(one.pointer) for one in problem.problems)
    return [place for place in dict.fromkeys(places) if place is not None]


def _contradiction(dispute: Dispute, lines: list[RulingLine], anchors: list[str]) -> str:
    """Return what to do at places with both a ruling and an edit."""
    third = AnchorIndex(line.anchor for line in lines if line.choice == "third")
    written = [anchor for anchor in anchors if third.touching(anchor) is not None]
    ruled = [anchor for anchor in anchors if third.touching(anchor) is None]
    out = []
    for some, sentence in (
        (
            ruled,
            _("You have settled and edited the same place: %(places)s. Choose the third version, or undo the edit."),
        ),
        (
            written,
            _("Your third version differs from your edit: %(places)s. Write the same in both, or undo the edit."),
        ),
    ):
        if some:
            out.append(sentence % {"places": "; ".join(dispute.words(anchor) for anchor in some[:3])})
    return " ".join(out)


def _rewritten(dispute: Dispute, lines: list[RulingLine]) -> tuple[Dispute, list[RulingLine]]:
    """Return the dispute with the senior reviewer's text where both sides added the same, and the other rulings."""
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
    """Raise Invalid for a ruling on a place that is not disputed; where both agree, only a third version is allowed."""
    foreign = {line.anchor for line in lines} - dispute.disputed.keys()
    if foreign:
        alike = {place.anchor for place in dispute.alike}
        foreign -= alike
        for line in lines:
            if line.anchor in alike and line.choice != "third":
                raise Invalid(
                    _("Both reviewers agree on %(place)s. Write a third version, or leave it as it is.")
                    % {"place": dispute.words(line.anchor)},
                    anchor=line.anchor,
                )
    if foreign:
        first = dispute.words(min(foreign))
        raise Invalid(
            _("There is no dispute about %(place)s. Reload the page.") % {"place": first}, anchors=sorted(foreign)
        )


def _require_complete(
    dispute: Dispute, lines: list[RulingLine], kinds: frozenset[str], moot: Mapping[str, str]
) -> None:
    known, ruled = dispute.disputed, {line.anchor for line in lines}
    unexplained = [line.anchor for line in lines if line.reason_kind not in kinds]
    if any(anchor not in ruled and anchor not in moot for anchor in known):
        # As the page counts them: a decision without a reason is open, too.
        still_open = [
            anchor for anchor in known if anchor in unexplained or (anchor not in ruled and anchor not in moot)
        ]
        raise unsettled(dispute, still_open)
    if unexplained:
        raise Invalid(
            _("Choose a reason for %(place)s.") % {"place": dispute.words(unexplained[0])},
            anchors=unexplained,
        )


def unsettled(dispute: Dispute, still_open: list[str]) -> Invalid:
    """Return the refusal of a decision that leaves these places open."""
    sentence = _("Settle every place. %(count)s of %(total)s are still open. The first is %(place)s.")
    numbers = {"count": len(still_open), "total": len(dispute.disputed), "place": dispute.words(still_open[0])}
    return Invalid(sentence % numbers, anchors=still_open)


def with_value(line: RulingLine, dispute: Dispute, draft: dict[str, Any], edited: bool) -> RulingLine:
    """Return the ruling with its third version: as given, else from the senior reviewer's draft (possibly nothing)."""
    if line.choice != "third":
        return replace(line, value=None, has_value=False)
    place = dispute.place_at(line.anchor)
    if line.has_value:
        return replace(line, value=read_value(line, place, dispute), has_value=True)
    # What both sides added is not in the senior reviewer's draft.
    if not edited or line.anchor not in dispute.disputed:
        raise Invalid(
            _("Write the third version of %(place)s.") % {"place": dispute.words(line.anchor)}, anchor=line.anchor
        )
    own = lookup(draft, line.anchor, _NOTHING)
    return replace(line, value=None if own is _NOTHING else own, has_value=own is not _NOTHING)


def is_text(place: Discrepancy) -> bool:
    """Return whether the values at a disputed place are texts, and so is a third one."""
    values = [value for value in (place.left, place.right) if value is not None]
    return all(isinstance(value, str) for value in values) if values else split(place.anchor)[-1] in _TEXTS


def read_value(line: RulingLine, place: Discrepancy, dispute: Dispute) -> Any:
    """Return a typed third value as a text if the disputed values are texts, as the spans of its lines if words are
    marked, else parsed as JSON.

    Raises Invalid for typed text that is not JSON. A value sent by a program stays as it is.
    """
    if not line.typed or not isinstance(line.value, str) or is_text(place):
        return line.value
    asked = dispute.field_at(place.anchor)
    if asked is not None and asked.type is FieldType.SPAN and not line.value.lstrip().startswith("["):
        documents = (dispute.left.document, dispute.aligned, dispute.base)
        try:
            return read_passages(line.value, (text_of(one, place.anchor, asked) for one in documents))
        except Invalid as problem:
            sentence = f"{capital(dispute.words(place.anchor))}: {problem.sentence}"
            raise Invalid(sentence, anchor=place.anchor) from None
    try:
        return read_json(line.value)
    except JsonProblem as problem:
        raise Invalid(f"{capital(dispute.words(place.anchor))}: {problem}", anchor=place.anchor) from None


def capital(words: str) -> str:
    """Return the text with a capital first letter."""
    return words[:1].upper() + words[1:]


def choices_of(lines: list[RulingLine]) -> dict[str, Any]:
    """Return the rulings in the form of ``annotator.core.comparison.resolve_choices``."""
    return {line.anchor: _choice(line) for line in lines}


def _choice(line: RulingLine) -> str | dict[str, Any]:
    if line.choice == "none":
        return {"absent": True}
    if line.choice != "third":
        return line.choice
    return {"value": line.value} if line.has_value else {"absent": True}
