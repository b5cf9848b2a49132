"""What models answered to a dialogue that was sent back to review, for its reviewers after the review."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotator.models import Dialogue, User
from annotator.services.access.permissions import load_dialogue
from annotator.views.pages import PageRequest, project_page
from benchmark.services.runs import suspects
from benchmark.views.entry_view import Said, said_by


@dataclass
class Answer:
    """One answer as a page shows it, and the runs that gave it."""

    said: list[Said]
    right: bool
    runs: list[str]


@project_page
@require_safe
def dialogue_answers(request: PageRequest, public_id: str) -> HttpResponse:
    """Show what models answered to the entries for which a dialogue was sent back."""
    project = request.project
    dialogue = load_dialogue(actor=request.user, project=project, public_id=public_id)
    rows = suspects.load_answers(actor=request.user, dialogue=dialogue)
    context = {
        "project": project,
        "dialogue": dialogue,
        "entries": [(row, _shown(row.statistic.family, answers)) for row, answers in rows],
        "trail": [
            (project.name, f"/p/{project.slug}/"), (_("Dialogues"), reverse("dialogue-list", args=[project.slug])),
            (dialogue.external_id, reverse("dialogue", args=[project.slug, public_id])),
            (_("Answers of models"), ""),
        ],
    }  # fmt: skip
    return render(request, "benchmark/dialogue_answers.html", context)


def _shown(family: str, answers: Sequence[suspects.Answer]) -> list[Answer]:
    return [Answer(said_by(family, one.content), one.right, one.runs) for one in answers]


def links_to_answers(actor: User, dialogue: Dialogue) -> list[tuple[str, str]]:
    """Return the link from a dialogue's page, for those who may see the answers."""
    if not suspects.sent_back_to(actor=actor, dialogue=dialogue):
        return []
    return [(_("Answers of models"), reverse("dialogue-answers", args=[dialogue.project.slug, dialogue.public_id]))]
