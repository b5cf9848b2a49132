"""The gold item pages: rates, items and results for overseers, and people's own results."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotator.core.fields import CustomField
from annotator.core.schema import load_text
from annotator.errors import DomainError, Invalid
from annotator.models import Dialogue, Role
from annotator.presentation.changes import content_lines
from annotator.presentation.dialogue import pretty
from annotator.services.access.permissions import OVERSEERS, require_administrator
from annotator.services.custom_fields import fields_of
from annotator.services.database.filters import one_of
from annotator.translation import place_name
from annotator.views.pages import PageRequest, project_page, takes
from reviews.core.agreement import Figure
from reviews.core.gold import RESULT_LABELS, reason_against_gold
from reviews.models import GoldScore, StageRun
from reviews.services.gold import creation, results, settings
from reviews.services.gold.queue_age import Waiting, read_waiting
from reviews.services.protocols.versions import current_protocol, stage_titles

_MAX_DOCUMENT = 2_000_000
#: The state of a claim without a score; others were not submitted.
_WITHOUT_SCORE = {
    "live": gettext_lazy("in progress"),
    "submitted": gettext_lazy("submitted after the item was retired, not scored"),
}


@project_page
@require_safe
def gold_list(request: PageRequest) -> HttpResponse:
    """Show rates, items and results to overseers; others see their own results if those are shown."""
    project = request.project
    titles = stage_titles(project)
    if not request.roles & OVERSEERS:
        scores = results.own_results(actor=request.user, project=project)
        rows = [
            {
                **_score_row(score, fields_of(request.project)),
                "item": score.item,
                "stage": titles.get(score.item.stage, ""),
            }
            for score in scores
        ]
        return render(request, "reviews/gold/own_results.html", {"rows": rows})
    return _overview(request)


def _overview(request: PageRequest, *, refused: str = "") -> HttpResponse:
    """Render the overview. ``refused``: why the rate was refused, shown beside its field, which keeps the input."""
    project, titles = request.project, stage_titles(request.project)
    gold = results.read_gold(actor=request.user, project=project)
    waiting = read_waiting(project)
    context = {
        "gold": gold,
        "can_make": any(not stage.barred for stage in gold.stages),
        "items": [
            (item, titles.get(item.stage, item.stage), _why_noticeable(item.source, item.stage_run, waiting))
            for item in gold.items
        ],
        "results": [
            *(_result_row(result) for result in gold.results),
            *([_result_row(gold.everybody) | {"is_total": True}] if gold.everybody else []),
        ],
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "refused": refused,
        "refused_stage": request.POST.get("stage", ""),
        "refused_percent": request.POST.get("percent", "")[:20],
    }
    return render(request, "reviews/gold/list.html", context, status=422 if refused else 200)


@project_page
@require_POST
def gold_rate(request: PageRequest) -> HttpResponse:
    """Set the rate of gold items in one stage."""
    require_administrator(actor=request.user, project=request.project)
    posted = request.POST
    raw = posted.get("percent", "").replace(",", ".").strip()
    # A setting left unchanged on the page stays as it is, even if somebody else has changed it since.
    shown = {"rate": ("percent", raw), "reveal": ("reveal", posted.get("reveal", ""))}
    keep = [name for name, (key, sent) in shown.items() if posted.get(f"seen:{key}") == sent]
    try:
        percent = float(raw)
    except ValueError:
        return _overview(request, refused=_("Enter the rate as a percentage, such as 5."))
    try:
        setting = settings.set_gold_rate(
            actor=request.user,
            project=request.project,
            stage=posted.get("stage", ""),
            rate=percent / 100,
            reveal="reveal" in posted,
            keep=keep,
        )
    except Invalid as error:
        if error.details.get("field") != "rate":
            raise
        return _overview(request, refused=error.sentence)
    if setting.rate:
        sentence = _("Rate set: about %(rate)s %% of each person’s claims.") % {"rate": f"{100 * setting.rate:g}"}
    else:
        sentence = _("Rate set: no gold items in this stage.")
    messages.success(request, sentence)
    return redirect("gold-list", slug=request.project.slug)


@project_page
@require_http_methods(["GET", "POST"])
@takes("dialogue", "stage")
def gold_new(request: PageRequest) -> HttpResponse:
    """Choose a verified dialogue and a stage, preview the gold item and create it."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    given = request.POST if request.method == "POST" else request.GET
    protocol = current_protocol(project)
    stages = [stage for stage in (protocol.stages if protocol else ()) if not reason_against_gold(stage)]
    if request.method != "POST":
        one_of(given, "stage", [stage.key for stage in stages])
    name, stage = given.get("dialogue", "").strip()[:200], given.get("stage", "") or (stages[0].key if stages else "")
    refused: DomainError | None = None
    preview: dict[str, Any] | None = None
    if name:
        try:
            source = results.find_source(actor=request.user, project=project, name=name)
            found = creation.preview(project=project, source=source, stage=stage)
            preview = {
                "source": source,
                "origins": [_origin_row(origin, _field(origin, source), given) for origin in found.origins],
                "people": found.people,
                "why_noticeable": _why_noticeable(source, found.origins[0].run, read_waiting(project)),
            }
            if request.method == "POST":
                sent = {origin.source.public_id: _field(origin, source) for origin in found.origins}
                documents = {}
                if given.get("show") == "planted":
                    documents = {
                        key: read_typed_document(request, name)
                        for key, name in sent.items()
                        if name in given or name == "document"
                    }
                item = creation.make_gold_item(
                    actor=request.user,
                    project=project,
                    source=source,
                    stage=stage,
                    document=documents.pop(source.public_id, None),
                    variants=documents,
                )
                sentence = ngettext(
                    "Gold item created.", "%(count)s gold items created, one for each language.", len(sent)
                )
                messages.success(request, sentence % {"count": len(sent)})
                return redirect("gold-item", slug=project.slug, public_id=item.public_id)
        except DomainError as error:
            refused = error
    elif request.method == "POST":
        refused = Invalid(_("Enter the ID of a verified dialogue."))
    offered = not preview and stage in [one.key for one in stages]
    context = {
        "name": name,
        "stage": stage,
        "stages": [(one.key, one.title) for one in stages],
        "refused": refused.sentence if refused else "",
        "preview": preview,
        "suggested": results.suggest(project=project, stage=stage) if offered else [],
        "trail": _trail(request, _("Create gold item")),
    }
    return render(request, "reviews/gold/new.html", context, status=422 if refused else 200)


@project_page
@require_safe
def gold_item(request: PageRequest, public_id: str) -> HttpResponse:
    """Show one item: its errors, who reviewed it, and their results."""
    item = results.load_gold_item(actor=request.user, project=request.project, public_id=public_id)
    shown, answer = item.stage_run.entry_revision.document(), item.answer.document()
    protocol = current_protocol(request.project)
    stage = next((one for one in (protocol.stages if protocol else ()) if one.key == item.stage), None)
    people = []
    if item.live and stage is not None:
        people = creation.people_for(project=request.project, stage=stage, source=item.source)
    context = {
        "item": item,
        "stage": stage_titles(request.project).get(item.stage, item.stage),
        "errors": content_lines(shown, answer, fields_of(request.project)),
        "scores": [_score_row(score, fields_of(request.project), answer) for score in results.scores_of(item)],
        "others": [
            (claim.person, _WITHOUT_SCORE.get(claim.state, _("not submitted")))
            for slot in results.not_scored(item)
            for claim in slot.claims.all()
        ],
        "people": people,
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "trail": _trail(request, item.dialogue.external_id),
    }
    return render(request, "reviews/gold/item.html", context)


@project_page
@require_POST
def gold_retire(request: PageRequest, public_id: str) -> HttpResponse:
    """Retire an item."""
    item = settings.retire_gold_item(
        actor=request.user, project=request.project, public_id=public_id, reason=request.POST.get("reason", "").strip()
    )
    messages.success(request, _("Gold item retired. Reviews in progress can still be submitted, but aren’t scored."))
    return redirect("gold-item", slug=request.project.slug, public_id=item.public_id)


def _why_noticeable(source: Dialogue, run: StageRun, waiting: Mapping[str, Waiting]) -> str:
    """Return why a gold item made from ``source``, which entered the stage with ``run``, would stand out, or blank."""
    beside = waiting.get(run.stage)
    return beside.why_noticeable(came=source.created_at, entered=run.opened_at) if beside else ""


def _field(origin: creation.GoldOrigin, source: Dialogue) -> str:
    """Return the name of the field with the changed version."""
    return "document" if origin.source.pk == source.pk else f"document-{origin.source.public_id}"


def _origin_row(origin: creation.GoldOrigin, name: str, given: Mapping[str, str]) -> dict[str, Any]:
    answer = origin.answer.document()
    return {
        "source": origin.source,
        "name": name,
        "errors": content_lines(origin.run.entry_revision.document(), answer, fields_of(origin.source.project)),
        "document": given.get(name) or pretty(answer),
    }


def read_typed_document(request: PageRequest, name: str) -> dict[str, Any]:
    """Return the changed dialogue that was posted as JSON text in the field ``name``. Raises Invalid."""
    text = request.POST.get(name, "")
    if len(text) > _MAX_DOCUMENT:
        raise Invalid(_("The changed dialogue is longer than 2 MB. Shorten it."))
    try:
        document = load_text(text)
    except ValueError as error:
        raise Invalid(_("The changed dialogue isn’t valid JSON: %(error)s.") % {"error": error}) from None
    if not isinstance(document, dict):
        raise Invalid(_("The changed dialogue must be a whole dialogue: a JSON object."))
    return document


def _trail(request: PageRequest, here: str) -> list[tuple[str, str]]:
    slug = request.project.slug
    return [
        (request.project.name, reverse("project", args=[slug])),
        (_("Gold items"), reverse("gold-list", args=[slug])),
        (here, ""),
    ]


def _result_row(result: results.Result) -> dict[str, Any]:
    return {
        "result": result,
        "verdicts": _percent(result.verdicts),
        "sight": _percent(result.sight),
        "missed": [f"{_(label)} ({count})" for label, count in result.missed.most_common()],
    }


def _percent(figure: Figure) -> str:
    """Return “78 % (45 to 94 %)”; blank if there is nothing to count."""
    if figure.value is None or figure.low is None or figure.high is None:
        return ""
    shares = {"value": figure.value, "low": figure.low, "high": figure.high}
    return _("%(value)s %% (%(low)s to %(high)s %%)") % {name: f"{100 * one:.0f}" for name, one in shares.items()}


def _score_row(score: GoldScore, fields: Sequence[CustomField], answer: dict[str, Any] | None = None) -> dict[str, Any]:
    document = score.item.answer.document() if answer is None else answer
    return {
        "score": score,
        "review": score.review,
        "places": [
            (
                place_name(document, place["anchor"], fields),
                place["result"],
                _(RESULT_LABELS[place["result"]]),
            )
            for place in score.places
        ],
    }
