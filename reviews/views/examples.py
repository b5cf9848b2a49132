"""Gold-standard examples: list, read, mark and withdraw them."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotator.core.editing.scope import line_ends
from annotator.errors import DomainError
from annotator.presentation.dialogue import POLICY_LABELS, TaskView
from annotator.presentation.document import present
from annotator.services.access.permissions import load_dialogue, require_role
from annotator.services.custom_fields import fields_of
from annotator.services.database.filters import one_of
from annotator.views.pages import PageRequest, project_page, takes
from reviews.models import Example
from reviews.services.feedback import examples
from reviews.services.protocols.readers import shown_stage_titles
from reviews.services.submission.workbench import Workbench


@project_page
@require_safe
@takes("stage", "policy")
def example_list(request: PageRequest) -> HttpResponse:
    """List the examples in use, or those for one stage or policy."""
    stages = shown_stage_titles(request.project)
    stage, policy = one_of(request.GET, "stage", stages), one_of(request.GET, "policy", POLICY_LABELS)
    in_use = examples.visible_examples(actor=request.user, project=request.project)
    found = examples.shown_for(in_use, stage=stage, policy=policy)[: examples.MAX_EXAMPLES]
    context = {
        "rows": [_row(one, stages) for one in found],
        "stage_choices": [("", _("Any stage")), *stages.items()],
        "policy_choices": [("", _("Any policy")), *((key, _(label)) for key, label in POLICY_LABELS.items())],
        "stage": stage,
        "policy": policy,
        "may_mark": bool(request.roles & examples.MARKERS),
    }
    return render(request, "reviews/examples/list.html", context)


@project_page
@require_safe
def example(request: PageRequest, public_id: str) -> HttpResponse:
    """Show one example."""
    one = examples.load_example(actor=request.user, project=request.project, public_id=public_id)
    context = _row(one, shown_stage_titles(request.project)) | {
        "view": examples.view_example(one),
        "may_mark": bool(request.roles & examples.MARKERS),
    }
    return render(request, "reviews/examples/detail.html", context)


@project_page
@require_http_methods(["GET", "POST"])
def mark(request: PageRequest, public_id: str) -> HttpResponse:
    """Mark a verified dialogue, or a task of it, as an example."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    require_role(actor=request.user, project=request.project, roles=examples.MARKERS)
    examples.require_markable(dialogue)
    refused: DomainError | None = None
    sent = request.POST
    if request.method == "POST":
        try:
            one = examples.mark_example(
                actor=request.user,
                project=request.project,
                dialogue=dialogue,
                comment=line_ends(sent.get("comment", "")),
                task=sent.get("task", ""),
                stages=sent.getlist("stage"),
                policies=sent.getlist("policy"),
            )
        except DomainError as error:
            refused = error
        else:
            messages.success(request, _("Marked as an example. The workspace shows it next to similar work."))
            return redirect("example", slug=request.project.slug, public_id=one.public_id)
    view = present(dialogue.head.document(), [], fields=fields_of(request.project)) if dialogue.head else None
    tasks = view.tasks if view else []
    context = {
        "dialogue": dialogue,
        "refused": refused.sentence if refused else "",
        "comment": sent.get("comment", ""),
        "task": sent.get("task", ""),
        "task_choices": [("", _("The whole dialogue")), *((one.id, _task_words(one)) for one in tasks)],
        "stages": [
            (key, title, key in sent.getlist("stage")) for key, title in shown_stage_titles(request.project).items()
        ],
        "policies": [(key, _(title), key in sent.getlist("policy")) for key, title in POLICY_LABELS.items()],
    }
    return render(request, "reviews/examples/mark.html", context, status=refused.status if refused else 200)


@project_page
@require_POST
def withdraw(request: PageRequest, public_id: str) -> HttpResponse:
    """Withdraw an example, so that nobody sees it any more."""
    examples.withdraw_example(actor=request.user, project=request.project, public_id=public_id)
    messages.success(request, _("Example withdrawn."))
    return redirect("example-list", slug=request.project.slug)


def examples_context(request: PageRequest, bench: Workbench, task: TaskView | None) -> dict[str, Any]:
    """Return the context of the workspace's examples panel: those that match, and the open one (``?example=``)."""
    project = bench.work.slot.project
    own = task.data.get("policy") if task else None
    policies = [own] if own else [one.data["policy"] for one in bench.view.tasks if one.data.get("policy")]
    found = examples.fitting_examples(
        actor=request.user, project=project, stage=bench.stage.key, policies=policies, without=bench.dialogue
    )
    stages = shown_stage_titles(project)
    wanted = request.GET.get("example", "")
    chosen = next((one for one in found if one.public_id == wanted), None)
    return {
        "example_rows": [_row(one, stages) | {"fits": bool(set(one.policies) & set(policies))} for one in found],
        "example": chosen,
        "example_view": examples.view_example(chosen) if chosen else None,
    }


def _row(one: Example, stages: dict[str, str]) -> dict[str, Any]:
    return {
        "example": one,
        "what": _("%(dialogue)s, task %(task)s") % {"dialogue": one.dialogue.external_id, "task": one.task}
        if one.task
        else one.dialogue.external_id,
        "stage_words": ", ".join(stages.get(key, key) for key in one.stages) or _("All stages"),
    }


def _task_words(task: TaskView) -> str:
    text = str(task.data.get("user_message") or "")[:60]
    return _("Task %(number)s: %(text)s") % {"number": task.number, "text": text}
