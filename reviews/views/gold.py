"""Gold items: how often they come, which there are, how people did. For who oversees a project, and a person's own."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotator.core.comparison import describe, describe_changes
from annotator.core.schema import load_text
from annotator.errors import DomainError, Invalid
from annotator.models import Dialogue, Role
from annotator.presentation.dialogue import pretty
from annotator.services.access.permissions import OVERSEERS, require_administrator
from annotator.services.database.filters import one_of
from annotator.views.pages import PageRequest, project_page, takes
from reviews.core.agreement import Figure
from reviews.core.gold import reason_against_gold
from reviews.models import GoldScore, StageRun
from reviews.services.gold import creation, results, settings
from reviews.services.gold.queue_age import Waiting, read_waiting
from reviews.services.protocols.versions import current_protocol, stage_titles

_MAX_DOCUMENT = 2_000_000
#: What became of a claim without a score, in words; of others: not handed in.
_WITHOUT_SCORE = {"live": "at work", "submitted": "handed in when it was retired, so not scored"}


@project_page
@require_safe
def gold_list(request: PageRequest) -> HttpResponse:
    """Rates, items and results; to everybody else their own results, where they are told."""
    project = request.project
    titles = stage_titles(project)
    if not request.roles & OVERSEERS:
        scores = results.own_results(actor=request.user, project=project)
        rows = [
            {**_score_row(score), "item": score.item, "stage": titles.get(score.item.stage, "")} for score in scores
        ]
        return render(request, "reviews/gold/own.html", {"rows": rows})
    return _overview(request)


def _overview(request: PageRequest, *, refused: str = "") -> HttpResponse:
    """``refused``: why the rate that was sent cannot be; it is said beside the field, which keeps what was written."""
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
        "results": [_result_row(result) for result in gold.results],
        "everybody": _result_row(gold.everybody) if gold.everybody else None,
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "refused": refused,
        "refused_stage": request.POST.get("stage", ""),
        "refused_percent": request.POST.get("percent", "")[:20],
    }
    return render(request, "reviews/gold/list.html", context, status=422 if refused else 200)


@project_page
@require_POST
def gold_rate(request: PageRequest) -> HttpResponse:
    """Set how often gold items come in one stage."""
    require_administrator(actor=request.user, project=request.project)
    posted = request.POST
    raw = posted.get("percent", "").replace(",", ".").strip()
    # What was left as the page showed it stays as it is, also where somebody else has changed it since.
    shown = {"rate": ("percent", raw), "reveal": ("reveal", posted.get("reveal", ""))}
    keep = [name for name, (key, sent) in shown.items() if posted.get(f"seen:{key}") == sent]
    try:
        percent = float(raw)
    except ValueError:
        return _overview(request, refused="The rate is a number of per cent, such as 5.")
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
    words = f"about {100 * setting.rate:g} % of each person’s claims" if setting.rate else "none"
    messages.success(request, f"Gold items there from now on: {words}.")
    return redirect("gold-list", slug=request.project.slug)


@project_page
@require_http_methods(["GET", "POST"])
@takes("dialogue", "stage")
def gold_new(request: PageRequest) -> HttpResponse:
    """Choose a verified dialogue and a stage, see what would be shown, make the item of it."""
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
                        key: _document(request, name)
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
                words = "The gold item is in use." if len(sent) == 1 else "The gold items, one a language, are in use."
                messages.success(request, words)
                return redirect("gold-item", slug=project.slug, public_id=item.public_id)
        except DomainError as error:
            refused = error
    elif request.method == "POST":
        refused = Invalid("Name the verified dialogue that it is to be made of.")
    offered = not preview and stage in [one.key for one in stages]
    context = {
        "name": name,
        "stage": stage,
        "stages": [(one.key, one.title) for one in stages],
        "refused": refused.sentence if refused else "",
        "preview": preview,
        "suggested": results.suggest(project=project, stage=stage) if offered else [],
        "trail": _trail(request, "Make a gold item"),
    }
    return render(request, "reviews/gold/new.html", context, status=422 if refused else 200)


@project_page
@require_safe
def gold_item(request: PageRequest, public_id: str) -> HttpResponse:
    """One item: what is wrong in it, who got it, and how they did."""
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
        "errors": describe_changes(shown, answer),
        "scores": [_score_row(score, answer) for score in results.scores_of(item)],
        "others": [
            (claim.person, _WITHOUT_SCORE.get(claim.state, "not handed in"))
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
    """Give an item to nobody any more."""
    item = settings.retire_gold_item(
        actor=request.user, project=request.project, public_id=public_id, reason=request.POST.get("reason", "").strip()
    )
    messages.success(request, "Retired. Whoever is at work on it can still hand it in, and is not scored.")
    return redirect("gold-item", slug=request.project.slug, public_id=item.public_id)


def _why_noticeable(source: Dialogue, run: StageRun, waiting: Mapping[str, Waiting]) -> str:
    """Why the item made of ``source``, which came into the stage with ``run``, is known; blank where nothing waits."""
    beside = waiting.get(run.stage)
    return beside.why_noticeable(came=source.created_at, entered=run.opened_at) if beside else ""


def _field(origin: creation.GoldOrigin, source: Dialogue) -> str:
    """The name of the field in which the version with the error stands."""
    return "document" if origin.source.pk == source.pk else f"document-{origin.source.public_id}"


def _origin_row(origin: creation.GoldOrigin, name: str, given: Mapping[str, str]) -> dict[str, Any]:
    answer = origin.answer.document()
    return {
        "source": origin.source,
        "name": name,
        "errors": describe_changes(origin.run.entry_revision.document(), answer),
        "document": given.get(name) or pretty(answer),
    }


def _document(request: PageRequest, name: str) -> dict[str, Any]:
    text = request.POST.get(name, "")
    if len(text) > _MAX_DOCUMENT:
        raise Invalid("The version with the error is longer than 2 MB.")
    try:
        document = load_text(text)
    except ValueError as error:
        raise Invalid(f"The version with the error is not JSON: {error}.") from None
    if not isinstance(document, dict):
        raise Invalid("The version with the error must be a whole dialogue: a JSON object.")
    return document


def _trail(request: PageRequest, here: str) -> list[tuple[str, str]]:
    slug = request.project.slug
    return [
        (request.project.name, reverse("project", args=[slug])),
        ("Gold", reverse("gold-list", args=[slug])),
        (here, ""),
    ]


def _result_row(result: results.Result) -> dict[str, Any]:
    return {
        "result": result,
        "verdicts": _percent(result.verdicts),
        "sight": _percent(result.sight),
        "missed": [f"{label} ({count})" for label, count in result.missed.most_common()],
    }


def _percent(figure: Figure) -> str:
    """As in “78 % (45 to 94 %)”; blank where there is nothing to count."""
    if figure.value is None or figure.low is None or figure.high is None:
        return ""
    return f"{100 * figure.value:.0f} % ({100 * figure.low:.0f} to {100 * figure.high:.0f} %)"


def _score_row(score: GoldScore, answer: dict[str, Any] | None = None) -> dict[str, Any]:
    document = score.item.answer.document() if answer is None else answer
    return {
        "score": score,
        "review": score.review,
        "places": [
            (describe(document, place["anchor"]), place["result"], results.result_words(place))
            for place in score.places
        ],
    }
