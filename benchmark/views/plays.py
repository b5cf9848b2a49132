"""The page that plays a composite: its reference solution, or a model's messages, with delayed results."""

from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRefresh

from annotator.core.composites.delays import NAMES
from annotator.errors import DomainError
from annotator.models import Dialogue
from annotator.templatetags.components import job_progress
from annotator.views.pages import PageRequest, project_page, takes
from benchmark.services.plays import (
    DEFAULT_DELAY,
    choose_delay,
    load_members,
    load_play,
    opening,
    play_gold,
    read_play,
    require_composite,
    start_play,
)
from benchmark.views.play_view import present_play
from reviews.views.workspace.graph import open_bench
from reviews.views.workspace.revision_pages import revision_page

Document = dict[str, Any]


@project_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@takes("revision", "delay", "seed", "job")
def dialogue_play(request: PageRequest, public_id: str) -> HttpResponse:
    """Play the newest revision of a composite, or the one named."""
    revision, context = revision_page(request, public_id, _("Play"))
    document = revision.document()
    require_composite(document)
    return _page(request, revision.dialogue, document, context)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@takes("delay", "seed", "job")
def workspace_play(request: PageRequest, slot: str) -> HttpResponse:
    """Play the draft of a claimed slot."""
    bench = open_bench(request, slot)
    request.project = bench.work.slot.project
    require_composite(bench.document)
    home = reverse("workspace", args=[slot])
    context = {
        "title": bench.dialogue.external_id,
        "home": home,
        "trail": [(_("My work"), reverse("home")), (bench.dialogue.external_id, home), (_("Play"), "")],
        "fixed": "",
        "heartbeat_url": reverse("workspace-heartbeat", args=[slot]),
    }
    return _page(request, bench.dialogue, bench.document, context)


def _page(request: PageRequest, dialogue: Dialogue, document: Document, context: Document) -> HttpResponse:
    asked = request.POST if request.method == "POST" else request.GET
    name, seed = asked.get("delay", DEFAULT_DELAY), asked.get("seed", "0")
    job, played, refused, status = None, None, "", 200
    told: list[str] = []
    try:
        delay = choose_delay(name, seed)
        if request.method == "POST":
            texts = request.POST.get("messages", "")
            job = start_play(
                actor=request.user, dialogue=dialogue, document=document, delay=name, seed=seed, messages=texts
            )
            query = {"revision": request.GET["revision"]} if "revision" in request.GET else {}
            query |= {"delay": name, "seed": seed, "job": job.public_id}
            return HttpResponseRedirect(f"{request.path}?{urlencode(query)}#result")
        if request.GET.get("job"):
            job = load_play(actor=request.user, dialogue=dialogue, public_id=request.GET["job"])
            if (request.htmx.target or "").endswith(f"job-{job.public_id}"):
                if job.ended:
                    return HttpResponseClientRefresh()
                return render(request, "components/job.html", job_progress(job, request.get_full_path()))
        members = load_members(actor=request.user, project=dialogue.project, document=document)
        told = opening(members)
        played = read_play(job) if job else play_gold(document, members, delay)
    except DomainError as error:
        refused, status = error.sentence, error.status if request.method == "POST" else 200
    context |= {
        "dialogue": dialogue,
        "document": document,
        "delays": NAMES if refused or name in NAMES else (*NAMES, name),
        "delay": name,
        "seed": seed,
        "messages_text": request.POST.get("messages", ""),
        "of_model": bool(job and job.parameters["messages"]),
        "job": job,
        "job_url": request.get_full_path() if job and not job.ended else "",
        "refused": refused,
        "told": told,
        "play": present_play(played) if played else None,
    }
    return render(request, "benchmark/play.html", context, status=status)
