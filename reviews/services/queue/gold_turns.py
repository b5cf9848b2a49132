"""A gold item in place of the next ordinary one, where it is somebody's turn, and where no other is left."""

from collections.abc import Iterable, Sequence

from annotator.models import Dialogue, Membership, Notice, Project, Replay, Revision, Role, User
from annotator.models.content import GoldRole
from annotator.services.access.permissions import OVERSEERS
from annotator.services.database.statements import Value, locked, rows, write
from reviews.core.gold import draw_number, is_due
from reviews.models import Claim, Comment, GoldItem, Slot, SlotState
from reviews.services.queue.order import Queue, Turns, in_turn, place_of

#: The dialogue behind an item, and its variants in other languages, which have the same answer.
_BEHIND = (
    "(SELECT g.source_id UNION ALL SELECT a.id FROM annotator_dialogue b JOIN annotator_dialogue a "
    "ON a.project_id = b.project_id AND a.variant_group = b.variant_group AND a.variant_group <> '' "
    "AND a.gold_role <> 'gold' WHERE b.id = g.source_id)"
)
#: These, and the items that were ever made of them, which bear their ids.
_ALIKE = (
    "(SELECT o.id FROM annotator_dialogue o JOIN annotator_dialogue b ON o.project_id = b.project_id "  # noqa: S608
    f"AND o.external_id = b.external_id WHERE b.id IN {_BEHIND})"
)
# Who has had the item, or an earlier one of the same dialogue, would know it again; who had a hand in a dialogue behind
# it is no test of anything; who was told of one would follow that notice, and find nothing; who ever oversaw the
# project may have read the answer; who had one replayed finds that among their jobs, and the dialogue gone. Takes the
# person seven times.
_FIT = (
    "SELECT g.id, (SELECT count(*) FROM reviews_slot o WHERE o.stage_run_id = g.stage_run_id) "  # noqa: S608
    "FROM reviews_golditem g WHERE g.project_id = %s AND g.stage = %s AND g.retired_at IS NULL "
    "AND NOT EXISTS (SELECT 1 FROM reviews_slot s JOIN reviews_claim c ON c.slot_id = s.id "
    f"WHERE s.dialogue_id IN {_ALIKE} AND c.person_id = %s) "
    f"AND NOT EXISTS (SELECT 1 FROM annotator_revision r WHERE r.dialogue_id IN {_BEHIND} AND r.author_id = %s) "
    f"AND NOT EXISTS (SELECT 1 FROM reviews_comment k WHERE k.dialogue_id IN {_BEHIND} AND k.author_id = %s) "
    f"AND NOT EXISTS (SELECT 1 FROM annotator_notice n WHERE n.person_id = %s AND n.dialogue_id IN {_BEHIND}) "
    f"AND NOT EXISTS (SELECT 1 FROM annotator_dialogue d WHERE d.id IN {_BEHIND} AND d.owner_id = %s) "
    f"AND NOT EXISTS (SELECT 1 FROM annotator_replay p WHERE p.dialogue_id IN {_BEHIND} AND p.requester_id = %s) "
    "AND NOT EXISTS (SELECT 1 FROM annotator_membership m WHERE m.project_id = g.project_id AND m.user_id = %s "
    f"AND m.role IN ({', '.join(repr(str(role)) for role in sorted(OVERSEERS))}))"
)


def take_gold(
    *, actor: User, project: Project, roles: Iterable[Role], queues: Sequence[Queue], slot: Slot | None, turns: Turns
) -> Slot | None:
    """What the actor gets in place of ``slot``, which they have just taken: a gold item's slot, or ``slot`` itself.

    Of a stage in which nothing else waits for them (before ``slot``'s, or all where there is none) they get what is
    left: an item that waits in every list and comes to nobody would be known for what it is. An item that is out of
    turn, or reserved for the actor, is never replaced: somebody waits for it.
    """
    if OVERSEERS & set(roles) or (slot is not None and not in_turn(slot)):
        return slot
    for queue in queues:
        last = slot is not None and slot.stage == queue.stage
        gold = (
            _take_of(actor, project, queue.stage, slot if last else None, turns) if queue.stage in turns.gold else None
        )
        if gold is not None:
            if slot is not None:
                write("UPDATE reviews_slot SET state = 'open', holder_id = NULL WHERE id = %s", [slot.pk])
            return gold
        if last:
            break
    return slot


def _take_of(actor: User, project: Project, stage: str, instead_of: Slot | None, turns: Turns) -> Slot | None:
    rate, secret = turns.gold[stage]
    claims = turns.taken.get(stage, 0)
    if instead_of is not None and not is_due(secret, person=actor.pk, claims=claims, rate=rate):
        return None
    place = turns.cursors.get(stage, 0) + 1 if instead_of is None else max(1, place_of(instead_of) - 1)
    chance = draw_number(secret, "item", actor.pk, claims)
    # Somebody retired it at this moment: then the next one, and at last none.
    for item_id in _in_order(items_for(actor=actor, project_id=project.pk, stage=stage), chance):
        gold = _new_slot(actor, item_id, place)
        if gold is not None:
            return gold
    return None


def items_for(*, actor: User, project_id: int, stage: str) -> list[tuple[int, int]]:
    """(key, people who got it) of each item in use that the actor may be tested on."""
    values: list[Value] = [project_id, stage, *[actor.pk] * 7]
    return [(int(key), int(given)) for key, given in rows(_FIT, values)]


def behind(source: Dialogue) -> list[int]:
    """Keys of a dialogue and of its variants in other languages, which have the same answer."""
    if not source.variant_group:
        return [source.pk]
    akin = Dialogue.objects.filter(project_id=source.project_id, variant_group=source.variant_group)
    return list(akin.exclude(gold_role=GoldRole.GOLD).order_by("pk").values_list("pk", flat=True))


def involved(source: Dialogue) -> set[int]:
    """Keys of the people who had a hand in a dialogue or a variant of it, were told of one, had it replayed, have had
    an item of it, or ever oversaw the project.

    The same as above.
    """
    sources = behind(source)
    names = Dialogue.objects.filter(pk__in=sources).values("external_id")
    alike = Dialogue.objects.filter(project=source.project_id, external_id__in=names)
    had = Claim.objects.filter(slot__dialogue__in=alike).values_list("person_id", flat=True)
    wrote = Revision.objects.filter(dialogue__in=sources).values_list("author_id", flat=True)
    said = Comment.objects.filter(dialogue__in=sources).values_list("author_id", flat=True)
    told = Notice.objects.filter(dialogue__in=sources).values_list("person_id", flat=True)
    owns = Dialogue.objects.filter(pk__in=sources).values_list("owner_id", flat=True)
    ran = Replay.objects.filter(dialogue__in=sources).values_list("requester_id", flat=True)
    oversaw = Membership.objects.filter(project=source.project_id, role__in=OVERSEERS).values_list("user_id", flat=True)
    return {key for keys in (had, wrote, said, told, owns, ran, oversaw) for key in keys if key is not None}


def _in_order(items: list[tuple[int, int]], chance: float) -> list[int]:
    """Those first that the fewest have got; among equals, whichever ``chance`` (from 0 up to 1) begins with."""
    items = sorted(items)
    begin = int(chance * len(items))
    return [key for key, _ in sorted(items[begin:] + items[:begin], key=lambda item: item[1])]


def _new_slot(actor: User, item_id: int, place: int) -> Slot | None:
    """The actor's slot of the item, at that place of the queue; None where it is no longer in use."""
    # Two people who get one item at once are numbered one after the other.
    found = rows(locked("SELECT stage_run_id FROM reviews_golditem WHERE id = %s AND retired_at IS NULL",
                        "FOR NO KEY UPDATE"), [item_id])  # fmt: skip
    if not found:
        return None
    [(run_id,)] = found
    item = GoldItem.objects.select_related("stage_run__cycle", "dialogue", "dialogue__head").get(pk=item_id)
    run, dialogue, head = item.stage_run, item.dialogue, item.dialogue.head
    assert head is not None  # noqa: S101 - it was made with one
    [(index,)] = rows("SELECT count(*) FROM reviews_slot WHERE stage_run_id = %s", [run_id])
    return Slot.objects.create(
        stage_run=run,
        index=index,
        project_id=item.project_id,
        dialogue=dialogue,
        cycle=run.cycle,
        protocol_id=run.cycle.protocol_id,
        stage=item.stage,
        stage_kind="cross_check",
        round=run.round,
        state=SlotState.CLAIMED,
        position=-place,
        revision=head,
        revision_author_id=head.author_id,
        owner_id=dialogue.owner_id,
        holder=actor,
        created_at=run.opened_at,
    )
