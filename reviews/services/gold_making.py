"""Gold items are made from verified dialogues: the answer is what was verified.

What is shown is what once came into the stage, or the verified version with a fault that an administrator plants.

What people see is a dialogue of its own, with the history that the verified one had when it came into the stage: in
every list, search and page it looks like an ordinary item that waits there. The verified one is seen by nobody who may
be tested until the item is retired.
"""

from collections import Counter as Tally
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue, Membership, Project, Revision, User
from annotator.models.content import DialogueStatus, SetApart
from annotator.schema import SchemaProblem, canonical, content_hash, read_document
from annotator.services.access import require_administrator
from annotator.services.events import append_event
from annotator.services.revisions import check_document, denormalise, finding_rows, lock_dialogue
from reviews.gold import faults_of, why_not
from reviews.models import Cycle, CycleState, Example, GoldItem, StageRun, StageRunState
from reviews.protocols import Stage
from reviews.services.counters import write_deltas
from reviews.services.gold_past import copy_past
from reviews.services.gold_turns import OVERSEERS, behind, involved
from reviews.services.protocols import parse, require_version

#: A dialogue with one of these is given to people.
_UNDER_WAY = (DialogueStatus.IN_REVIEW, DialogueStatus.ESCALATED, DialogueStatus.POOLED)
#: Each says where a dialogue's answer is public, as a sentence (blank: nowhere). Whoever publishes adds one.
PUBLIC_IN: list[Callable[[Dialogue], str]] = []


def make_gold_item(
    *, actor: User, project: Project, source: Dialogue, stage: str, document: dict[str, Any] | None = None
) -> GoldItem:
    """Make a gold item for a stage from a verified dialogue.

    ``document``: the verified version with the planted fault; without it, the item is shown as it came into the stage.
    Raises Denied, Conflict for a dialogue that cannot be used now, Invalid for a stage or a document that cannot.
    """
    require_administrator(actor=actor, project=project)
    version = require_version(project)
    wanted = gold_stage(project, stage)
    with transaction.atomic():
        # All in one order, so that two who make items of two variants at once do not wait for each other for ever.
        variants = list(Dialogue.objects.select_for_update(of=("self",)).filter(pk__in=behind(source)).order_by("pk"))
        source = lock_dialogue(source.pk)
        cycle, run = _way_of(source, wanted)
        answer = cycle.exit_revision
        assert answer is not None  # noqa: S101 - a verified cycle has one
        text = run.entry_revision.content if document is None else _planted(document, answer)
        dialogue = _like(source, run, text)
        gold_run = copy_past(dialogue=dialogue, cycle=cycle, run=run, version=version, text=text)
        _describe(dialogue, gold_run.entry_revision)
        item = GoldItem.objects.create(
            project=project,
            stage=stage,
            dialogue=dialogue,
            source=source,
            answer=answer,
            stage_run=gold_run,
            planted=document is not None,
            faults=len(faults_of(gold_run.entry_revision.document(), answer.document())),
            pool=0,
            created_by=actor,
        )
        item.pool = len(people_for(project=project, stage=wanted, source=source))
        item.save(update_fields=["pool"])
        hidden = Dialogue.objects.filter(pk__in=[one.pk for one in variants], set_apart="", archived_at=None)
        write_deltas(project_id=project.pk, deltas=shown_as(hidden, 1) | {f"gold:left:{stage}": item.pool})
        hidden.update(set_apart=SetApart.ANSWER)
        append_event(
            actor=actor,
            project=project,
            kind="gold.made",
            after={"item": item.public_id, "stage": stage, "planted": item.planted, "faults": item.faults},
            sealed=True,
        )
    return item


@dataclass(frozen=True)
class Preview:
    """What an item made of a dialogue would be."""

    #: What came into the stage, and what was verified.
    shown: Revision
    answer: Revision
    #: Who may be tested on it.
    people: list[User]


def preview(*, project: Project, source: Dialogue, stage: str) -> Preview:
    """What an item made of a dialogue would be; raises what ``make_gold_item`` would."""
    wanted = gold_stage(project, stage)
    cycle, run = _way_of(source, wanted)
    assert cycle.exit_revision is not None  # noqa: S101 - a verified cycle has one
    people = people_for(project=project, stage=wanted, source=source)
    return Preview(shown=run.entry_revision, answer=cycle.exit_revision, people=people)


def gold_stage(project: Project, key: str) -> Stage:
    """The stage of the protocol in force. Raises Invalid, saying why, for one that can have no gold items."""
    stages = {stage.key: stage for stage in parse(require_version(project)).stages}
    if key not in stages:
        raise Invalid(f"The protocol in force has no stage called “{key}”; it has: {', '.join(stages)}.", field="stage")
    reason = why_not(stages[key])
    if reason:
        raise Invalid(f"“{stages[key].title}” can have no gold items. {reason}", field="stage")
    return stages[key]


def people_for(*, project: Project, stage: Stage, source: Dialogue, dialogue: Dialogue | None = None) -> list[User]:
    """Members who may be tested: they work in the stage, see no known answers, and had no hand in the source.

    ``dialogue``: of an item that is in use; whoever has had it gets it no more.
    """
    roles: dict[User, set[str]] = {}
    members = Membership.objects.filter(project=project, ended_at=None, user__is_active=True)
    for member in members.select_related("user").order_by("user_id"):
        roles.setdefault(member.user, set()).add(member.role)
    barred = involved(source, dialogue.pk if dialogue else None)
    wanted = {str(role) for role in stage.eligible.roles}
    return [
        person for person, held in roles.items() if held & wanted and not held & OVERSEERS and person.pk not in barred
    ]


def shown_as(hidden: QuerySet[Dialogue], sign: int) -> dict[str, int]:
    """Changes of the figures annotators see, as an item comes (1) or goes (-1).

    ``hidden``: the dialogues that are hidden with it: the answer and its variants.
    """
    deltas = Tally({f"gold:status:{DialogueStatus.IN_REVIEW}": sign})
    for status in hidden.values_list("status", flat=True):
        deltas[f"gold:status:{status}"] -= sign
    return dict(deltas)


def _way_of(source: Dialogue, stage: Stage) -> tuple[Cycle, StageRun]:
    """The cycle in which the dialogue was verified, and its first look in the stage."""
    if source.status != DialogueStatus.VERIFIED or not source.published or source.archived_at is not None:
        raise Conflict(f"{source.external_id} is not verified, so its answer is not known; choose one that is.")
    for ask in PUBLIC_IN:
        if public := ask(source):
            raise Conflict(f"{public} Choose another dialogue.")
    if source.set_apart:
        raise Conflict(f"{source.external_id} is part of a gold item already; retire that one first.")
    akin = behind(source)
    if Example.objects.filter(dialogue__in=akin, withdrawn_at=None).exists():
        raise Conflict(f"{source.external_id} is shown as an example beside people's work; withdraw the example first.")
    for variant in Dialogue.objects.filter(pk__in=akin, published=True, archived_at=None).exclude(pk=source.pk):
        if variant.set_apart:
            raise Conflict(
                f"{variant.external_id}, its variant in another language, is part of a gold item already; retire that "
                "one first."
            )
        if variant.status in _UNDER_WAY:
            raise Conflict(
                f"{variant.external_id}, its variant in another language, is still being worked on, so people see what "
                "the answer is like; wait until it has come to its end, or choose another dialogue."
            )
    cycle = Cycle.objects.filter(dialogue=source).select_related("exit_revision").order_by("-number").first()
    if cycle is None or cycle.state != CycleState.VERIFIED:
        raise Conflict(f"The last cycle of {source.external_id} did not end in verification; choose another dialogue.")
    run = (
        StageRun.objects.filter(cycle=cycle, stage=stage.key, state=StageRunState.SETTLED)
        .select_related("entry_revision")
        .order_by("pk")
        .first()
    )
    if run is None:
        raise Conflict(f"{source.external_id} was never reviewed in “{stage.title}”; choose another dialogue.")
    return cycle, run


def _planted(document: dict[str, Any], answer: Revision) -> str:
    try:
        read = read_document(document)
    except SchemaProblem as problem:
        raise Invalid(f"The version with the fault cannot be stored: {problem}", field="document") from None
    if not faults_of(read, answer.document()):
        raise Invalid(
            "Nothing has been planted: what you sent says the same as the verified version. Change something in it.",
            field="document",
        )
    return canonical(read)


def _like(source: Dialogue, run: StageRun, text: str) -> Dialogue:
    """A dialogue beside the source, as that was when it came into the stage; its content is still to come."""
    return Dialogue.objects.create(
        project=source.project,
        external_id=source.external_id,
        variant_group=source.variant_group,
        kind=source.kind,
        native_format=source.native_format,
        owner_id=source.owner_id,
        status=DialogueStatus.IN_REVIEW,
        stage=run.stage,
        content_hash=content_hash(text),
        title=source.title,
        set_apart=SetApart.GOLD,
        created_at=source.created_at,
        updated_at=run.opened_at,
    )


def _describe(dialogue: Dialogue, head: Revision) -> None:
    document = head.document()
    findings = check_document(document, head.toolset_revision, project=dialogue.project, stage="save")
    dialogue.head = head
    fields: Sequence[str] = denormalise(dialogue, document, findings)
    dialogue.save(update_fields=["head", *fields])
    dialogue.findings.bulk_create(finding_rows(dialogue, head, findings))
