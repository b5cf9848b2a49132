"""Dialogues of a project: the list, one dialogue with its history, and what changed between two revisions."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotator.checks import all_checks
from annotator.comparison import describe, describe_changes
from annotator.errors import Hidden
from annotator.models import Dialogue, Revision, Role, User
from annotator.models.content import DialogueStatus
from annotator.presentation import INFORMATION_LABELS, POLICY_LABELS, TOPOLOGY_LABELS, present
from annotator.services.access import load_dialogue
from annotator.services.keyset import read_key
from annotator.services.listing import PROBLEMS, Filters, list_dialogues
from annotator.services.revisions import load_revision
from annotator.services.stale import open_marks
from annotator.views.pages import PageRequest, project_page
from reviews.models import Review
from reviews.services.checklists import answer_rows
from reviews.services.claims import stage_of
from reviews.services.examples import MARKERS
from reviews.services.gold_turns import OVERSEERS
from reviews.services.history import read_history
from reviews.services.protocols import current_protocol, stage_titles
from reviews.services.waivers import live_waivers
from reviews.views.remarks import comment_context

_CHOICES = {
    "left": "the first reviewer’s version",
    "right": "the second’s",
    "third": "a third version",
    "none": "neither, and nothing in its place",
}


@project_page
@require_safe
def dialogue_list(request: PageRequest) -> HttpResponse:
    """The list, with filters and text search. Pages by key, never by offset."""
    filters = Filters.of(request.GET.dict())
    stages = stage_titles(request.project)
    page = list_dialogues(
        actor=request.user,
        project=request.project,
        filters=filters,
        after=read_key(request.GET.get("after")),
        before=read_key(request.GET.get("before")),
    )
    people = User.objects.filter(memberships__project=request.project).distinct().order_by("display_name")
    context = {
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "marks": bool(request.roles & OVERSEERS),
        "rows": [(row, stages.get(row.stage, row.stage)) for row in page.rows],
        "previous": _link(request, before=page.before),
        "following": _link(request, after=page.after),
        "filters": filters,
        "choices": [
            ("status", "Status", DialogueStatus.choices, filters.status),
            ("stage", "Stage", list(stages.items()), filters.stage),
            ("policy", "Policy", list(POLICY_LABELS.items()), filters.policy),
            ("topology", "Topology", list(TOPOLOGY_LABELS.items()), filters.topology),
            ("information", "Information", list(INFORMATION_LABELS.items()), filters.information),
            ("language", "Language", [("en", "English"), ("zh", "Chinese")], filters.language),
            ("owner", "Owner", [(person.public_id, str(person)) for person in people], filters.owner),
            ("problems", "Findings", list(PROBLEMS.items()), filters.problems),
            ("stale", "Guideline", [("1", "Overtaken by a newer one")], filters.stale),
            ("check", "Check", [(check.id, f"{check.id}: {check.title}") for check in all_checks()], filters.check),
        ],
    }
    template = "reviews/dialogue_list.html#results" if request.htmx else "reviews/dialogue_list.html"
    return render(request, template, context)


@project_page
@require_safe
def dialogue_detail(request: PageRequest, public_id: str) -> HttpResponse:
    """One dialogue as it is now, or at an earlier revision, with its findings and its history."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    return render_dialogue(request, dialogue, wanted=request.GET.get("revision", ""))


def render_dialogue(
    request: PageRequest, dialogue: Dialogue, *, wanted: str = "", remark: dict[str, Any] | None = None
) -> HttpResponse:
    """The page of a dialogue. ``remark``: a comment that was refused just now, as ``comment_context`` takes it."""
    revision = load_revision(actor=request.user, dialogue=dialogue, public_id=wanted) if wanted else dialogue.head
    if revision is None:
        raise Hidden("This dialogue has no content yet.")
    is_head = revision.pk == dialogue.head_id
    findings = dialogue.findings.filter(revision=revision) if is_head else []
    view = present(revision.document(), findings, live_waivers(actor=request.user, dialogue=dialogue))
    revisions = (
        Revision.objects.visible_to(request.user)
        .filter(dialogue=dialogue)
        .select_related("author")
        .defer("content")
        .order_by("-pk")
    )
    return render(
        request,
        "reviews/dialogue_detail.html",
        {
            "dialogue": dialogue,
            "marks": bool(request.roles & OVERSEERS),
            "revision": revision,
            "is_head": is_head,
            "may_mark": dialogue.status == DialogueStatus.VERIFIED and bool(request.roles & MARKERS),
            "asked_for": "" if is_head else revision.public_id,
            "view": view,
            "revisions": revisions,
            "stage_title": stage_titles(request.project).get(dialogue.stage, ""),
            "history": read_history(actor=request.user, dialogue=dialogue),
            "reviews": _reviews(request, dialogue, revision.document()),
            **comment_context(request, dialogue, revision.document(), remark),
            "stale_work": open_marks(dialogue),
            "siblings": Dialogue.objects.visible_to(request.user)
            .filter(project=request.project, variant_group=dialogue.variant_group)
            .exclude(pk=dialogue.pk)
            .only("public_id", "external_id", "language", "status")
            if dialogue.variant_group
            else [],
        },
        status=422 if remark else 200,
    )


def _reviews(request: PageRequest, dialogue: Dialogue, document: dict[str, Any]) -> list[dict[str, Any]]:
    """The reviews one may see, newest first, with faults and rulings in words."""
    titles, protocol = stage_titles(request.project), current_protocol(request.project)
    kinds = {kind.key: kind.label for kind in protocol.taxonomy} if protocol else {}
    found = (
        Review.objects.visible_to(request.user)
        .filter(dialogue=dialogue)
        .select_related("person", "slot__protocol", "guideline", "joint_decision")
        .defer("guideline__text", "slot__protocol__definition")
        .prefetch_related("findings", "rulings", "joint_decision__participants")
        .order_by("-pk")
    )
    answers = {
        review.pk: answer_rows(stage_of(review.slot), document, review.checklist, review.checklist_notes)
        for review in found
        if review.checklist
    }
    return [
        {
            "review": review,
            "answers": answers.get(review.pk, []),
            "noes": sum(row.answer is False for row in answers.get(review.pk, ())),
            "joint": _joint(review),
            "stage": titles.get(review.slot.stage, review.slot.stage),
            "faults": [
                (kinds.get(fault.kind, fault.kind), fault.anchor and describe(document, fault.anchor), fault.note)
                for fault in review.findings.all()
            ],
            "rulings": [
                (describe(document, line.anchor), _CHOICES[line.choice], kinds.get(line.reason_kind, ""), line.reason)
                for line in review.rulings.all()
            ],
        }
        for review in found
    ]


def _joint(review: Review) -> str:
    """Who was present where it was decided together, and what they noted; blank otherwise."""
    decision = getattr(review, "joint_decision", None)
    if decision is None:
        return ""
    present_then = ", ".join(sorted(str(person) for person in decision.participants.all()))
    return f"{present_then}. {decision.note}" if decision.note else present_then


@project_page
@require_safe
def revision_diff(request: PageRequest, public_id: str) -> HttpResponse:
    """What changed between any two revisions of a dialogue that one may see."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    revisions = list(
        Revision.objects.visible_to(request.user)
        .filter(dialogue=dialogue)
        .select_related("author")
        .defer("content")
        .order_by("pk")
    )
    if not revisions:
        raise Hidden("This dialogue has no content yet.")
    newer = request.GET.get("b") or revisions[-1].public_id
    after = load_revision(actor=request.user, dialogue=dialogue, public_id=newer)
    older = request.GET.get("a") or (after.parent.public_id if after.parent else revisions[0].public_id)
    before = load_revision(actor=request.user, dialogue=dialogue, public_id=older)
    return render(
        request,
        "reviews/revision_diff.html",
        {
            "dialogue": dialogue,
            "revisions": revisions,
            "before": before,
            "after": after,
            "sides": [("a", "From", before), ("b", "To", after)],
            "changes": describe_changes(before.document(), after.document()),
        },
    )


def _link(request: PageRequest, **key: int | None) -> str | None:
    """This list's URL at another key; None where there is no such page."""
    name, value = next(iter(key.items()))
    if value is None:
        return None
    query = request.GET.copy()
    for other in ("after", "before"):
        query.pop(other, None)
    query[name] = str(value)
    return f"{request.path}?{query.urlencode()}"
