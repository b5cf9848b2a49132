"""Which tables and charts the pages of statistics have, made from what the services read."""

from collections.abc import Mapping, Sequence
from typing import Any

from reviews.core import charts
from reviews.core.agreement import OVERLAPPING, Figure, Pattern, PatternCounts
from reviews.services.statistics.accuracy import Accuracy, PointAccuracy, StageAudit, StageRounds
from reviews.services.statistics.throughput import FaultCount, PersonWork, StageTime, Throughput
from reviews.views.tables import Column, Table, duration, figure_cells, figure_columns

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
    return Table(
        key,
        caption or "Accuracy after each stage",
        [
            Column("point", "After"),
            Column("right", "Right", "count"),
            Column("message_only", "But for a message", "count"),
            Column("items", "Items", "count"),
            Column("accuracy", "Accuracy", "share"),
            Column("low", "95 % from", "share"),
            Column("high", "to", "share"),
            Column("accuracy_without_messages", "Messages left out", "share"),
            Column("low_without_messages", "95 % from", "share"),
            Column("high_without_messages", "to", "share"),
        ],
        [
            [
                one.title, one.right, one.message, one.of,
                one.figure.value, one.figure.low, one.figure.high,
                one.without_messages.value, one.without_messages.low, one.without_messages.high,
            ]
            for one in points
        ],
    )  # fmt: skip


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
    rows: list[list[Any]] = []
    for stage in accuracy.revisions:
        rows.extend(
            [
                stage.title, f"in {rounds} round{'s' if rounds > 1 else ''}", stage.revised[rounds], stage.not_drawn,
                *figure_cells(figure),
            ]
            for rounds, figure in stage.rates.by_rounds.items()
        )  # fmt: skip
        rows.append([stage.title, "together", stage.count, stage.not_drawn, *figure_cells(stage.rates.total)])
    return Table(
        "revisions",
        "Items that were revised, by stage and by the rounds they needed",
        [
            Column("stage", "Stage"),
            Column("rounds", "Revised"),
            Column("revised", "Items", "count"),
            Column("not_drawn", "Not drawn", "count"),
            *figure_columns("share"),
        ],
        rows,
    )


def audit_table(audits: Sequence[StageAudit]) -> Table:
    """Error rate and what is left of it, of everything that was drawn from."""
    rows = []
    for audit in audits:
        for figure in (audit.residual.error_rate, audit.residual.residual):
            rows.append(
                [audit.title, figure.name, audit.population, audit.audited, audit.errors, *figure_cells(figure)]
            )
    return Table(
        "residual-error",
        "Errors that are left, as far as the audit can tell",
        [
            Column("stage", "Stage"),
            Column("figure", "Figure"),
            Column("population", "Drawn from", "count"),
            Column("audited", "Audited", "count"),
            Column("errors", "Errors found", "count"),
            *figure_columns("share"),
        ],
        rows,
    )


def strata_table(audits: Sequence[StageAudit], names: Mapping[str, str]) -> Table:
    """The audit by owner and draw."""
    rows = [
        [audit.title, names.get(one.name, one.name) or "nobody", one.draw or "all", one.population, one.audited,
         one.errors, *figure_cells(figure)]
        for audit in audits
        for one, figure in zip(audit.strata, audit.residual.strata, strict=True)
    ]  # fmt: skip
    return Table(
        "audit-by-owner",
        "The audit, owner by owner",
        [
            Column("stage", "Stage"),
            Column("owner", "Owner"),
            Column("draw", "Draw"),
            Column("population", "Drawn from", "count"),
            Column("audited", "Audited", "count"),
            Column("errors", "Errors found", "count"),
            *figure_columns("share"),
        ],
        rows,
    )


# --- agreement --------------------------------------------------------------------------------------------------------


def agreement_table(labels: Sequence[tuple[str, Sequence[Figure]]]) -> Table:
    """Every statistic of every label."""
    return Table(
        "agreement",
        "Agreement",
        [Column("label", "Label"), Column("statistic", "Statistic"), *figure_columns("number")],
        [[LABEL_NAMES[label], one.name, *figure_cells(one)] for label, figures in labels for one in figures],
    )


def label_table(label: str, figures: Sequence[Figure]) -> Table:
    """The statistics of one label."""
    return Table(
        f"agreement-{label}",
        LABEL_NAMES[label],
        [Column("statistic", "Statistic"), *figure_columns("number")],
        [[one.name, *figure_cells(one)] for one in figures],
    )


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
    out = []
    for one, other, figures in rows:
        known = {figure.name: figure for figure in figures}
        percent = known["Percent agreement"]
        kappa, ac1 = known["Cohen's kappa"], known["Gwet's AC1"]
        out.append([one, other, percent.n, percent.value, percent.low, percent.high, kappa.value, kappa.low,
                    kappa.high, ac1.value, ac1.low, ac1.high])  # fmt: skip
    return Table(
        "pairs",
        "Each two people on the verdict",
        [
            Column("person", "Person"),
            Column("other", "Other"),
            Column("items", "Items", "count"),
            Column("percent_agreement", "Agreement", "share"),
            Column("percent_low", "95 % from", "share"),
            Column("percent_high", "to", "share"),
            Column("cohen_kappa", "Cohen’s κ", "number"),
            Column("kappa_low", "95 % from", "number"),
            Column("kappa_high", "to", "number"),
            Column("ac1", "AC1", "number"),
            Column("ac1_low", "95 % from", "number"),
            Column("ac1_high", "to", "number"),
        ],
        out,
    )


# --- progress ---------------------------------------------------------------------------------------------------------


def throughput_table(found: Throughput) -> Table:
    """Reviews by day or week, and stage."""
    return Table(
        "throughput",
        "Reviews by week" if found.step > 1 else "Reviews by day",
        [
            Column("from", "Week from" if found.step > 1 else "Day"),
            *(Column(stage, title, "count") for stage, title, _ in found.stages),
            Column("together", "Together", "count"),
        ],
        [
            [start.isoformat(), *(counts[place] for _, _, counts in found.stages),
             sum(counts[place] for _, _, counts in found.stages)]
            for place, start in enumerate(found.starts)
        ],
    )  # fmt: skip


def throughput_chart(found: Throughput) -> str:
    """The same as bars, a panel for each stage."""
    span = f"from {found.starts[0]:%-d %B %Y} to {found.starts[-1]:%-d %B %Y}"
    return charts.bar_panels(
        "throughput",
        times=[f"{start:%-d %b}" for start in found.starts],
        panels=[charts.Panel(title, counts) for _, title, counts in found.stages],
        title="Reviews by week" if found.step > 1 else "Reviews by day",
        description=f"{found.total:,} reviews {span}: "
        + "; ".join(f"{title} {sum(counts):,}" for _, title, counts in found.stages),
    )


def time_table(times: Sequence[StageTime]) -> Table:
    """Quartiles by stage, in seconds."""
    return Table(
        "time-per-item",
        "Time per item, by stage",
        [
            Column("stage", "Stage"),
            Column("reviews", "Reviews", "count"),
            Column("lower_quartile_s", "A quarter took at most", "seconds"),
            Column("median_s", "Half (median)", "seconds"),
            Column("upper_quartile_s", "Three quarters", "seconds"),
        ],
        [[one.title, one.n, one.low, one.median, one.high] for one in times],
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


def fault_table(faults: Sequence[FaultCount], titles: Mapping[str, str], key: str, caption: str) -> Table:
    """Kinds of fault by stage."""
    stages = [stage for stage in titles if any(stage in one.by_stage for one in faults)]
    return Table(
        key,
        caption,
        [
            Column("kind", "Kind of fault"),
            *(Column(stage, titles[stage], "count") for stage in stages),
            Column("together", "Together", "count"),
        ],
        [[one.label, *(one.by_stage.get(stage, 0) for stage in stages), one.total] for one in faults],
    )


def fault_chart(faults: Sequence[FaultCount], key: str, caption: str) -> str:
    """The same as bars, the most frequent first."""
    return charts.row_bars(
        key,
        rows=[charts.Bar(one.label, one.total) for one in faults],
        title=caption,
        description="; ".join(f"{one.label} {one.total:,}" for one in faults),
    )


def people_table(people: Sequence[PersonWork], titles: Mapping[str, str], names: Mapping[str, str]) -> Table:
    """Reviews by person and stage."""
    stages = [stage for stage in titles if any(stage in one.by_stage for one in people)]
    return Table(
        "people",
        "Reviews by person",
        [
            Column("person", "Person"),
            *(Column(stage, titles[stage], "count") for stage in stages),
            Column("together", "Together", "count"),
        ],
        [
            [names.get(one.pseudonym, one.pseudonym), *(one.by_stage.get(stage, 0) for stage in stages), one.total]
            for one in people
        ],
    )


def _mark(figure: Figure) -> charts.Mark:
    return charts.Mark(figure.value, figure.low, figure.high, _percent(figure.value))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"
