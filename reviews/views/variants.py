"""Language variants: two side by side, marking them as matching, and making one."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotator.models import Dialogue, Role, User
from annotator.presentation.variants import present_variants
from annotator.services.access.permissions import load_dialogue
from annotator.services.dialogues.listing import LANGUAGES
from annotator.services.dialogues.variant_comparison import SideBySide, compare_with_variant
from annotator.services.dialogues.variants import MATCHERS, match_variants
from annotator.views.pages import PageRequest, project_page, takes
from reviews.services.variant_creation import make_variant, variant_languages

#: Each returns links of the page of two variants to pages of other applications: label and address.
MORE_LINKS: list[Callable[[User, SideBySide], list[tuple[str, str]]]] = []


@project_page
@require_safe
@takes()
def variant(request: PageRequest, public_id: str, other: str) -> HttpResponse:
    """Show a dialogue and one of its language variants side by side."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    found = compare_with_variant(actor=request.user, dialogue=dialogue, other=other)
    view = present_variants(found.comparison, found.stale, found.documents)
    names = [_side(dialogue), _side(found.variant.dialogue)]
    return render(
        request,
        "reviews/dialogues/variant.html",
        {
            "dialogue": dialogue,
            "other": found.variant,
            "sides": names,
            "heads": found.heads,
            "matched": found.matched,
            "view": view,
            "stale": [(mark, *names[mark.side]) for mark in view.stale],
            "more_links": [link for find in MORE_LINKS for link in find(request.user, found)],
            "may_match": bool(request.roles & MATCHERS) and request.project.archived_at is None,
        },
    )


def _side(dialogue: Dialogue) -> tuple[Dialogue, str]:
    """Return a dialogue and the name of its language."""
    return dialogue, str(LANGUAGES.get(dialogue.language, dialogue.language or _("no language")))


@project_page
@require_POST
def match_variant(request: PageRequest, public_id: str) -> HttpResponse:
    """Record that the newest revisions of the dialogue and of another variant match."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    posted = request.POST
    seen = (posted.get("revision", ""), posted.get("variant_revision", ""))
    match_variants(actor=request.user, dialogue=dialogue, other=posted.get("variant", ""), seen=seen)
    messages.success(request, _("Marked as matching."))
    return redirect("dialogue", slug=request.project.slug, public_id=public_id)


@project_page
@require_POST
def variant_make(request: PageRequest, public_id: str) -> HttpResponse:
    """Make a variant of the dialogue in another language."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    made = make_variant(actor=request.user, dialogue=dialogue, language=request.POST.get("language", ""))
    messages.success(request, _("Made %(id)s. Its texts are still to be translated.") % {"id": made.external_id})
    return redirect("variant", slug=request.project.slug, public_id=public_id, other=made.public_id)


def makeable_variants(request: PageRequest, dialogue: Dialogue) -> list[tuple[str, str]]:
    """Return the languages in which the person can make a variant: code and name."""
    if Role.ADMINISTRATOR not in request.roles or request.project.archived_at is not None:
        return []
    return [(code, str(LANGUAGES[code])) for code in variant_languages(dialogue)]
