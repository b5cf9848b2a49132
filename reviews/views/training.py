"""The pages of the training: one's own progress, the comparison after each item, and its setup by administrators."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotator.errors import DomainError, Invalid
from annotator.models import Dialogue, Role
from annotator.presentation.changes import content_lines
from annotator.presentation.dialogue import pretty
from annotator.services.access.permissions import OVERSEERS, require_administrator
from annotator.services.custom_fields import fields_of
from annotator.services.database.filters import one_of
from annotator.services.members import load_person
from annotator.translation import place_name
from annotator.views.pages import PageRequest, project_page, takes
from reviews.core.gold import RESULT_LABELS, errors_in
from reviews.core.protocols import Verdict
from reviews.models import TrainingResult
from reviews.services.gold.results import find_source
from reviews.services.protocols.readers import shown_stage_titles
from reviews.services.queue import trainees
from reviews.services.queue.training_claims import failed_words
from reviews.services.training import comparison, decisions, items
from reviews.views.gold import read_typed_document

#: Settings of a training that nobody has set up yet.
_DEFAULTS = {"length": 5, "pass_mark": 4, "attempts": 2}


@project_page
@require_safe
def training(request: PageRequest) -> HttpResponse:
    """Show a person's own training; overseers see everybody's progress, and administrators set it up."""
    return _page(request)


def _page(request: PageRequest, *, refused: Invalid | None = None) -> HttpResponse:
    project = request.project
    titles = shown_stage_titles(project)
    oversees = bool(request.roles & OVERSEERS)
    now = trainees.read_training(project)
    mine = trainees.standing_of(project=project, person=request.user)
    posted = request.POST if refused else {}
    shown = {name: posted.get(name) or getattr(now, name, default) for name, default in _DEFAULTS.items()}
    context: dict[str, Any] = {
        "training": now,
        "mine": mine,
        "failed_words": failed_words(mine) if mine and mine.state == "failed" else "",
        "results": comparison.list_results(actor=request.user, project=project, person=request.user),
        "oversees": oversees,
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "chosen": shown | {"stage": posted.get("stage") or (now.stage if now else "")},
        "enabled": "enabled" in posted if refused else bool(now and now.enabled),
        "refused": dict.fromkeys(["stage", *_DEFAULTS], "")
        | ({refused.details.get("field", "stage"): refused.sentence} if refused else {}),
    }
    if oversees:
        context |= {
            "people": trainees.standings(project),
            "items": [(item, titles.get(item.stage, item.stage)) for item in trainees.list_training_items(project)],
            "stages": [(stage.key, stage.title) for stage in trainees.training_stages(project)],
        }
    return render(request, "reviews/training/page.html", context, status=422 if refused else 200)


@project_page
@require_POST
def training_settings(request: PageRequest) -> HttpResponse:
    """Set up the training, and switch it on or off."""
    require_administrator(actor=request.user, project=request.project)
    posted = request.POST
    try:
        decisions.change_training(
            actor=request.user,
            project=request.project,
            stage=posted.get("stage", ""),
            **{name: _number(posted.get(name, ""), name) for name in _DEFAULTS},
            enabled="enabled" in posted,
            exempt_experienced="exempt" in posted,
        )
    except Invalid as error:
        return _page(request, refused=error)
    messages.success(request, _("Training saved."))
    return redirect("training", slug=request.project.slug)


def _number(text: str, field: str) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdigit() and len(text) < 6):
        raise Invalid(_("Enter a whole number."), field=field)
    return int(text)


@project_page
@require_http_methods(["GET", "POST"])
@takes("dialogue", "stage")
def training_new(request: PageRequest) -> HttpResponse:
    """Choose a verified dialogue and a stage, preview the training item and add it."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    given = request.POST if request.method == "POST" else request.GET
    stages = trainees.training_stages(project)
    if request.method != "POST":
        one_of(given, "stage", [stage.key for stage in stages])
    now = trainees.read_training(project)
    usual = now.stage if now else (stages[0].key if stages else "")
    name, stage = given.get("dialogue", "").strip()[:200], given.get("stage", "") or usual
    refused: DomainError | None = None
    preview: dict[str, Any] | None = None
    if name:
        try:
            source = find_source(actor=request.user, project=project, name=name)
            entered, answer = items.preview(source)
            preview = {
                "source": source,
                "errors": content_lines(entered.document(), answer.document(), fields_of(project)),
                "document": given.get("document") or pretty(answer.document()),
            }
            if request.method == "POST":
                planted = read_typed_document(request, "document") if given.get("show") == "planted" else None
                items.add_training_item(
                    actor=request.user, project=project, source=source, stage=stage, document=planted
                )
                messages.success(request, _("Training item added."))
                return redirect("training", slug=project.slug)
        except DomainError as error:
            refused = error
    elif request.method == "POST":
        refused = Invalid(_("Enter the ID of a verified dialogue."))
    context = {
        "name": name,
        "stage": stage,
        "stages": [(one.key, one.title) for one in stages],
        "refused": refused.sentence if refused else "",
        "preview": preview,
        "suggested": [] if preview else items.suggest_sources(project),
        "trail": _trail(request, _("Add training item")),
    }
    return render(request, "reviews/training/new.html", context, status=422 if refused else 200)


@project_page
@require_POST
def training_item(request: PageRequest, public_id: str) -> HttpResponse:
    """Move an item up or down, or take it out of the training."""
    action = request.POST.get("action", "")
    if action in ("up", "down"):
        items.move_training_item(actor=request.user, project=request.project, public_id=public_id, up=action == "up")
    elif action == "retire":
        items.retire_training_item(actor=request.user, project=request.project, public_id=public_id)
        messages.success(request, _("Training item removed. Reviews in progress can be submitted, but don’t count."))
    else:
        raise Invalid(_("Choose up, down or retire."))
    return redirect("training", slug=request.project.slug)


@project_page
@require_http_methods(["GET", "POST"])
def training_person(request: PageRequest, public_id: str) -> HttpResponse:
    """Show one person's results; for administrators, decide whether they need training."""
    project = request.project
    person = load_person(project=project, public_id=public_id)
    if request.method == "POST":
        decisions.decide_trainee(
            actor=request.user, project=project, public_id=public_id, state=request.POST.get("state", "")
        )
        messages.success(request, _("Saved. %(person)s was not notified.") % {"person": person})
        return redirect("training", slug=project.slug)
    context = {
        "person": person,
        "standing": next(iter(trainees.standings(project, [person])), None),
        "results": comparison.list_results(actor=request.user, project=project, person=person),
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "trail": _trail(request, str(person)),
    }
    return render(request, "reviews/training/person.html", context)


@project_page
@require_POST
def training_again(request: PageRequest) -> HttpResponse:
    """Begin the next attempt."""
    decisions.try_again(actor=request.user, project=request.project)
    messages.success(request, _("The training starts again. Claim the next item."))
    return redirect("training", slug=request.project.slug)


@project_page
@require_safe
def training_result(request: PageRequest, result: str) -> HttpResponse:
    """Show a submitted item beside the known answer, and what comes next."""
    project = request.project
    found = comparison.read_comparison(actor=request.user, project=project, slot=result)
    fields = fields_of(project)
    seen, answer = found.review.seen_revision.document(), found.item.answer.document()
    mine = (found.review.made_revision or found.review.seen_revision).document()
    own = found.review.person == request.user
    standing = trainees.standing_of(project=project, person=found.review.person)
    context = {
        "found": found,
        "own": own,
        "standing": standing,
        "failed_words": failed_words(standing) if own and standing and standing.state == "failed" else "",
        "places": _places(found.result, answer, fields) if found.result else [],
        # As scoring judges it: a difference in wording alone is no error.
        "known_verdict": Verdict.FIX if errors_in(seen, answer) else Verdict.APPROVE,
        "source_url": _url_of(found.item.source, request),
        "differences": content_lines(mine, answer, fields),
        "repairs": content_lines(seen, answer, fields),
        "stage": shown_stage_titles(project).get(found.item.stage, found.item.stage),
        "trail": _trail(request, found.item.dialogue.external_id),
    }
    return render(request, "reviews/training/result.html", context)


def _url_of(source: Dialogue, request: PageRequest) -> str:
    """Return the address of a verified dialogue; blank if the reader can't see it, as when it is a gold item now."""
    seen = Dialogue.objects.visible_to(request.user).filter(pk=source.pk, archived_at=None).exists()
    return source.get_absolute_url() if seen else ""


def _places(result: TrainingResult, answer: dict[str, Any], fields: Any) -> list[tuple[str, str, str]]:
    return [
        (
            place_name(answer, place["anchor"], fields),
            place["result"],
            _(RESULT_LABELS[place["result"]]),
        )
        for place in result.places
    ]


def _trail(request: PageRequest, here: str) -> list[tuple[str, str]]:
    slug = request.project.slug
    return [
        (request.project.name, reverse("project", args=[slug])),
        (_("Training"), reverse("training", args=[slug])),
        (here, ""),
    ]
