"""Dialogues of a project: the list, one dialogue with its history, and the changes between two revisions."""

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotator.core.checks import all_checks
from annotator.core.metadata import metadata_fields
from annotator.errors import Hidden
from annotator.models import Dialogue, Revision, Role, User
from annotator.models.content import DialogueStatus
from annotator.models.saved_views import MAX_COLUMNS
from annotator.presentation.changes import change_lines
from annotator.presentation.dialogue import INFORMATION_LABELS, POLICY_LABELS, TOPOLOGY_LABELS
from annotator.presentation.document import present
from annotator.services.access.blindness import blind_to, veil
from annotator.services.access.permissions import OVERSEERS, load_dialogue
from annotator.services.custom_fields import fields_of
from annotator.services.database.filters import one_of
from annotator.services.dialogues.addressed import findings_for
from annotator.services.dialogues.continuations import stale_among
from annotator.services.dialogues.executions import execution_of_revision
from annotator.services.dialogues.listing import (
    LANGUAGES,
    MAX_COUNTED,
    NAMES,
    OUTDATED,
    PROBLEMS,
    STALE,
    Filters,
    count_dialogues,
    field_values,
    list_dialogues,
    veil_owners,
)
from annotator.services.dialogues.metadata import metadata_keys
from annotator.services.dialogues.outdated import open_flags
from annotator.services.dialogues.revisions import load_revision, load_revision_or_head
from annotator.services.dialogues.sorting import order_of, sort_of
from annotator.services.dialogues.variant_comparison import untranslated_findings
from annotator.services.dialogues.variants import MATCHERS, out_of_step, variants_of
from annotator.services.saved_views import SAVED, clean_query, list_views
from annotator.translation import place_name
from annotator.views.pages import PageRequest, project_page, takes
from reviews.models import Review
from reviews.services.adjudication.own_disputes import find_dispute
from reviews.services.feedback.examples import MARKERS, is_markable
from reviews.services.history.dialogue_history import read_history
from reviews.services.protocols.readers import shown_stage_titles
from reviews.services.protocols.versions import current_protocol
from reviews.services.queue.claim_rows import stage_of
from reviews.services.submission.checklists import answer_rows
from reviews.services.submission.waivers import live_waivers
from reviews.views.change_form import change_form, entry_stages
from reviews.views.comment_context import comment_context
from reviews.views.continuations import continuation_context
from reviews.views.list_parts import (
    address_of,
    column_values,
    columns_of,
    headings,
    sort_choices,
)
from reviews.views.variants import makeable_variants
from reviews.views.workspace.revision_pages import revision_name

_CHOICES = {
    "left": gettext_lazy("the first reviewer’s version"),
    "right": gettext_lazy("the second reviewer’s version"),
    "third": gettext_lazy("a third version"),
    "none": gettext_lazy("neither"),
}

#: Format of a file with the list, and its name.
_EXPORTS = [("csv", "CSV"), ("jsonl", "JSONL"), ("parquet", "Parquet")]

#: Each returns links of a dialogue's page to pages of other applications: label and address.
MORE_LINKS: list[Callable[[User, Dialogue], list[tuple[str, str]]]] = []


@project_page
@require_safe
@takes(*SAVED, "count", "before", "after")
def dialogue_list(request: PageRequest) -> HttpResponse:
    """List the dialogues, with filters, text search, orders and pages by key; ``?count=1`` counts them."""
    stages = shown_stage_titles(request.project)
    filters = Filters.of(request.GET, project=request.project, stages=lambda: stages)
    sort, chosen = sort_of(request.GET), columns_of(request.GET)
    columns = chosen[:MAX_COLUMNS]
    counted = one_of(request.GET, "count", ["1"])
    page = list_dialogues(
        actor=request.user,
        project=request.project,
        filters=filters,
        order=order_of(sort),
        after=request.GET.get("after"),
        before=request.GET.get("before"),
    )
    people = User.objects.filter(memberships__project=request.project).distinct().order_by("display_name")
    if not request.roles & OVERSEERS:
        people = people.filter(pk=request.user.pk)
    oversees = bool(request.roles & OVERSEERS)
    may_change = Role.ADMINISTRATOR in request.roles and request.project.archived_at is None
    # Shown to overseers only: it reveals colleagues' edits.
    apart = out_of_step(project=request.project, dialogues=page.rows) if oversees else set()
    stale = stale_among(page.rows) if oversees else set()
    answers = field_values(request.project)
    cells = column_values(page.rows, columns)
    known = [] if request.htmx else metadata_keys(request.project)
    own_query = clean_query(request.GET, SAVED)
    more = [
        ("policy", _("Policy"), _options(POLICY_LABELS), filters.policy),
        ("topology", _("Topology"), _options(TOPOLOGY_LABELS), filters.topology),
        ("information", _("Information"), _options(INFORMATION_LABELS), filters.information),
        ("language", _("Language"), list(LANGUAGES.items()), filters.language),
        ("outdated", _("Guideline"), list(OUTDATED.items()), filters.outdated),
        *([("stale", _("Layers"), list(STALE.items()), filters.stale)] if oversees else []),
        *([_sequence_choice(filters.sequence)] if filters.sequence else []),
        *([("field", _("Custom field"), answers, filters.field)] if answers else []),
        ("check", _("Check"), _check_options(request), filters.check),
    ]
    context = {
        "is_admin": Role.ADMINISTRATOR in request.roles,
        "marks": oversees,
        "rows": [
            (row, stages.get(row.stage, row.stage), row.pk in apart, row.pk in stale, cells.get(row.pk, []))
            for row in page.rows
        ],
        "previous": _link(request, before=page.before),
        "following": _link(request, after=page.after),
        "filters": filters,
        # A shared view may have them; others find nothing with them (``shown_dialogues``).
        "filters_for_overseers": not oversees
        and bool(filters.tag or filters.stale or filters.owner not in ("", request.user.public_id)),
        "change": change_form(request.project, request.GET) if may_change else None,
        "choices": [
            ("status", _("Status"), DialogueStatus.choices, filters.status),
            ("stage", _("Stage"), list(stages.items()), filters.stage),
            ("owner", _("Owner"), [(person.public_id, str(person)) for person in people], filters.owner),
            ("problems", _("Findings"), list(PROBLEMS.items()), filters.problems),
        ],
        "more": more,
        "more_active": sum(1 for choice in more if choice[3]) + bool(filters.meta),
        "sort": sort,
        "sorts": headings(request.path, request.GET, sort),
        "sort_choices": sort_choices(),
        "columns": columns,
        "columns_left_out": chosen[MAX_COLUMNS:],
        "most_columns": MAX_COLUMNS,
        "known_columns": [(key, key in chosen) for key in dict.fromkeys([*chosen, *known])],
        "total": count_dialogues(actor=request.user, project=request.project, filters=filters) if counted else None,
        "count_url": address_of(request.path, request.GET, count="1"),
        "most_counted": MAX_COUNTED,
        "views": list_views(actor=request.user, project=request.project),
        "own_query": own_query,
        "filter_query": clean_query(request.GET, NAMES),
        "exports": [(name, f"{'&' if own_query else ''}format={value}") for value, name in _EXPORTS],
    }
    template = "reviews/dialogues/list.html#update" if request.htmx else "reviews/dialogues/list.html"
    return render(request, template, context)


def _options(labels: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(key, _(label)) for key, label in labels.items()]


def _sequence_choice(sequence: str) -> tuple[str, str, list[tuple[str, str]], str]:
    """Return the filter by the policies of the first tasks, which the page of the coverage sets."""
    words = " → ".join(_(POLICY_LABELS[policy]) for policy in sequence.split(","))
    return "sequence", _("First policies"), [(sequence, words)], sequence


@project_page
@require_safe
@takes("revision", "at")
def dialogue_detail(request: PageRequest, public_id: str) -> HttpResponse:
    """Show the newest revision of a dialogue, or an earlier one, with its findings and history."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    return render_dialogue(request, dialogue, wanted=request.GET.get("revision", ""))


def render_dialogue(
    request: PageRequest,
    dialogue: Dialogue,
    *,
    wanted: str = "",
    comment_form: dict[str, Any] | None = None,
    tag_form: dict[str, Any] | None = None,
) -> HttpResponse:
    """Render the page of a dialogue.

    ``comment_form``: a refused comment, see ``comment_context``; ``tag_form``: refused tags, as ``typed`` and
    ``sentence``.
    """
    revision = load_revision_or_head(actor=request.user, dialogue=dialogue, public_id=wanted)
    is_head = revision.pk == dialogue.head_id
    blind = blind_to(actor=request.user, dialogues=[dialogue.pk])
    findings = list(findings_for(request.roles, dialogue.findings.filter(revision=revision))) if is_head else []
    variants = variants_of(actor=request.user, dialogue=dialogue)
    if is_head:
        findings += untranslated_findings(dialogue=dialogue, variants=variants)
    waived = live_waivers(actor=request.user, dialogue=dialogue, blind=bool(blind))
    document = revision.document()
    fields, execution = fields_of(request.project), execution_of_revision(revision, document)
    view = present(document, findings, waived, execution=execution, fields=fields)
    revisions = (
        Revision.objects.visible_to(request.user)
        .filter(dialogue=dialogue)
        .select_related("author")
        .defer("content")
        .order_by("-pk")
    )
    # Last, because it changes the row that the lines above read.
    veil_owners([dialogue], actor=request.user)
    return render(
        request,
        "reviews/dialogues/detail.html",
        {
            "dialogue": dialogue,
            "marks": bool(request.roles & OVERSEERS),
            "revision": revision,
            "is_head": is_head,
            "revision_name": revision_name(revision),
            "dispute": find_dispute(actor=request.user, dialogue=dialogue)
            if is_head and request.project.archived_at is None
            else None,
            "may_mark": is_markable(dialogue) and bool(request.roles & MARKERS),
            "asked_for": "" if is_head else revision.public_id,
            "view": view,
            "blind": bool(blind),
            "back_to": _back_to(request, dialogue) if is_head else [],
            "tag_form": tag_form or {"typed": "", "sentence": ""},
            "revisions": veil(revisions, actor=request.user, blind=blind, words=["message"]),
            "stage_title": shown_stage_titles(request.project).get(dialogue.stage, ""),
            "history": read_history(actor=request.user, dialogue=dialogue),
            "reviews": _reviews(request, dialogue, revision.document(), own=bool(blind)),
            **comment_context(request, dialogue, revision.document(), comment_form),
            "metadata": metadata_fields(revision.document()),
            "outdated_flags": open_flags(dialogue),
            **continuation_context(request, dialogue),
            "variants": variants,
            "makeable_variants": makeable_variants(request, dialogue) if is_head else [],
            "more_links": [link for find in MORE_LINKS for link in find(request.user, dialogue)],
            "may_match": is_head and bool(request.roles & MATCHERS),
        },
        status=422 if comment_form or tag_form else 200,
    )


def _back_to(request: PageRequest, dialogue: Dialogue) -> list[tuple[str, str]]:
    """Return the stages that the person can send the dialogue back to."""
    in_use = request.project.archived_at is None and not dialogue.gold_role
    in_use = in_use and dialogue.status != DialogueStatus.CANDIDATE
    return entry_stages(request.project) if in_use and Role.ADMINISTRATOR in request.roles else []


def _reviews(request: PageRequest, dialogue: Dialogue, document: dict[str, Any], *, own: bool) -> list[dict[str, Any]]:
    """Return the visible reviews (``own``: only the person's own), newest first, with labels of errors and rulings."""
    titles, protocol = shown_stage_titles(request.project), current_protocol(request.project)
    kinds = {kind.key: kind.label for kind in protocol.taxonomy} if protocol else {}
    found = (
        Review.objects.visible_to(request.user)
        .filter(dialogue=dialogue)
        .select_related("person", "slot__protocol", "guideline", "session_decision")
        .defer("guideline__text", "slot__protocol__definition")
        .prefetch_related("errors", "rulings", "session_decision__participants")
        .order_by("-pk")
    )
    if own:
        found = found.filter(person=request.user)
    fields = fields_of(request.project)

    def place(anchor: str) -> str:
        return place_name(document, anchor, fields)

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
            "session_decision": _session_decision(review),
            "stage": titles.get(review.slot.stage, review.slot.stage),
            "named_errors": [
                (kinds.get(one.kind, one.kind), one.anchor and place(one.anchor), one.note)
                for one in review.errors.all()
            ],
            "rulings": [
                (place(line.anchor), _CHOICES[line.choice], kinds.get(line.reason_kind, ""), line.reason)
                for line in review.rulings.all()
            ],
        }
        for review in found
    ]


def _session_decision(review: Review) -> str:
    """Return who was present at the review session that decided, and their note; blank if there was none."""
    decision = getattr(review, "session_decision", None)
    if decision is None:
        return ""
    present_then = ", ".join(sorted(str(person) for person in decision.participants.all()))
    return f"{present_then}. {decision.note}" if decision.note else present_then


@project_page
@require_safe
@takes("a", "b")
def revision_diff(request: PageRequest, public_id: str) -> HttpResponse:
    """Show the changes between two revisions of a dialogue."""
    dialogue = load_dialogue(actor=request.user, project=request.project, public_id=public_id)
    revisions = list(
        Revision.objects.visible_to(request.user)
        .filter(dialogue=dialogue)
        .select_related("author")
        .defer("content")
        .order_by("pk")
    )
    veil(revisions, actor=request.user, blind=blind_to(actor=request.user, dialogues=[dialogue.pk]), words=["message"])
    if not revisions:
        raise Hidden(_("This dialogue has no content yet."))
    newer = request.GET.get("b") or revisions[-1].public_id
    after = load_revision(actor=request.user, dialogue=dialogue, public_id=newer)
    older = request.GET.get("a") or (after.parent.public_id if after.parent else revisions[0].public_id)
    before = load_revision(actor=request.user, dialogue=dialogue, public_id=older)
    return render(
        request,
        "reviews/dialogues/revision_diff.html",
        {
            "dialogue": dialogue,
            "revisions": [(one.public_id, _revision_title(one)) for one in revisions],
            "sides": [("a", _("From"), before.public_id), ("b", _("To"), after.public_id)],
            "changes": change_lines(before.document(), after.document(), fields_of(request.project)),
        },
    )


def _revision_title(revision: Revision) -> str:
    name = capfirst(revision_name(revision))
    return f"{name}, {revision.author}" if revision.author else name


def _check_options(request: PageRequest) -> list[tuple[str, str]]:
    """Return the checks to filter by. Those with notes for administrators are offered to them only."""
    every = Role.ADMINISTRATOR in request.roles
    return [
        (check.id, f"{check.id}: {_(check.title)}") for check in all_checks() if every or check.audience == "everyone"
    ]


def _link(request: PageRequest, **cursor: str | None) -> str | None:
    """Return the URL of another page of the list; None if there is none."""
    name, value = next(iter(cursor.items()))
    if value is None:
        return None
    query = request.GET.copy()
    for other in ("after", "before", "count"):
        query.pop(other, None)
    query[name] = str(value)
    return f"{request.path}?{query.urlencode()}"
