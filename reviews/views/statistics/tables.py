"""Which tables and charts the pages of statistics have, made from what the services read."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import SimpleNamespace as Row

from reviews.core import charts
from reviews.core.agreement import OVERLAPPING, Figure, Pattern, PatternCounts
from reviews.services.statistics.accuracy import Accuracy, PointAccuracy, StageAudit, StageRounds
from reviews.services.statistics.throughput import ErrorTypeCount, PersonWork, StageTime, Throughput
from reviews.views.statistics.layout import Column, Table, bounds, duration, figure_columns

LABEL_NAMES = {
    "verdict": "Verdict",
    "policy": "Policy",
    "information": "Information",
    "calls": "Calls",
    "edges": "Edges of the tool graph",
}

# --- accuracy ---------------------------------------------------------------------------------------------------------


def curve_table(points: Sequence[PointAccuracy], key: str = "accuracy-by-stage", caption: str = "") -> Table:
    """Accuracy at each point, with and without messages."""
    return Table.listing(
        points,
        key=key,
        caption=caption or "Accuracy after each stage",
        columns=[
            Column("point", "After", of="title"),
            Column("right", "Right", "count"),
            Column("message_only", "But for a message", "count", "message"),
            Column("items", "Items", "count", "of"),
            Column("accuracy", "Accuracy", "share", "figure.value"),
            *bounds("share", "figure"),
            Column("accuracy_without_messages", "Messages left out", "share", "without_messages.value"),
            *bounds("share", "without_messages", "{}_without_messages"),
        ],
    )


def curve_chart(name: str, points: Sequence[PointAccuracy], title: str) -> str:
    """The same as a drawing; the line without messages only where it differs."""
    lines = [charts.Line("All content", [_mark(one.figure) for one in points])]
    if any(one.message for one in points):
        lines.append(charts.Line("Messages left out", [_mark(one.without_messages) for one in points]))
    said = "; ".join(f"{one.title} {_percent(one.figure.value)}" for one in points)
    return charts.curve(
        name,
        points=[one.title for one in points],
        lines=lines,
        title=title,
        description=f"Share of items whose content was what was verified in the end, of {points[0].of}: {said}. "
        "The strokes are 95 % intervals.",
    )


def round_charts(stages: Sequence[StageRounds]) -> list[tuple[StageRounds, str, Table]]:
    """Drawing and table of each stage that had more than one round."""
    return [
        (
            one,
            curve_chart(f"rounds-{place}", one.rounds, f"Accuracy after each round of {one.title}"),
            curve_table(one.rounds, f"accuracy-by-round-{one.stage}", f"Accuracy after each round of {one.title}"),
        )
        for place, one in enumerate(stages)
        if len(one.rounds) > 2
    ]


def revision_table(accuracy: Accuracy) -> Table:
    """Items that a stage revised, by the rounds they needed, each and together."""
    rows = [
        Row(stage=stage, rounds=words, revised=revised, figure=figure)
        for stage in accuracy.revisions
        for words, revised, figure in (
            *(
                (f"in {rounds} round{'s' if rounds > 1 else ''}", stage.revised[rounds], figure)
                for rounds, figure in stage.rates.by_rounds.items()
            ),
            ("together", stage.count, stage.rates.total),
        )
    ]
    return Table.listing(
        rows,
        key="revisions",
        caption="Items that were revised, by stage and by the rounds they needed",
        columns=[
            Column("stage", "Stage", of="stage.title"),
            Column("rounds", "Revised"),
            Column("revised", "Items", "count"),
            Column("not_drawn", "Not drawn", "count", "stage.not_drawn"),
            *figure_columns("share", "figure"),
        ],
    )


def audit_table(audits: Sequence[StageAudit]) -> Table:
    """Error rate and what is left of it, of everything that was drawn from."""
    return Table.listing(
        (
            Row(audit=audit, figure=figure)
            for audit in audits
            for figure in (audit.residual.error_rate, audit.residual.residual)
        ),
        key="residual-error",
        caption="Errors that are left, as far as the audit can tell",
        columns=[
            Column("stage", "Stage", of="audit.title"),
            Column("figure", "Figure", of="figure.name"),
            *_audited("audit"),
        ],
    )


def strata_table(audits: Sequence[StageAudit], names: Mapping[str, str]) -> Table:
    """The audit by owner and draw."""
    return Table.listing(
        (
            Row(audit=audit, stratum=stratum, figure=figure)
            for audit in audits
            for stratum, figure in zip(audit.strata, audit.residual.strata, strict=True)
        ),
        key="audit-by-owner",
        caption="The audit, owner by owner",
        columns=[
            Column("stage", "Stage", of="audit.title"),
            Column("owner", "Owner", of=lambda one: names.get(one.stratum.name, one.stratum.name) or "nobody"),
            Column("draw", "Draw", of=lambda one: one.stratum.draw or "all"),
            *_audited("stratum"),
        ],
    )


def _audited(of: str) -> list[Column]:
    return [
        Column("population", "Drawn from", "count", f"{of}.population"),
        Column("audited", "Audited", "count", f"{of}.audited"),
        Column("errors", "Errors found", "count", f"{of}.errors"),
        *figure_columns("share", "figure"),
    ]


# --- agreement --------------------------------------------------------------------------------------------------------


def agreement_table(labels: Sequence[tuple[str, Sequence[Figure]]]) -> Table:
    """Every statistic of every label."""
    return Table.listing(
        (Row(label=LABEL_NAMES[label], figure=figure) for label, figures in labels for figure in figures),
        key="agreement",
        caption="Agreement",
        columns=[Column("label", "Label"), *_STATISTIC],
    )


def label_table(label: str, figures: Sequence[Figure]) -> Table:
    """The statistics of one label."""
    rows = [Row(figure=figure) for figure in figures]
    return Table.listing(rows, key=f"agreement-{label}", caption=LABEL_NAMES[label], columns=_STATISTIC)


_STATISTIC = [Column("statistic", "Statistic", of="figure.name"), *figure_columns("number", "figure")]


def agreement_chart(label: str, figures: Sequence[Figure]) -> str:
    """The statistics of one label as marks with their intervals."""
    said = "; ".join(
        f"{one.name} {one.value:.3f}" if one.value is not None else f"{one.name} undefined" for one in figures
    )
    return charts.interval_rows(
        f"agreement-{label}",
        rows=[
            charts.Interval(
                one.name,
                one.value,
                one.low,
                one.high,
                "undefined" if one.value is None else f"{one.value:.2f}".replace("-", "−"),
            )
            for one in figures
        ],
        title=f"Agreement on {LABEL_NAMES[label].lower()}",
        description=f"{said}. The strokes are 95 % intervals; 1 is full agreement.",
    )


def pattern_table(label: str, counts: PatternCounts, words: Mapping[str, str]) -> Table:
    """What reviewers said together, the most frequent first."""
    heads = [Column("said", "Said together"), Column("units", "Units", "count")]
    if label in OVERLAPPING:
        heads[0] = Column("said", "In both, in one’s, in the other’s")

    def said(pattern: Pattern) -> str:
        if label in OVERLAPPING and len(pattern) > 3:
            *sums, reviewers = pattern
            return f"{' + '.join(map(str, sums))}, all pairs of {reviewers}"
        return " + ".join("not given" if value is None else words.get(str(value), str(value)) for value in pattern)

    rows = [[said(pattern), count] for pattern, count in counts.checked()]
    return Table(f"patterns-{label}", "What was said together", heads, sorted(rows, key=lambda row: -row[1]))


def pair_table(rows: Sequence[tuple[str, str, Sequence[Figure]]]) -> Table:
    """Agreement of each two people on the verdict."""
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
        caption="Each two people on the verdict",
        columns=[
            Column("person", "Person"),
            Column("other", "Other"),
            Column("items", "Items", "count", "percent.n"),
            Column("percent_agreement", "Agreement", "share", "percent.value"),
            *bounds("share", "percent", "percent_{}"),
            Column("cohen_kappa", "Cohen’s κ", "number", "kappa.value"),
            *bounds("number", "kappa", "kappa_{}"),
            Column("ac1", "AC1", "number", "ac1.value"),
            *bounds("number", "ac1", "ac1_{}"),
        ],
    )


# --- progress ---------------------------------------------------------------------------------------------------------


def throughput_table(found: Throughput) -> Table:
    """Reviews by day or week, and stage."""
    return Table(
        "throughput",
        "Reviews by week" if found.step > 1 else "Reviews by day",
        [
            Column("from", "Week from" if found.step > 1 else "Day"),
            *(Column(one.stage, one.title, "count") for one in found.stages),
            Column("together", "Together", "count"),
        ],
        [
            [start.isoformat(), *counts, sum(counts)]
            for start, counts in (
                (start, [one.counts[place] for one in found.stages]) for place, start in enumerate(found.starts)
            )
        ],
    )


def throughput_chart(found: Throughput) -> str:
    """The same as bars, a panel for each stage."""
    span = f"from {found.starts[0]:%-d %B %Y} to {found.starts[-1]:%-d %B %Y}"
    return charts.bar_panels(
        "throughput",
        times=[f"{start:%-d %b}" for start in found.starts],
        panels=[charts.Panel(one.title, one.counts) for one in found.stages],
        title="Reviews by week" if found.step > 1 else "Reviews by day",
        description=f"{found.total:,} reviews {span}: "
        + "; ".join(f"{one.title} {sum(one.counts):,}" for one in found.stages),
    )


def time_table(times: Sequence[StageTime]) -> Table:
    """Quartiles by stage, in seconds."""
    return Table.listing(
        times,
        key="time-per-item",
        caption="Time per item, by stage",
        columns=[
            Column("stage", "Stage", of="title"),
            Column("reviews", "Reviews", "count", "n"),
            Column("lower_quartile_s", "A quarter took at most", "seconds", "low"),
            Column("median_s", "Half (median)", "seconds", "median"),
            Column("upper_quartile_s", "Three quarters", "seconds", "high"),
        ],
    )


def time_chart(times: Sequence[StageTime]) -> str:
    """The same as bars from the lower quartile to the upper, a stroke at the median."""
    unit, size = ("min", 60) if max(one.high for one in times) >= 120 else ("s", 1)
    return charts.span_rows(
        "time-per-item",
        rows=[
            charts.Span(one.title, one.low / size, one.median / size, one.high / size, duration(one.median))
            for one in times
        ],
        unit=unit,
        title="Time per item, by stage",
        description="From the lower quartile to the upper, the stroke at the median: "
        + "; ".join(f"{one.title} {duration(one.median)}" for one in times),
    )


def error_type_table(error_types: Sequence[ErrorTypeCount], titles: Mapping[str, str], key: str, caption: str) -> Table:
    """Error types by stage."""
    columns = [Column("kind", "Error type", of="label"), *_by_stage(error_types, titles)]
    return Table.listing(error_types, key=key, caption=caption, columns=columns)


def error_type_chart(error_types: Sequence[ErrorTypeCount], key: str, caption: str) -> str:
    """The same as bars, the most frequent first."""
    return charts.row_bars(
        key,
        rows=[charts.Bar(one.label, one.total) for one in error_types],
        title=caption,
        description="; ".join(f"{one.label} {one.total:,}" for one in error_types),
    )


def people_table(people: Sequence[PersonWork], titles: Mapping[str, str], names: Mapping[str, str]) -> Table:
    """Reviews by person and stage."""
    person = Column("person", "Person", of=lambda one: names.get(one.pseudonym, one.pseudonym))
    columns = [person, *_by_stage(people, titles)]
    return Table.listing(people, key="people", caption="Reviews by person", columns=columns)


def _by_stage(found: Sequence[ErrorTypeCount | PersonWork], titles: Mapping[str, str]) -> list[Column]:
    stages = [stage for stage in titles if any(stage in one.by_stage for one in found)]
    return [
        *(Column(stage, titles[stage], "count", partial(_count_in, stage)) for stage in stages),
        Column("together", "Together", "count", "total"),
    ]


def _count_in(stage: str, one: ErrorTypeCount | PersonWork) -> int:
    return one.by_stage.get(stage, 0)


def _mark(figure: Figure) -> charts.Mark:
    return charts.Mark(figure.value, figure.low, figure.high, _percent(figure.value))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"
