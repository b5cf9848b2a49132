"""What was found in an item that was drawn for a look: nothing, or an error. One rule for every figure of samples."""

from collections.abc import Iterator, Sequence

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from reviews.core.protocols import Outcome
from reviews.models import Review, StageRun, StageRunState, Verdict

#: Of a settled run: an approval is right, whatever follows from it, and so is what a majority lets pass as it is.
IS_ERROR = ~Q(outcome=Outcome.PASS) & Q(
    Exists(Review.objects.filter(stage_run=OuterRef("pk")).exclude(verdict=Verdict.APPROVE))
)


def is_error(outcome: str, verdicts: Sequence[str]) -> bool:
    """The same of a run that settles at this moment."""
    return outcome != Outcome.PASS and any(verdict != Verdict.APPROVE for verdict in verdicts)


def count_audited(runs: QuerySet[StageRun]) -> Iterator[tuple[str, int, int]]:
    """Of these runs: (stage, drawn items that were looked at, those of them that held an error)."""
    looked_at = runs.filter(entered_as="sampled", state=StageRunState.SETTLED)
    wrong = Count("pk", filter=IS_ERROR)
    yield from looked_at.values_list("stage").annotate(Count("pk"), wrong=wrong).order_by()
