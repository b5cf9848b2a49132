"""Replays of a constrained case: start one, watch it, read its results round by round."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
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
from reviews.views.workspace.revision_pages import revision_name

#: Earlier replays that a page lists.
_LISTED = 8


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
@takes("revision")
def dialogue_replay(request: PageRequest, public_id: str) -> HttpResponse:
    """Replay the newest revision of a dialogue, or the one named; show the last run of the same content."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    wanted = request.GET.get("revision", "")
    revision = load_revision_or_head(actor=request.user, dialogue=dialogue, public_id=wanted)
    return _start(request, dialogue, revision=revision)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def workspace_replay(request: PageRequest, slot: str) -> HttpResponse:
    """Replay the draft of a claimed slot."""
    bench = open_bench(request, slot)
    request.project = bench.work.slot.project
    return _start(request, bench.dialogue, draft=bench.draft, back=reverse("workspace", args=[slot]))


@project_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def replay(request: PageRequest, public_id: str, replay: str) -> HttpResponse:
    """Show the progress or the result of one replay; POST stops it."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    found = load_replay(actor=request.user, dialogue=dialogue, public_id=replay)
    if request.method == "POST":
        cancel_job(actor=request.user, job=found.job)
        messages.info(request, _("The replay stops at its next call."))
        return redirect(request.path)
    if request.htmx and (request.htmx.target or "").rpartition("#")[2] == "replay-state":
        # A page that polls reloads once the job has ended.
        if found.job.ended:
            return HttpResponseClientRefresh()
        return render(
            request, "reviews/workspace/replay.html#state", {"job": found.job, "own_url": request.path, "replay": found}
        )
    context = _shown(found) | {
        "dialogue": dialogue,
        "own_url": request.path,
        **_ways_on(request, dialogue, found),
        "what": _("your draft") if found.draft_id else _name_of(found.revision, dialogue),
        "trail": _trail(request, dialogue, _("Replay")),
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
        raise Hidden(_("Only constrained cases can be replayed."))
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
        "what": _("your draft") if draft else _name_of(revision, dialogue),
        "back": back or own,
        "has_reference": bool(document["reference_trajectory"]),
        "text": text,
        "refused": refused.sentence if refused else "",
        "problems": _problems(refused),
        "earlier": list(own_replays(actor=request.user, dialogue=dialogue)[:_LISTED]),
        "most": {"rounds": MAX_ROUNDS, "calls": MAX_CALLS},
        "trail": [(dialogue.external_id, back), (_("Replay"), "")] if back else _trail(request, dialogue, _("Replay")),
    }
    return render(request, "reviews/workspace/replay_start.html", context, status=refused.status if refused else 200)


def _shown(found: Replay) -> dict[str, Any]:
    """Return what the templates need to know about a replay."""
    return {
        "replay": found,
        "job": found.job,
        "run": present_run(found.record) if found.record is not None else None,
        "pasted": found.trajectory is not None,
    }


def _problems(refused: DomainError | None) -> list[dict[str, str]]:
    """Return the errors of a pasted trajectory with their pointers; empty if the sentence says it all."""
    found: list[dict[str, str]] = refused.details.get("problems", []) if refused else []
    return found if len(found) > 1 or any(one["pointer"] for one in found) else []


def _name_of(revision: Revision | None, dialogue: Dialogue) -> str:
    if revision is None or revision.pk == dialogue.head_id:
        return _("the newest revision")
    return revision_name(revision)


def _ways_on(request: PageRequest, dialogue: Dialogue, found: Replay) -> dict[str, Any]:
    """Return where one replays the same thing again, and where it is: for a draft, while it is held, its workspace."""
    own = [dialogue.project.slug, dialogue.public_id]
    if found.draft_id:
        slots = Slot.objects.filter(dialogue=dialogue, holder=request.user, state=SlotState.CLAIMED)
        held = slots.order_by("-pk").first()
        if held is not None:
            again, back = (reverse(name, args=[held.public_id]) for name in ("workspace-replay", "workspace"))
            return {"again_url": again, "back": back, "is_draft": True}
    again = reverse("dialogue-replay", args=own)
    if found.revision is not None and found.revision_id != dialogue.head_id:
        again += f"?{urlencode({'revision': found.revision.public_id})}"
    return {"again_url": again, "back": reverse("dialogue", args=own), "is_draft": False}


def _trail(request: PageRequest, dialogue: Dialogue, title: str) -> list[tuple[str, str]]:
    slug = request.project.slug
    return [
        (request.project.name, reverse("project", args=[slug])),
        (_("Dialogues"), reverse("dialogue-list", args=[slug])),
        (dialogue.external_id, reverse("dialogue", args=[slug, dialogue.public_id])),
        (title, ""),
    ]
