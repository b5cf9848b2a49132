"""Decides whether the review of a drawn item found an error. All figures of samples use this rule."""

from collections.abc import Iterator, Sequence

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from reviews.core.protocols import Outcome
from reviews.models import Review, StageRun, StageRunState, Verdict

#: Of a settled run: approval is correct whatever happens next, and so is content that a majority passes unchanged.
IS_ERROR = ~Q(outcome=Outcome.PASS) & Q(
    Exists(Review.objects.filter(stage_run=OuterRef("pk")).exclude(verdict=Verdict.APPROVE))
)


def is_error(outcome: str, verdicts: Sequence[str]) -> bool:
    """Return the same for a run that is settling now."""
    return outcome != Outcome.PASS and any(verdict != Verdict.APPROVE for verdict in verdicts)


def count_audited(runs: QuerySet[StageRun]) -> Iterator[tuple[str, int, int]]:
    """Yield (stage, drawn items reviewed, those with errors) for these runs."""
    looked_at = runs.filter(entered_as="sampled", state=StageRunState.SETTLED)
    wrong = Count("pk", filter=IS_ERROR)
    yield from looked_at.values_list("stage").annotate(Count("pk"), wrong=wrong).order_by()
