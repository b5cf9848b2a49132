"""Statistics pages: progress, accuracy and agreement of a project, and one person's work.

Each table on a page can be downloaded: the same address with ``?csv=`` and the table's name.
"""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotator.errors import Hidden
from annotator.presentation.components.labels import LABELS
from annotator.services.custom_fields import fields_of
from annotator.services.database.filters import day_of, one_of
from annotator.views.pages import PageRequest, project_page, takes
from reviews.core.agreement import OVERLAPPING, RATED, rated_fields, summarise
from reviews.core.agreement.custom_fields import PREFIX
from reviews.core.charts import Drawing
from reviews.services.gold.results import count_own_results
from reviews.services.protocols.readers import shown_stage_titles
from reviews.services.sampling.samples import has_draws
from reviews.services.statistics.access import load_person, names_of, oversees, pair_of, read_compared_stages
from reviews.services.statistics.accuracy import Accuracy, read_accuracy, repeating_stages, revisions_of_repeating
from reviews.services.statistics.agreement import (
    AGREEMENT,
    compared_reviewers,
    hidden_patterns,
    read_agreement,
    read_each_pair,
)
from reviews.services.statistics.field_answers import read_answers
from reviews.services.statistics.round_errors import read_round_errors
from reviews.services.statistics.suggestions import has_suggestions, read_acceptance
from reviews.services.statistics.throughput import (
    count_waiting_work,
    read_error_types,
    read_outlook,
    read_people,
    read_person_times,
    read_throughput,
    read_times,
)
from reviews.services.statistics.workload import WORK
from reviews.views.statistics import agreement_tables as agreed
from reviews.views.statistics import tables as made
from reviews.views.statistics.layout import Table, as_csv, shown
from reviews.views.statistics.revision_tables import rounds_chart, rounds_table

_LABELS = (*RATED, *OVERLAPPING)
#: Pairs of reviewers shown on the page; the CSV file has all of them.
MAX_PAIRS = 30


@project_page
@require_safe
@takes("by", "csv")
def progress(request: PageRequest) -> HttpResponse:
    """Show pace, time per item, error types and estimated completion."""
    project, by_week = request.project, one_of(request.GET, "by", ["week"]) == "week"
    overseer = oversees(request.roles)
    shown_to = None if overseer else request.user
    now = timezone.now()
    titles = shown_stage_titles(project)
    throughput = read_throughput(project=project, now=now, by_week=by_week, shown_to=shown_to)
    times = read_times(project=project, viewer=request.user, shown_to=shown_to)
    error_types = read_error_types(project=project, hide_answers=not overseer)
    people = read_people(project=project) if overseer else []
    names = names_of(project=project)
    tables = {
        "throughput": made.throughput_table(throughput),
        "times": made.time_table(times),
        "error_types": made.error_type_table(error_types, titles, "error-types", _("Error types")),
    }
    round_errors = read_round_errors(project, hide_answers=not overseer)
    if round_errors:
        tables["round_errors"] = made.round_errors_table(round_errors)
    if overseer:
        shown_names = {pseudonym: str(person) for pseudonym, person in names.items()}
        tables["people"] = made.people_table(people, titles, shown_names)
        person_times = read_person_times(project=project, viewer=request.user)
        if person_times:
            tables["person_times"] = made.person_times_table(person_times, shown_names)
    return answer(
        request,
        "reviews/statistics/progress.html",
        tables,
        {
            "by_week": by_week,
            "throughput_chart": drawn(made.throughput_chart(throughput)) if throughput.total else "",
            "time_chart": drawn(made.time_chart(times)) if times else "",
            "error_type_chart": drawn(made.error_type_chart(error_types, "error-types", _("Error types")))
            if error_types
            else "",
            "outlook": read_outlook(project=project, now=now, shown_to=shown_to),
            "waiting": count_waiting_work(project),
            "set_aside": WORK.set_aside(project),
            "people": [(one, names[one.pseudonym]) for one in people if one.pseudonym in names],
        },
    )


@project_page
@require_safe
@takes("csv")
def accuracy(request: PageRequest) -> HttpResponse:
    """Show accuracy after each stage and each round, revised items and residual errors."""
    found = read_accuracy(project=request.project, hide_answers=not oversees(request.roles))
    tables, context = _accuracy(found)
    if oversees(request.roles) and found.audits:
        names = {pseudonym: str(person) for pseudonym, person in names_of(project=request.project).items()}
        tables["strata"] = made.strata_table(found.audits, names)
    context["residuals"] = [
        (audit.title, audit.population, *(shown(value, "share") for value in (left.value, left.low, left.high)))
        for audit in found.audits
        if (left := audit.residual.residual).value is not None
    ]
    return answer(request, "reviews/statistics/accuracy.html", tables, context)


@project_page
@require_safe
@takes("csv")
def revisions(request: PageRequest) -> HttpResponse:
    """Show how many items were revised in stages that repeat after a change, and in how many rounds."""
    found = read_accuracy(project=request.project, hide_answers=not oversees(request.roles))
    stages = revisions_of_repeating(request.project, found)
    return answer(
        request,
        "reviews/statistics/revisions.html",
        {"rounds": rounds_table(stages)} if stages else {},
        {
            "found": found,
            "stages": stages,
            "chart": drawn(rounds_chart(stages)) if stages else "",
        },
    )


@project_page
@require_safe
@takes("stage", "label", "pair", "since", "until", "csv")
def agreement(request: PageRequest) -> HttpResponse:
    """Show the agreement of independent reviewers on the labels of a stage: all reviewers or one pair."""
    project, asked = request.project, request.GET
    overseer = oversees(request.roles)
    stages = read_compared_stages(project=project)
    stage = one_of(asked, "stage", stages, otherwise=next(iter(stages), ""))
    fields = rated_fields(fields_of(project))
    label = one_of(asked, "label", [*_LABELS, *fields])
    chosen = [label] if label else [*_LABELS, *fields]
    since, until = day_of(asked, "since"), day_of(asked, "until")
    pair = pair_of(project=project, wanted=asked.get("pair", ""), roles=request.roles)
    less = None if overseer else hidden_patterns(project)
    counts = {
        label: read_agreement(project=project, stage=stage, label=label, pair=pair, since=since, until=until, less=less)
        for label in chosen
    }
    figures = [
        (label, summarise(label, counts[label], pair=pair is not None, field=fields.get(label))) for label in chosen
    ]
    words = {value: _(label.text) for kind in RATED for value, label in LABELS[kind].items()}
    options = {f"{PREFIX}{field.key}": dict(field.choices) for field in fields_of(project)}
    label_names = made.label_names(fields)
    sections: list[dict[str, Any]] = [
        {
            "label": label,
            "name": label_names[label],
            "chart": drawn(agreed.agreement_chart(label, found, label_names[label])),
            "needed": agreed.more_dialogues_for_all(found),
            "table": agreed.label_table(label, found, label_names[label]),
            "notes": agreed.notes(found),
            "patterns": agreed.pattern_table(label, counts[label], options.get(label, words)),
            "overlapping": label in OVERLAPPING,
        }
        for label, found in figures
        if len(counts[label])
    ]
    tables = {
        "agreement": agreed.agreement_table(figures, label_names),
        "plan": agreed.plan_table(compared_reviewers(project, stage)),
    }
    tables |= {f"patterns-{section['label']}": section["patterns"] for section in sections}
    people = {person.pk: person for person in names_of(project=project).values()}
    pairs = {}
    if overseer and stage:
        found = read_each_pair(project=project, stage=stage, label="verdict", since=since, until=until)
        pairs = {pair: of_pair for pair, of_pair in found.items() if people.keys() >= set(pair)}
        known = list(pairs.items())
        if "csv" not in asked:
            # Intervals of each statistic of each pair take time, and fifty people make many pairs.
            known = sorted(known, key=lambda one: -sum(count for _, count in one[1].checked()))[:MAX_PAIRS]
        tables["pairs"] = agreed.pair_table(
            [
                (str(people[one]), str(people[other]), summarise("verdict", of_pair, pair=True))
                for (one, other), of_pair in known
            ]
        )
    return answer(
        request,
        "reviews/statistics/agreement.html",
        tables,
        {
            "stages": stages,
            "stage": stage,
            "label": chosen[0] if len(chosen) == 1 else "",
            "label_names": label_names,
            "since": since,
            "until": until,
            "pair": asked.get("pair", "") if pair else "",
            "pairs": [
                (
                    f"{people[one].public_id}:{people[other].public_id}",
                    _("%(one)s and %(other)s") % {"one": people[one], "other": people[other]},
                )
                for one, other in pairs
            ],
            "most_pairs": MAX_PAIRS,
            "sections": sections,
            "missing": [label_names[label] for label in chosen if not len(counts[label])],
            "set_aside": AGREEMENT.set_aside(project),
        },
    )


@project_page
@require_safe
@takes("csv")
def suggestions(request: PageRequest) -> HttpResponse:
    """Show how often people accept the suggestions of each source, to those who oversee the project."""
    found = read_acceptance(actor=request.user, project=request.project)
    tables = {"acceptance": made.acceptance_table(found.rows)} if found.rows else {}
    return answer(request, "reviews/statistics/suggestions.html", tables, {"found": found})


@project_page
@require_safe
@takes("csv")
def field_answers(request: PageRequest) -> HttpResponse:
    """Show how often each answer to a custom field was given, to those who oversee the project."""
    found = read_answers(actor=request.user, project=request.project)
    tables = {"answers": made.answers_table(found)} if found else {}
    return answer(request, "reviews/statistics/fields.html", tables, {})


@project_page
@require_safe
@takes("csv")
def person(request: PageRequest, public_id: str) -> HttpResponse:
    """Show one person's work: people see their own, overseers see everyone's."""
    project = request.project
    whose = load_person(actor=request.user, roles=request.roles, project=project, public_id=public_id)
    titles, now = shown_stage_titles(project), timezone.now()
    hides = not oversees(request.roles)
    shown_to = request.user if hides else None
    throughput = read_throughput(
        project=project, now=now, person=whose, by_week=True, shown_to=shown_to, settled=whose.pk != request.user.pk
    )
    times = read_times(project=project, viewer=request.user, person=whose, shown_to=shown_to)
    person_times = read_person_times(project=project, viewer=request.user, person=whose, shown_to=shown_to)
    named, received = (
        read_error_types(project=project, person=whose, received=one, hide_answers=hides) for one in (False, True)
    )
    found = read_accuracy(project=project, owner=whose, hide_answers=hides)
    tables, context = _accuracy(found)
    tables |= {
        "throughput": made.throughput_table(throughput),
        "times": made.time_table(times),
        "person_times": made.person_times_table(person_times, {whose.pseudonym: str(whose)}),
        "named": made.error_type_table(named, titles, "error_types-named", _("Errors reported")),
        "received": made.error_type_table(received, titles, "error_types-received", _("Errors received")),
    }
    return answer(
        request,
        "reviews/statistics/person.html",
        tables,
        context
        | {
            "whose": whose,
            "set_aside": WORK.set_aside(project, review__person=whose),
            "whose_heading": _("Your work")
            if whose.pk == request.user.pk
            else _("Work of %(person)s") % {"person": whose},
            "is_me": whose.pk == request.user.pk,
            "person_times": person_times,
            "known_answers": count_own_results(actor=request.user, project=project, roles=request.roles),
            "throughput_chart": drawn(made.throughput_chart(throughput)) if throughput.total else "",
            "time_chart": drawn(made.time_chart(times)) if times else "",
            "named_chart": drawn(made.error_type_chart(named, "error_types-named", _("Errors reported")))
            if named
            else "",
            "received_chart": drawn(made.error_type_chart(received, "error_types-received", _("Errors received")))
            if received
            else "",
        },
    )


def _accuracy(found: Accuracy) -> tuple[dict[str, Table], dict[str, Any]]:
    rounds = made.round_charts(found.by_round)
    tables = {
        "curve": made.curve_table(found.by_stage),
        "revisions": made.revision_table(found),
        "residual": made.audit_table(found.audits),
    }
    tables |= {f"rounds-{stage.stage}": table for stage, _, table in rounds}
    return tables, {
        "found": found,
        "curve_chart": drawn(made.curve_chart("accuracy", found.by_stage, _("Accuracy after each stage")))
        if found.finished
        else "",
        "rounds": [(stage, drawn(chart), table) for stage, chart, table in rounds],
    }


def answer(request: PageRequest, template: str, tables: dict[str, Table], context: dict[str, Any]) -> HttpResponse:
    """Return the page, or the requested one of its tables as a CSV file."""
    wanted = request.GET.get("csv")
    if wanted is not None:
        for table in tables.values():
            if table.key == wanted:
                return as_csv(table, project=request.project.slug)
        raise Hidden(_("This table doesn’t exist."))
    query = request.GET.copy()
    return render(
        request,
        template,
        context
        | {
            "tables": tables,
            "query": f"{query.urlencode()}&" if query else "",
            "tabs": _tabs(request),
            "overseer": oversees(request.roles),
        },
    )


def _tabs(request: PageRequest) -> list[tuple[str, str, bool]]:
    project, here = request.project, request.path
    revised = reverse("statistics-revisions", args=[project.slug])
    drawn_from = reverse("statistics-samples", args=[project.slug])
    suggested = reverse("statistics-suggestions", args=[project.slug])
    answered = reverse("statistics-fields", args=[project.slug])
    has_answers = answered == here or (oversees(request.roles) and bool(project.custom_fields))
    has_rates = suggested == here or (oversees(request.roles) and has_suggestions(project))
    pages = [
        (reverse("statistics", args=[project.slug]), _("Progress")),
        *([(reverse("statistics-team", args=[project.slug]), _("Team today"))] if oversees(request.roles) else []),
        (reverse("statistics-accuracy", args=[project.slug]), _("Accuracy")),
        *([(drawn_from, _("Samples"))] if drawn_from == here or has_draws(project) else []),
        *([(revised, _("Revisions"))] if revised == here or repeating_stages(project) else []),
        (reverse("statistics-agreement", args=[project.slug]), _("Agreement")),
        *([(suggested, _("Suggestions"))] if has_rates else []),
        *([(answered, _("Custom fields"))] if has_answers else []),
        (reverse("statistics-person", args=[project.slug, request.user.public_id]), _("Your work")),
    ]
    return [(url, label, url == here) for url, label in pages]


def drawn(chart: Drawing) -> str:
    """Return a drawing as SVG."""
    return render_to_string("reviews/statistics/chart.html", {"chart": chart})
