"""Replaces a claimed slot by a gold item when one is due, or when nothing else is left."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotator.core.abilities import ANYTHING, Abilities
from annotator.models import Dialogue, Membership, Notice, Project, Replay, Revision, Role, User
from annotator.models.content import GoldRole
from annotator.services.access.permissions import OVERSEERS
from annotator.services.database.compiled import compiled
from reviews.core.gold import is_due, keyed_random
from reviews.models import Claim, CoAuthor, Comment, GoldItem, Slot, SlotState
from reviews.services.queue.abilities import unfit
from reviews.services.queue.order import QueuePositions, in_common_queue
from reviews.services.statements import Queue


def replace_with_gold(
    *,
    actor: User,
    project: Project,
    roles: Iterable[Role],
    queues: Sequence[Queue],
    slot: Slot | None,
    positions: QueuePositions,
    abilities: Abilities = ANYTHING,
) -> Slot | None:
    """Return what the actor gets in place of ``slot``, which they have just claimed: a gold item's slot, or ``slot``.

    In stages without other items for them (those before ``slot``'s, or all without a slot) they get the gold items that
    are left: an item that waits in every list but is never assigned would be recognised. A slot with another priority,
    or reserved for the actor, is never replaced, because somebody waits for it.
    """
    if OVERSEERS & set(roles) or (slot is not None and not in_common_queue(slot)):
        return slot
    for queue in queues:
        last = slot is not None and slot.stage == queue.stage
        gold = (
            _claim_gold(actor, project, queue.stage, slot if last else None, positions, abilities)
            if queue.stage in positions.gold
            else None
        )
        if gold is not None:
            if slot is not None:
                Slot.objects.filter(pk=slot.pk).update(state=SlotState.OPEN, holder=None)
            return gold
        if last:
            break
    return slot


def _claim_gold(
    actor: User,
    project: Project,
    stage: str,
    instead_of: Slot | None,
    positions: QueuePositions,
    abilities: Abilities,
) -> Slot | None:
    rate, secret = positions.gold[stage]
    claims = positions.taken.get(stage, 0)
    if instead_of is not None and not is_due(secret, person=actor.pk, claims=claims, rate=rate):
        return None
    place = positions.cursors.get(stage, 0) + 1 if instead_of is None else max(1, instead_of.position - 1)
    chance = keyed_random(secret, "item", actor.pk, claims)
    # If an item is retired at this moment, try the next one.
    for item_id in _in_order(items_for(actor=actor, project_id=project.pk, stage=stage, abilities=abilities), chance):
        gold = _new_slot(actor, item_id, place)
        if gold is not None:
            return gold
    return None


def items_for(*, actor: User, project_id: int, stage: str, abilities: Abilities = ANYTHING) -> list[tuple[int, int]]:
    """Return (key, number of people who got it) of each item in use that the actor may be tested on.

    Tags of the source count: an item has none of its own at first.
    """
    found = _items_for(project_id, stage, actor.pk)
    unfits = unfit(abilities, [source for *_, source in found])
    return [(item, given) for item, given, source in found if source not in unfits]


@compiled
def _items_for(project_id: int, stage: str, person_id: int) -> QuerySet[Any, Any]:
    """Return (key, number of slots, source) of the items in use that the person may be tested on (see `involved`)."""
    # Revisions have no index by author. The rest of what the person did is read once, not for each item.
    wrote = Exists(Revision.objects.filter(dialogue=OuterRef("pk"), author=person_id))
    had = Claim.objects.filter(person=person_id, project=project_id).values("slot__dialogue__external_id")
    known = Dialogue.objects.filter(
        Q(owner=person_id)
        | wrote
        | Q(pk__in=Comment.objects.filter(author=person_id).values("dialogue"))
        | Q(pk__in=Notice.objects.filter(person=person_id).values("dialogue"))
        | Q(pk__in=Replay.objects.filter(requester=person_id).values("dialogue"))
        | Q(pk__in=CoAuthor.objects.filter(person=person_id).values("dialogue"))
        | Q(external_id__in=had),
        project=project_id,
    )
    source = known.filter(pk=OuterRef("source"))
    variants = _variants_of(project_id, OuterRef("source__variant_group"))
    oversaw = Membership.objects.filter(project=project_id, user=person_id, role__in=OVERSEERS)
    items = GoldItem.objects.filter(project=project_id, stage=stage, retired_at=None)
    items = items.exclude(Exists(source) | Exists(known & variants) | Exists(oversaw))
    return items.annotate(given=Count("stage_run__slots")).values_list("pk", "given", "source")


def language_variants(source: Dialogue) -> list[int]:
    """Return the keys of a dialogue and of its variants in other languages, which have the same answer."""
    variants = _variants_of(source.project_id, source.variant_group).order_by("pk")
    return list(variants.values_list("pk", flat=True)) or [source.pk]


def _variants_of(project: Any, group: Any) -> QuerySet[Dialogue]:
    """Return the dialogues of a group of variants; none without a group."""
    dialogues = Dialogue.objects.filter(project=project, variant_group=group)
    return dialogues.exclude(variant_group="").exclude(gold_role=GoldRole.GOLD)


def involved(source: Dialogue) -> set[int]:
    """Return the keys of the people whom an item made from a dialogue can't test.

    These are people who were involved in it or in a variant, got a notice about it (it would lead nowhere), had an item
    of it before (items have its id), or ever oversaw the project and may have read the answer.
    """
    group = language_variants(source)
    known = Dialogue.objects.filter(pk__in=group)
    alike = Dialogue.objects.filter(project=source.project_id, external_id__in=known.values("external_id"))
    oversaw = Membership.objects.filter(project=source.project_id, role__in=OVERSEERS)
    return {
        person
        for people in (
            known.values_list("owner", flat=True),
            Revision.objects.filter(dialogue__in=group).order_by().values_list("author", flat=True).distinct(),
            Comment.objects.filter(dialogue__in=group).order_by().values_list("author", flat=True).distinct(),
            Notice.objects.filter(dialogue__in=group).order_by().values_list("person", flat=True).distinct(),
            Replay.objects.filter(dialogue__in=group).order_by().values_list("requester", flat=True).distinct(),
            CoAuthor.objects.filter(dialogue__in=group).values_list("person", flat=True),
            Claim.objects.filter(slot__dialogue__in=alike).order_by().values_list("person", flat=True).distinct(),
            oversaw.order_by().values_list("user", flat=True).distinct(),
        )
        for person in people
        if person is not None
    }


def _in_order(items: list[tuple[int, int]], chance: float) -> list[int]:
    """Sort items by how few people got them; among equals, ``chance`` (from 0 up to 1) chooses the first."""
    items = sorted(items)
    begin = int(chance * len(items))
    return [key for key, _ in sorted(items[begin:] + items[:begin], key=lambda item: item[1])]


def _new_slot(actor: User, item_id: int, place: int) -> Slot | None:
    """Create the actor's slot of the item at this position of the queue; return None if the item was retired."""
    # Two people who get an item at the same time are numbered one after the other.
    items = GoldItem.objects.select_for_update(no_key=True, of=("self",)).filter(pk=item_id, retired_at=None)
    item = items.select_related("stage_run__cycle", "dialogue__head").first()
    if item is None:
        return None
    run, dialogue, head = item.stage_run, item.dialogue, item.dialogue.head
    assert head is not None  # noqa: S101 - it was made with one
    return Slot.objects.create(
        stage_run=run,
        index=run.slots.count(),
        project_id=item.project_id,
        dialogue=dialogue,
        cycle=run.cycle,
        protocol_id=run.cycle.protocol_id,
        stage=item.stage,
        stage_kind="cross_check",
        round=run.round,
        state=SlotState.CLAIMED,
        position=place,
        is_gold=True,
        revision=head,
        revision_author_id=head.author_id,
        owner_id=dialogue.owner_id,
        holder=actor,
        created_at=run.opened_at,
    )
