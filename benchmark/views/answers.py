"""What models answered to a dialogue that was sent back to review, for its reviewers after the review."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotator.errors import Hidden
from annotator.models import Dialogue, User
from annotator.services.access.permissions import load_dialogue
from annotator.views.pages import PageRequest, project_page
from benchmark.models import Score
from benchmark.services.runs import suspects
from benchmark.views.entry_view import Said, said_by

#: Different answers that a page shows.
MAX_ANSWERS = 20


@dataclass
class Answer:
    """One answer, and the runs that gave it."""

    said: list[Said]
    right: bool
    runs: list[str] = field(default_factory=list)


@project_page
@require_safe
def dialogue_answers(request: PageRequest, public_id: str) -> HttpResponse:
    """Show what models answered to the entries for which a dialogue was sent back."""
    project = request.project
    dialogue = load_dialogue(actor=request.user, project=project, public_id=public_id)
    rows = suspects.sent_back_to(actor=request.user, dialogue=dialogue)
    if not rows:
        raise Hidden(_("There are no answers of models to this dialogue that you can see."))
    context = {
        "project": project,
        "dialogue": dialogue,
        "entries": [
            (row, _grouped(row.statistic.family, suspects.answers_to(row.statistic, with_predictions=True)))
            for row in rows
        ],
        "trail": [
            (project.name, f"/p/{project.slug}/"), (_("Dialogues"), reverse("dialogue-list", args=[project.slug])),
            (dialogue.external_id, reverse("dialogue", args=[project.slug, public_id])),
            (_("Answers of models"), ""),
        ],
    }  # fmt: skip
    return render(request, "benchmark/dialogue_answers.html", context)


def _grouped(family: str, scores: Sequence[Score]) -> list[Answer]:
    """Return the different answers, those that most runs gave first."""
    found: dict[Any, Answer] = {}
    for score in scores:
        run = score.score_set.run
        name = f"{run.model} #{run.attempt}" if run.attempt > 1 else run.model
        key = score.said or score.pk
        if key not in found:
            found[key] = Answer(said_by(family, score.prediction.content if score.prediction else None), score.right)
        found[key].runs.append(name)
    return sorted(found.values(), key=lambda one: -len(one.runs))[:MAX_ANSWERS]


def links_to_answers(actor: User, dialogue: Dialogue) -> list[tuple[str, str]]:
    """Return the link from a dialogue's page, for those who may see the answers."""
    if not suspects.sent_back_to(actor=actor, dialogue=dialogue):
        return []
    return [(_("Answers of models"), reverse("dialogue-answers", args=[dialogue.project.slug, dialogue.public_id]))]
