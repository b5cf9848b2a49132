"""The tables and charts of the statistics pages."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import SimpleNamespace as Row

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotator.core.suggestion_shape import PlaceKind
from annotator.core.text import gettext_noop
from annotator.presentation.suggestions import KIND_LABELS
from reviews.core import charts
from reviews.core.agreement import Acceptance, Figure, RatedField
from reviews.services.protocols.readers import in_reader_language
from reviews.services.statistics.accuracy import Accuracy, PointAccuracy, StageAudit, StageRounds
from reviews.services.statistics.field_answers import AnswerCount
from reviews.services.statistics.round_errors import RoundErrors
from reviews.services.statistics.throughput import ErrorTypeCount, PersonTimes, PersonWork, StageTime, Throughput
from reviews.views.statistics.layout import Column, Table, bounds, duration, figure_columns

#: The place of a row with all suggestions of a source.
_ALL = gettext_noop("All places")
#: Answers that the field no longer has.
_OTHERS = gettext_noop("No longer an option")


def label_names(fields: Mapping[str, RatedField]) -> dict[str, str]:
    """Return the names of the labels that are compared, the custom ``fields`` last."""
    names = {
        "verdict": _("Verdict"),
        "policy": _("Policy"),
        "information": _("Information"),
        "calls": _("Calls"),
        "edges": _("Tool graph edges"),
    }
    return names | {label: field.title for label, field in fields.items()}


# --- accuracy ---------------------------------------------------------------------------------------------------------


def curve_table(points: Sequence[PointAccuracy], key: str = "accuracy-by-stage", caption: str = "") -> Table:
    """Return the accuracy at each point, with and without messages; and without missing labels, if any are missing."""
    unlabelled = [
        Column("labels_missing", _("Correct except missing labels"), "count", "unlabelled"),
        Column(
            "accuracy_without_missing_labels",
            _("Ignoring messages and missing labels"),
            "share",
            "without_missing_labels.value",
        ),
        *bounds("share", "without_missing_labels", "{}_without_missing_labels"),
    ]
    return Table.listing(
        points,
        key=key,
        caption=caption or _("Accuracy after each stage"),
        columns=[
            Column("point", _("After"), of="title"),
            Column("right", _("Correct"), "count"),
            Column("message_only", _("Correct except messages"), "count", "message"),
            Column("items", _("Items"), "count", "of"),
            Column("accuracy", _("Accuracy"), "share", "figure.value"),
            *bounds("share", "figure"),
            Column("accuracy_without_messages", _("Ignoring messages"), "share", "without_messages.value"),
            *bounds("share", "without_messages", "{}_without_messages"),
            *(unlabelled if any(one.unlabelled for one in points) else []),
        ],
    )


def curve_chart(name: str, points: Sequence[PointAccuracy], title: str) -> charts.Drawing:
    """Draw the same as a chart, with a line without messages, or without missing labels too, only if it differs."""
    lines = [charts.Line(_("All content"), [_mark(one.figure) for one in points])]
    if any(one.unlabelled for one in points):
        name = _("Ignoring messages and missing labels")
        lines.append(charts.Line(name, [_mark(one.without_missing_labels) for one in points]))
    elif any(one.message for one in points):
        lines.append(charts.Line(_("Ignoring messages"), [_mark(one.without_messages) for one in points]))
    figures = "; ".join(f"{in_reader_language(one.title)} {_percent(one.figure.value)}" for one in points)
    description = _(
        "Share of %(items)s items that matched the verified revision: %(figures)s. Error bars show 95 %% intervals."
    )
    return charts.curve(
        name,
        points=[in_reader_language(one.title) for one in points],
        lines=lines,
        title=title,
        description=description % {"items": points[0].of, "figures": figures},
    )


def round_charts(stages: Sequence[StageRounds]) -> list[tuple[StageRounds, charts.Drawing, Table]]:
    """Return chart and table of each stage that had more than one round."""
    out = []
    for place, one in enumerate(stages):
        if len(one.rounds) > 2:
            title = _("Accuracy after each round of %(stage)s") % {"stage": in_reader_language(one.title)}
            chart = curve_chart(f"rounds-{place}", one.rounds, title)
            out.append((one, chart, curve_table(one.rounds, f"accuracy-by-round-{one.stage}", title)))
    return out


def revision_table(accuracy: Accuracy) -> Table:
    """Return the items revised in a stage, by number of rounds and in total."""
    rows = [
        Row(stage=stage, rounds=words, revised=revised, figure=figure)
        for stage in accuracy.revisions
        for words, revised, figure in (
            *(
                (
                    ngettext("in %(rounds)s round", "in %(rounds)s rounds", rounds) % {"rounds": rounds},
                    stage.revised[rounds],
                    figure,
                )
                for rounds, figure in stage.rates.by_rounds.items()
            ),
            (_("total"), stage.count, stage.rates.total),
        )
    ]
    return Table.listing(
        rows,
        key="revisions",
        caption=_("Revised items by stage and number of rounds"),
        columns=[
            Column("stage", _("Stage"), of="stage.title"),
            Column("rounds", _("Revised")),
            Column("revised", _("Items"), "count"),
            Column("not_drawn", _("Not drawn"), "count", "stage.not_drawn"),
            *figure_columns("share", "figure"),
        ],
    )


def audit_table(audits: Sequence[StageAudit]) -> Table:
    """Return the error rate and the residual error rate of the sampled populations."""
    return Table.listing(
        (
            Row(audit=audit, figure=figure)
            for audit in audits
            for figure in (audit.residual.error_rate, audit.residual.residual)
        ),
        key="residual-error",
        caption=_("Residual errors estimated from the audit"),
        columns=[
            Column("stage", _("Stage"), of="audit.title"),
            Column("figure", _("Figure"), "words", "figure.name"),
            *_audited("audit"),
        ],
    )


def strata_table(audits: Sequence[StageAudit], names: Mapping[str, str]) -> Table:
    """Return the audit by owner and draw."""
    return Table.listing(
        (
            Row(audit=audit, stratum=stratum, figure=figure)
            for audit in audits
            for stratum, figure in zip(audit.strata, audit.residual.strata, strict=True)
        ),
        key="audit-by-owner",
        caption=_("Audit by owner, as found"),
        columns=[
            Column("stage", _("Stage"), of="audit.title"),
            Column("owner", _("Owner"), of=lambda one: names.get(one.stratum.name, one.stratum.name) or _("no owner")),
            Column("draw", _("Draw"), of=lambda one: one.stratum.draw or _("all")),
            *_audited("stratum"),
        ],
    )


def _audited(of: str) -> list[Column]:
    return [
        Column("population", _("Population"), "count", f"{of}.population"),
        Column("audited", _("Audited"), "count", f"{of}.audited"),
        Column("errors", _("With errors"), "count", f"{of}.errors"),
        *figure_columns("share", "figure"),
    ]


# --- progress ---------------------------------------------------------------------------------------------------------


def throughput_table(found: Throughput) -> Table:
    """Return reviews by day or week, and stage."""
    return Table(
        "throughput",
        _("Reviews by week") if found.step > 1 else _("Reviews by day"),
        [
            Column("from", _("Week of") if found.step > 1 else _("Day")),
            *(Column(one.stage, in_reader_language(one.title), "count") for one in found.stages),
            Column("together", _("Total"), "count"),
        ],
        [
            [start.isoformat(), *counts, sum(counts)]
            for start, counts in (
                (start, [one.counts[place] for one in found.stages]) for place, start in enumerate(found.starts)
            )
        ],
    )


def throughput_chart(found: Throughput) -> charts.Drawing:
    """Draw the same as bars, with a panel for each stage."""
    details = {
        "total": f"{found.total:,}",
        "start": date_format(found.starts[0], "j F Y"),
        "end": date_format(found.starts[-1], "j F Y"),
        "stages": "; ".join(f"{in_reader_language(one.title)} {sum(one.counts):,}" for one in found.stages),
    }
    return charts.bar_panels(
        "throughput",
        times=[date_format(start, "j M") for start in found.starts],
        panels=[charts.Panel(in_reader_language(one.title), one.counts) for one in found.stages],
        title=_("Reviews by week") if found.step > 1 else _("Reviews by day"),
        description=_("%(total)s reviews from %(start)s to %(end)s: %(stages)s") % details,
    )


def time_table(times: Sequence[StageTime]) -> Table:
    """Return quartiles by stage, in seconds."""
    return Table.listing(
        times,
        key="time-per-item",
        caption=_("Time per item by stage"),
        columns=[
            Column("stage", _("Stage"), of="title"),
            Column("reviews", _("Reviews"), "count", "n"),
            Column("lower_quartile_s", _("Lower quartile"), "seconds", "low"),
            Column("median_s", _("Median"), "seconds", "median"),
            Column("upper_quartile_s", _("Upper quartile"), "seconds", "high"),
        ],
    )


def time_chart(times: Sequence[StageTime]) -> charts.Drawing:
    """Draw the same as bars from the lower to the upper quartile, with a line at the median."""
    medians = "; ".join(f"{in_reader_language(one.title)} {duration(one.median)}" for one in times)
    unit, size = ("min", 60) if max(one.high for one in times) >= 120 else ("s", 1)
    return charts.span_rows(
        "time-per-item",
        rows=[
            charts.Span(
                in_reader_language(one.title), one.low / size, one.median / size, one.high / size, duration(one.median)
            )
            for one in times
        ],
        unit=unit,
        title=_("Time per item by stage"),
        description=_("Lower to upper quartile, with a line at the median: %(medians)s") % {"medians": medians},
    )


def error_type_table(error_types: Sequence[ErrorTypeCount], titles: Mapping[str, str], key: str, caption: str) -> Table:
    """Return error types by stage."""
    columns = [Column("kind", _("Error type"), "words", "label"), *_by_stage(error_types, titles)]
    return Table.listing(error_types, key=key, caption=caption, columns=columns)


def round_errors_table(rows: Sequence[RoundErrors]) -> Table:
    """Return the errors of single tasks by stage, round and kind."""
    return Table.listing(
        rows,
        key="round-errors",
        caption=_("Errors by round"),
        columns=[
            Column("stage", _("Stage"), of="title"),
            Column("round", _("Round"), "count"),
            Column("found", _("Found by"), of=lambda one: _("Running") if one.by_running else _("People")),
            Column("kind", _("Error"), of=lambda one: one.label or _("Changed without an error type")),
            Column("items", _("Items"), "count"),
        ],
    )


def error_type_chart(error_types: Sequence[ErrorTypeCount], key: str, caption: str) -> charts.Drawing:
    """Draw the same as bars, the most frequent first."""
    return charts.row_bars(
        key,
        rows=[charts.Bar(in_reader_language(one.label), one.total) for one in error_types],
        title=caption,
        description="; ".join(f"{in_reader_language(one.label)} {one.total:,}" for one in error_types),
    )


def people_table(people: Sequence[PersonWork], titles: Mapping[str, str], names: Mapping[str, str]) -> Table:
    """Return reviews by person and stage."""
    person = Column("person", _("Person"), of=lambda one: names.get(one.pseudonym, one.pseudonym))
    columns = [person, *_by_stage(people, titles)]
    return Table.listing(people, key="people", caption=_("Reviews by person"), columns=columns)


def person_times_table(times: Sequence[PersonTimes], names: Mapping[str, str]) -> Table:
    """Return the median time for an item and for a question of the checklist, by person."""
    return Table.listing(
        times,
        key="person-times",
        caption=_("Median time per item and per question"),
        columns=[
            Column("person", _("Person"), of=lambda one: names.get(one.pseudonym, one.pseudonym)),
            Column("items", _("Items"), "count", "items"),
            Column("median_item_s", _("Median per item"), "seconds", "per_item"),
            Column("questions", _("Questions"), "count", "questions"),
            Column("median_question_s", _("Median per question (s)"), "count", "per_question"),
            Column("together", _("Answered together"), "count", "together"),
        ],
    )


def _by_stage(found: Sequence[ErrorTypeCount | PersonWork], titles: Mapping[str, str]) -> list[Column]:
    stages = [stage for stage in titles if any(stage in one.by_stage for one in found)]
    return [
        *(Column(stage, titles[stage], "count", partial(_count_in, stage)) for stage in stages),
        Column("together", _("Total"), "count", "total"),
    ]


def _count_in(stage: str, one: ErrorTypeCount | PersonWork) -> int:
    return one.by_stage.get(stage, 0)


def _mark(figure: Figure) -> charts.Mark:
    return charts.Mark(figure.value, figure.low, figure.high, _percent(figure.value))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


# --- suggestions ------------------------------------------------------------------------------------------------------


def acceptance_table(rows: Sequence[Acceptance]) -> Table:
    """Return how often the suggestions of each source were accepted, by kind of place."""
    return Table.listing(
        rows,
        key="acceptance",
        caption=_("Acceptance of suggestions by source and kind of place"),
        columns=[
            Column("source", _("Source")),
            Column("place", _("Place"), "words", lambda one: KIND_LABELS[PlaceKind(one.kind)] if one.kind else _ALL),
            Column("accepted", _("Accepted"), "count"),
            Column("refused", _("Refused"), "count"),
            Column("changed", _("Accepted, then changed"), "count"),
            *figure_columns("share", "rate"),
        ],
    )


# --- custom fields ----------------------------------------------------------------------------------------------------


def answers_table(rows: Sequence[AnswerCount]) -> Table:
    """Return in how many dialogues each answer to a custom field is."""
    return Table.listing(
        rows,
        key="answers",
        caption=_("Answers to custom fields"),
        columns=[
            Column("field", _("Field"), of="field_title"),
            Column("answer", _("Answer"), "words", lambda one: one.title or _OTHERS),
            Column("dialogues", _("Dialogues"), "count"),
            Column("verified", _("Of these verified"), "count"),
        ],
    )
