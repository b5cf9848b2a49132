"""Finds the dialogues that a new guideline makes outdated, and flags them.

Gold items are flagged like ordinary dialogues. Otherwise the list of flagged dialogues would contain everything in a
stage except the gold item. Only administrators' counts leave them out.
"""

from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q

from annotator.models import Dialogue, Guideline, GuidelineChange, OutdatedDialogue, Project
from annotator.models.content import DialogueQuerySet, DialogueStatus
from annotator.services.database.bulk_insert import insert_rows
from reviews.models import Review, ReviewError, Ruling


@dataclass(frozen=True)
class Scope:
    """What a change covers, before it is made."""

    guideline: Guideline
    policies: tuple[str, ...]
    error_types: tuple[str, ...]


def touched(project: Project, scope: Scope) -> DialogueQuerySet:
    """Return dialogues in the scope that have an unsealed review made under an earlier guideline."""
    earlier = Review.objects.filter(dialogue=OuterRef("pk"), sealed=False).exclude(
        guideline__in=Guideline.objects.filter(project=project, number__gte=scope.guideline.number)
    )
    rows = Dialogue.objects.filter(Exists(earlier), project=project, published=True, archived_at=None)
    fits = Q()
    for policy in scope.policies:
        fits |= Q(policies__contains=f",{policy},")
    if scope.error_types:
        named = {"review__dialogue": OuterRef("pk"), "review__sealed": False}
        fits |= Q(Exists(ReviewError.objects.filter(kind__in=scope.error_types, **named)))
        fits |= Q(Exists(Ruling.objects.filter(reason_kind__in=scope.error_types, **named)))
    return rows.exclude(status=DialogueStatus.REJECTED).filter(fits)


def flagged(change: GuidelineChange) -> DialogueQuerySet:
    """Return the dialogues that the change still flags."""
    return Dialogue.objects.filter(
        pk__in=OutdatedDialogue.objects.filter(change=change, cleared_at=None).values("dialogue")
    )


def flag(change: GuidelineChange, rows: DialogueQuerySet) -> int:
    """Flag these dialogues; return how many."""
    chosen = list(rows.order_by("pk").values_list("pk", "project_id"))
    insert_rows(OutdatedDialogue, ("dialogue_id", "project_id"), chosen, constants={"change_id": change.pk})
    return len(chosen)


def flag_newcomer(dialogue: Dialogue) -> None:
    """Flag a new gold item for the changes that still flag anything, as if it had existed when they were made."""
    # Marking locks its guideline: either it sees this item, or we see its change.
    list(Guideline.objects.select_for_update(no_key=True).filter(project=dialogue.project_id).order_by("pk").only("pk"))
    changes = GuidelineChange.objects.filter(
        Exists(OutdatedDialogue.objects.filter(change=OuterRef("pk"), cleared_at=None)),
        guideline__project=dialogue.project_id,
    )
    for change in changes.select_related("guideline").order_by("pk"):
        scope = Scope(change.guideline, tuple(change.policies), tuple(change.error_types))
        flag(change, touched(dialogue.project, scope).filter(pk=dialogue.pk))
