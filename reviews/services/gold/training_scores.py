"""Scores reviews of training items against the known answer when they are submitted."""

from annotator.models import Revision
from reviews.models import GoldItem, Review, TrainingResult
from reviews.services.gold.scoring import compare
from reviews.services.queue.trainees import finish_if_complete, lock_trainee


def score_training(*, review: Review, seen: Revision, made: Revision | None) -> bool:
    """Score a review in the transaction that submits it; return whether it is one of a training item.

    The caller has locked the membership, the dialogue and the slot.
    """
    # Retiring also locks the item's row.
    rows = GoldItem.training.select_for_update(no_key=True, of=("self",)).select_related("answer", "project")
    item = rows.filter(dialogue=review.dialogue_id).first()
    if item is None:
        return False
    trainee = lock_trainee(item.project, review.person)
    if not item.live:
        return True
    found = compare(item=item, review=review, seen=seen, made=made)
    # A person who escalates every item has not shown that they find errors.
    knows = found.found > 0 or not found.errors
    TrainingResult.objects.create(
        item=item,
        review=review,
        project_id=item.project_id,
        person_id=review.person_id,
        attempt=review.stage_run.round,
        right=found.verdict_right and not found.false_changes and knows,
        verdict_right=found.verdict_right,
        errors=found.errors,
        found=found.found,
        false_changes=found.false_changes,
        places=[{"anchor": one.anchor, "label": one.label, "result": one.result} for one in found.places],
        created_at=review.created_at,
    )
    finish_if_complete(project=item.project, person=review.person, trainee=trainee)
    return True
