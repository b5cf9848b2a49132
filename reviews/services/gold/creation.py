"""Creates gold items from verified dialogues: the answer is the verified revision.

People see the revision that originally entered the stage, or the verified revision with an error that an administrator
plants. It is a separate dialogue with the history that the verified one had when it entered the stage: in every list,
search and page it looks like an ordinary waiting item. People who may be tested can't see the verified dialogue until
the item is retired. Variants in other languages have the same answer: each becomes an item too, so that the group looks
like any other, and they are retired together.
"""

from collections import Counter as Tally
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotator.core.comparison.variants import shared_difference
from annotator.core.schema import SchemaProblem, canonical, read_document
from annotator.core.schema.toolset_documents import KIND
from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue, Event, Membership, Project, Revision, User
from annotator.models.content import DialogueStatus, GoldRole
from annotator.services.access.permissions import OVERSEERS, require_administrator
from annotator.services.dialogues.revisions import lock_dialogue
from annotator.services.dialogues.suggestions import copy_suggestions
from annotator.services.dialogues.untried import start_runs
from annotator.services.history.events import append_event
from reviews.core.gold import errors_in, reason_against_gold
from reviews.core.protocols import Stage
from reviews.models import Cycle, CycleState, Example, GoldItem, ProtocolVersion, Review, StageRun, StageRunState
from reviews.services.gold.copied_history import copy_history, copy_matches
from reviews.services.gold.shown_dialogue import (
    Untried,
    copy_waivers,
    create_shown_dialogue,
    describe_item,
    require_invisible_to_checks,
)
from reviews.services.protocols.versions import parse, require_version
from reviews.services.queue.gold_claims import involved, language_variants
from reviews.services.statistics.counters import write_deltas
from reviews.services.transitions.outdated_flags import flag_newcomer

#: Each returns where a dialogue's answer is public, as a sentence (blank: nowhere). Apps that publish add one.
PUBLIC_IN: list[Callable[[Dialogue], str]] = []


@dataclass(frozen=True)
class GoldOrigin:
    """A verified dialogue, its verified cycle, and its first run through the stage."""

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
    """Create a gold item for a stage from a verified dialogue, and one from each of its variants in other languages.

    ``document``: the verified revision with a planted error; without it, the item shows the revision that entered the
    stage. ``variants``: with a planted error, what the others show, by public id; by default their verified revision.
    Raises Denied, Conflict for a dialogue that cannot be used now, Invalid for a stage or a document that cannot.
    """
    require_administrator(actor=actor, project=project)
    if variants and document is None:
        sentence = _("Send variants only with the document that has the planted error.")
        raise Invalid(sentence, field="variants")
    try:
        return _make(actor, project, source, gold_stage(project, stage), document, variants or {})
    except Untried as untried:
        # Not of a dialogue: nobody should find the trial next to the verified one.
        start_runs(actor=actor, project=project, document=untried.document, toolset_revision=untried.toolset_revision)
        sentence = _("Assay is running the changed code first. Try again in a moment.")
        raise Invalid(sentence, field="document") from None


def _make(
    actor: User,
    project: Project,
    source: Dialogue,
    wanted: Stage,
    document: dict[str, Any] | None,
    variants: Mapping[str, dict[str, Any]],
) -> GoldItem:
    with transaction.atomic():
        # Always in the same order, so that creating items from two variants at once can't deadlock.
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
            gold_run, revisions = copy_history(dialogue=dialogue, cycle=origin.cycle, run=origin.run, text=text)
            copies |= revisions
            describe_item(dialogue, gold_run.entry_revision)
            copy_waivers(dialogue, origin.source, gold_run.entry_revision)
            # All of them, also about a planted error: an item without suggestions would stand out.
            copy_suggestions(source=origin.source, copy=dialogue)
            flag_newcomer(dialogue)
            items[origin.source.pk] = _item(actor, origin, wanted, gold_run, planted=document is not None)
        copy_matches(copies, until=min(origin.run.opened_at for origin in origins))
    return items[source.pk]


def _item(actor: User, origin: GoldOrigin, stage: Stage, run: StageRun, *, planted: bool) -> GoldItem:
    """Put an item into use and hide its answer."""
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
    """The gold items that would be created from a dialogue."""

    #: The shown and the verified revision of the dialogue itself, then of its variants.
    origins: list[GoldOrigin]
    #: People who may be tested on it.
    people: list[User]


def preview(*, project: Project, source: Dialogue, stage: str) -> Preview:
    """Preview the items created from a dialogue; raises what ``make_gold_item`` would."""
    wanted = gold_stage(project, stage)
    origins = _origins_of(source, wanted)
    return Preview(origins=origins, people=people_for(project=project, stage=wanted, source=source))


def gold_stage(project: Project, key: str) -> Stage:
    """Return a stage of the current protocol. Raises Invalid, with the reason, if it can have no gold items."""
    stages = {stage.key: stage for stage in parse(require_version(project)).stages}
    if key not in stages:
        sentence = _("The current protocol has no stage “%(key)s”. Choose one of: %(stages)s.")
        raise Invalid(sentence % {"key": key, "stages": ", ".join(stages)}, field="stage")
    reason = reason_against_gold(stages[key])
    if reason:
        sentence = _("“%(stage)s” can’t have gold items. %(reason)s")
        raise Invalid(sentence % {"stage": stages[key].title, "reason": _(reason)}, field="stage")
    return stages[key]


def versions_like_now(project: Project, stage: Stage) -> dict[int, int]:
    """Return key → number of the protocol's versions under which an item looks the same in the stage as it does now.

    After items in progress were moved to a version, no waiting item follows an earlier one.
    """
    moves = Event.objects.filter(project=project, kind="protocol.migration_started").order_by("-pk")
    least = moves.values_list("after__number", flat=True).first() or 1
    kinds = parse(require_version(project)).taxonomy
    versions = ProtocolVersion.objects.filter(project=project, number__gte=least)
    return {one.pk: one.number for one in versions if stage in (then := parse(one)).stages and then.taxonomy == kinds}


def people_for(*, project: Project, stage: Stage, source: Dialogue) -> list[User]:
    """Return members who may be tested: they review in the stage, can't see known answers, did not work on the source,
    and had no gold item made from it.
    """
    roles: dict[User, set[str]] = {}
    members = Membership.objects.active().filter(project=project)
    for member in members.select_related("user").order_by("user_id"):
        roles.setdefault(member.user, set()).add(member.role)
    barred = involved(source)
    wanted = {str(role) for role in stage.eligible.roles}
    return [
        person for person, held in roles.items() if held & wanted and not held & OVERSEERS and person.pk not in barred
    ]


def shown_as(hidden: QuerySet[Dialogue], sign: int) -> dict[str, int]:
    """Return the changes of the figures annotators see when an item is created (1) or retired (-1)."""
    deltas = Tally({f"gold:status:{DialogueStatus.IN_REVIEW}": sign})
    for status in hidden.values_list("status", flat=True):
        deltas[f"gold:status:{status}"] -= sign
    return dict(deltas)


def _origins_of(source: Dialogue, stage: Stage) -> list[GoldOrigin]:
    """Return the origin of the dialogue itself, then of each variant.

    Variants share one answer, so all of them are hidden. A missing or single variant would reveal the gold item's
    group, so each of them must be able to become one.
    """
    for ask in PUBLIC_IN:
        if public := ask(source):
            raise Conflict(_("%(reason)s Choose another dialogue.") % {"reason": public})
    akin = language_variants(source)
    if Example.objects.filter(dialogue__in=akin, withdrawn_at=None).exists():
        sentence = _("%(id)s is shown as an example. Withdraw the example first.")
        raise Conflict(sentence % {"id": source.external_id})
    others = Dialogue.objects.filter(pk__in=akin, published=True, archived_at=None).exclude(pk=source.pk)
    variants = others.select_related("project").order_by("pk")
    return [
        _origin_of(source, stage, source.external_id),
        *(_origin_of(one, stage, _("The variant %(id)s") % {"id": one.external_id}) for one in variants),
    ]


def _origin_of(source: Dialogue, stage: Stage, name: str) -> GoldOrigin:
    """Return how the dialogue was verified, and its first run through the stage. ``name``: its name in sentences."""
    if source.kind == KIND:
        # Pages of other projects show which toolsets are verified.
        raise Conflict(_("%(name)s is a toolset. Toolsets can’t be gold items.") % {"name": name})
    if source.gold_role:
        raise Conflict(_("%(name)s is already part of a gold item. Retire that one first.") % {"name": name})
    if GoldItem.training.filter(source=source, retired_at=None).exists():
        raise Conflict(_("%(name)s is part of the training. Retire that item first.") % {"name": name})
    if source.status != DialogueStatus.VERIFIED or not source.published or source.archived_at is not None:
        sentence = _("%(name)s isn’t verified. Choose a dialogue that is verified in every language.")
        raise Conflict(sentence % {"name": name})
    cycles = Cycle.objects.in_effect().filter(dialogue=source)
    cycle = cycles.select_related("exit_revision").order_by("-number").first()
    if cycle is None or cycle.state != CycleState.VERIFIED:
        sentence = _("%(name)s wasn’t verified in its last cycle. Choose another dialogue.")
        raise Conflict(sentence % {"name": name})
    alike = versions_like_now(source.project, stage)
    begun = Event.objects.filter(dialogue=source, kind="cycle.begun").order_by("number")
    # It is shown as if its first cycle were the last one.
    under = begun.values_list("after__protocol", flat=True).first()
    if cycle.protocol_id not in alike or (cycle.number > 1 and under not in alike.values()):
        sentence = _(
            "%(name)s was verified under a different protocol version from the items now in “%(stage)s”, so its "
            "gold item would stand out. Choose a dialogue that was verified later."
        )
        raise Conflict(sentence % {"name": name, "stage": stage.title})
    run = (
        StageRun.objects.filter(cycle=cycle, stage=stage.key, state=StageRunState.SETTLED)
        .select_related("entry_revision")
        .order_by("pk")
        .first()
    )
    if run is None:
        sentence = _("%(name)s was never reviewed in “%(stage)s”. Choose another dialogue.")
        raise Conflict(sentence % {"name": name, "stage": stage.title})
    # In an ordinary dialogue those reviews would be sealed; in this one they are visible.
    restarted = StageRun.objects.filter(cycle=cycle, stage=stage.key, state=StageRunState.CANCELLED, pk__lt=run.pk)
    if Review.objects.filter(stage_run__in=restarted).exists():
        sentence = _("%(name)s was reviewed in “%(stage)s” before the stage restarted. Choose another dialogue.")
        raise Conflict(sentence % {"name": name, "stage": stage.title})
    assert cycle.exit_revision is not None  # noqa: S101 - a verified cycle has one
    return GoldOrigin(source, cycle, run, cycle.exit_revision)


def _planted(origins: Sequence[GoldOrigin], source: Dialogue, given: Mapping[str, dict[str, Any]]) -> dict[int, str]:
    """Return the shown revision of each dialogue, as canonical text: the given one, else the verified one."""
    known = {origin.source.public_id for origin in origins}
    if unknown := [name for name in given if name not in known]:
        sentence = _("“%(name)s” isn’t a variant of %(id)s. Use the public ids of its variants: %(known)s.")
        others = ", ".join(sorted(known - {source.public_id})) or _("it has none")
        words = {"name": unknown[0][:40], "id": source.external_id, "known": others}
        raise Invalid(sentence % words, field="variants")
    shown = {}
    for origin in origins:
        answer = origin.answer.document()
        try:
            shown[origin.source.pk] = read_document(given.get(origin.source.public_id, answer))
        except SchemaProblem as problem:
            sentence = _("The changed dialogue %(id)s can’t be saved: %(problem)s")
            details = {"id": origin.source.external_id, "problem": problem}
            raise Invalid(sentence % details, field="document") from None
        if origin.source.pk == source.pk and not errors_in(shown[source.pk], answer):
            sentence = _("The changed dialogue has the same content as the verified revision. Add an error.")
            raise Invalid(sentence, field="document")
    for origin in origins:
        if difference := shared_difference(shown[source.pk], shown[origin.source.pk]):
            sentence = _(
                "%(one)s and %(other)s would differ in content that variants share: %(difference)s. That would reveal "
                "the error. Plant it in every language."
            )
            details = {"one": source.external_id, "other": origin.source.external_id, "difference": difference}
            raise Invalid(sentence % details, field="document")
    return {key: canonical(document) for key, document in shown.items()}
