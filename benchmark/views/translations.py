"""Translating a dialogue by a model: the form, and the link to it."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotator.errors import DomainError
from annotator.models import Dialogue, Role, User
from annotator.services.access.permissions import load_dialogue, require_administrator, roles_in
from annotator.services.dialogues.variant_comparison import SideBySide, compare_with_variant
from annotator.views.pages import PageRequest, add_refusal, posted, project_page, takes
from annotator.views.uploads import takes_files
from benchmark.core.generation.kinds import Kind
from benchmark.models import Chooser, Generation, GenerationStatus
from benchmark.services.generation.recordings import MAX_FILE, read_recording
from benchmark.services.generation.renewing import stale_texts, start_renewal
from benchmark.services.generation.translating import start_translation, translatable_languages
from benchmark.services.inference.endpoints import list_endpoints
from benchmark.views.writer_forms import RenewalForm, TranslationForm


@takes_files
@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def translate_dialogue(request: PageRequest, public_id: str) -> HttpResponse:
    """Start to translate a dialogue; the result is its variant in another language."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    dialogue = load_dialogue(actor=request.user, project=project, public_id=public_id)
    languages = translatable_languages(dialogue)
    form = TranslationForm(
        posted(request), request.FILES or None, languages=languages,
        endpoints=list_endpoints(actor=request.user, project=project),
    )  # fmt: skip
    if form.is_bound and form.is_valid():
        try:
            generation = _start(request.user, dialogue, form)
        except DomainError as refusal:
            add_refusal(form, refusal)
        else:
            return redirect("generation", slug=project.slug, public_id=generation.public_id)
    there = reverse("dialogue", args=[project.slug, public_id])
    context = {
        "project": project, "dialogue": dialogue, "form": form, "languages": languages,
        "begun": _begun(dialogue),
        "trail": [(project.name, f"/p/{project.slug}/"), (dialogue.external_id, there), (_("Translate"), "")],
    }  # fmt: skip
    return render(request, "benchmark/generation/translate.html", context, status=422 if form.is_bound else 200)


@takes_files
@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes()
def renew_variant(request: PageRequest, public_id: str, other: str) -> HttpResponse:
    """Start to translate the stale places of a dialogue again, from another language variant of it."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    dialogue = load_dialogue(actor=request.user, project=project, public_id=public_id)
    found = compare_with_variant(actor=request.user, dialogue=dialogue, other=other)
    form = RenewalForm(
        posted(request), request.FILES or None, endpoints=list_endpoints(actor=request.user, project=project)
    )
    if form.is_bound and form.is_valid():
        try:
            generation = start_renewal(actor=request.user, dialogue=dialogue, other=other, **_given(form))
        except DomainError as refusal:
            add_refusal(form, refusal)
        else:
            return redirect("generation", slug=project.slug, public_id=generation.public_id)
    texts = stale_texts(found)
    places = sum(len(one.places) for one in texts)
    context = {
        "project": project, "dialogue": dialogue, "other": found.variant.dialogue, "form": form, "texts": texts,
        "by_people": sum(one.side == 0 for one in found.stale) - places,
        "both": reverse("variant", args=[project.slug, public_id, other]),
        "trail": [
            (project.name, f"/p/{project.slug}/"), (dialogue.external_id, dialogue.get_absolute_url()),
            (_("Translate the stale places"), ""),
        ],
    }  # fmt: skip
    return render(request, "benchmark/generation/renew.html", context, status=422 if form.is_bound else 200)


def _begun(dialogue: Dialogue) -> QuerySet[Generation]:
    """Return the translations of a dialogue that have not failed, without their contents."""
    rows = dialogue.translations.filter(kind=Kind.TRANSLATION).exclude(status=GenerationStatus.FAILED)
    return rows.only("public_id", "name", "status").order_by("pk")


def _start(actor: User, dialogue: Dialogue, form: TranslationForm) -> Generation:
    return start_translation(actor=actor, dialogue=dialogue, language=form.cleaned_data["language"], **_given(form))


def _given(form: RenewalForm) -> dict[str, Any]:
    """Return who writes, within which limits, of a valid form."""
    data = form.cleaned_data
    records = read_recording(data["records"].read(MAX_FILE + 1)) if data["records"] else None
    return {
        "player": form.player, "records": records, "retries": form.retries_given, "budget": form.budget,
        "chooser": Chooser.PEOPLE if data["look"] else Chooser.FIRST,
        **({} if records else {"idempotent": data["idempotent"]}),
    }  # fmt: skip


def links_to_renewal(actor: User, found: SideBySide) -> list[tuple[str, str]]:
    """Return links from two variants to the pages that translate the stale places of each, for administrators."""
    project, sides = found.dialogue.project, (found.dialogue, found.variant.dialogue)
    if project.archived_at is not None or Role.ADMINISTRATOR not in roles_in(project, actor):
        return []
    return [
        (
            _("Translate the stale places of %(id)s") % {"id": one.external_id},
            reverse("renew-variant", args=[project.slug, one.public_id, sides[1 - side].public_id]),
        )
        for side, one in enumerate(sides)
        if stale_texts(found, side)
    ]


def links_to_translation(actor: User, dialogue: Dialogue) -> list[tuple[str, str]]:
    """Return a link from a dialogue to the page that translates it, for administrators."""
    project = dialogue.project
    may = project.archived_at is None and Role.ADMINISTRATOR in roles_in(project, actor)
    if not may or not translatable_languages(dialogue):
        return []
    return [(_("Translate by a model"), reverse("translate-dialogue", args=[project.slug, dialogue.public_id]))]
