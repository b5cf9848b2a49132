"""Counts items by status and stage, without reading them.

Each transition writes its changes to the outbox (see ``counting``). A reader adds up counters and outbox in one
statement, so the sums are exact even while no worker runs. Claimed slots are not counted: a project has as few live
claims as people, and claiming stays free of counting.

Stored keys (``read_counters`` documents the names it returns):

    status:<status>            published dialogues
    left:<stage>               slots that still need a review; done:<stage> those that have one
    pooled:<stage>             items that wait for the draw
    outcome:<stage>:<outcome>  settled stage runs
    compared:<stage>           settled runs with two or more reviews; discrepant:<stage> those with discrepancies
    sampled:<stage>            drawn items that were reviewed; sampled_errors:<stage> those with errors
    round:seen:<stage>:<n>     items reviewed in a round; round:errors:… and round:disputes:… those with one
    gold:status:<status>       what gold items add, for people who must not know them
"""

from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence

from django.db.models import Count, Q, Sum
from django.db.models.functions import Now

from annotator.models import Dialogue, Project, User
from annotator.services.database.statements import insert
from reviews.models import Claim, ClaimState, Counter, CounterDelta, GoldItem, Slot, SlotState, StageRun, StageRunState
from reviews.services.statistics.audits import count_audited, round_findings
from reviews.services.statistics.counting import Counting
from reviews.services.statistics.hidden_gold import hidden_counts, shown_of_gold

#: A row of the outbox: its key, the counter's key, the change.
Change = tuple[int, str, int]


class _Counters(Counting[Change, tuple[str]]):
    counts, key, number = Counter, ("key",), "value"
    outbox, item = CounterDelta, ("pk", "key", "delta")
    waiting = Q()
    portion = 5000

    def count(self, project: Project, items: Sequence[Change]) -> dict[Change, Tally[tuple[str]]]:
        return {item: Tally({(item[1],): item[2]}) for item in items}

    def right(self, project: Project, *, repair: bool) -> Tally[tuple[str]]:
        right = Tally({(key,): count for key, count in recount(project).items()})
        for key, delta in CounterDelta.objects.filter(project=project).values_list("key", "delta"):
            right[(key,)] -= delta
        return right


COUNTERS = _Counters()


def write_deltas(*, project_id: int, deltas: Mapping[str, int]) -> None:
    """Put changes of counters into the outbox, in the caller's transaction."""
    insert([CounterDelta(project_id=project_id, key=key, delta=delta) for key, delta in deltas.items() if delta])


def stored_counters(project: Project) -> dict[str, int]:
    """Return the sums of counters and outbox under their stored keys, without zeros."""
    # One statement is one snapshot, so a fold that commits meanwhile is seen completely or not at all.
    counted = Counter.objects.filter(project=project).values_list("key", "value")
    pending = CounterDelta.objects.filter(project=project).order_by().values("key").annotate(total=Sum("delta"))
    total: Tally[str] = Tally()
    for key, value in counted.union(pending.values_list("key", "total"), all=True):
        total[key] += int(value)  # PostgreSQL sums big integers to a Decimal
    return {key: value for key, value in total.items() if value}


def read_counters(project: Project, *, with_gold: bool = False, viewer: User | None = None) -> dict[str, int]:
    """Return the number of items in each state. Absent keys are zero.

    ``status:<status>`` dialogues; ``stage:<key>:open|claimed|done`` slots and ``stage:<key>:pooled`` items;
    ``settled:<stage>`` stage runs, ``outcome:<stage>:<outcome>`` by outcome, ``compared:<stage>`` with two or more
    reviews, ``discrepant:<stage>`` with discrepancies, ``sampled:<stage>`` and ``sampled_errors:<stage>``.

    Gold items are left out. ``with_gold``: count them like ordinary items, as lists show them to people who must not
    know them, and leave out the outcomes of the dialogues they stand for. ``viewer``: the reader of such figures; their
    own reviews of gold items are counted, those of others are not.
    """
    out: Tally[str] = Tally()
    stored = list(stored_counters(project).items())
    if with_gold and GoldItem.objects.filter(project=project).exists():
        stored += [(key, -count) for key, count in hidden_counts(project, viewer=viewer).items()]
        stored += shown_of_gold(project, viewer=viewer).items()
    for key, value in stored:
        name, _, rest = key.partition(":")
        if name == "gold":
            name, _, rest = rest.partition(":")
            if not with_gold:
                continue
        if name == "left":
            out[f"stage:{rest}:open"] += value
        elif name in ("done", "pooled"):
            out[f"stage:{rest}:{name}"] += value
        else:
            out[f"{name}:{rest}"] += value
            if name == "outcome":
                out[f"settled:{rest.partition(':')[0]}"] += value
    for stage, count in live_claims(project).items():
        out[f"stage:{stage}:claimed"] += count
        out[f"stage:{stage}:open"] -= count
    return {key: value for key, value in out.items() if value}


def live_claims(project: Project) -> dict[str, int]:
    """Return the number of claimed slots in each stage, without those of gold items."""
    claims = Claim.objects.filter(project=project, state=ClaimState.LIVE, expires_at__gt=Now())
    claims = claims.filter(slot__is_gold=False)
    return dict(claims.values_list("stage").annotate(Count("id")).order_by())


def recount(project: Project) -> dict[str, int]:
    """Return the right counters, counted from the rows: slow, for tests and for repair."""
    out: Tally[str] = Tally()
    ordinary = Dialogue.objects.filter(project=project).counted()
    dialogues = ordinary.filter(published=True)
    _take(out, "status:{}", dialogues.values_list("status").annotate(Count("id")).order_by())
    slots = Slot.objects.filter(project=project, dialogue__in=ordinary)
    unfinished = slots.filter(state__in=[SlotState.OPEN, SlotState.CLAIMED])
    _take(out, "left:{}", unfinished.values_list("stage").annotate(Count("id")).order_by())
    _take(out, "done:{}", slots.filter(state=SlotState.DONE).values_list("stage").annotate(Count("id")).order_by())
    runs = StageRun.objects.filter(project=project, cycle__dialogue__in=ordinary)
    pooled = runs.filter(state=StageRunState.POOLED)
    _take(out, "pooled:{}", pooled.values_list("stage").annotate(Count("id")).order_by())
    settled = runs.filter(state=StageRunState.SETTLED)
    outcomes = settled.values_list("stage", "outcome").annotate(Count("id")).order_by()
    _take(out, "{}", ((f"outcome:{stage}:{outcome}", count) for stage, outcome, count in outcomes))
    compared = settled.filter(discrepancy_count__isnull=False)
    _take(out, "compared:{}", compared.values_list("stage").annotate(Count("id")).order_by())
    discrepant = compared.filter(discrepancy_count__gt=0)
    _take(out, "discrepant:{}", discrepant.values_list("stage").annotate(Count("id")).order_by())
    for stage, audited, errors in count_audited(runs):
        out[f"sampled:{stage}"] += audited
        out[f"sampled_errors:{stage}"] += errors
    out.update(round_findings(runs))
    live = GoldItem.objects.filter(project=project, retired_at=None).count()
    out["gold:status:in_review"] += live
    out["gold:status:verified"] -= live
    return {key: value for key, value in out.items() if value}


def _take(out: Tally[str], name: str, counts: Iterable[tuple[str, int]]) -> None:
    for key, count in counts:
        out[name.format(key)] += count
