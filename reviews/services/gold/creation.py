"""Gold items are made from verified dialogues: the answer is what was verified.

What is shown is what once came into the stage, or the verified version with an error that an administrator plants.

What people see is a dialogue of its own, with the history that the verified one had when it came into the stage: in
every list, search and page it looks like an ordinary item that waits there. The verified one is seen by nobody who may
be tested until the item is retired. Variants in other languages have the same answer: each gets an item of its own, so
that a group looks like any other, and they are retired together.
"""

from collections import Counter as Tally
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from annotator.core.comparison.variants import shared_difference
from annotator.core.schema import SchemaProblem, canonical, read_document
from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue, Event, Membership, Project, Revision, User
from annotator.models.content import DialogueStatus, GoldRole
from annotator.services.access.permissions import OVERSEERS, require_administrator
from annotator.services.dialogues.revisions import lock_dialogue
from annotator.services.dialogues.trials import start_trials
from annotator.services.history.events import append_event
from reviews.core.gold import errors_in, reason_against_gold
from reviews.core.protocols import Stage
from reviews.models import Cycle, CycleState, Example, GoldItem, ProtocolVersion, Review, StageRun, StageRunState
from reviews.services.gold.copied_history import copy_history, copy_matches
from reviews.services.gold.shown_version import (
    UntriedValidators,
    copy_waivers,
    create_shown_dialogue,
    describe_item,
    require_invisible_to_checks,
)
from reviews.services.protocols.versions import parse, require_version
from reviews.services.queue.gold_claims import involved, language_variants
from reviews.services.statistics.counters import write_deltas
from reviews.services.transitions.outdated_flags import flag_newcomer

#: Each says where a dialogue's answer is public, as a sentence (blank: nowhere). Whoever publishes adds one.
PUBLIC_IN: list[Callable[[Dialogue], str]] = []


@dataclass(frozen=True)
class GoldOrigin:
    """A verified dialogue, how it was verified, and its first look in the stage."""

    source: Dialogue
    cycle: Cycle
    run: StageRun
    answer: Revision


def make_gold_item(
    *,
    actor: User,
    project: Project,
    source: Dialogue,
    stage: str,
    document: dict[str, Any] | None = None,
    variants: Mapping[str, dict[str, Any]] | None = None,
) -> GoldItem:
    """Make a gold item for a stage from a verified dialogue, and one from each of its variants in other languages.

    ``document``: the verified version with the planted error; without it, the item is shown as it came into the stage.
    ``variants``: with a planted error, by public id what is shown of the others; else of each its verified version.
    Raises Denied, Conflict for a dialogue that cannot be used now, Invalid for a stage or a document that cannot.
    """
    require_administrator(actor=actor, project=project)
    try:
        return _make(actor, project, source, gold_stage(project, stage), document, variants or {})
    except UntriedValidators as untried:
        # Of no dialogue: nobody is to find the trial beside the verified one.
        start_trials(actor=actor, project=project, document=untried.document)
        raise Invalid(
            "The validators are being tried as they stand with the error, since no dialogue comes into the stage with "
            "one that never was; send it again in a moment.",
            field="document",
        ) from None


def _make(
    actor: User,
    project: Project,
    source: Dialogue,
    wanted: Stage,
    document: dict[str, Any] | None,
    variants: Mapping[str, dict[str, Any]],
) -> GoldItem:
    with transaction.atomic():
        # All in one order, so that two who make items of two variants at once do not wait for each other for ever.
        known = {key: lock_dialogue(key) for key in language_variants(source)}
        origins = sorted(_origins_of(known[source.pk], wanted), key=lambda origin: origin.source.pk)
        texts: dict[int, str] = {}
        if document is not None:
            texts = _planted(origins, source, {**variants, source.public_id: document})
        copies: dict[int, Revision] = {}
        items = {}
        for origin in origins:
            text = texts.get(origin.source.pk, origin.run.entry_revision.content)
            if origin.source.pk in texts:
                require_invisible_to_checks(origin.answer, origin.source, text)
            dialogue = create_shown_dialogue(origin.source, origin.run, text)
            gold_run, versions = copy_history(dialogue=dialogue, cycle=origin.cycle, run=origin.run, text=text)
            copies |= versions
            describe_item(dialogue, gold_run.entry_revision)
            copy_waivers(dialogue, origin.source, gold_run.entry_revision)
            flag_newcomer(dialogue)
            items[origin.source.pk] = _item(actor, origin, wanted, gold_run, planted=document is not None)
        copy_matches(copies, until=min(origin.run.opened_at for origin in origins))
    return items[source.pk]


def _item(actor: User, origin: GoldOrigin, stage: Stage, run: StageRun, *, planted: bool) -> GoldItem:
    """Put an item into use: from now on its answer is hidden."""
    item = GoldItem.objects.create(
        project=origin.source.project,
        stage=stage.key,
        dialogue=run.cycle.dialogue,
        source=origin.source,
        answer=origin.answer,
        stage_run=run,
        planted=planted,
        errors=len(errors_in(run.entry_revision.document(), origin.answer.document())),
        created_by=actor,
    )
    hidden = Dialogue.objects.filter(pk=origin.source.pk)
    write_deltas(project_id=item.project_id, deltas=shown_as(hidden, 1))
    hidden.update(gold_role=GoldRole.ANSWER)
    append_event(
        actor=actor,
        project=item.project,
        kind="gold.created",
        after={"item": item.public_id, "stage": stage.key, "planted": planted, "errors": item.errors},
        sealed=True,
    )
    return item


@dataclass(frozen=True)
class Preview:
    """What the items made of a dialogue would be."""

    #: What came into the stage, and what was verified: of the dialogue itself, then of its variants.
    origins: list[GoldOrigin]
    #: Who may be tested on it.
    people: list[User]


def preview(*, project: Project, source: Dialogue, stage: str) -> Preview:
    """What the items made of a dialogue would be; raises what ``make_gold_item`` would."""
    wanted = gold_stage(project, stage)
    origins = _origins_of(source, wanted)
    return Preview(origins=origins, people=people_for(project=project, stage=wanted, source=source))


def gold_stage(project: Project, key: str) -> Stage:
    """The stage of the protocol in force. Raises Invalid, saying why, for one that can have no gold items."""
    stages = {stage.key: stage for stage in parse(require_version(project)).stages}
    if key not in stages:
        raise Invalid(f"The protocol in force has no stage called “{key}”; it has: {', '.join(stages)}.", field="stage")
    reason = reason_against_gold(stages[key])
    if reason:
        raise Invalid(f"“{stages[key].title}” can have no gold items. {reason}", field="stage")
    return stages[key]


def versions_like_now(project: Project, stage: Stage) -> dict[int, int]:
    """Key → number of the protocol's versions under which an item looks in the stage as under the version in force.

    Once what was under way has been moved to a version, nothing that waits is under an earlier one.
    """
    moves = Event.objects.filter(project=project, kind="protocol.migration_started").order_by("-pk")
    least = moves.values_list("after__number", flat=True).first() or 1
    kinds = parse(require_version(project)).taxonomy
    versions = ProtocolVersion.objects.filter(project=project, number__gte=least)
    return {one.pk: one.number for one in versions if stage in (then := parse(one)).stages and then.taxonomy == kinds}


def people_for(*, project: Project, stage: Stage, source: Dialogue) -> list[User]:
    """Members who may be tested: they work in the stage, see no known answers, had no hand in the source, and have had
    no item made of it.
    """
    roles: dict[User, set[str]] = {}
    members = Membership.objects.active().filter(project=project)
    for member in members.select_related("user").order_by("user_id"):
        roles.setdefault(member.user, set()).add(member.role)
    barred = involved([source])[source.pk]
    wanted = {str(role) for role in stage.eligible.roles}
    return [
        person for person, held in roles.items() if held & wanted and not held & OVERSEERS and person.pk not in barred
    ]


def shown_as(hidden: QuerySet[Dialogue], sign: int) -> dict[str, int]:
    """Changes of the figures annotators see, as an item comes (1) or goes (-1), and its answer is hidden or shown."""
    deltas = Tally({f"gold:status:{DialogueStatus.IN_REVIEW}": sign})
    for status in hidden.values_list("status", flat=True):
        deltas[f"gold:status:{status}"] -= sign
    return dict(deltas)


def _origins_of(source: Dialogue, stage: Stage) -> list[GoldOrigin]:
    """The way of the dialogue itself, then that of each variant.

    Variants have one answer, so all of them are hidden; and where any was missing, or stood there alone, it would be
    known which group is the gold item's. So each has to be able to become one.
    """
    for ask in PUBLIC_IN:
        if public := ask(source):
            raise Conflict(f"{public} Choose another dialogue.")
    akin = language_variants(source)
    if Example.objects.filter(dialogue__in=akin, withdrawn_at=None).exists():
        raise Conflict(f"{source.external_id} is shown as an example beside people's work; withdraw the example first.")
    others = Dialogue.objects.filter(pk__in=akin, published=True, archived_at=None).exclude(pk=source.pk)
    variants = others.select_related("project").order_by("pk")
    return [
        _origin_of(source, stage, source.external_id),
        *(_origin_of(one, stage, f"{one.external_id}, its variant in another language,") for one in variants),
    ]


def _origin_of(source: Dialogue, stage: Stage, name: str) -> GoldOrigin:
    """How the dialogue was verified, and its first look in the stage. ``name``: what sentences call it."""
    if source.gold_role:
        raise Conflict(f"{name} is part of a gold item already; retire that one first.")
    if source.status != DialogueStatus.VERIFIED or not source.published or source.archived_at is not None:
        raise Conflict(f"{name} is not verified, so its answer is not known; choose one that is, in every language.")
    cycle = Cycle.objects.filter(dialogue=source).select_related("exit_revision").order_by("-number").first()
    if cycle is None or cycle.state != CycleState.VERIFIED:
        raise Conflict(f"The last cycle of {name} did not end in verification; choose another dialogue.")
    alike = versions_like_now(source.project, stage)
    begun = Event.objects.filter(dialogue=source, kind="cycle.begun").order_by("number")
    # It is shown as if its first cycle had been the last one.
    under = begun.values_list("after__protocol", flat=True).first()
    if cycle.protocol_id not in alike or (cycle.number > 1 and under not in alike.values()):
        raise Conflict(
            f"{name} was verified under an earlier version of the protocol. What waits in “{stage.title}” now is under "
            "another one, so its gold item would be odd; choose a dialogue that was verified since."
        )
    run = (
        StageRun.objects.filter(cycle=cycle, stage=stage.key, state=StageRunState.SETTLED)
        .select_related("entry_revision")
        .order_by("pk")
        .first()
    )
    if run is None:
        raise Conflict(f"{name} was never reviewed in “{stage.title}”; choose another dialogue.")
    # In an ordinary dialogue those reviews would be sealed; in this one they are open.
    anew = StageRun.objects.filter(cycle=cycle, stage=stage.key, state=StageRunState.CANCELLED, pk__lt=run.pk)
    if Review.objects.filter(stage_run__in=anew).exists():
        raise Conflict(f"{name} was reviewed in “{stage.title}” before that began anew; choose another dialogue.")
    assert cycle.exit_revision is not None  # noqa: S101 - a verified cycle has one
    return GoldOrigin(source, cycle, run, cycle.exit_revision)


def _planted(origins: Sequence[GoldOrigin], source: Dialogue, given: Mapping[str, dict[str, Any]]) -> dict[int, str]:
    """What is shown of each dialogue, as canonical text: what was given by its public id, else what was verified."""
    shown = {}
    for origin in origins:
        answer = origin.answer.document()
        try:
            shown[origin.source.pk] = read_document(given.get(origin.source.public_id, answer))
        except SchemaProblem as problem:
            words = f"The version of {origin.source.external_id} with the error cannot be stored: {problem}"
            raise Invalid(words, field="document") from None
        if origin.source.pk == source.pk and not errors_in(shown[source.pk], answer):
            raise Invalid(
                "Nothing has been planted: what you sent says the same as the verified version. Change something.",
                field="document",
            )
    for origin in origins:
        if difference := shared_difference(shown[source.pk], shown[origin.source.pk]):
            raise Invalid(
                f"What would be shown of {source.external_id} and of {origin.source.external_id} differs in what "
                f"variants share: {difference}. Their pages would point at the error; plant it in every language.",
                field="document",
            )
    return {key: canonical(document) for key, document in shown.items()}
