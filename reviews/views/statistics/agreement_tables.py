"""Tables and charts of the agreement of reviewers, and how many dialogues their intervals take."""

from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace as Row

from django.utils.translation import gettext as _

from reviews.core import charts
from reviews.core.agreement import (
    OVERLAPPING,
    Figure,
    Pattern,
    PatternCounts,
    dialogues_needed,
    more_dialogues,
    roughly,
)
from reviews.core.agreement.custom_fields import BETWEEN, PREFIX
from reviews.core.agreement.planning import HALF_WIDTH
from reviews.views.statistics.layout import Column, Table, bounds, figure_columns

#: What is assumed before there are reviews: shares of the rarest value, kappas, and the tasks of a dialogue.
RAREST, KAPPAS, TASKS = (0.5, 0.2, 0.1, 0.05, 0.02), (0.6, 0.8), 4


def agreement_table(labels: Sequence[tuple[str, Sequence[Figure]]], names: Mapping[str, str]) -> Table:
    """Return every statistic of every label. ``names``: of the labels."""
    return Table.listing(
        (row for label, figures in labels for row in _rows(figures, names[label])),
        key="agreement",
        caption=_("Agreement"),
        columns=[
            Column("label", _("Label")),
            *_statistic(),
            Column("caution", _("Caution"), "words", "figure.caution"),
        ],
    )


def label_table(label: str, figures: Sequence[Figure], name: str) -> Table:
    """Return the statistics of one label. ``notes`` has the methods of the intervals."""
    *columns, _note = _statistic()
    return Table.listing(_rows(figures, name), key=f"agreement-{label}", caption=name, columns=columns)


def notes(figures: Sequence[Figure]) -> list[tuple[str, str]]:
    """Return the methods of the intervals, why there is no value or no interval, and why one may be too narrow, each
    with the figures' names.
    """
    names: dict[str, list[str]] = {}
    for one in figures:
        for note in filter(None, (one.undefined or one.interval, one.caution)):
            names.setdefault(note, []).append(_(one.name))
    return [(_(", ").join(found), note) for note, found in names.items()]


def more_dialogues_for_all(figures: Sequence[Figure]) -> int | None:
    """Return about how many more dialogues make every interval narrow; None if there is no interval."""
    return max((number for figure in figures if (number := _more(figure)) is not None), default=None)


def _rows(figures: Sequence[Figure], name: str) -> Iterator[Row]:
    for figure in figures:
        yield Row(label=name, figure=figure, more_dialogues=_more(figure))


def _more(figure: Figure) -> int | None:
    needed = more_dialogues(figure)
    return None if needed is None else roughly(needed)


def _statistic() -> list[Column]:
    *columns, note = figure_columns("number", "figure")
    needed = Column("more_dialogues", _("More dialogues for ± %(half)s") % {"half": HALF_WIDTH}, "count")
    return [Column("statistic", _("Statistic"), "words", "figure.name"), *columns, needed, note]


def agreement_chart(label: str, figures: Sequence[Figure], name: str) -> charts.Drawing:
    """Draw the statistics of one label with their intervals."""
    values = [_("undefined") if one.value is None else f"{one.value:.3f}" for one in figures]
    said = "; ".join(f"{_(one.name)} {value}" for one, value in zip(figures, values, strict=True))
    description = _("%(figures)s. Error bars show 95 %% intervals. 1 means full agreement.")
    return charts.interval_rows(
        f"agreement-{label}",
        rows=[
            charts.Interval(
                _(one.name),
                one.value,
                one.low,
                one.high,
                _("undefined") if one.value is None else f"{one.value:.2f}".replace("-", "−"),
            )
            for one in figures
        ],
        title=_("Agreement: %(label)s") % {"label": name},
        description=description % {"figures": said},
    )


def pattern_table(label: str, counts: PatternCounts, words: Mapping[str, str]) -> Table:
    """Return the combinations of ratings, the most frequent first."""
    heads = [Column("said", _("Ratings")), Column("units", _("Units"), "count")]
    if label in OVERLAPPING:
        heads[0] = Column("said", _("Matching + first reviewer + second reviewer"))

    def named(value: str) -> str:
        members = value.split(BETWEEN) if label.startswith(PREFIX) else [value]
        return ", ".join(words.get(one, one) for one in members)

    def said(pattern: Pattern) -> str:
        if label in OVERLAPPING and len(pattern) > 3:
            *sums, reviewers = pattern
            sentence = _("%(sums)s, all pairs of %(reviewers)s reviewers")
            return sentence % {"sums": " + ".join(map(str, sums)), "reviewers": reviewers}
        return " + ".join(_("no rating") if value is None else named(str(value)) for value in pattern)

    rows = [[said(pattern), count] for pattern, count in counts.checked()]
    return Table(f"patterns-{label}", _("Combinations of ratings"), heads, sorted(rows, key=lambda row: -row[1]))


def pair_table(rows: Sequence[tuple[str, str, Sequence[Figure]]]) -> Table:
    """Return the agreement of each pair of reviewers on the verdict."""
    known = [(one, other, {figure.name: figure for figure in figures}) for one, other, figures in rows]
    return Table.listing(
        (
            Row(
                person=one,
                other=other,
                percent=figures["Percent agreement"],
                kappa=figures["Cohen's kappa"],
                ac1=figures["Gwet's AC1"],
            )
            for one, other, figures in known
        ),
        key="pairs",
        caption=_("Pairs of reviewers: agreement on the verdict"),
        columns=[
            Column("person", _("Reviewer 1")),
            Column("other", _("Reviewer 2")),
            Column("items", _("Items"), "count", "percent.n"),
            Column("percent_agreement", _("Agreement"), "share", "percent.value"),
            *bounds("share", "percent", "percent_{}"),
            Column("cohen_kappa", _("Cohen’s κ"), "number", "kappa.value"),
            *bounds("number", "kappa", "kappa_{}"),
            Column("ac1", _("Gwet’s AC1"), "number", "ac1.value"),
            *bounds("number", "ac1", "ac1_{}"),
        ],
    )


def plan_table(reviewers: int) -> Table:
    """Return how many dialogues a kappa takes, for labels of dialogues and of tasks, before there are reviews."""
    rows = [
        [rarest, kappa, *(roughly(dialogues_needed(reviewers, rarest, kappa, tasks=tasks)) for tasks in (1, TASKS))]
        for rarest in RAREST
        for kappa in KAPPAS
    ]
    said = _("Dialogues that give kappa an interval of ± %(half)s with %(reviewers)s reviewers")
    columns = [
        Column("rarest", _("Share of the rarest value"), "share"),
        Column("kappa", _("Expected kappa"), "number"),
        Column("dialogues", _("Verdict: dialogues"), "count"),
        Column("dialogues_of_tasks", _("Labels of tasks: dialogues"), "count"),
    ]
    return Table("plan", said % {"half": HALF_WIDTH, "reviewers": reviewers}, columns, rows)
