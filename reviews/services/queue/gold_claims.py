"""Replaces a claimed slot by a gold item when one is due, or when nothing else is left."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Count, Model

from annotator.core.abilities import ANYTHING, Abilities
from annotator.models import Dialogue, Membership, Notice, Project, Replay, Revision, Role, User
from annotator.models.content import GoldRole
from annotator.services.access.permissions import OVERSEERS
from reviews.core.gold import is_due, keyed_random
from reviews.models import Claim, Comment, GoldItem, Slot, SlotState
from reviews.services.queue.abilities import unfit
from reviews.services.queue.order import QueuePositions, in_common_queue
from reviews.services.statements import Queue

#: How a person was involved in a dialogue: wrote a revision or a comment, got a notice about it, owns it, or had it
#: replayed.
_INVOLVEMENTS: tuple[tuple[type[Model], str, str], ...] = (
    (Revision, "dialogue", "author"),
    (Comment, "dialogue", "author"),
    (Notice, "dialogue", "person"),
    (Dialogue, "pk", "owner"),
    (Replay, "dialogue", "requester"),
)


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
    items = GoldItem.objects.filter(project=project_id, stage=stage, retired_at=None).select_related("source")
    items = items.annotate(given=Count("stage_run__slots")).defer("source__search_text")
    known = involved([item.source for item in items], among=actor)
    unfits = unfit(abilities, [item.source_id for item in items])
    return [
        (item.pk, item.given)
        for item in items
        if actor.pk not in known[item.source_id] and item.source_id not in unfits
    ]


def language_variants(source: Dialogue) -> list[int]:
    """Return the keys of a dialogue and of its variants in other languages, which have the same answer."""
    return [one.pk for one in _variants([source])[source.pk]]


def _variants(sources: Sequence[Dialogue]) -> dict[int, list[Dialogue]]:
    groups = {one.variant_group for one in sources} - {""}
    akin = Dialogue.objects.filter(project__in={one.project_id for one in sources}, variant_group__in=groups)
    alike: dict[tuple[int, str], list[Dialogue]] = {}
    for one in akin.exclude(gold_role=GoldRole.GOLD).only("project", "variant_group", "external_id").order_by("pk"):
        alike.setdefault((one.project_id, one.variant_group), []).append(one)
    return {one.pk: alike.get((one.project_id, one.variant_group), [one]) for one in sources}


def involved(sources: Sequence[Dialogue], *, among: User | None = None) -> dict[int, set[int]]:
    """Return key of each dialogue → keys of the people whom an item made from it can't test.

    These are people who were involved in it or in a variant, got a notice about it (it would lead nowhere), had an item
    of it before (items have its id), or ever oversaw the project and may have read the answer. ``among``: only this
    person.
    """
    origins = _variants(sources)
    keys = {one.pk for group in origins.values() for one in group}
    names = {one.external_id for group in origins.values() for one in group}
    projects = {one.project_id for one in sources}

    def people(model: type[Model], dialogue: str, person: str, **which: object) -> Iterable[tuple[Any, int]]:
        mine = {person: among} if among else {f"{person}__isnull": False}
        return (
            model._default_manager.filter(**which, **mine).order_by().values_list(dialogue, f"{person}_id").distinct()
        )

    by_key: dict[int, set[int]] = {}
    for model, dialogue, person in _INVOLVEMENTS:
        for key, who in people(model, dialogue, person, **{f"{dialogue}__in": keys}):
            by_key.setdefault(key, set()).add(who)
    by_name: dict[str, set[int]] = {}
    alike = Dialogue.objects.filter(project__in=projects, external_id__in=names)
    for name, who in people(Claim, "slot__dialogue__external_id", "person", slot__dialogue__in=alike):
        by_name.setdefault(name, set()).add(who)
    oversaw = {who for _, who in people(Membership, "project", "user", project__in=projects, role__in=OVERSEERS)}
    return {
        source: oversaw.union(*(by_key.get(one.pk, set()) | by_name.get(one.external_id, set()) for one in group))
        for source, group in origins.items()
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
