"""Runs of a single task: start one, and read what each call came to, with the state before and after.

Nothing runs in this process: a run is a job. A result belongs to exactly one version of the task, so after a change the
page says that it has not been run.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRefresh

from annotator.core.editing.single import calls_text
from annotator.core.execution.dependencies import explain
from annotator.core.execution.mends import suggest_mends
from annotator.core.execution.subjects import subject_of
from annotator.core.schema.toolsets import CompiledToolset
from annotator.errors import Conflict, DomainError, Hidden, Invalid
from annotator.models import Dialogue, Job, ToolsetRevision
from annotator.presentation.dialogue import pretty
from annotator.presentation.document import present
from annotator.presentation.execution import RunView, present_execution
from annotator.services.dialogues import drafts
from annotator.services.dialogues.executions import load_execution_job, read_execution, start_execution
from annotator.services.dialogues.revisions import check_document
from annotator.templatetags.components import job_progress
from annotator.views.pages import PageRequest, project_page, takes
from reviews.services.submission.workbench import Workbench
from reviews.views.workspace.context import seen_version
from reviews.views.workspace.graph import open_bench
from reviews.views.workspace.revision_pages import revision_page

Document = dict[str, Any]


@project_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@takes("revision", "job")
def dialogue_run(request: PageRequest, public_id: str) -> HttpResponse:
    """Run the newest revision of a single task, or the one named; show what it came to."""
    revision, context = revision_page(request, public_id, _("Run"))
    document, dialogue = revision.document(), revision.dialogue
    _require_single(document)
    refused: DomainError | None = None
    if request.method == "POST":
        try:
            job = _start(request, dialogue, document, revision.toolset_revision)
        except DomainError as error:
            refused = error
        else:
            wanted = {"revision": request.GET["revision"]} if "revision" in request.GET else {}
            return _shown_with(request, job, wanted)
    context |= {"back": context["home"], "editable": False, "refused": refused.sentence if refused else ""}
    return _page(request, dialogue, document, revision.toolset_revision, context, refused)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@takes("job", "stored")
def workspace_run(request: PageRequest, slot: str) -> HttpResponse:
    """Edit and run the trajectory in the draft of a claimed slot."""
    bench = open_bench(request, slot)
    request.project = bench.work.slot.project
    _require_single(bench.document)
    refused: DomainError | None = None
    if request.method == "POST":
        try:
            document = _edit(request, bench)
        except DomainError as error:
            refused = error
            # The first of two edits may be stored: the next request needs the new draft version.
            bench = open_bench(request, slot)
        else:
            return _start_stored(request, bench, document)
    home = reverse("workspace", args=[slot])
    context = {
        "title": bench.dialogue.external_id,
        "home": home,
        "back": home,
        "trail": [(_("My work"), reverse("home")), (bench.dialogue.external_id, home), (_("Run"), "")],
        "editable": True,
        "fixed": "",
        "draft": bench.draft,
        "stored": request.GET.get("stored", ""),
        "heartbeat_url": reverse("workspace-heartbeat", args=[slot]),
        "refused": refused.sentence if refused else "",
    }
    return _page(request, bench.dialogue, bench.document, bench.draft.toolset_revision, context, refused)


def _require_single(document: Document) -> None:
    if document["kind"] != "single_task":
        raise Hidden(_("Only single tasks can be run."))


def _edit(request: PageRequest, bench: Workbench) -> Document:
    """Save what was changed on the page, as one step of the draft for each field; return the document to run."""
    document, seen = bench.document, seen_version(request, bench.draft)
    for operation in _operations(request.POST, document):
        edited = drafts.edit_draft(actor=request.user, draft=bench.draft, operation=operation, seen=seen)
        document, seen = edited.draft.document(), edited.draft.version
    return document


def _operations(posted: QueryDict, document: Document) -> Iterator[Document]:
    task = document["tasks"][0]["id"]
    calls, state = (posted.get(name, "").replace("\r\n", "\n") for name in ("calls", "state"))
    if "calls" in posted and calls.strip() != calls_text(document):
        yield {"op": "set_calls", "anchor": f"/tasks/{task}", "text": calls}
    if "state" in posted and state.strip() != _state_text(document):
        yield {"op": "set_json", "anchor": "/initial_state", "text": state}


def _start_stored(request: PageRequest, bench: Workbench, document: Document) -> HttpResponse:
    """Start a run of the stored draft. If it can't run, its page says so; nothing of the change is lost."""
    job = None
    try:
        job = _start(request, bench.dialogue, document, bench.draft.toolset_revision)
    except Conflict as conflict:
        messages.warning(request, conflict.sentence)
    except Invalid:
        pass  # run_view gives the same reason.
    sending = request.POST.get("sending", "")
    return _shown_with(request, job, {"stored": sending} if sending.isascii() and sending.isalnum() else {})


def _start(request: PageRequest, dialogue: Dialogue, document: Document, tools: ToolsetRevision) -> Job | None:
    return start_execution(
        actor=request.user,
        project=dialogue.project,
        document=document,
        toolset_revision=tools,
        dialogue=dialogue,
    )


def _shown_with(request: PageRequest, job: Job | None, query: dict[str, str]) -> HttpResponseRedirect:
    query = query | ({"job": job.public_id} if job else {})
    return HttpResponseRedirect(f"{request.path}?{urlencode(query)}#result" if query else f"{request.path}#result")


def run_view(document: Document, toolset_revision: ToolsetRevision) -> tuple[RunView | None, str]:
    """Return the run of exactly this version, if there is one, and why it cannot be run; blank if it can."""
    subject = subject_of(document, CompiledToolset.of(toolset_revision.content))
    if isinstance(subject, str):
        return None, subject
    record = read_execution(subject)
    if record is None:
        return None, ""
    execution = record.execution(subject)
    question = document["tasks"][0]["user_message"]
    dependencies = explain(execution, record.reruns, question) if record.reruns else None
    mends = suggest_mends(subject.tool_calls, execution, dependencies, record.prerequisite)
    return present_execution(document, execution, dependencies, mends), ""


def _page(
    request: PageRequest,
    dialogue: Dialogue,
    document: Document,
    tools: ToolsetRevision,
    context: dict[str, Any],
    refused: DomainError | None,
) -> HttpResponse:
    job = None
    if request.GET.get("job"):
        job = load_execution_job(actor=request.user, dialogue=dialogue, public_id=request.GET["job"])
        if (request.htmx.target or "").endswith(f"job-{job.public_id}"):
            if job.ended:
                return HttpResponseClientRefresh()
            return render(request, "components/job.html", job_progress(job, request.get_full_path()))
    run, why = run_view(document, tools)
    posted = request.POST if refused else QueryDict()
    findings = check_document(document, tools, project=dialogue.project, stage="submit")
    context |= {
        "run": run,
        "why": why,
        "job": job,
        "job_url": request.get_full_path() if job and not job.ended else "",
        "question": document["tasks"][0]["user_message"],
        "language": document["language"] or "",
        "document": document,
        # A refused text stays in its field.
        "calls": posted.get("calls", calls_text(document)),
        "state": posted.get("state", _state_text(document)),
        "implementation": tools.implementation(),
        "found": present(document, findings).findings,
    }
    return render(request, "reviews/workspace/run.html", context, status=refused.status if refused else 200)


def _state_text(document: Document) -> str:
    return "" if document["initial_state"] is None else pretty(document["initial_state"])
