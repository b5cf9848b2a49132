"""The table and the drawing of items that were revised, by stage and by the rounds they needed (CCTU, table 3)."""

from collections.abc import Sequence
from functools import partial

from reviews.core import charts
from reviews.core.agreement import Figure
from reviews.services.statistics.accuracy import StageRevisions
from reviews.views.statistics.layout import Column, Table, bounds, note_column

#: Rounds with a column of their own; what took more is one column.
_APART = 6


def rounds_table(stages: Sequence[StageRevisions]) -> Table:
    """A row for each stage: items looked at, those revised in one round, in two and so on, and their share.

    What no draw took has a column where there is any.
    """
    most = max((rounds for stage in stages for rounds in stage.revised), default=0)
    pools = any(stage.not_drawn for stage in stages)
    return Table.listing(
        stages,
        key="revision-rounds",
        caption="Revised items, by stage and by the rounds they needed",
        columns=[
            Column("stage", "Stage", of="title"),
            Column("items", "Items", "count"),
            *([Column("not_drawn", "Not drawn", "count")] if pools else []),
            *(
                Column(f"rounds_{n}", f"Revised in {n} round{'s' if n > 1 else ''}", "count", partial(_revised_in, n))
                for n in range(1, min(max(most, 2), _APART) + 1)
            ),
            *([Column("rounds_more", f"In more than {_APART}", "count", _beyond)] if most > _APART else []),
            Column("revised", "Revised", "count", "count"),
            Column("revision_rate", "Revision rate", "share", "rates.total.value"),
            *bounds("share", "rates.total"),
            note_column("rates.total"),
        ],
    )


def rounds_chart(stages: Sequence[StageRevisions]) -> str:
    """The revision rate of each stage with its interval."""
    rows = [
        charts.Interval(stage.title, rate.value, rate.low, rate.high, _said(stage, rate))
        for stage, rate in ((stage, stage.rates.total) for stage in stages)
    ]
    return charts.interval_rows(
        "revision-rate",
        rows=rows,
        title="Revision rate, by stage",
        description="; ".join(f"{row.name}: {row.label}" for row in rows)
        + ". The strokes are 95 % intervals; 1 is every item.",
    )


def _revised_in(rounds: int, stage: StageRevisions) -> int:
    return stage.revised.get(rounds, 0)


def _beyond(stage: StageRevisions) -> int:
    return sum(count for rounds, count in stage.revised.items() if rounds > _APART)


def _said(stage: StageRevisions, rate: Figure) -> str:
    if rate.value is None:
        return "undefined"
    return f"{100 * rate.value:.0f} % ({stage.count:,} of {stage.items:,})"
