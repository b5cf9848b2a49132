"""Decides whether the review of a drawn item found an error. All figures of samples and rounds use these rules."""

from collections import Counter as Tally
from collections.abc import Iterator, Sequence

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from reviews.core.protocols import Outcome
from reviews.models import Review, StageRun, StageRunState, Verdict

#: Of a settled run: approval is correct whatever happens next, and so is content that a majority passes unchanged.
IS_ERROR = ~Q(outcome=Outcome.PASS) & Q(
    Exists(Review.objects.filter(stage_run=OuterRef("pk")).exclude(verdict=Verdict.APPROVE))
)
#: Of a settled run of a round, or of the settlement of its dispute: the item was changed or rejected.
IS_ERROR_OF_ROUND = Q(outcome__in=[Outcome.PASS_WITH_FIX, Outcome.REJECTED]) | ~Q(
    exit_revision__content_hash=F("entry_revision__content_hash")
)


def is_error(outcome: str, verdicts: Sequence[str]) -> bool:
    """Return the same for a run that is settling now."""
    return outcome != Outcome.PASS and any(verdict != Verdict.APPROVE for verdict in verdicts)


def count_audited(runs: QuerySet[StageRun]) -> Iterator[tuple[str, int, int]]:
    """Yield (stage, drawn items reviewed, those with errors) for these runs."""
    looked_at = runs.filter(entered_as="sampled", state=StageRunState.SETTLED)
    wrong = Count("pk", filter=IS_ERROR)
    yield from looked_at.values_list("stage").annotate(Count("pk"), wrong=wrong).order_by()


def round_findings(runs: QuerySet[StageRun]) -> Tally[str]:
    """Count what these runs add to the counters of rounds: {stored key: items}. See ``counters``."""
    settled = runs.filter(state=StageRunState.SETTLED)
    looked_at = settled.filter(looks__isnull=False).exclude(outcome="not_drawn")
    decided = looked_at.exclude(outcome=Outcome.ESCALATE)
    settlements = settled.filter(escalated_from__looks__isnull=False)
    found: Tally[str] = Tally()
    for what, counted, of in (
        ("seen", looked_at, ""),
        ("disputes", looked_at.filter(outcome=Outcome.ESCALATE), ""),
        ("errors", decided.filter(IS_ERROR_OF_ROUND), ""),
        ("errors", settlements.filter(IS_ERROR_OF_ROUND), "escalated_from__"),
    ):
        for stage, number, count in counted.values_list(f"{of}stage", f"{of}round").annotate(Count("pk")).order_by():
            found[f"round:{what}:{stage}:{number}"] += count
    return found
