"""Which dialogues a new guideline overtakes, and their flags.

A gold item is flagged where an ordinary dialogue in its place would be: else the list of what is flagged would have all
that waits in its stage but it. Only administrators' counts leave it out.
"""

from dataclasses import dataclass

from django.db import connection
from django.db.models import BigIntegerField, Exists, OuterRef, Q, Value

from annotator.models import Dialogue, Guideline, GuidelineMark, Project, StaleWork
from annotator.models.content import DialogueQuerySet, DialogueStatus
from reviews.models import Review, ReviewFinding, Ruling


@dataclass(frozen=True)
class Scope:
    """What a mark is to touch, before it is made."""

    guideline: Guideline
    policies: tuple[str, ...]
    kinds: tuple[str, ...]


def touched(project: Project, scope: Scope) -> DialogueQuerySet:
    """Dialogues of which an opened review was made under an earlier guideline, and that fit the scope."""
    earlier = Review.objects.filter(dialogue=OuterRef("pk"), sealed=False).exclude(
        guideline__in=Guideline.objects.filter(project=project, number__gte=scope.guideline.number)
    )
    rows = Dialogue.objects.filter(Exists(earlier), project=project, published=True, archived_at=None)
    fits = Q()
    for policy in scope.policies:
        fits |= Q(policies__contains=f",{policy},")
    if scope.kinds:
        named = {"review__dialogue": OuterRef("pk"), "review__sealed": False}
        fits |= Q(Exists(ReviewFinding.objects.filter(kind__in=scope.kinds, **named)))
        fits |= Q(Exists(Ruling.objects.filter(reason_kind__in=scope.kinds, **named)))
    return rows.exclude(status=DialogueStatus.REJECTED).filter(fits)


def flagged(mark: GuidelineMark) -> DialogueQuerySet:
    """What bears the mark's flag still."""
    return Dialogue.objects.filter(pk__in=StaleWork.objects.filter(mark=mark, cleared_at=None).values("dialogue"))


def flag(mark: GuidelineMark, rows: DialogueQuerySet) -> int:
    """One statement, however many there are."""
    chosen = rows.order_by().annotate(mark_key=Value(mark.pk, output_field=BigIntegerField()))
    select, values = chosen.values_list("pk", "project_id", "mark_key").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO annotator_stalework (dialogue_id, project_id, mark_id) {select}", values)
        return int(cursor.rowcount)


def flag_newcomer(dialogue: Dialogue) -> None:
    """Flag a new gold item by the marks that still flag anything, as if it had been there when they were made."""
    # Whoever marks holds its guideline: they see the item, or are seen here.
    list(Guideline.objects.select_for_update(no_key=True).filter(project=dialogue.project_id).order_by("pk").only("pk"))
    marks = GuidelineMark.objects.filter(
        Exists(StaleWork.objects.filter(mark=OuterRef("pk"), cleared_at=None)), guideline__project=dialogue.project_id
    )
    for mark in marks.select_related("guideline").order_by("pk"):
        scope = Scope(mark.guideline, tuple(mark.policies), tuple(mark.kinds))
        flag(mark, touched(dialogue.project, scope).filter(pk=dialogue.pk))
