"""The context of the templates of a claimed slot."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any
from urllib.parse import quote

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotator.core.comparison.recorded_results import answers_another_call
from annotator.core.constraints import categories
from annotator.core.fields import Scope
from annotator.core.forms.fields import MAX_FIELDS, fields
from annotator.errors import Conflict
from annotator.models import Draft, Revision
from annotator.presentation.case import SCENARIO_LABELS
from annotator.presentation.components.json_text import is_cut
from annotator.presentation.components.labels import words_of
from annotator.presentation.dialogue import INFORMATION_LABELS, POLICY_LABELS, StepView, TaskView
from annotator.presentation.findings import arrange_findings
from annotator.presentation.graph import Pair
from annotator.presentation.toolset import FunctionView
from annotator.services.access.blindness import veil
from annotator.services.custom_fields import fields_of
from annotator.services.dialogues.composites import COMPOSITE
from annotator.services.dialogues.continuations import visible_continuation
from annotator.services.dialogues.drafts import undo_and_redo
from annotator.services.dialogues.revisions import latest_guideline
from annotator.services.dialogues.suggestion_decisions import ghosts_of
from annotator.services.dialogues.variants import variants_of
from annotator.translation import place_name
from annotator.views.pages import PageRequest
from reviews.core.protocols import StageKind
from reviews.models import Claim, Verdict
from reviews.services.feedback import comments
from reviews.services.feedback.mentions import suggested_names
from reviews.services.queue import claims
from reviews.services.queue.training_claims import is_training_slot
from reviews.services.submission import validation
from reviews.services.submission.waivers import earlier_reasons, last_waivers
from reviews.services.submission.workbench import Workbench
from reviews.views.examples import examples_context
from reviews.views.workspace.case_editor import case_editor
from reviews.views.workspace.composite_editor import composite_editor
from reviews.views.workspace.graph import graph_context, rows_of, trace_task
from reviews.views.workspace.label_editor import label_editor
from reviews.views.workspace.next_item import assets_version
from reviews.views.workspace.review_tab import review_context
from reviews.views.workspace.shown_dialogue import dialogue_version
from reviews.views.workspace.suggestions import proposals_of, suggested_context
from reviews.views.workspace.toolset_editor import function_editor

_LINKS = (
    "edit", "undo", "redo", "reset", "heartbeat", "release", "skip", "waive", "unwaive", "look", "comment", "form",
    "submit", "settle", "merge",
)  # fmt: skip
#: Longest time between two heartbeats that counts: a page sends one each minute, but its connection may be lost.
MAX_ACTIVE_SECONDS = 1800
#: A placeholder for the slot's id: the URLs are resolved once for all slots.
_ANY_SLOT = "0" * 12
#: Edits that open what they create.
_OPENING = (
    "add_step",
    "duplicate_step",
    "add_task",
    "add_constraint",
    "add_round",
    "add_call",
    "add_tool",
    "duplicate_tool",
)
#: The tabs of the inspector.
TABS = {
    "edit": gettext_lazy("Step"),
    "graph": gettext_lazy("Graph"),
    "review": gettext_lazy("Review"),
    "comments": gettext_lazy("Discussion"),
}
#: Other names of tabs, by the kind of document.
_OF_KIND = {"toolset": {"edit": gettext_lazy("Function")}}
#: The pages of the reference drawer, which opens beside the inspector.
REFERENCES = {
    "guideline": gettext_lazy("Guideline"),
    "tools": gettext_lazy("Tools"),
    "examples": gettext_lazy("Examples"),
    "revisions": gettext_lazy("Versions"),
}
#: What ``panel`` in a URL may say. The findings belong to the tab Review.
PANELS = {*TABS, *REFERENCES, "findings"}
_NOT_ANNOTATED = ("", gettext_lazy("Not annotated"))


def _labelled(labels: Mapping[str, str]) -> list[tuple[str, Any]]:
    return [_NOT_ANNOTATED, *((key, gettext_lazy(label)) for key, label in labels.items())]


#: What the templates offer to choose from.
_CHOICES: dict[str, list[tuple[str, Any]]] = {
    "step_types": [("clarification", gettext_lazy("Add a clarification")), ("answer", gettext_lazy("Add an answer"))],
    "answer_types": [_NOT_ANNOTATED, ("tool", gettext_lazy("Tool results")), ("chat", gettext_lazy("Own knowledge"))],
    "policies": _labelled(POLICY_LABELS),
    "information_choices": _labelled(INFORMATION_LABELS),
    "scenario_choices": _labelled(SCENARIO_LABELS),
    "category_choices": [_NOT_ANNOTATED, *((one.id, f"{one.dimension}: {one.id}") for one in categories())],
    "composition_choices": [
        ("similar", gettext_lazy("Similar: tasks of one category")),
        ("cross", gettext_lazy("Cross: tasks of different categories")),
    ],
    "observation_kinds": [("json", "JSON"), ("text", gettext_lazy("Text"))],
    "language_choices": [_NOT_ANNOTATED, ("en", gettext_lazy("English")), ("zh", gettext_lazy("Chinese"))],
}
#: The actions of the verdict buttons, in the table of keys.
_VERDICT_ACTIONS = {
    Verdict.APPROVE: "approve",
    Verdict.FIX: "approve",
    Verdict.REJECT: "reject",
    Verdict.ESCALATE: "escalate",
}


def workbench_context(
    request: PageRequest,
    bench: Workbench,
    *,
    at: str | None = None,
    panel: str | None = None,
    verdict: str = "",
    refused: tuple[Pair | None, tuple[str, ...]] = (None, ()),
) -> dict[str, Any]:
    """Return the context of the workspace.

    ``verdict``: the one that the Review tab shows as chosen. ``refused``: a dependency that was just refused, and the
    cycle it would have closed.
    """
    work = bench.work
    if panel == "review" and bench.disputed:
        # A dispute has a page of its own.
        panel = None
    if not request.htmx:
        work.claim.expires_at = claims.heartbeat(
            actor=request.user, token=work.claim.token, active_seconds=None
        ).expires_at
    request.project = work.slot.project
    selected, anchor = bench.view.select(at)
    reference = panel if panel in REFERENCES else ""
    panel = panel if panel in PANELS and not reference else "edit"
    links = {name: url.replace(_ANY_SLOT, work.slot.public_id) for name, url in _addresses().items()}
    work_url = links.pop("")
    # Every edit adds a version, so a new draft has nothing to undo.
    undoable, redoable = undo_and_redo(bench.draft) if bench.draft.version else (False, False)
    if not undoable and any(one.waiver for one in bench.view.warnings):
        undoable = bool(last_waivers(actor=request.user, work=work, draft=bench.draft))
    context: dict[str, Any] = {f"{name}_url": url for name, url in links.items()} | {
        **_CHOICES,
        "work_url": work_url,
        "assets": assets_version(),
        "tabs": [
            (key, label, f"{work_url}?at={quote(anchor, safe='')}&panel={key}")
            for key, label in (TABS | _OF_KIND.get(bench.document["kind"], {})).items()
            if (key != "graph" or bench.document["kind"] == "multi_turn") and (key != "review" or not bench.disputed)
        ],
        "references": [
            (key, label, f"{work_url}?panel={key}")
            for key, label in REFERENCES.items()
            if key != "tools" or bench.document["kind"] != "toolset"
        ],
        "reference": reference,
        "is_training": is_training_slot(work.slot),
        "guideline": latest_guideline(work.slot.project),
        "comment_hint": _("About: %(place)s")
        % {"place": place_name(bench.document, anchor) if selected else _("the whole dialogue")},
        "comment_is_sealed": work.blind,
        "verdicts": offered(bench),
        # Selecting or adding a place moves the focus there; undo and the like leave it where it is.
        "autofocus": request.POST.get("op") in _OPENING
        if request.method == "POST"
        else at is not None and bool(request.htmx),
        "refusal": None,
        "disputed": None,
        "fields": None,
        "tool": None,
        "task": None,
        "graph": None,
        "look": None,
        "value_rows": [],
        "bench": bench,
        "work": work,
        "slot": work.slot,
        "stage": work.stage,
        "dialogue": bench.dialogue,
        "draft": bench.draft,
        "asks_whole": any(field.scope is Scope.DIALOGUE for field in fields_of(work.slot.project)),
        # A draft is created when its page is opened, before anything is saved.
        "saved_at": bench.draft.updated_at if bench.draft.version else None,
        "view": bench.view,
        "dialogue_version": dialogue_version(bench),
        # Called where the whole page is rendered.
        "verified_past": partial(visible_continuation, actor=request.user, dialogue=bench.dialogue),
        "at": anchor,
        "selected": selected,
        "panel": panel,
        "observation_kind": _observation_kind(request, selected),
        "result_is_older": panel == "edit"
        and bench.changed
        and answers_another_call(work.slot.revision.document(), bench.document, anchor),
        "threads": comments.read_threads(
            actor=request.user,
            dialogue=bench.dialogue,
            document=bench.document,
            compared=work.slot.revision.document(),
        )
        if panel == "comments"
        else [],
        "names": suggested_names(request.project) if panel == "comments" else [],
        "findings": arrange_findings(bench.view, visits_waived=bench.stage.kind is not StageKind.SELF_CHECK),
        "tools": list(bench.toolset.tools.values()),
        "undoable": undoable,
        "redoable": redoable,
        "revisions": _revisions(request, bench) if reference == "revisions" else [],
        "variants": variants_of(actor=request.user, dialogue=bench.dialogue) if reference == "revisions" else [],
    }

    @cache
    def own_reasons() -> list[str]:
        warned = {one.check for one in bench.view.warnings if not one.waiver}
        return earlier_reasons(actor=request.user, project=work.slot.project, checks=warned)

    # Called by the template only where a warning can be waived.
    context["earlier_reasons"] = own_reasons
    ghosts = ghosts_of(draft=bench.draft, document=bench.document, fields=fields_of(request.project))
    context |= suggested_context(bench, ghosts, anchor if selected else "", work_url)
    if isinstance(selected, StepView):
        task = next(task for task in bench.view.tasks if selected in task.steps)
        context |= {"task": task, "others": _others(task, selected)}
        tool = bench.toolset.tools.get(selected.data.get("name", ""))
        # Arguments larger than a form may send are edited as JSON only; fields would repeat all of them.
        if tool is not None and isinstance(selected.data["arguments"], dict) and not is_cut(selected.data["arguments"]):
            context["fields"] = fields(tool.parameters, selected.data["arguments"])
            context["fields_cut"] = len(context["fields"]) >= MAX_FIELDS
        context["tool"] = tool
        if selected.type == "call" and panel == "edit":
            context["value_rows"] = rows_of(bench, trace_task(bench, task.id), selected)
    elif isinstance(selected, TaskView):
        context["task"] = selected
        if bench.document["kind"] == COMPOSITE:
            context |= composite_editor(bench, selected)
    elif isinstance(selected, FunctionView):
        context |= function_editor(selected)
    else:
        context |= case_editor(bench, selected)
    if panel == "edit":
        # The fields of a case as a whole are beside its scenario.
        whole = selected is None or getattr(selected, "type", "") == "scenario"
        context |= label_editor(bench, "" if whole else anchor, context["suggested"])
    if panel == "review":
        context |= review_context(bench, verdict)
    if reference == "examples":
        context |= examples_context(request, bench, context["task"])
    if panel == "graph" and context["task"]:
        step = selected if isinstance(selected, StepView) else None
        found = proposals_of(ghosts, context["task"].id)
        context |= graph_context(bench, context["task"], step, proposals=found, refused=refused)
    return context


def _observation_kind(request: PageRequest, selected: Any) -> str:
    """Return the type of the observation editor. An empty text is not stored, so Text may be only a choice so far."""
    kind: str = getattr(selected, "observation_kind", "")
    chosen = request.POST.get("as") if request.POST.get("op") == "set_observation" else ""
    return "text" if kind and chosen == "text" and selected.data.get("observation") is None else kind


def _revisions(request: PageRequest, bench: Workbench) -> list[Revision]:
    rows = bench.dialogue.revisions.visible_to(request.user).defer("content").select_related("author").order_by("-pk")
    blind = {bench.dialogue.pk} if bench.work.blind else set()
    return veil(rows[:30], actor=request.user, blind=blind, words=["message"])


@cache
def _addresses() -> dict[str, str]:
    """Return the URLs of a slot's page (under the empty name) and of its actions."""
    names = {"": "workspace"} | {name: f"workspace-{name}" for name in _LINKS}
    return {name: reverse(address, args=[_ANY_SLOT]) for name, address in names.items()}


def offered(bench: Workbench) -> list[dict[str, Any]]:
    """Return the buttons of the verdicts that fit the current draft."""
    sensible = validation.offered_verdicts(bench.stage, changed=bench.changed)
    return [
        {
            "value": verdict.value,
            "label": words_of("verdict", verdict),
            "action": action,
            "primary": verdict in (Verdict.APPROVE, Verdict.FIX),
        }
        for verdict, action in _VERDICT_ACTIONS.items()
        if verdict in sensible
    ]


def _others(task: TaskView, selected: StepView) -> list[tuple[str, StepView | None, bool, str]]:
    """Return (id, step, whether the selected step depends on it, kind) for each possible dependency.

    These are the task's other steps, and invalid dependencies that are stored: the step itself, and steps that are not
    in the task (None).
    """
    held = {dep["id"]: dep["kind"] for dep in selected.depends_on or []}
    steps: dict[str, StepView | None] = {
        step.id: step for step in task.steps if step.id in held or (step is not selected and step.type != "answer")
    }
    steps |= {key: None for key in held if key not in steps}
    return [(key, step, key in held, held.get(key, "parameter")) for key, step in steps.items()]


def seen_version(request: PageRequest, draft: Draft) -> int:
    raw = request.POST.get("seen", "")
    return int(raw) if raw.isascii() and raw.isdigit() and len(raw) < 10 else draft.version


def active_seconds(request: PageRequest) -> int:
    """Return the seconds of active work that the page reports since its last heartbeat."""
    raw = request.POST.get("active_seconds", "")
    return min(int(raw), MAX_ACTIVE_SECONDS) if raw.isascii() and raw.isdigit() and len(raw) < 7 else 0


def claim_to_submit(request: PageRequest, bench: Workbench) -> Claim:
    """Return the claim that a review ends, after recording the active seconds posted with the form."""
    claim, seconds = bench.work.claim, active_seconds(request)
    try:
        return claims.heartbeat(actor=request.user, token=claim.token, active_seconds=seconds) if seconds else claim
    except Conflict:
        # Submitting the review reports what happened to the claim.
        return claim
