"""The tables and charts of samples: rounds in order, and every draw with its seed."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby

from django.utils.translation import gettext as _

from reviews.core import charts
from reviews.core.agreement import Figure
from reviews.core.protocols.random_draws import ROUNDS
from reviews.models import Draw
from reviews.services.protocols.readers import in_reader_language
from reviews.services.sampling.rounds import RoundFigures
from reviews.services.statistics.accuracy import PointAccuracy
from reviews.views.statistics.layout import Column, Table, bounds


def by_stage(rounds: Sequence[RoundFigures]) -> list[tuple[str, list[RoundFigures]]]:
    """Return (key of a stage, its rounds), in their order."""
    return [(stage, list(of_stage)) for stage, of_stage in groupby(rounds, key=lambda one: one.stage)]


def rounds_table(
    stage: str, rounds: Sequence[RoundFigures], pool: Mapping[int, PointAccuracy], *, sizes: bool
) -> Table:
    """Return what each round of a stage reviewed and found, and the accuracy of the whole pool after it.

    ``pool``: by number of the round, of the finished items. ``sizes``: with the population, which people who must not
    know gold items may not see (see ``draws_table``).
    """
    whole = Table.listing(
        rounds,
        key=f"rounds-{stage}",
        caption=_("Rounds of %(stage)s") % {"stage": in_reader_language(rounds[0].title)},
        columns=[
            Column("round", _("Round"), of=_round),
            Column("pool_accuracy", _("Pool correct after the round"), "share", partial(_of_pool, pool)),
            Column("population", _("Population"), "count"),
            Column("unseen", _("Not yet agreed on"), "count"),
            Column("drawn", _("Drawn"), "count"),
            Column("seen", _("Reviewed"), "count"),
            Column("errors", _("With errors"), "count"),
            Column("disputes", _("Disputes"), "count"),
            Column("open_disputes", _("Open disputes"), "count"),
            Column("accuracy", _("No changes needed"), "share", "accuracy.value"),
            *bounds("share", "accuracy"),
            Column("error_rate_at_most", _("Error rate at most"), "share", "error_rate.high"),
            Column("state", _("State"), of=_state),
        ],
    )
    return whole if sizes else whole.without("population", "unseen", "drawn")


def rounds_chart(stage: str, rounds: Sequence[RoundFigures], pool: Mapping[int, PointAccuracy]) -> charts.Drawing:
    """Draw the accuracy of the pool after each round (WildToolBench's accuracy by iteration), if items are finished,
    and the share of the reviewed items that needed no changes.
    """
    changes = charts.Line(_("Reviewed items that needed no changes"), [_mark(one.accuracy) for one in rounds])
    lines, said = [changes], "; ".join(_share_of_round(one) for one in rounds)
    description = _("Items that needed no changes: %(rounds)s. Error bars show 95 %% intervals.") % {"rounds": said}
    title = _("Items that needed no changes, by round of %(stage)s")
    if pool:
        points = [pool[one.number].figure if one.number in pool else None for one in rounds]
        lines.insert(0, charts.Line(_("Whole pool after the round"), [_mark(point) for point in points]))
        title = _("Accuracy by round of %(stage)s")
    return charts.curve(
        f"rounds-{stage}",
        points=[_round(one) for one in rounds],
        lines=lines,
        title=title % {"stage": in_reader_language(rounds[0].title)},
        description=description,
    )


def _mark(figure: Figure | None) -> charts.Mark:
    if figure is None or figure.value is None:
        return charts.Mark(None)
    return charts.Mark(figure.value, figure.low, figure.high, f"{100 * figure.value:.0f} %")


def _of_pool(pool: Mapping[int, PointAccuracy], one: RoundFigures) -> float | None:
    return pool[one.number].figure.value if one.number in pool else None


def _share_of_round(one: RoundFigures) -> str:
    if not one.accuracy.n:
        return _("round %(number)s: none yet") % {"number": one.number}
    details = {"number": one.number, "count": f"{one.accuracy.n - one.errors:,}", "items": f"{one.accuracy.n:,}"}
    return _("round %(number)s: %(count)s of %(items)s") % details


def pairs_table(stage: str, rounds: Sequence[RoundFigures], names: Mapping[str, object]) -> Table | None:
    """Return how many items each pair reviewed; None if no round had pairs."""
    rows = [
        [_round(one), str(names.get(first, first)), str(names.get(second, second)), items]
        for one in rounds
        for first, second, items in one.pairs
    ]
    if not rows:
        return None
    return Table(
        f"pairs-{stage}",
        _("Pairs of reviewers of %(stage)s") % {"stage": in_reader_language(rounds[0].title)},
        [
            Column("round", _("Round")),
            Column("first", _("Reviewer 1")),
            Column("second", _("Reviewer 2")),
            Column("items", _("Items"), "count"),
        ],
        rows,
    )


def draws_table(draws: Sequence[Draw], titles: Mapping[str, str], *, sizes: bool) -> Table:
    """Return every draw with what is needed to reproduce it.

    ``sizes``: with its population. People who must not know gold items could use it to find out which of the waiting
    dialogues was in it.
    """
    whole = Table.listing(
        draws,
        key="draws",
        caption=_("Draws"),
        columns=[
            Column("draw", _("Draw"), of=lambda one: _("Draw %(number)s") % {"number": one.number}),
            Column("stage", _("Stage"), of=lambda one: titles.get(one.stage, one.stage)),
            Column("what", _("Type"), of=_kind),
            Column("drawn_at", _("Time (UTC)"), of=lambda one: f"{one.created_at:%Y-%m-%d %H:%M}"),
            Column("by", _("Drawn by"), of=lambda one: str(one.actor or "Assay")),
            Column("population", _("Population"), "count", "population_size"),
            Column("sample", _("Drawn"), "count", "sample_size"),
            Column("fraction", _("Fraction"), "share"),
            Column("algorithm", _("Algorithm"), of=lambda one: _("version %(number)s") % {"number": one.algorithm}),
            Column("seed", _("Seed")),
            Column("population_sha256", _("SHA-256 of the population"), of="population_hash"),
        ],
    )
    return whole if sizes else whole.without("population", "sample", "population_sha256")


def _round(one: RoundFigures) -> str:
    return _("Round %(number)s") % {"number": one.number}


def _kind(draw: Draw) -> str:
    if draw.closing:
        return _("end of rounds")
    return _("round") if draw.algorithm == ROUNDS else _("sample")


def _state(one: RoundFigures) -> str:
    if one.ended_at is None:
        return _("in progress")
    ended = {"date": f"{one.ended_at:%Y-%m-%d}"}
    return (_("ended %(date)s, last round") if one.last else _("ended %(date)s")) % ended
