"""Which dialogues a new guideline outdates, and their flags.

A gold item is flagged where an ordinary dialogue in its place would be: else the list of what is flagged would have all
that waits in its stage but it. Only administrators' counts leave it out.
"""

from dataclasses import dataclass

from django.db import connection
from django.db.models import BigIntegerField, Exists, OuterRef, Q, Value

from annotator.models import Dialogue, Guideline, GuidelineChange, OutdatedDialogue, Project
from annotator.models.content import DialogueQuerySet, DialogueStatus
from reviews.models import Review, ReviewError, Ruling


@dataclass(frozen=True)
class Scope:
    """What a change is to touch, before it is made."""

    guideline: Guideline
    policies: tuple[str, ...]
    error_types: tuple[str, ...]


def touched(project: Project, scope: Scope) -> DialogueQuerySet:
    """Dialogues of which an opened review was made under an earlier guideline, and that fit the scope."""
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
    """What bears the mark's flag still."""
    return Dialogue.objects.filter(
        pk__in=OutdatedDialogue.objects.filter(change=change, cleared_at=None).values("dialogue")
    )


def flag(change: GuidelineChange, rows: DialogueQuerySet) -> int:
    """One statement, however many there are."""
    chosen = rows.order_by().annotate(change_key=Value(change.pk, output_field=BigIntegerField()))
    select, values = chosen.values_list("pk", "project_id", "change_key").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO annotator_outdateddialogue (dialogue_id, project_id, change_id) {select}", values)
        return int(cursor.rowcount)


def flag_newcomer(dialogue: Dialogue) -> None:
    """Flag a new gold item by the changes that still flag anything, as if it had been there when they were made."""
    # Whoever marks holds its guideline: they see the item, or are seen here.
    list(Guideline.objects.select_for_update(no_key=True).filter(project=dialogue.project_id).order_by("pk").only("pk"))
    changes = GuidelineChange.objects.filter(
        Exists(OutdatedDialogue.objects.filter(change=OuterRef("pk"), cleared_at=None)),
        guideline__project=dialogue.project_id,
    )
    for change in changes.select_related("guideline").order_by("pk"):
        scope = Scope(change.guideline, tuple(change.policies), tuple(change.error_types))
        flag(change, touched(dialogue.project, scope).filter(pk=dialogue.pk))
