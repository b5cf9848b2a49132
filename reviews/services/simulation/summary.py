"""What a simulation planted beside what the application measured of it: both exact, so that either can be wrong."""

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from annotator.models import Dialogue
from annotator.services.history.events import broken_links
from reviews.core.agreement import OVERLAPPING, RATED, PatternCounts, RunFacts, SubmittedReview, summarise
from reviews.core.agreement.item_history import BASELINE, VERIFIED, Visit, round_points, stage_points
from reviews.core.simulation import Item
from reviews.core.simulation.comparing import compared, planted_patterns, share
from reviews.models import Cycle, CycleState, Draw, Review, StageRun, StageRunState
from reviews.services.simulation.playing import Play
from reviews.services.statistics.accuracy import Accuracy, read_accuracy
from reviews.services.statistics.agreement import AGREEMENT, read_agreement
from reviews.services.statistics.all_counts import fold_all
from reviews.services.statistics.counters import recount, stored_counters
from reviews.services.statistics.item_history import ITEM_HISTORY, as_visit

_ENDED = (CycleState.VERIFIED, CycleState.REJECTED)


@dataclass(slots=True)
class _Way:
    """One item's way as the rows have it, and whether each content on it was the truth."""

    item: Item
    visits: list[Visit] = field(default_factory=list)
    baseline: str = ""
    #: Of the last cycle: the content that was verified; blank where it was rejected.
    verified: str = ""
    #: {stage: content with which the item came into the population of its last draw}
    drawn: dict[str, str] = field(default_factory=dict)

    def right(self, content: str) -> bool:
        """Whether this content is the one right version."""
        return content == self.item.truth


def summarise_play(play: Play) -> dict[str, Any]:
    """What was planted and what was measured, as JSON values; the same for the same seed, in any database.

    Every comparison is as ``core.simulation.comparing.compared`` makes it. Planted accuracies and error rates are
    those of these very items, whose truth is known; the baseline also has the rate with which candidates were made.
    Planted agreement is what the model's people said. ``consistent``: stored counts are what a recount finds, no link
    of an event chain is broken, and the counted patterns are those of the model.
    """
    fold_all()
    ways = _read_ways(play)
    accuracy = read_accuracy(project=play.project)
    agreement = _agreement(play)
    states = Tally(
        Cycle.objects.filter(project=play.project, state__in=_ENDED).values_list("state", flat=True).order_by()
    )
    return {
        "protocol": play.protocol.preset,
        "seed": play.world.seed,
        "dialogues": len(play.world.items),
        "annotators": len(play.world.annotators),
        "experts": len(play.world.experts),
        "reviews": Review.objects.filter(project=play.project).count(),
        "verdicts": dict(sorted(Tally(str(said.verdict) for said in play.said).items())),
        "verified": states[CycleState.VERIFIED],
        "rejected": states[CycleState.REJECTED],
        "draws": [
            {"stage": stage, "population": population, "sample": sample}
            for stage, population, sample in Draw.objects.filter(project=play.project)
            .order_by("pk")
            .values_list("stage", "population_size", "sample_size")
        ],
        "accuracy": _accuracy(play, ways, accuracy),
        "rounds": _rounds(ways, accuracy),
        "agreement": agreement,
        "audits": _audits(ways, accuracy),
        "consistent": {
            "counters": stored_counters(play.project) == recount(play.project),
            "agreement": AGREEMENT.recount(play.project) == [],
            "accuracy": ITEM_HISTORY.recount(play.project) == [] and not accuracy.waiting and not accuracy.set_aside,
            "patterns": all(one["patterns_as_planted"] for one in agreement),
            "events": not any(broken_links(one) for one in Dialogue.objects.filter(project=play.project)),
        },
    }


def _read_ways(play: Play) -> list[_Way]:
    ways: dict[int, _Way] = {}
    over: set[int] = set()
    cycles = Cycle.objects.filter(project=play.project).select_related("dialogue", "entry_revision", "exit_revision")
    runs: dict[int, list[StageRun]] = defaultdict(list)
    settled = StageRun.objects.filter(project=play.project, state=StageRunState.SETTLED)
    for run in settled.select_related("entry_revision", "exit_revision", "escalated_from", "draw_item").order_by("pk"):
        runs[run.cycle_id].append(run)
    for cycle in cycles.order_by("dialogue_id", "number"):
        if cycle.dialogue_id not in ways:
            item = play.world.item(cycle.dialogue.external_id)
            ways[cycle.dialogue_id] = _Way(item, baseline=cycle.entry_revision.content_hash)
        way = ways[cycle.dialogue_id]
        # Accuracy is of the way to the first end, held against what was verified at the last.
        if cycle.dialogue_id not in over:
            way.visits += [as_visit(run) for run in runs[cycle.pk]]
        if cycle.state in _ENDED:
            over.add(cycle.dialogue_id)
        way.verified = cycle.exit_revision.content_hash if cycle.exit_revision else ""
        way.drawn = {run.stage: _came(run) for run in runs[cycle.pk] if hasattr(run, "draw_item")}
    return [way for _, way in sorted(ways.items())]


def _came(run: StageRun) -> str:
    return run.entry_revision.content_hash


def _accuracy(play: Play, ways: list[_Way], measured: Accuracy) -> list[dict[str, Any]]:
    stages = [stage.key for stage in play.protocol.stages]
    right: dict[str, dict[str, bool]] = defaultdict(dict)
    for way in ways:
        for point, content in stage_points(stages, way.baseline, way.visits).items():
            right[point][way.item.name] = way.right(content)
        right[VERIFIED][way.item.name] = way.right(way.verified)
    out = []
    for one in measured.by_stage:
        line = {"point": one.key, **compared(one.figure, share(right[one.key]))}
        if one.key == BASELINE:
            line["rate"] = play.world.rates.baseline
            line["covers_rate"] = compared(one.figure, play.world.rates.baseline)["covers"]
        out.append(line)
    return out


def _rounds(ways: list[_Way], measured: Accuracy) -> list[dict[str, Any]]:
    out = []
    for stage in measured.by_round:
        if len(stage.rounds) < 3:
            continue
        paths = [(way, round_points(stage.stage, way.visits)) for way in ways]
        for number, after in enumerate(stage.rounds):
            # Whose last round is over keeps what they had then.
            right = {way.item.name: way.right(path[min(number, len(path) - 1)]) for way, path in paths if path}
            out.append({"stage": stage.stage, "round": number, **compared(after.figure, share(right))})
    return out


def _agreement(play: Play) -> list[dict[str, Any]]:
    out = []
    for stage in play.protocol.stages:
        planted = planted_patterns(_runs_of(play, stage.key))
        for label in (*RATED, *OVERLAPPING):
            counts, own = read_agreement(project=play.project, stage=stage.key, label=label), planted.get(label)
            own = own or PatternCounts()
            if not counts.to_json() and not own.to_json():
                continue
            true = {figure.name: figure.value for figure in summarise(label, own, pair=False)}
            out.append(
                {
                    "stage": stage.key,
                    "label": label,
                    "patterns": counts.to_json(),
                    "patterns_as_planted": counts.to_json() == own.to_json(),
                    "figures": [
                        {"figure": figure.name, **compared(figure, true[figure.name])}
                        for figure in summarise(label, counts, pair=False)
                    ],
                }
            )
    return out


def _runs_of(play: Play, key: str) -> Iterator[tuple[RunFacts, list[SubmittedReview]]]:
    stage = play.protocol.stage(key)
    runs = defaultdict(list)
    for said in play.said:
        if said.stage == key:
            runs[said.item, said.cycle, said.round].append(said)
    looks: Tally[tuple[str, int]] = Tally()
    for (item, cycle, _), reviews in runs.items():
        looks[item, cycle] += 1
        submitted = [
            SubmittedReview(str(said.verdict), said.document) for said in sorted(reviews, key=lambda said: said.person)
        ]
        yield RunFacts(stage.kind, stage.blind, len(reviews), looks[item, cycle], cycle), submitted


def _audits(ways: list[_Way], measured: Accuracy) -> list[dict[str, Any]]:
    out = []
    for audit in measured.audits:
        population = [way for way in ways if audit.stage in way.drawn]
        wrong = {way.item.name: not way.right(way.drawn[audit.stage]) for way in population}
        # Rejected items are not in what is handed on.
        left = {way.item.name: bool(way.verified) and not way.right(way.verified) for way in population}
        out.append(
            {
                "stage": audit.stage,
                "population": audit.population,
                "audited": audit.audited,
                "errors": audit.errors,
                "strata": len(audit.strata),
                "population_as_planted": len(population) == audit.population,
                "error_rate": compared(audit.residual.error_rate, share(wrong)),
                "residual": compared(audit.residual.residual, share(left)),
            }
        )
    return out
