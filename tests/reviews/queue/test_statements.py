"""Rows that claim and submit read and lock; hand-written SQL gives the same result as the ORM's query."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import models, transaction
from django.utils import timezone

from annotator.errors import DomainError, Hidden
from annotator.models import Dialogue, Membership, Role, User
from annotator.services.abilities import abilities_of, set_abilities
from annotator.services.database.statements import rows
from annotator.services.dialogues.tags import set_tags
from reviews.core.protocols import StageKind
from reviews.models import Claim, GoldItem, QueueCursor, Review, ReviewDraft, Slot
from reviews.services import statements
from reviews.services.protocols.versions import current_protocol, roles_of_members
from reviews.services.queue.abilities import unfit
from reviews.services.queue.claim_rows import lock_slot, stage_of
from reviews.services.queue.claims import claim_next, claim_slot, release, skip
from reviews.services.queue.eligibility import lock_eligibility, refusal
from reviews.services.queue.order import QueuePositions, other_started_slot, queues_for, read_positions, read_versions
from reviews.services.queue.pauses import pause, set_rules
from reviews.services.queue.slot_work import load_claim
from reviews.services.queue.stuck import count_stuck
from reviews.services.submission.submit import lock_and_read_again
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
        read = load_claim(actor=person, slot=slot.public_id, token=token)
        assert dict(fields(read)) == dict(fields(everything.get(pk=claim.pk)))


def test_a_claim_is_read_by_its_holder_alone_while_they_see_the_slot(team: Team) -> None:
    person, slot = team.annotator, open_slot(make_item(team, "self_check_single"))
    claim = claim_slot(actor=person, slot=slot)
    for other, token in ((team.annotators[1], claim.token), (person, "another")):
        with pytest.raises(Hidden):
            load_claim(actor=other, slot=slot.public_id, token=token)
    for hide in (
        lambda: Slot.objects.filter(pk=slot.pk).update(state="hidden", holder=None),
        lambda: person.memberships.update(ended_at=claim.created_at),
    ):
        hide()
        assert not Slot.objects.visible_to(person).filter(pk=slot.pk).exists()
        for wanted in (None, claim.token):
            with pytest.raises(Hidden):
                load_claim(actor=person, slot=slot.public_id, token=wanted)
        Slot.objects.filter(pk=slot.pk).update(state="claimed", holder=person)


def test_a_member_is_locked_with_their_live_roles_and_whether_claims_are_limited(team: Team) -> None:
    person, project = give_role(team.project, team.annotator, Role.SENIOR_REVIEWER), team.project
    Membership.objects.create(project=project, user=person, role=Role.ADMINISTRATOR, ended_at=timezone.now())

    def limited() -> bool:
        with transaction.atomic():
            member = lock_eligibility(actor=person, project=project)
        assert member.roles == {Role.ANNOTATOR, Role.SENIOR_REVIEWER}
        assert abs(member.now - timezone.now()) < timedelta(minutes=1)
        return member.limited

    assert not limited()
    made, _ = pause(actor=team.administrator, project=project, stage="expert")
    assert limited()
    made.delete()
    assert not limited()
    set_rules(actor=team.administrator, project=project, most_held=2, absent_days=None)
    assert limited()
    with pytest.raises(Hidden), transaction.atomic():
        lock_eligibility(actor=team.outsider, project=project)


def test_dialogue_and_slot_are_brought_up_to_date_as_they_are_locked(team: Team) -> None:
    person, seen = team.annotator, lock_slot(open_slot(make_item(team, "self_check_multi")).pk)
    assert seen.dialogue.status
    Dialogue.objects.filter(pk=seen.dialogue_id).update(status="escalated", stage="expert", owner=team.senior)
    Slot.objects.filter(pk=seen.pk).update(state="claimed", holder=person, reserved_for=person, owner=team.senior)
    guideline, has_form = lock_and_read_again(person, seen)
    now = Slot.objects.select_related("dialogue").get(pk=seen.pk)
    for one, other in ((seen, now), (seen.dialogue, now.dialogue)):
        assert {name: getattr(one, name) for name in one.__dict__ if name[0] != "_"} == {
            name: getattr(other, name) for name in one.__dict__ if name[0] != "_"
        }
    assert (guideline, has_form) == (None, False)
    ReviewDraft.objects.create(slot=seen, person=person)
    first, latest = (team.project.guidelines.create(number=number, text="Text.") for number in (1, 2))
    assert lock_and_read_again(person, seen) == (latest.pk, True)
    assert lock_and_read_again(team.senior, seen) == (latest.pk, False)
    assert first.pk != latest.pk


def test_positions_are_those_of_the_cursors_and_the_gold_items_in_use() -> None:
    team = gold_team()
    person, project = team.annotators[3], team.project
    make_gold(team)
    assert read_positions(actor=person, project=project) == QueuePositions({}, {}, {"cross_check": (0.0, "")})
    always(team, 0.25)
    make_item(team, "self_check_single")
    claim = claim_next(actor=person, project=project)
    assert claim is not None
    read = read_positions(actor=person, project=project)
    assert (read.cursors, read.taken) == ({claim.stage: claim.slot.position}, {claim.stage: 1})
    [(stage, (rate, secret))] = read.gold.items()
    assert (stage, rate, bool(secret)) == ("cross_check", 0.25, True)
    GoldItem.objects.update(retired_at=timezone.now())
    assert read_positions(actor=person, project=project).gold == {}


def test_a_cursor_moves_and_counts(team: Team) -> None:
    person = team.annotator
    for times in (1, 2):
        slot = open_slot(make_item(team, "self_check_single"))
        statements.move_cursor(person=person, slot=slot)
        assert QueueCursor.objects.values_list("person", "stage", "position", "taken").get() == (
            person.pk, slot.stage, slot.position, times,
        )  # fmt: skip


def may_take(person: User, roles: frozenset[Role], slot: Slot) -> bool:
    """Return what Python decides about one slot."""
    if slot.reserved_for_id is None and unfit(abilities_of(slot.project, person), [slot.dialogue_id]):
        return False
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
    for dialogue in Dialogue.objects.filter(project=team.project).order_by("pk"):
        Dialogue.objects.filter(pk=dialogue.pk).update(language=chance.choice(("", "en", "zh")))
        if dialogue.gold_role == "":
            tags = chance.sample(["hard", "skill-law", "skill-rail", "skills-of-none"], 2)
            set_tags(actor=team.administrator, dialogue=dialogue, tags=tags)
    for person in people[2::2]:
        languages, skills = chance.choice((["en"], ["en", "zh"], [])), chance.choice((["law"], ["law", "rail"], []))
        set_abilities(actor=team.administrator, project=team.project, user=person, languages=languages, skills=skills)
    for person in people:
        abilities = abilities_of(team.project, person)
        roles = frozenset(map(Role, members[person.pk]))
        queues = queues_for(roles=roles, versions=read_versions(team.project), stage=None)
        offered = set[int]()
        if queues:
            heads, values = statements.candidates(person, team.project, queues, {}, 1000, abilities=abilities)
            offered = {key for key, *_ in rows(heads, values)}
        for slot in Slot.objects.filter(project=team.project, state="open").select_related("protocol", "stage_run"):
            assert (slot.pk in offered) == may_take(person, roles, slot), (person, slot.stage, slot.is_gold)
            said[slot.pk in offered] += 1
    assert min(said[True], said[False]) > 5
    pools = [
        {person.pk: members[person.pk] for person in chance.sample(people, count)} for count in (1, 2, 3, len(people))
    ]
    for pool in pools:
        found = count_stuck(project=team.project, stages=current_protocol(team.project).stages, people=pool)
        assert {stage.key: stuck.items for stage, stuck in found.items()} == runs_nobody_may_claim(team, pool)


def runs_nobody_may_claim(team: Team, pool: dict[int, frozenset[str]]) -> dict[str, int]:
    """Return stage → number of its runs with open slots that Python refuses to everybody in the pool with the role."""
    runs: dict[tuple[str, int], bool] = {}
    for slot in Slot.objects.filter(project=team.project, state="open", reserved_for=None, is_gold=False):
        stage = stage_of(slot)
        able = {key for key, roles in pool.items() if roles & set(stage.eligible.roles)}
        if stage.kind is StageKind.SELF_CHECK or not able:
            continue
        runs[slot.stage, slot.stage_run_id] = all(
            refusal(person=User.objects.get(pk=key), roles=frozenset(map(Role, pool[key])), slot=slot, stage=stage)
            for key in able
        )
    return dict(Counter(stage for (stage, _run), refused in runs.items() if refused))


def test_the_load_of_people_is_what_the_orm_counts() -> None:
    team = gold_team()
    person, other, project = team.annotator, team.annotators[1], team.project
    make_gold(team)
    assert Review.objects.filter(project=project, dialogue__gold_role="gold", person=person).exists()
    earlier = Review.objects.filter(project=project, person=person).exclude(dialogue__gold_role="gold").count()
    for _ in range(3):
        claim_and_submit(person, make_item(team, "self_check_single"), "approve")
    for slot in Slot.objects.filter(project=project, state="open")[:2]:
        Slot.objects.filter(pk=slot.pk).update(reserved_for=other)
    oldest = Review.objects.filter(person=person).exclude(dialogue__gold_role="gold").earliest("pk")
    people, since = [person.pk, other.pk], timezone.now() - timedelta(days=7)
    for change in ({}, {"sealed": True}, {"sealed": False, "created_at": since - timedelta(days=1)}):
        Review.objects.filter(pk=oldest.pk).update(**change)
        reserved = Slot.objects.filter(project=project, state="open", reserved_for__in=people)
        recent = Review.objects.filter(project=project, person__in=people, sealed=False, created_at__gte=since)
        recent = recent.exclude(dialogue__gold_role="gold")
        for limit in (1, 2, 200):
            expected = Counter(reserved.values_list("reserved_for", flat=True))
            got = statements.count_reserved(project=project, people=people, limit=limit)
            assert got == {key: min(count, limit) for key, count in expected.items()}
            expected = Counter(recent.values_list("person", flat=True))
            got = statements.count_recent_reviews(project=project, people=people, since=since, limit=limit)
            assert got == {key: min(count, limit) for key, count in expected.items()}
        assert expected[person.pk] == earlier + (2 if change else 3)


@pytest.mark.any_database
def test_each_queue_is_read_from_its_index(team: Team) -> None:
    """A partial index is used only if the condition is written as in the index; otherwise a claim reads all slots.

    On PostgreSQL, the plan depends on the size of the tables.
    """
    make_item(team, "cross_check")
    person = team.annotators[1]
    queues = queues_for(roles=frozenset({Role.ANNOTATOR}), versions=read_versions(team.project), stage=None)
    statement, values = statements.candidates(person, team.project, queues, {}, 1)
    plan = [str(row[-1]) for row in rows(f"EXPLAIN QUERY PLAN {statement}", values)]
    assert [step for step in plan if step.startswith("SCAN s")] == []
    assert {"slot_reserved", "slot_out_of_turn", "slot_queue"} <= set(re.findall(r"slot_\w+", " ".join(plan)))
