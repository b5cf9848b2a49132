"""What is written out by hand says the same as the ORM's query."""

import random
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import models
from django.utils import timezone

from annotator.errors import DomainError
from annotator.models import Dialogue, Membership, Role, User
from annotator.services.database.statements import rows
from reviews.models import Claim, GoldItem, QueueCursor, ReviewDraft, Slot
from reviews.services import statements
from reviews.services.protocols.versions import adopt_preset, roles_of_members
from reviews.services.queue.claims import claim_next, claim_slot, lock_slot, release, skip, stage_of
from reviews.services.queue.eligibility import refusal
from reviews.services.queue.order import other_started_slot, queues_for
from reviews.services.queue.pauses import pause, set_rules
from tests.factories import STAGES, Team, claim_and_submit, give_role, make_item, open_slot
from tests.reviews.gold.gold_team import always, gold_team, make_gold, take

pytestmark = pytest.mark.django_db

WORK = ("slot__stage_run", "slot__dialogue__project", "slot__cycle", "slot__protocol",
        "slot__revision__toolset_revision", "slot__project", "project")  # fmt: skip


def fields(instance: models.Model, path: str = "") -> Iterator[tuple[str, object]]:
    """Every stored value of an instance and of what was loaded with it, but those that are left for later."""
    for field in instance._meta.concrete_fields:
        if field.attname in instance.__dict__:
            yield f"{path}{field.attname}", instance.__dict__[field.attname]
        if field.is_relation and field.is_cached(instance):
            yield from fields(getattr(instance, field.name), f"{path}{field.name}.")


def test_a_claim_is_read_with_its_work_as_the_orm_reads_it(team: Team) -> None:
    person, slot = team.annotator, open_slot(make_item(team, "self_check_single"))
    earlier = claim_slot(actor=person, slot=slot)
    release(actor=person, token=earlier.token)
    latest = claim_slot(actor=person, slot=slot)
    everything = Claim.objects.select_related(*WORK).defer("slot__protocol__definition", "slot__dialogue__search_text")
    for token, claim in ((None, latest), (earlier.token, earlier), (latest.token, latest)):
        read = statements.read_claim(person=person, slot=slot.public_id, token=token)
        assert read is not None
        assert dict(fields(read[0])) == dict(fields(everything.get(pk=claim.pk)))


def test_a_claim_is_read_by_its_holder_alone_while_they_see_the_slot(team: Team) -> None:
    person, slot = team.annotator, open_slot(make_item(team, "self_check_single"))
    claim = claim_slot(actor=person, slot=slot)
    assert statements.read_claim(person=team.annotators[1], slot=slot.public_id, token=claim.token) is None
    assert statements.read_claim(person=person, slot=slot.public_id, token="another") is None
    for hide in (
        lambda: Slot.objects.filter(pk=slot.pk).update(state="hidden", holder=None),
        lambda: person.memberships.update(ended_at=claim.created_at),
    ):
        hide()
        seen = Slot.objects.visible_to(person).filter(pk=slot.pk).exists()
        read = statements.read_claim(person=person, slot=slot.public_id)
        assert (read is not None, seen) == (False, False)
        Slot.objects.filter(pk=slot.pk).update(state="claimed", holder=person)


def test_memberships_are_locked_as_the_orm_finds_them(team: Team) -> None:
    person, project = give_role(team.project, team.annotator, Role.SENIOR_REVIEWER), team.project
    Membership.objects.create(project=project, user=person, role=Role.ADMINISTRATOR, ended_at=timezone.now())

    def read() -> list[tuple[str, bool]]:
        return [(role, limited) for role, _, limited in statements.lock_memberships(person=person, project=project)]

    live = Membership.objects.filter(project=project, user=person, ended_at=None).order_by("pk")
    assert read() == [(role, False) for role in live.values_list("role", flat=True)]
    made, _ = pause(actor=team.administrator, project=project, stage="expert")
    assert {limited for _, limited in read()} == {True}
    made.delete()
    assert {limited for _, limited in read()} == {False}
    set_rules(actor=team.administrator, project=project, most_held=2, absent_days=None)
    assert {limited for _, limited in read()} == {True}
    assert statements.lock_memberships(person=team.outsider, project=project) == []


def test_ones_own_and_overdue_claims_are_those_the_orm_finds(team: Team) -> None:
    for person in (*team.annotators, team.annotator):
        claim_slot(actor=person, slot=open_slot(make_item(team, "self_check_single")))
    now, live = timezone.now(), Claim.objects.filter(project=team.project, state="live")
    live.filter(person=team.annotators[1]).update(expires_at=now - timedelta(hours=1))
    release(actor=team.annotator, token=live.filter(person=team.annotator)[0].token)
    wanted = live.filter(models.Q(person=team.annotator) | models.Q(expires_at__lte=now))
    found = statements.own_or_overdue_claims(person=team.annotator, project=team.project, now=now)
    assert sorted(found) == sorted(wanted.values_list("pk", flat=True))
    assert len(found) == 2


def test_dialogue_and_slot_are_brought_up_to_date_as_the_orm_reads_them(team: Team) -> None:
    person, seen = team.annotator, lock_slot(open_slot(make_item(team, "self_check_multi")).pk)
    assert seen.dialogue.status
    Dialogue.objects.filter(pk=seen.dialogue_id).update(status="escalated", stage="expert", owner=team.senior)
    Slot.objects.filter(pk=seen.pk).update(state="claimed", holder=person, reserved_for=person, owner=team.senior)
    guideline, has_form = statements.lock_dialogue_and_slot(seen, person=person)
    now = Slot.objects.select_related("dialogue").get(pk=seen.pk)
    for one, other in ((seen, now), (seen.dialogue, now.dialogue)):
        assert {name: getattr(one, name) for name in one.__dict__ if name[0] != "_"} == {
            name: getattr(other, name) for name in one.__dict__ if name[0] != "_"
        }
    assert (guideline, has_form) == (None, False)
    ReviewDraft.objects.create(slot=seen, person=person)
    first, latest = (team.project.guidelines.create(number=number, text="Text.") for number in (1, 2))
    assert statements.lock_dialogue_and_slot(seen, person=person) == (latest.pk, True)
    assert statements.lock_dialogue_and_slot(seen, person=team.senior) == (latest.pk, False)
    assert first.pk != latest.pk


def test_turns_are_those_the_orm_finds() -> None:
    team = gold_team()
    person, project = team.annotators[3], team.project
    make_gold(team)
    assert statements.read_positions(person=person, project=project) == ([], [("cross_check", 0.0, "")])
    always(team, 0.25)
    make_item(team, "self_check_single")
    claim = claim_next(actor=person, project=project)
    assert claim is not None
    mine, gold = statements.read_positions(person=person, project=project)
    cursors = QueueCursor.objects.filter(person=person, project=project)
    assert mine == list(cursors.values_list("stage", "position", "taken")) == [(claim.stage, claim.slot.position, 1)]
    [(stage, rate, secret)] = gold
    assert (stage, rate, bool(secret)) == ("cross_check", 0.25, True)
    GoldItem.objects.update(retired_at=timezone.now())
    assert statements.read_positions(person=person, project=project) == (mine, [])


def test_versions_are_those_the_orm_finds(team: Team) -> None:
    adopt_preset(actor=team.administrator, project=team.project, preset="cctu")
    wanted = team.project.protocol_versions.order_by("-number").values_list("pk", "number", "content_hash")
    found = statements.read_versions(team.project)
    assert [(one.pk, one.number, one.content_hash) for one in found] == list(wanted)
    assert len(found) == 2


def test_a_cursor_moves_and_counts(team: Team) -> None:
    person = team.annotator
    for times in (1, 2):
        slot = open_slot(make_item(team, "self_check_single"))
        statements.move_cursor(person=person, slot=slot)
        assert QueueCursor.objects.values_list("person", "stage", "position", "taken").get() == (
            person.pk, slot.stage, slot.position, times,
        )  # fmt: skip


def may_take(person: User, roles: frozenset[Role], slot: Slot) -> bool:
    """What Python says of one slot."""
    beside = Slot.objects.filter(stage_run=slot.stage_run, reserved_for=person, state="open").exclude(pk=slot.pk)
    refused = refusal(person=person, roles=roles, slot=slot, stage=stage_of(slot))
    return not refused and not beside.exists() and other_started_slot(actor=person, slot=slot) is None


@pytest.mark.parametrize("seed", range(3))
def test_queues_offer_what_python_would_not_refuse(seed: int) -> None:
    chance, team = random.Random(seed), gold_team()
    give_role(team.project, team.annotators[5], Role.SENIOR_REVIEWER)
    people = [team.administrator, *team.annotators, *team.seniors]
    gold = make_gold(team)
    always(team)
    # Nothing else waits yet.
    tested = take(team.annotators[4], team)
    release(actor=team.annotators[4], token=tested.token)
    assert tested.slot.dialogue_id == gold.dialogue_id
    for stage in (*STAGES, "cross_check", "cross_check", "cross_check"):
        item = make_item(team, stage)
        for person in chance.sample(people, 3):
            slot, deed = open_slot(item), chance.choice(("claim", "release", "skip", "hand in", "reserve", "hurry"))
            if slot is None:
                continue
            try:
                if deed == "hand in":
                    claim_and_submit(person, item, "approve")
                elif deed in ("reserve", "hurry"):
                    changes = {"priority": 0} if deed == "hurry" else {"reserved_for": person}
                    Slot.objects.filter(pk=slot.pk, state="open").update(**changes)
                else:
                    claim = claim_slot(actor=person, slot=slot)
                    if deed in ("release", "skip"):
                        (release if deed == "release" else skip)(actor=person, token=claim.token)
            except DomainError:
                continue
    members, said = roles_of_members(team.project), Counter[bool]()
    for person in people:
        roles = frozenset(map(Role, members[person.pk]))
        queues = queues_for(roles=roles, versions=statements.read_versions(team.project), stage=None)
        offered = set[int]()
        if queues:
            heads, values = statements.candidates(person, team.project, queues, {}, 1000)
            offered = {key for key, *_ in rows(heads, values)}
        for slot in Slot.objects.filter(project=team.project, state="open").select_related("protocol", "stage_run"):
            assert (slot.pk in offered) == may_take(person, roles, slot), (person, slot.stage, slot.is_gold)
            said[slot.pk in offered] += 1
    assert min(said[True], said[False]) > 5
