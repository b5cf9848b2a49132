"""Scores reviews of gold items against the known answer when they are submitted."""

from annotator.models import Revision
from reviews.core.gold import Score, score
from reviews.models import GoldItem, GoldScore, Review


def score_review(*, review: Review, seen: Revision, made: Revision | None) -> GoldScore | None:
    """Score a review in the transaction that submits it and has locked the dialogue.

    Returns None for a retired item, whose answer is public.
    """
    item = GoldItem.objects.select_related("answer").get(stage_run_id=review.stage_run_id)
    if not item.live:
        return None
    found = compare(item=item, review=review, seen=seen, made=made)
    return GoldScore.objects.create(
        item=item,
        review=review,
        project_id=item.project_id,
        person_id=review.person_id,
        verdict_right=found.verdict_right,
        errors=found.errors,
        found=found.found,
        false_changes=found.false_changes,
        places=[{"anchor": one.anchor, "label": one.label, "result": one.result} for one in found.places],
        created_at=review.created_at,
    )


def compare(*, item: GoldItem, review: Review, seen: Revision, made: Revision | None) -> Score:
    """Compare the review with the item's answer. ``made``: the submitted revision, if it differs from the one seen."""
    return score(
        shown=seen.document(),
        answer=item.answer.document(),
        submitted=(made or seen).document(),
        verdict=review.verdict,
        named=list(review.errors.values_list("anchor", flat=True)),
    )
