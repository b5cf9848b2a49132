"""The table and chart of revised items by stage and number of rounds (CCTU, table 3)."""

from collections.abc import Sequence
from functools import partial

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from reviews.core import charts
from reviews.core.agreement import Figure
from reviews.services.protocols.readers import in_reader_language
from reviews.services.statistics.accuracy import StageRevisions
from reviews.views.statistics.layout import Column, Table, bounds, note_column

#: Rounds with their own column; items with more rounds share one column.
_APART = 6


def rounds_table(stages: Sequence[StageRevisions]) -> Table:
    """Return a row for each stage: items reviewed, those revised in one round, in two and so on, and their share.

    Items that were not drawn have a column if there are any.
    """
    most = max((rounds for stage in stages for rounds in stage.revised), default=0)
    pools = any(stage.not_drawn for stage in stages)
    more = _("Revised in more than %(rounds)s rounds") % {"rounds": _APART}
    return Table.listing(
        stages,
        key="revision-rounds",
        caption=_("Revised items by stage and number of rounds"),
        columns=[
            Column("stage", _("Stage"), of="title"),
            Column("items", _("Items"), "count"),
            *([Column("not_drawn", _("Not drawn"), "count")] if pools else []),
            *(
                Column(
                    f"rounds_{n}",
                    ngettext("Revised in %(rounds)s round", "Revised in %(rounds)s rounds", n) % {"rounds": n},
                    "count",
                    partial(_revised_in, n),
                )
                for n in range(1, min(max(most, 2), _APART) + 1)
            ),
            *([Column("rounds_more", more, "count", _beyond)] if most > _APART else []),
            Column("revised", _("Revised"), "count", "count"),
            Column("revision_rate", _("Revision rate"), "share", "rates.total.value"),
            *bounds("share", "rates.total"),
            note_column("rates.total"),
        ],
    )


def rounds_chart(stages: Sequence[StageRevisions]) -> charts.Drawing:
    """Draw the revision rate of each stage with its interval."""
    rows = [
        charts.Interval(in_reader_language(stage.title), rate.value, rate.low, rate.high, _said(stage, rate))
        for stage, rate in ((stage, stage.rates.total) for stage in stages)
    ]
    return charts.interval_rows(
        "revision-rate",
        rows=rows,
        title=_("Revision rate by stage"),
        description=_("%(figures)s. Error bars show 95 %% intervals. 1 means every item.")
        % {"figures": "; ".join(f"{row.name}: {row.label}" for row in rows)},
    )


def _revised_in(rounds: int, stage: StageRevisions) -> int:
    return stage.revised.get(rounds, 0)


def _beyond(stage: StageRevisions) -> int:
    return sum(count for rounds, count in stage.revised.items() if rounds > _APART)


def _said(stage: StageRevisions, rate: Figure) -> str:
    if rate.value is None:
        return _("undefined")
    figures = {"share": f"{100 * rate.value:.0f} %", "count": f"{stage.count:,}", "items": f"{stage.items:,}"}
    return _("%(share)s (%(count)s of %(items)s)") % figures
