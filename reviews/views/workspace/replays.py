"""Replays of a constrained case: start one, watch it, read round by round what came of it."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRefresh

from annotator.core.constraints.trajectory_parser import MAX_CALLS, MAX_ROUNDS
from annotator.errors import DomainError, Hidden
from annotator.models import Dialogue, Draft, Replay, Revision
from annotator.presentation.replay import present_run
from annotator.services.access.permissions import load_dialogue
from annotator.services.dialogues.replays import document_of, last_replay, load_replay, own_replays, start_replay
from annotator.services.dialogues.revisions import load_revision_or_head
from annotator.services.jobs.jobs import cancel_job
from annotator.views.pages import PageRequest, project_page, takes
from reviews.models import Slot, SlotState
from reviews.views.workspace.graph import open_bench

#: Earlier replays that a page lists.
_LISTED = 8


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes("revision")
def dialogue_replay(request: PageRequest, public_id: str) -> HttpResponse:
    """Replay a version of a dialogue: as it is now, or one that is named. Shows the last run of the same content."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    wanted = request.GET.get("revision", "")
    revision = load_revision_or_head(actor=request.user, dialogue=dialogue, public_id=wanted)
    return _start(request, dialogue, revision=revision)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def workspace_replay(request: PageRequest, slot: str) -> HttpResponse:
    """The same of the draft somebody works on."""
    bench = open_bench(request, slot)
    request.project = bench.work.slot.project
    return _start(request, bench.dialogue, draft=bench.draft, back=reverse("workspace", args=[slot]))


@project_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def replay(request: PageRequest, public_id: str, replay: str) -> HttpResponse:
    """One replay: how far it is, and what came of it; POST stops it."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    found = load_replay(actor=request.user, dialogue=dialogue, public_id=replay)
    if request.method == "POST":
        cancel_job(actor=request.user, job=found.job)
        messages.info(request, "The replay stops at its next call.")
        return redirect(request.path)
    if request.htmx and (request.htmx.target or "").rpartition("#")[2] == "replay-state":
        # The last answer to whoever watched is the whole page.
        if found.job.ended:
            return HttpResponseClientRefresh()
        return render(
            request, "reviews/workspace/replay.html#state", {"job": found.job, "own_url": request.path, "replay": found}
        )
    context = _shown(found) | {
        "dialogue": dialogue,
        "own_url": request.path,
        "again_url": _again(request, dialogue, found),
        "what": "your draft" if found.draft_id else _name_of(found.revision, dialogue),
        "trail": _trail(request, dialogue, "Replay"),
    }
    return render(request, "reviews/workspace/replay.html", context)


def _start(
    request: PageRequest,
    dialogue: Dialogue,
    *,
    revision: Revision | None = None,
    draft: Draft | None = None,
    back: str = "",
) -> HttpResponse:
    document = document_of(revision, draft)
    if document["kind"] != "constrained":
        raise Hidden("Only constrained cases can be replayed.")
    refused: DomainError | None = None
    text = request.POST.get("trajectory", "") if request.method == "POST" else ""
    if request.method == "POST":
        trajectory = text if "paste" in request.POST else None
        try:
            begun = start_replay(
                actor=request.user, dialogue=dialogue, revision=revision, draft=draft, trajectory=trajectory
            )
        except DomainError as error:
            if error.status in (403, 404):
                raise
            refused = error
        else:
            return redirect("replay", dialogue.project.slug, dialogue.public_id, begun.public_id)
    last = last_replay(actor=request.user, dialogue=dialogue, revision=revision, draft=draft)
    own = reverse("dialogue", args=[dialogue.project.slug, dialogue.public_id])
    context = (_shown(last) if last else {"replay": None, "run": None}) | {
        "dialogue": dialogue,
        "what": "your draft" if draft else _name_of(revision, dialogue),
        "back": back or own,
        "has_reference": bool(document["reference_trajectory"]),
        "text": text,
        "refused": refused.sentence if refused else "",
        "problems": _problems(refused),
        "earlier": list(own_replays(actor=request.user, dialogue=dialogue)[:_LISTED]),
        "most": {"rounds": MAX_ROUNDS, "calls": MAX_CALLS},
        "trail": [(dialogue.external_id, back), ("Replay", "")] if back else _trail(request, dialogue, "Replay"),
    }
    return render(request, "reviews/workspace/replay_start.html", context, status=refused.status if refused else 200)


def _shown(found: Replay) -> dict[str, Any]:
    """What the parts of a page need of a replay."""
    reference = found.trajectory is None
    return {
        "replay": found,
        "job": found.job,
        "run": present_run(found.record) if found.record is not None else None,
        "source": "the reference trajectory of" if reference else "a trajectory you pasted, in the case of",
    }


def _problems(refused: DomainError | None) -> list[dict[str, str]]:
    """The errors of a custom trajectory with their places; empty where the sentence says it all."""
    found: list[dict[str, str]] = refused.details.get("problems", []) if refused else []
    return found if len(found) > 1 or any(one["pointer"] for one in found) else []


def _name_of(revision: Revision | None, dialogue: Dialogue) -> str:
    if revision is None or revision.pk == dialogue.head_id:
        return "the newest version"
    return f"version {revision.number}" if revision.number else "your own version, not open yet"


def _again(request: PageRequest, dialogue: Dialogue, found: Replay) -> str:
    """Where the same thing can be replayed anew; of a draft, beside the work on it as long as one has it in hand."""
    if found.draft_id:
        held = (
            Slot.objects.filter(dialogue=dialogue, holder=request.user, state=SlotState.CLAIMED).order_by("-pk").first()
        )
        if held is not None:
            return reverse("workspace-replay", args=[held.public_id])
    url = reverse("dialogue-replay", args=[dialogue.project.slug, dialogue.public_id])
    if found.revision is not None and found.revision_id != dialogue.head_id:
        url += f"?{urlencode({'revision': found.revision.public_id})}"
    return url


def _trail(request: PageRequest, dialogue: Dialogue, title: str) -> list[tuple[str, str]]:
    slug = request.project.slug
    return [
        (request.project.name, reverse("project", args=[slug])),
        ("Dialogues", reverse("dialogue-list", args=[slug])),
        (dialogue.external_id, reverse("dialogue", args=[slug, dialogue.public_id])),
        (title, ""),
    ]
