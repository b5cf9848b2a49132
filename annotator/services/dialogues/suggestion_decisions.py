"""What people decide about suggestions, each in their own draft, which only they see."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.comparison.changes import same_value
from annotator.core.comparison.placing import ABSENT
from annotator.core.fields import CustomField, asked, value_problem
from annotator.core.suggestion_content import current_value, is_taken, operation_of
from annotator.core.suggestion_shape import PlaceKind
from annotator.errors import Hidden
from annotator.models import DecisionOutcome, Draft, Project, Revision, StoredSuggestion, SuggestionDecision, User
from annotator.services.custom_fields import fields_of
from annotator.services.database.compiled import compiled
from annotator.services.dialogues.drafts import Edited, edit_draft, load_draft
from annotator.services.dialogues.suggestions import MAX_OF_DIALOGUE

#: The key of no draft.
_NO_DRAFT = 0


@dataclass(frozen=True, slots=True)
class Ghost:
    """A suggestion as its person sees it: not decided in their draft, or refused."""

    public_id: str
    place: str
    kind: str
    value: Any
    source: str
    score: float | None
    refused: bool


def ghosts_of(*, draft: Draft, document: dict[str, Any], fields: Sequence[CustomField] = ()) -> list[Ghost]:
    """Return the suggestions that the draft's author can decide, by place and source.

    Those whose place is gone, and those whose value the draft already has, are left out. So are values of custom fields
    that the project (``fields``) does not ask there, or that are no answer to them any more. What others decided
    changes nothing.
    """
    return _ghosts(list(_of_draft(draft.pk, draft.dialogue_id)), document, fields)


def suggested_for(*, revision: Revision, project: Project) -> list[Ghost]:
    """Return the suggestions for the content of a revision, as somebody sees them who has decided none of them."""
    rows = list(_of_draft(_NO_DRAFT, revision.dialogue_id))
    return _ghosts(rows, revision.document(), fields_of(project)) if rows else []


def _ghosts(rows: Sequence[Any], document: dict[str, Any], fields: Sequence[CustomField]) -> list[Ghost]:
    ghosts = []
    labels = any(row[2] == PlaceKind.LABEL for row in rows)
    shown = {one.place: one.field for one in asked(fields, document) if one.shown} if labels else {}
    for public_id, place, kind, value, source, score, outcome in rows:
        if kind == PlaceKind.LABEL and (place not in shown or value_problem(shown[place], value)):
            continue
        now = current_value(document, place)
        if now is not ABSENT and not same_value(now, value):
            refused = outcome == DecisionOutcome.REFUSED
            ghosts.append(Ghost(public_id, place, kind, value, source, score, refused))
    return ghosts


@compiled
def _of_draft(draft_id: int, dialogue_id: int) -> QuerySet[Any, Any]:
    mine = SuggestionDecision.objects.filter(draft=draft_id, suggestion=OuterRef("pk")).values("outcome")[:1]
    rows = StoredSuggestion.objects.filter(dialogue=dialogue_id, published=True).annotate(mine=Subquery(mine))
    return rows.order_by("place", "source").values_list(
        "public_id", "place", "kind", "value", "source", "score", "mine"
    )[:MAX_OF_DIALOGUE]


def accept_suggestion(*, actor: User, draft: Draft, public_id: str, seen: int, edit_id: str = "") -> Edited:
    """Give the place the suggested value in the actor's draft, as their own edit, and record the decision.

    Raises Hidden for an unknown suggestion, and what ``edit_draft`` raises.
    """
    with transaction.atomic():
        suggestion = _lock(draft, public_id)
        operation = operation_of(suggestion.place, suggestion.value)
        edited = edit_draft(actor=actor, draft=draft, operation=operation, seen=seen, edit_id=edit_id)
        _decide(actor, edited.draft, suggestion, DecisionOutcome.ACCEPTED)
    return edited


def refuse_suggestion(*, actor: User, draft: Draft, public_id: str) -> None:
    """Record that the actor refuses a suggestion; it changes nothing in their draft. Raises Hidden."""
    with transaction.atomic():
        suggestion = _lock(draft, public_id)
        _decide(actor, load_draft(actor=actor, public_id=draft.public_id), suggestion,
                DecisionOutcome.REFUSED)  # fmt: skip


def _lock(draft: Draft, public_id: str) -> StoredSuggestion:
    rows = StoredSuggestion.objects.select_for_update(no_key=True, of=("self",))
    found = rows.filter(dialogue=draft.dialogue_id, public_id=public_id, published=True).first()
    if found is None:
        raise Hidden(_("This suggestion was replaced or doesn’t exist. Reload the page."))
    return found


def _decide(actor: User, draft: Draft, suggestion: StoredSuggestion, outcome: DecisionOutcome) -> None:
    SuggestionDecision.objects.update_or_create(
        draft=draft,
        suggestion=suggestion,
        defaults={
            "outcome": outcome,
            "decided_at": timezone.now(),
            "person": actor,
            "dialogue_id": suggestion.dialogue_id,
            # Only blind stages give each reviewer a branch.
            "sealed": draft.branch != "main",
        },
    )


@compiled
def _decisions(draft_id: int) -> QuerySet[SuggestionDecision]:
    return SuggestionDecision.objects.filter(draft=draft_id).select_related("suggestion")


def settle_decisions(*, draft: Draft, document: dict[str, Any], seen: Revision) -> None:
    """Bring the decisions of a submitted draft in line with what was submitted, in the caller's transaction.

    A place that has the suggested value counts as accepted, even if the suggestion was refused before. An acceptance
    that was undone is no decision; if the place has another value instead, the suggestion was changed.
    """
    decisions = _decisions(draft.pk)
    base = seen.document() if decisions else {}
    for one in decisions:
        place, value = one.suggestion.place, one.suggestion.value
        if is_taken(document, place, value):
            outcome = DecisionOutcome.ACCEPTED
        elif one.outcome == DecisionOutcome.REFUSED:
            continue
        elif same_or_gone(current_value(document, place), current_value(base, place)):
            one.delete()
            continue
        else:
            outcome = DecisionOutcome.CHANGED
        if outcome != one.outcome:
            one.outcome = outcome
            one.save(update_fields=["outcome"])


def same_or_gone(one: Any, other: Any) -> bool:
    """Return whether two values of a place are the same, where ABSENT equals only itself."""
    return one is other if ABSENT in (one, other) else same_value(one, other)
