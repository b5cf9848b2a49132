"""Compares what a simulation planted with what Assay measured. Both are exact, so either can be wrong."""

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from annotator.models import Dialogue
from annotator.services.history.events import broken_links
from reviews.core.agreement import OVERLAPPING, RATED, PatternCounts, RunFacts, SubmittedReview, summarise
from reviews.core.agreement.item_history import BASELINE, Visit, round_points, stage_points
from reviews.core.simulation import Item
from reviews.core.simulation.comparing import DIGITS, compared, planted_patterns, share
from reviews.models import Cycle, CycleState, Draw, Review, SentBackStratum, StageRun, StageRunState
from reviews.services.simulation.runner import Simulation
from reviews.services.statistics.accuracy import Accuracy, read_accuracy
from reviews.services.statistics.agreement import AGREEMENT, read_agreement
from reviews.services.statistics.all_counts import fold_all
from reviews.services.statistics.counters import recount, stored_counters
from reviews.services.statistics.item_history import ITEM_HISTORY, as_visit

_ENDED = (CycleState.VERIFIED, CycleState.REJECTED)


@dataclass(slots=True)
class _ItemHistory:
    """One item's history from the rows, and whether each content in it was right."""

    item: Item
    visits: list[Visit] = field(default_factory=list)
    baseline: str = ""
    #: Content verified in the last cycle; blank if it was rejected.
    verified: str = ""
    #: {stage: content with which the item entered the population of its last draw}
    drawn: dict[str, str] = field(default_factory=dict)

    def right(self, content: str) -> bool:
        """Return whether this content is the one right version."""
        return content == self.item.truth


def simulation_summary(simulation: Simulation) -> dict[str, Any]:
    """Return the planted and the measured figures as JSON values, the same for the same seed in any database.

    Each comparison comes from ``core.simulation.comparing.compared``. Planted accuracies and error rates are those of
    the items in this simulation; the baseline also includes the rate used to make candidates. Planted agreement is
    computed from the model's reviews. ``consistent``: stored counts match a recount, event chains are intact, and
    counted patterns match the model's.
    """
    fold_all()
    histories = _read_histories(simulation)
    accuracy = read_accuracy(project=simulation.project)
    agreement = _agreement(simulation)
    states = Tally(
        Cycle.objects.filter(project=simulation.project, state__in=_ENDED).values_list("state", flat=True).order_by()
    )
    return {
        "protocol": simulation.protocol.preset,
        "seed": simulation.model.seed,
        "dialogues": len(simulation.model.items),
        "annotators": len(simulation.model.annotators),
        "experts": len(simulation.model.experts),
        "reviews": Review.objects.filter(project=simulation.project).count(),
        "verdicts": dict(sorted(Tally(str(record.verdict) for record in simulation.records).items())),
        "verified": states[CycleState.VERIFIED],
        "rejected": states[CycleState.REJECTED],
        "draws": [
            {"stage": stage, "population": population, "sample": sample}
            for stage, population, sample in Draw.objects.filter(project=simulation.project)
            .order_by("pk")
            .values_list("stage", "population_size", "sample_size")
        ],
        # Of the items that would be delivered.
        "verified_right": round(
            share({one.item.name: one.right(one.verified) for one in histories if one.verified}) or 0.0, DIGITS
        ),
        "sent_back": SentBackStratum.objects.filter(draw__project=simulation.project).count(),
        "accuracy": _accuracy(simulation, histories, accuracy),
        "rounds": _rounds(histories, accuracy),
        "agreement": agreement,
        "audits": _audits(histories, accuracy),
        "consistent": {
            "counters": stored_counters(simulation.project) == recount(simulation.project),
            "agreement": AGREEMENT.recount(simulation.project) == [],
            "accuracy": ITEM_HISTORY.recount(simulation.project) == []
            and not accuracy.waiting
            and not accuracy.set_aside,
            "patterns": all(one["patterns_as_planted"] for one in agreement),
            "events": not any(broken_links(one) for one in Dialogue.objects.filter(project=simulation.project)),
        },
    }


def _read_histories(simulation: Simulation) -> list[_ItemHistory]:
    histories: dict[int, _ItemHistory] = {}
    over: set[int] = set()
    cycles = Cycle.objects.in_effect().filter(project=simulation.project)
    cycles = cycles.select_related("dialogue", "entry_revision", "exit_revision")
    runs: dict[int, list[StageRun]] = defaultdict(list)
    settled = StageRun.objects.filter(project=simulation.project, state=StageRunState.SETTLED)
    for run in settled.select_related("entry_revision", "exit_revision", "escalated_from", "draw_item").order_by("pk"):
        runs[run.cycle_id].append(run)
    for cycle in cycles.order_by("dialogue_id", "number"):
        if cycle.dialogue_id not in histories:
            item = simulation.model.item(cycle.dialogue.external_id)
            histories[cycle.dialogue_id] = _ItemHistory(item, baseline=cycle.entry_revision.content_hash)
        history = histories[cycle.dialogue_id]
        # Accuracy follows the first cycle and compares with the content verified in the last one.
        if cycle.dialogue_id not in over:
            history.visits += [as_visit(run) for run in runs[cycle.pk]]
        if cycle.state in _ENDED:
            over.add(cycle.dialogue_id)
        history.verified = cycle.exit_revision.content_hash if cycle.exit_revision else ""
        history.drawn = {run.stage: _came(run) for run in runs[cycle.pk] if hasattr(run, "draw_item")}
    return [history for _, history in sorted(histories.items())]


def _came(run: StageRun) -> str:
    return run.entry_revision.content_hash


def _accuracy(simulation: Simulation, histories: list[_ItemHistory], measured: Accuracy) -> list[dict[str, Any]]:
    stages = [stage.key for stage in simulation.protocol.stages]
    right: dict[str, dict[str, bool]] = defaultdict(dict)
    for history in histories:
        for point, content in stage_points(stages, history.baseline, history.visits).items():
            right[point][history.item.name] = history.right(content)
    out = []
    for one in measured.by_stage:
        line = {"point": one.key, **compared(one.figure, share(right[one.key]))}
        if one.key == BASELINE:
            line["rate"] = simulation.model.rates.baseline
            line["covers_rate"] = compared(one.figure, simulation.model.rates.baseline)["covers"]
        out.append(line)
    return out


def _rounds(histories: list[_ItemHistory], measured: Accuracy) -> list[dict[str, Any]]:
    out = []
    for stage in measured.by_round:
        if len(stage.rounds) < 3:
            continue
        paths = [(history, round_points(stage.stage, history.visits)) for history in histories]
        for number, after in enumerate(stage.rounds):
            # An item whose last round has ended keeps the content it had then.
            right = {
                history.item.name: history.right(path[min(number, len(path) - 1)]) for history, path in paths if path
            }
            out.append({"stage": stage.stage, "round": number, **compared(after.figure, share(right))})
    return out


def _agreement(simulation: Simulation) -> list[dict[str, Any]]:
    out = []
    for stage in simulation.protocol.stages:
        planted = planted_patterns(_runs_of(simulation, stage.key))
        for label in (*RATED, *OVERLAPPING):
            counts, own = read_agreement(project=simulation.project, stage=stage.key, label=label), planted.get(label)
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


def _runs_of(simulation: Simulation, key: str) -> Iterator[tuple[RunFacts, list[SubmittedReview]]]:
    stage = simulation.protocol.stage(key)
    runs = defaultdict(list)
    for record in simulation.records:
        if record.stage == key:
            runs[record.item, record.cycle, record.round].append(record)
    looks: Tally[tuple[str, int]] = Tally()
    for (item, cycle, _), reviews in runs.items():
        looks[item, cycle] += 1
        submitted = [
            SubmittedReview(str(one.verdict), one.document) for one in sorted(reviews, key=lambda one: one.person)
        ]
        yield RunFacts(stage.kind, stage.blind, len(reviews), looks[item, cycle], cycle), submitted


def _audits(histories: list[_ItemHistory], measured: Accuracy) -> list[dict[str, Any]]:
    out = []
    for audit in measured.audits:
        population = [history for history in histories if audit.stage in history.drawn]
        wrong = {history.item.name: not history.right(history.drawn[audit.stage]) for history in population}
        # Rejected items are not delivered.
        left = {
            history.item.name: bool(history.verified) and not history.right(history.verified) for history in population
        }
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
                "warnings": audit.residual.warnings,
            }
        )
    return out
