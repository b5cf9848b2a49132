"""The tables and drawings of what was drawn: rounds one after the other, and every draw with its seed."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from reviews.core import charts
from reviews.core.protocols.drawing import ROUNDS
from reviews.models import Draw
from reviews.services.sampling.rounds import RoundFigures
from reviews.views.statistics.layout import Column, Table, bounds


def by_stage(rounds: Sequence[RoundFigures]) -> list[tuple[str, list[RoundFigures]]]:
    """(key of a stage, its rounds), in their order."""
    return [(stage, list(of_stage)) for stage, of_stage in groupby(rounds, key=lambda one: one.stage)]


def rounds_table(stage: str, rounds: Sequence[RoundFigures], *, sizes: bool) -> Table:
    """What each round of a stage looked at and what it found.

    ``sizes``: with what it was drawn from, as below: more than is past the stage for who may not know gold items.
    """
    whole = Table.listing(
        rounds,
        key=f"rounds-{stage}",
        caption=f"What each round found: {rounds[0].title}",
        columns=[
            Column("round", "Round", of=_round),
            Column("population", "Items then", "count"),
            Column("unseen", "Never seen without conflict", "count"),
            Column("drawn", "Drawn", "count"),
            Column("seen", "Looked at", "count"),
            Column("errors", "With an error", "count"),
            Column("conflicts", "In conflict", "count"),
            Column("open_conflicts", "Still open", "count"),
            Column("accuracy", "Nothing to change", "share", "accuracy.value"),
            *bounds("share", "accuracy"),
            Column("state", "State", of=_state),
        ],
    )
    return whole if sizes else whole.without("population", "unseen", "drawn")


def rounds_chart(stage: str, rounds: Sequence[RoundFigures]) -> str:
    """In how much of each round nothing had to be changed: WildToolBench's accuracy by iteration."""
    marks = [
        charts.Mark(
            one.accuracy.value,
            one.accuracy.low,
            one.accuracy.high,
            "" if one.accuracy.value is None else f"{100 * one.accuracy.value:.0f} %",
        )
        for one in rounds
    ]
    said = "; ".join(
        f"round {one.number}: {one.accuracy.n - one.errors:,} of {one.accuracy.n:,}"
        if one.accuracy.n
        else f"round {one.number}: none yet"
        for one in rounds
    )
    return charts.curve(
        f"rounds-{stage}",
        points=[_round(one) for one in rounds],
        lines=[charts.Line("Nothing to change", marks)],
        title=f"Items of each round of {rounds[0].title} in which nothing had to be changed",
        description=f"Items in which nothing had to be changed, {said}. The strokes are 95 % intervals.",
    )


def pairs_table(stage: str, rounds: Sequence[RoundFigures], names: Mapping[str, object]) -> Table | None:
    """Who looked at how much with whom; None where no round went to pairs."""
    rows = [
        [f"Round {one.number}", str(names.get(first, first)), str(names.get(second, second)), items]
        for one in rounds
        for first, second, items in one.pairs
    ]
    if not rows:
        return None
    return Table(
        f"pairs-{stage}",
        f"Who looked at it with whom: {rounds[0].title}",
        [
            Column("round", "Round"),
            Column("first", "One"),
            Column("second", "The other"),
            Column("items", "Items", "count"),
        ],
        rows,
    )


def draws_table(draws: Sequence[Draw], titles: Mapping[str, str], *, sizes: bool) -> Table:
    """Every draw with all that is needed to draw it again.

    ``sizes``: with its population. Whoever may not know gold items could try which of the dialogues that seem to wait
    was in it.
    """
    whole = Table.listing(
        draws,
        key="draws",
        caption="Every draw, with what it takes to draw it again",
        columns=[
            Column("draw", "Draw", of=lambda one: f"Draw {one.number}"),
            Column("stage", "Stage", of=lambda one: titles.get(one.stage, one.stage)),
            Column("what", "What", of=_kind),
            Column("drawn_at", "When (UTC)", of=lambda one: f"{one.created_at:%Y-%m-%d %H:%M}"),
            Column("by", "By", of=lambda one: str(one.actor or "the program")),
            Column("population", "Drawn from", "count", "population_size"),
            Column("sample", "Drawn", "count", "sample_size"),
            Column("fraction", "Fraction", "share"),
            Column("algorithm", "Algorithm", of=lambda one: f"version {one.algorithm}"),
            Column("seed", "Seed"),
            Column("population_sha256", "SHA-256 of the population", of="population_hash"),
        ],
    )
    return whole if sizes else whole.without("population", "sample", "population_sha256")


def _round(one: RoundFigures) -> str:
    return f"Round {one.number}"


def _kind(draw: Draw) -> str:
    if draw.closing:
        return "end of the rounds"
    return "round" if draw.algorithm == ROUNDS else "sample"


def _state(one: RoundFigures) -> str:
    if one.ended_at is None:
        return "under way"
    return f"ended {one.ended_at:%Y-%m-%d}{', the last one' if one.last else ''}"
