"""The table and the drawing of items that were revised, by stage and by the rounds they needed (CCTU, table 3)."""

from collections.abc import Sequence
from typing import Any

from reviews.core import charts
from reviews.core.agreement import Figure
from reviews.services.statistics.accuracy import StageRevisions
from reviews.views.tables import Column, Table

#: Rounds with a column of their own; what took more is one column.
_APART = 6


def rounds_table(stages: Sequence[StageRevisions]) -> Table:
    """A row for each stage: items looked at, those revised in one round, in two and so on, and their share.

    What no draw took has a column where there is any.
    """
    most = max((rounds for stage in stages for rounds in stage.revised), default=0)
    apart = range(1, min(max(most, 2), _APART) + 1)
    columns = [
        Column("stage", "Stage"),
        Column("items", "Items", "count"),
        *(Column(f"rounds_{n}", f"Revised in {n} round{'s' if n > 1 else ''}", "count") for n in apart),
    ]
    if most > _APART:
        columns.append(Column("rounds_more", f"In more than {_APART}", "count"))
    pools = any(stage.not_drawn for stage in stages)
    if pools:
        columns.insert(2, Column("not_drawn", "Not drawn", "count"))
    columns += [
        Column("revised", "Revised", "count"),
        Column("revision_rate", "Revision rate", "share"),
        Column("low", "95 % from", "share"),
        Column("high", "to", "share"),
        Column("note", "Interval, or why there is none"),
    ]
    return Table(
        "revision-rounds",
        "Revised items, by stage and by the rounds they needed",
        columns,
        [_row(stage, apart, most, pools) for stage in stages],
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


def _row(stage: StageRevisions, apart: range, most: int, pools: bool) -> list[Any]:
    total = stage.rates.total
    beyond = [sum(count for rounds, count in stage.revised.items() if rounds > _APART)] if most > _APART else []
    return [
        stage.title,
        stage.items,
        *([stage.not_drawn] if pools else []),
        *(stage.revised.get(rounds, 0) for rounds in apart),
        *beyond,
        stage.count,
        total.value,
        total.low,
        total.high,
        total.undefined or total.interval,
    ]


def _said(stage: StageRevisions, rate: Figure) -> str:
    if rate.value is None:
        return "undefined"
    return f"{100 * rate.value:.0f} % ({stage.count:,} of {stage.items:,})"
