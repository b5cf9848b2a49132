"""Compares submitted training items with their known answers, for the pages."""

from dataclasses import dataclass

from django.db.models import F
from django.utils.translation import gettext as _

from annotator.errors import Hidden
from annotator.models import Project, User
from annotator.services.access.permissions import OVERSEERS, require_role, roles_in
from reviews.models import GoldItem, Review, StageRun, StageRunState, TrainingResult
from reviews.services.protocols.versions import parse
from reviews.services.submission.checklists import AnswerRow, answer_rows


@dataclass(frozen=True)
class ChecklistDifference:
    """A question that a person answered differently from all who reviewed the dialogue of the known answer."""

    place: str
    text: str
    mine: bool | None
    theirs: bool


@dataclass(frozen=True)
class Comparison:
    """A submitted training item beside its known answer."""

    item: GoldItem
    review: Review
    #: None: the item was retired before the review was submitted, so the review does not count.
    result: TrainingResult | None
    checklist: list[ChecklistDifference]


def read_comparison(*, actor: User, project: Project, slot: str) -> Comparison:
    """Return the actor's submitted training item; overseers can read everybody's. Raises Hidden."""
    reviews = Review.objects.filter(project=project, slot__public_id=slot, slot__is_gold=True)
    if not roles_in(project, actor) & OVERSEERS:
        reviews = reviews.filter(person=actor)
    rows = reviews.select_related("slot", "person", "seen_revision", "made_revision", "stage_run__cycle__protocol")
    review = rows.first()
    items = GoldItem.training.select_related("answer__toolset_revision", "dialogue", "source")
    item = None if review is None else items.filter(dialogue=review.dialogue_id).first()
    if review is None or item is None:
        raise Hidden(_("This training item doesn’t exist, or it isn’t submitted yet."))
    return Comparison(
        item=item,
        review=review,
        result=TrainingResult.objects.filter(review=review).first(),
        checklist=_checklist_differences(item, review),
    )


def list_results(*, actor: User, project: Project, person: User) -> list[TrainingResult]:
    """Return a person's results, the newest attempt first; others' only for overseers. Raises Denied, Hidden."""
    if actor.pk != person.pk:
        require_role(actor=actor, project=project, roles=OVERSEERS)
    elif not roles_in(project, actor):
        raise Hidden(_("This project doesn’t exist, or you aren’t a member of it."))
    found = TrainingResult.objects.filter(project=project, person=person)
    return list(found.select_related("item__dialogue", "review__slot").order_by(F("attempt").desc(), "pk"))


def _checklist_differences(item: GoldItem, review: Review) -> list[ChecklistDifference]:
    """Compare with the answers on which all agree who reviewed the same dialogue in the stage.

    With a planted error they saw another revision, so there is nothing to compare.
    """
    if item.planted:
        return []
    settled = StageRun.objects.filter(
        cycle__dialogue=item.source_id, stage=item.stage, state=StageRunState.SETTLED
    ).order_by("-pk")
    run = settled.first()
    stage = parse(review.stage_run.cycle.protocol).stage(item.stage)
    document = review.seen_revision.document()
    given = [
        _by_question(answer_rows(stage, document, one.checklist, {}))
        for one in Review.objects.filter(stage_run=run).order_by("pk")
    ]
    out = []
    for row in answer_rows(stage, document, review.checklist, {}):
        answers = {one.get((row.place, row.text)) for one in given}
        if len(answers) == 1 and row.answer is not None:
            [theirs] = answers
            if theirs is not None and theirs != row.answer:
                out.append(ChecklistDifference(row.place, row.text, row.answer, theirs))
    return out


def _by_question(rows: list[AnswerRow]) -> dict[tuple[str, str], bool | None]:
    return {(row.place, row.text): row.answer for row in rows}
