"""Gold items: the rules, the rate, the scores known by hand, and that nothing comes of them."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Dialogue, Event, Role, User
from annotator.models.content import DialogueStatus, GoldRole
from annotator.services.history.events import broken_links
from annotator.services.members import end_role, grant_role
from reviews.core.gold import is_due
from reviews.models import (
    AgreementPending,
    Claim,
    ClaimState,
    Example,
    GoldItem,
    GoldRate,
    GoldScore,
    Priority,
    Review,
    Slot,
    SlotState,
    StageRun,
)
from reviews.services.assignments.changes import prioritise, reassign
from reviews.services.cycles.migration import start_migration
from reviews.services.cycles.start import supersede_cycle
from reviews.services.feedback.comments import comment_on
from reviews.services.gold.creation import gold_stage, make_gold_item, people_for
from reviews.services.gold.results import not_scored
from reviews.services.gold.settings import retire_gold_item, set_gold_rate
from reviews.services.protocols.versions import adopt_protocol, current_protocol, parse
from reviews.services.queue import claim_rows, claims
from reviews.services.queue.claims import claim_next, claim_slot, expire_overdue, heartbeat
from reviews.services.queue.gold_claims import items_for
from reviews.services.queue.progress import read_my_work, read_progress
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.simulation.dry_runs import assumptions_for
from reviews.services.statistics.agreement import AGREEMENT
from reviews.services.statistics.all_counts import fold_all
from reviews.services.statistics.counters import read_counters, recount, stored_counters
from reviews.services.statistics.throughput import read_throughput
from reviews.services.statistics.workload import WORK
from reviews.services.transitions.moves import CycleContext, open_run
from reviews.services.transitions.transition_log import Journal
from tests.factories import (
    Team,
    adopt_c3,
    broken,
    changed,
    claim_and_submit,
    current,
    give_role,
    make_document,
    make_item,
    make_team,
)
from tests.reviews.gold.gold_team import (
    STAGE,
    always,
    answer_with,
    certain,
    gold_team,
    make_gold,
    planted,
    take,
    verified,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Team:
    return gold_team()


def offered(person: User, team: Team, times: int, give_back: Callable[..., None] = claims.release) -> list[int]:
    """Keys of the dialogues that somebody gets who gives each back."""
    got = []
    for _ in range(times):
        claim = take(person, team)
        got.append(claim.slot.dialogue_id)
        give_back(actor=person, token=claim.token)
    return got


def overdue(claim: Claim) -> None:
    Claim.objects.filter(pk=claim.pk).update(expires_at="2020-01-01T00:00:00Z")


# --- making -----------------------------------------------------------------------------------------------------------


def test_it_shows_what_came_into_the_stage_and_knows_what_was_verified(team: Team) -> None:
    source = verified(team)
    item = make_gold(team, source)
    assert item.dialogue.head is not None
    assert item.dialogue.head.document() == make_document(source.external_id)
    assert item.answer.document() == changed(make_document(source.external_id))
    assert (item.errors, item.planted) == (1, False)
    assert item.dialogue.gold_role == GoldRole.GOLD
    assert (item.dialogue.status, item.dialogue.stage) == (DialogueStatus.IN_REVIEW, STAGE)
    source.refresh_from_db()
    assert (source.gold_role, source.status) == (GoldRole.ANSWER, DialogueStatus.VERIFIED)


def test_it_may_show_a_planted_error(team: Team) -> None:
    source = verified(team)
    item = make_gold(team, source, document=planted(current(source)))
    assert item.planted
    assert item.errors == 1
    assert current(item.dialogue)["tasks"][0]["steps"][1]["depends_on"] == [{"id": "s0", "kind": "logical"}]


def test_an_error_that_the_checks_name_is_not_planted(team: Team) -> None:
    """Nobody can submit a dialogue with an error, so only a gold item could have one in the stage."""
    source = verified(team)
    with pytest.raises(Invalid, match="the item would stand out: get_weather"):
        make_gold(team, source, document=broken(current(source)))
    assert not GoldItem.objects.exists()


def test_who_was_told_of_the_verified_dialogue_is_not_tested(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """The notice leads to a page that is hidden from them now."""
    source = make_item(team, STAGE, external_id="told-of")
    told, other = team.annotators[3:5]
    comment_on(actor=team.annotator, dialogue=source, anchor="", text=f"@{told.username}, is this one request?")
    for person in team.annotators[1:3]:
        claim_and_submit(person, source, "approve")
    item = make_gold(team, source)
    ordinary = make_item(team, STAGE)
    certain(monkeypatch, team)
    assert take(told, team).slot.dialogue_id == ordinary.pk
    assert take(other, team).slot.dialogue_id == item.dialogue_id


@pytest.mark.parametrize(
    ("document", "said"),
    [(None, "has the same content as the verified revision"), ({"kind": "multi_turn"}, "can’t be saved")],
)
def test_a_planted_error_must_be_one(team: Team, document: dict[str, Any] | None, said: str) -> None:
    source = verified(team)
    with pytest.raises(Invalid, match=said):
        make_gold(team, source, document=document or current(source))
    source.refresh_from_db()
    assert source.gold_role == ""


def test_only_an_administrator_makes_sets_and_retires(team: Team) -> None:
    source = verified(team)
    item = make_gold(team)
    for person, refusal in ((team.senior, Denied), (team.annotator, Denied), (team.outsider, Hidden)):
        team_of = {"actor": person, "project": team.project}
        with pytest.raises(refusal):
            make_gold_item(**team_of, source=source, stage=STAGE)
        with pytest.raises(refusal):
            set_gold_rate(**team_of, stage=STAGE, rate=0.1)
        with pytest.raises(refusal):
            retire_gold_item(**team_of, public_id=item.public_id)


def test_only_a_verified_dialogue_that_nobody_is_shown_can_be_one(team: Team) -> None:
    with pytest.raises(Conflict, match="isn’t verified"):
        make_gold(team, make_item(team, STAGE))
    source = verified(team)
    Example.objects.create(
        project=team.project, dialogue=source, revision=source.head, comment="So.", author=team.administrator
    )
    with pytest.raises(Conflict, match="example"):
        make_gold(team, source)
    source = verified(team)
    make_gold(team, source)
    with pytest.raises(Conflict, match="already part of a gold item"):
        make_gold(team, source)


def test_a_dialogue_whose_stage_began_anew_with_a_review_in_it_cannot_be_one(team: Team) -> None:
    """An ordinary one that waits there keeps that review sealed; of this one it is open."""
    source = make_item(team, STAGE)
    claim_and_submit(team.annotators[1], source, "approve")
    StageRun.objects.filter(cycle__dialogue=source, stage=STAGE).update(state="cancelled")
    Slot.objects.filter(dialogue=source, stage=STAGE, state="open").update(state="cancelled")
    run = StageRun.objects.get(cycle__dialogue=source, stage=STAGE)
    context = CycleContext(
        Journal(actor=None, project=team.project, dialogue=source), run.cycle, parse(run.cycle.protocol)
    )
    open_run(context, context.protocol.stage(STAGE), run.entry_revision)
    for person in team.annotators[1:3]:
        claim_and_submit(person, source, "approve")
    source.refresh_from_db()
    assert source.status == DialogueStatus.VERIFIED
    with pytest.raises(Conflict, match="before the stage restarted"):
        make_gold(team, source)


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        ("self_check_single", "isn’t blind"),
        ("expert", "Senior reviewers can see known answers"),
        ("nowhere", "has no stage “nowhere”"),
    ],
)
def test_a_stage_must_keep_the_secret(team: Team, stage: str, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        gold_stage(team.project, stage)
    with pytest.raises(Invalid, match=said):
        set_gold_rate(actor=team.administrator, project=team.project, stage=stage, rate=0.1)


def test_one_reviewer_alone_would_see_that_nothing_goes_on() -> None:
    team = make_team()
    adopt_c3(team, cross_check_reviewers=1)
    with pytest.raises(Invalid, match="Items need only one review here"):
        gold_stage(team.project, STAGE)


@pytest.mark.parametrize("rate", [-0.1, 0.51, float("nan"), float("inf")])
def test_a_rate_is_a_share_of_at_most_half(team: Team, rate: float) -> None:
    with pytest.raises(Invalid, match="from 0 % to 50 %"):
        set_gold_rate(actor=team.administrator, project=team.project, stage=STAGE, rate=rate)


def test_what_was_done_is_on_record_for_no_annotator(team: Team) -> None:
    always(team)
    item = make_gold(team)
    retire_gold_item(actor=team.administrator, project=team.project, public_id=item.public_id, reason="Done.")
    kinds = ["gold.rate_set", "gold.created", "gold.retired"]
    assert list(Event.objects.filter(kind__startswith="gold").order_by("pk").values_list("kind", flat=True)) == kinds
    for person in (*team.annotators, *team.seniors):
        assert not Event.objects.visible_to(person).filter(kind__startswith="gold").exists()
    assert not Event.objects.filter(dialogue__isnull=False, kind__startswith="gold").exists()
    assert broken_links(item.dialogue) == []


# --- who gets one -----------------------------------------------------------------------------------------------------


def test_several_people_get_the_same_item_each_once(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    item = make_gold(team)
    for _ in range(3):
        make_item(team, STAGE)
    certain(monkeypatch, team)
    for person in team.annotators[3:]:
        claim = take(person, team)
        assert claim.slot.dialogue_id == item.dialogue_id
        answer_with(person, claim, "approve")
        assert take(person, team).slot.dialogue_id != item.dialogue_id
    slots = Slot.objects.filter(stage_run=item.stage_run).order_by("index")
    assert [slot.index for slot in slots] == [0, 1, 2]
    assert {slot.state for slot in slots} == {SlotState.DONE}


def test_whoever_had_a_hand_in_it_or_sees_answers_never_gets_it(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    item = make_gold(team)
    for _ in range(4):
        make_item(team, STAGE)
    certain(monkeypatch, team)
    give_role(team.project, team.annotators[3], "senior_reviewer")
    for person in (*team.annotators[1:4], team.senior):
        assert take(person, team).slot.dialogue_id != item.dialogue_id
    left = people_for(project=team.project, stage=gold_stage(team.project, STAGE), source=item.source)
    assert left == team.annotators[4:]


def test_it_comes_in_place_of_what_waits_and_that_stays_next(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    item, person = make_gold(team), team.annotators[3]
    certain(monkeypatch, team)
    waiting = make_item(team, STAGE)
    assert take(person, team).slot.dialogue_id == item.dialogue_id
    assert set(Slot.objects.filter(dialogue=waiting, stage=STAGE).values_list("state", "holder")) == {("open", None)}
    answer_with(person, Claim.objects.get(person=person), "approve")
    assert take(person, team).slot.dialogue_id == waiting.pk


def test_what_is_urgent_or_reserved_is_never_replaced(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    make_gold(team)
    urgent, reserved = make_item(team, STAGE), make_item(team, STAGE)
    certain(monkeypatch, team)
    prioritise(actor=team.administrator, dialogue=urgent, priority=Priority.HIGH)
    slot = Slot.objects.filter(dialogue=reserved, stage=STAGE)[0]
    reassign(actor=team.administrator, slot=slot, to=team.annotators[4])
    assert take(team.annotators[3], team).slot.dialogue_id == urgent.pk
    answer_with(team.annotators[4], take(team.annotators[4], team), "approve")
    assert take(team.annotators[4], team).slot.dialogue_id == reserved.pk


def test_the_same_person_twice_at_once_holds_one(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    make_gold(team)
    make_item(team, STAGE)
    certain(monkeypatch, team)
    assert take(team.annotators[3], team).pk == take(team.annotators[3], team).pk
    assert Claim.objects.filter(person=team.annotators[3], state=ClaimState.LIVE).count() == 1


def test_the_tables_refuse_two_people_in_one_slot(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    make_gold(team)
    make_item(team, STAGE)
    certain(monkeypatch, team)
    held = take(team.annotators[3], team)
    with pytest.raises(IntegrityError), transaction.atomic():
        claim_rows.new_claim(actor=team.annotators[4], slot=held.slot, stage=gold_stage(team.project, STAGE))


def test_given_back_it_comes_to_nobody_else(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    item, (person, other) = make_gold(team), team.annotators[3:5]
    waiting = make_item(team, STAGE)
    certain(monkeypatch, team)
    for give_back in (claims.release, claims.skip):
        claim = take(person if give_back is claims.release else other, team)
        assert claim.slot.dialogue_id == item.dialogue_id
        give_back(actor=claim.person, token=claim.token)
        slot = Slot.objects.get(pk=claim.slot_id)
        assert (slot.state, slot.is_gold) == (SlotState.OPEN, True)
        with pytest.raises(Conflict, match="You have released this item"):
            load_slot_work(actor=claim.person, public_id=slot.public_id)
    prioritise(actor=team.administrator, dialogue=item.dialogue, priority=Priority.HIGH)
    monkeypatch.setattr("reviews.services.queue.gold_claims.is_due", lambda secret, **turn: False)
    with pytest.raises(Denied):
        claim_slot(actor=team.annotators[5], slot=slot)
    with pytest.raises(Invalid):
        reassign(actor=team.administrator, slot=slot, to=team.annotators[5])
    # Theirs is a slot of its own.
    assert offered(team.annotators[5], team, 2) == [waiting.pk, item.dialogue_id]
    assert not slot.claims.filter(person=team.annotators[5]).exists()
    assert offered(person, team, 2) == [waiting.pk, item.dialogue_id]
    retire_gold_item(actor=team.administrator, project=team.project, public_id=item.public_id)
    for colleague in (person, other):
        assert offered(colleague, team, 2) == [waiting.pk] * 2


def test_made_anew_it_comes_to_nobody_who_had_the_earlier_one(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would know the dialogue again, and so that it is a gold item; they may have read what they missed."""
    item, waiting = make_gold(team), make_item(team, STAGE)
    certain(monkeypatch, team)
    submitted, given_back, fresh = team.annotators[3:6]
    answer_with(submitted, take(submitted, team), "approve")
    claims.release(actor=given_back, token=take(given_back, team).token)
    retire_gold_item(actor=team.administrator, project=team.project, public_id=item.public_id)
    again = make_gold(team, item.source)
    assert people_for(project=team.project, stage=gold_stage(team.project, STAGE), source=item.source) == [fresh]
    assert offered(submitted, team, 2) == offered(given_back, team, 2) == [waiting.pk] * 2
    assert again.dialogue_id in offered(fresh, team, 2)


@pytest.mark.parametrize("give_back", [claims.release, claims.skip])
def test_given_back_it_comes_again_when_an_ordinary_one_would(
    team: Team, monkeypatch: pytest.MonkeyPatch, give_back: Any
) -> None:
    gold = make_gold(team)
    first, *others = (make_item(team, STAGE).pk for _ in range(3))
    always(team)
    monkeypatch.setattr("reviews.services.queue.gold_claims.is_due", lambda secret, **turn: turn["claims"] == 1)
    assert offered(team.annotators[3], team, 12, give_back) == [first, gold.dialogue_id, *others] * 3


def test_given_back_it_never_comes_to_who_oversees_the_project_by_now(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer is theirs to read."""
    make_gold(team)
    waiting = make_item(team, STAGE)
    certain(monkeypatch, team)
    person = team.annotators[3]
    claim = take(person, team)
    claims.skip(actor=person, token=claim.token)
    give_role(team.project, person, Role.SENIOR_REVIEWER)
    assert read_my_work(actor=person, project=team.project).total == 1
    assert offered(person, team, 2) == [waiting.pk] * 2
    with pytest.raises(Denied, match="can’t review this item"):
        claim_slot(actor=person, slot=claim.slot)


def test_who_comes_to_oversee_the_project_hands_in_no_gold_item(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """From then on they may read its answer; and a former senior reviewer may have read it."""
    item = make_gold(team)
    make_item(team, STAGE)
    certain(monkeypatch, team)
    held = [take(person, team) for person in team.annotators[3:5]]
    assert {claim.slot.dialogue_id for claim in held} == {item.dialogue_id}
    history = item.dialogue.events.count()
    for claim, role in zip(held, (Role.SENIOR_REVIEWER, Role.ADMINISTRATOR), strict=True):
        grant_role(actor=team.administrator, project=team.project, user=claim.person, role=role)
        claim.refresh_from_db()
        assert (claim.state, Slot.objects.get(pk=claim.slot_id).state) == ("withdrawn", "open")
        with pytest.raises(Conflict, match="your role has changed") as told:
            answer_with(claim.person, claim, "approve")
        assert "gold" not in told.value.sentence
    # Nothing of it in the history, which an ordinary item would not have.
    assert (item.dialogue.events.count(), GoldScore.objects.count()) == (history, 0)
    # A claim that was theirs before this was so.
    Claim.objects.filter(pk=held[0].pk).update(state="live", ended_at=None)
    Slot.objects.filter(pk=held[0].slot_id).update(state="claimed", holder=held[0].person)
    with pytest.raises(Conflict, match="your role has changed"):
        answer_with(held[0].person, held[0], "approve")
    # Ordinary items stay theirs, whatever their role becomes.
    person = team.annotators[5]
    monkeypatch.setattr("reviews.services.queue.gold_claims.is_due", lambda secret, **turn: False)
    claim = take(person, team)
    grant_role(actor=team.administrator, project=team.project, user=person, role=Role.SENIOR_REVIEWER)
    answer_with(person, claim, "approve")
    end_role(actor=team.administrator, project=team.project, user=person, role=Role.SENIOR_REVIEWER)
    assert person not in people_for(project=team.project, stage=gold_stage(team.project, STAGE), source=item.source)
    assert items_for(actor=person, project_id=team.project.pk, stage=STAGE) == []


def test_each_claim_leaves_one_item_less_to_wait_whether_it_is_gold_or_not(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    gold = {make_gold(team).dialogue_id for _ in range(3)}
    ordinary = [make_item(team, STAGE) for _ in range(5)]
    prioritise(actor=team.administrator, dialogue=ordinary[4], priority=Priority.HIGH)
    always(team)
    # Claims in turn are counted; the urgent item, which comes first, is not one.
    monkeypatch.setattr(
        "reviews.services.queue.gold_claims.is_due", lambda secret, **turn: turn["claims"] in (0, 2, 11)
    )
    person, seen, got = team.annotators[3], [], []
    while (waiting := read_my_work(actor=person, project=team.project).total) or not seen:
        seen.append(waiting)
        claim = take(person, team)
        got.append(claim.slot.dialogue_id in gold)
        answer_with(person, claim, "approve")
    assert seen == [8, 7, 6, 5, 4, 3, 2, 1]
    # The last one because nothing else is left.
    assert [place for place, one in enumerate(got) if one] == [1, 3, 7]
    assert claim_next(actor=person, project=team.project, stage=STAGE) is None


def test_a_lease_that_runs_out_is_nobody_elses_but_goes_on(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    make_gold(team)
    waiting = make_item(team, STAGE)
    certain(monkeypatch, team)
    person, other = team.annotators[3:5]
    claim = take(person, team)
    overdue(claim)
    monkeypatch.setattr("reviews.services.queue.gold_claims.is_due", lambda secret, **turn: False)
    # The ordinary one, and the gold item in a slot of their own.
    assert read_my_work(actor=other, project=team.project).total == 2
    assert take(other, team).slot.dialogue_id == waiting.pk
    assert load_slot_work(actor=person, public_id=claim.slot.public_id).expired
    assert expire_overdue() == 1
    heartbeat(actor=person, token=claim.token)
    assert Claim.objects.get(pk=claim.pk).state == ClaimState.LIVE
    overdue(claim)
    expire_overdue()
    answer_with(person, claim, "approve")
    assert GoldScore.objects.get().person == person


def test_retired_it_comes_to_nobody_and_who_is_at_work_goes_on(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    item = make_gold(team)
    waiting = make_item(team, STAGE)
    certain(monkeypatch, team)
    claim = take(team.annotators[3], team)
    retired = retire_gold_item(actor=team.administrator, project=team.project, public_id=item.public_id, reason="Old.")
    assert (retired.live, retired.retired_why) == (False, "Old.")
    assert take(team.annotators[4], team).slot.dialogue_id == waiting.pk
    answer_with(team.annotators[3], claim, "approve")
    # The answer was open to them by then. Their own figures count it like any other.
    assert (Slot.objects.get(pk=claim.slot_id).state, GoldScore.objects.count()) == (SlotState.DONE, 0)
    done = f"stage:{STAGE}:done"
    counted = read_counters(team.project, with_gold=True, viewer=team.annotators[3])
    assert counted[done] == read_counters(team.project)[done] + 1
    assert [slot.pk for slot in not_scored(item)] == [claim.slot_id]
    assert stored_counters(team.project) == recount(team.project)
    assert Dialogue.objects.get(pk=item.source_id).gold_role == ""
    again = retire_gold_item(actor=team.administrator, project=team.project, public_id=item.public_id, reason="Old.")
    assert again.retired_at == retired.retired_at
    with pytest.raises(Conflict, match="already retired"):
        retire_gold_item(actor=team.administrator, project=team.project, public_id=item.public_id)
    make_gold(team, item.source)


def test_an_answer_that_is_reopened_retires_its_item(team: Team) -> None:
    item = make_gold(team)
    supersede_cycle(actor=team.administrator, dialogue=item.source, reason="Wrong after all.")
    item.refresh_from_db()
    assert not item.live
    with pytest.raises(Conflict, match="gold item"):
        supersede_cycle(actor=team.administrator, dialogue=item.dialogue, reason="Why not?", force=True)


# --- how often --------------------------------------------------------------------------------------------------------


def test_the_share_over_many_claims_is_the_rate_for_everybody() -> None:
    # 4,000 claims each at 5 %: the mean is 200, one standard deviation 13.8; the key is fixed, so this never wavers.
    for person in range(1, 6):
        due = [is_due("a" * 64, person=person, claims=n, rate=0.05) for n in range(4000)]
        assert 160 <= sum(due) <= 240
        # Nothing regular: the gaps between two differ.
        places = [n for n, one in enumerate(due) if one]
        assert len({later - earlier for earlier, later in pairwise(places)}) > 20


def test_another_key_or_person_gets_others() -> None:
    def turns(secret: str, person: int) -> list[int]:
        return [n for n in range(1000) if is_due(secret, person=person, claims=n, rate=0.05)]

    assert turns("a", 1) == turns("a", 1)
    assert turns("a", 1) != turns("b", 1)
    assert turns("a", 1) != turns("a", 2)
    assert not any(is_due("a", person=1, claims=n, rate=0.0) for n in range(1000))


def test_claims_follow_the_key(team: Team) -> None:
    """Of a person's claims in the stage, those are gold that the key says."""
    for _ in range(8):
        make_gold(team, verified(team, fix=""))
    for _ in range(14):
        make_item(team, STAGE)
    always(team, 0.4)
    person = team.annotators[4]

    def due(secret: str) -> list[bool]:
        return [is_due(secret, person=person.pk, claims=n, rate=0.4) for n in range(12)]

    # The result of a key depends on the person's number; this one is yes five times for everybody.
    secret = next(key for key in map("{:064d}".format, range(10_000)) if sum(due(key)) == 5)
    GoldRate.objects.update(secret=secret)
    got = []
    for _ in range(12):
        claim = take(person, team)
        got.append(claim.slot.is_gold)
        answer_with(person, claim, "approve")
    assert got == due(secret)


def test_those_come_first_that_the_fewest_have_got(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    items = {make_gold(team).dialogue_id for _ in range(3)}
    make_item(team, STAGE)
    certain(monkeypatch, team)
    assert {take(person, team).slot.dialogue_id for person in team.annotators[3:]} == items


# --- what it costs ----------------------------------------------------------------------------------------------------


def statements(team: Team, person: Any) -> int:
    with CaptureQueriesContext(connection) as captured:
        take(person, team)
    marks = ("SAVEPOINT", "RELEASE", "BEGIN", "COMMIT")
    return sum(1 for query in captured if not query["sql"].startswith(marks))


def test_claiming_asks_no_more_than_before(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        make_item(team, STAGE)
    without = statements(team, team.annotators[1])
    make_gold(team)
    always(team)
    monkeypatch.setattr("reviews.services.queue.gold_claims.is_due", lambda secret, **turn: False)
    assert statements(team, team.annotators[2]) == without
    monkeypatch.setattr("reviews.services.queue.gold_claims.is_due", lambda secret, **turn: True)
    # The items, their variants, and seven questions of who knows them; the row, its last number, its slot (each insert
    # in a savepoint); the other slot goes back.
    assert statements(team, team.annotators[4]) <= without + 12


# --- scores -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "text", "right", "found", "false"),
    [
        ("fix", "It is sunny, 18 degrees.", True, 1, 0),
        ("fix", "It rains.", True, 1, 0),
        ("approve", "", False, 0, 0),
        ("escalate", "", True, 0, 0),
        ("reject", "", False, 0, 0),
    ],
)
def test_scores_of_an_item_with_an_error(
    team: Team, monkeypatch: pytest.MonkeyPatch, verdict: str, text: str, right: bool, found: int, false: int
) -> None:
    item, person = make_gold(team), team.annotators[3]
    make_item(team, STAGE)
    certain(monkeypatch, team)
    document = changed(current(item.dialogue), text) if text else None
    review = answer_with(person, take(person, team), verdict, document=document)
    score = GoldScore.objects.get()
    assert (score.review, score.person, score.item) == (review, person, item)
    assert (score.verdict_right, score.errors, score.found, score.false_changes) == (right, 1, found, false)


def test_an_item_without_an_error_is_approved(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    item = make_gold(team, verified(team, fix=""))
    make_item(team, STAGE)
    certain(monkeypatch, team)
    answer_with(team.annotators[3], take(team.annotators[3], team), "approve")
    document = changed(current(item.dialogue), "It rains.")
    answer_with(team.annotators[4], take(team.annotators[4], team), "fix", document=document)
    rows = GoldScore.objects.order_by("pk").values_list("verdict_right", "errors", "found", "false_changes")
    assert list(rows) == [(True, 0, 0, 0), (False, 0, 0, 1)]


def test_an_error_that_is_named_is_found(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    make_gold(team)
    make_item(team, STAGE)
    certain(monkeypatch, team)
    person = team.annotators[3]
    from reviews.core.protocols.taxonomy import TAXONOMY

    named = [{"kind": TAXONOMY[0].key, "anchor": "/tasks/t1/steps/s1/text", "note": "Wrong."}]
    answer_with(person, take(person, team), "escalate", named_errors=named)
    assert GoldScore.objects.get().places == [
        {"anchor": "/tasks/t1/steps/s1/text", "label": "answer", "result": "named"}
    ]


def test_handed_in_twice_it_is_scored_once(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    make_gold(team)
    make_item(team, STAGE)
    certain(monkeypatch, team)
    person = team.annotators[3]
    claim = take(person, team)
    first = answer_with(person, claim, "approve")
    assert answer_with(person, claim, "approve") == first
    assert GoldScore.objects.count() == 1


# --- nothing comes of it ----------------------------------------------------------------------------------------------


def test_reviews_of_it_advance_nothing_and_are_counted_nowhere(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    source = verified(team)
    make_item(team, STAGE)
    fold_all()
    before, dialogues = read_counters(team.project), Dialogue.objects.count()
    item = make_gold(team, source)
    assert Dialogue.objects.count() == dialogues + 1
    certain(monkeypatch, team)
    for person in team.annotators[3:]:
        claim = take(person, team)
        assert read_counters(team.project) == before
        answer_with(person, claim, "fix", document=changed(current(item.dialogue), "It rains."))
        assert read_counters(team.project) == before
        assert stored_counters(team.project) == recount(team.project)
    item.dialogue.refresh_from_db()
    assert (item.dialogue.status, item.dialogue.stage) == (DialogueStatus.IN_REVIEW, STAGE)
    assert item.dialogue.head_id == item.stage_run.entry_revision_id
    assert StageRun.objects.get(pk=item.stage_run_id).state == "open"
    assert not AgreementPending.objects.exists()
    assert AGREEMENT.recount(team.project) == []
    retire_gold_item(actor=team.administrator, project=team.project, public_id=item.public_id)
    assert read_counters(team.project) == before
    assert stored_counters(team.project) == recount(team.project)
    fold_all()
    assert stored_counters(team.project) == recount(team.project)


def test_the_dry_run_measures_nothing_of_gold_items(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many of them have an error is the administrator's choice; the past that one is shown with is another's."""
    protocol = current_protocol(team.project)
    assert protocol is not None
    make_gold(team)
    monkeypatch.setattr("reviews.services.simulation.dry_runs.ENOUGH", 1)
    before = assumptions_for(project=team.project, protocol=protocol)
    assert before[0][STAGE].fix == 1.0
    for person in team.annotators[3:]:
        answer_with(person, take(person, team), "reject")
    make_gold(team)
    reviews = Review.objects.exclude(dialogue__gold_role=GoldRole.GOLD)
    assert reviews.count() == 8
    assert assumptions_for(project=team.project, protocol=protocol) == before


def test_agreement_leaves_out_even_what_a_gold_item_has_behind_it(team: Team) -> None:
    """The copy of a dialogue's past holds settled blind reviews where the stage has an earlier blind one."""
    item = make_gold(team)
    review = Review.objects.filter(dialogue=item.dialogue).order_by("pk")[0]
    from reviews.core.agreement import exclusion_reason
    from reviews.services.statistics.agreement import run_facts

    assert "Gold items" in exclusion_reason(run_facts([review]))


def test_annotators_see_it_counted_like_any_other(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    source = verified(team)
    waiting = make_item(team, STAGE)

    me, *colleagues = team.annotators[3:]

    def shown(viewer: User = me) -> tuple[dict[str, int], tuple[int, int, int]]:
        stands = read_progress(project=team.project, roles=frozenset({Role.ANNOTATOR}), viewer=viewer)
        stage = next(one for one in stands.stages if one.key == STAGE)
        return {key: n for key, n in stands.statuses.items() if n}, (stage.open, stage.claimed, stage.done)

    assert shown() == ({"verified": 1, "in_review": 1}, (2, 0, 2))
    make_gold(team, source)
    # Two reviews of each of two dialogues: with more of them, counting would reveal that there is a gold item.
    assert shown() == ({"in_review": 2}, (4, 0, 0))
    # The reviewer of the known answer has submitted one of them.
    assert shown(team.annotators[1]) == ({"in_review": 2}, (3, 0, 1))
    certain(monkeypatch, team)
    # Any number of people get it: what colleagues do there moves nothing, what one does oneself all.
    claims = [(person, take(person, team)) for person in colleagues]
    assert shown() == ({"in_review": 2}, (4, 0, 0))
    mine = take(me, team)
    assert shown() == ({"in_review": 2}, (3, 1, 0))
    for person, claim in claims:
        answer_with(person, claim, "approve")
    assert shown() == ({"in_review": 2}, (3, 1, 0))
    answer_with(me, mine, "approve")
    assert shown() == ({"in_review": 2}, (3, 0, 1))
    # An ordinary one moves them in the same way.
    claim = take(me, team)
    assert claim.slot.dialogue_id == waiting.pk
    assert shown() == ({"in_review": 2}, (2, 1, 1))
    answer_with(me, claim, "approve")
    assert shown() == ({"in_review": 2}, (2, 0, 2))
    item = GoldItem.objects.get()
    retire_gold_item(actor=team.administrator, project=team.project, public_id=item.public_id)
    assert shown() == ({"verified": 1, "in_review": 1}, (1, 0, 4))


def test_a_hand_in_after_the_last_expected_one_is_counted_too(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    make_gold(team)
    make_item(team, STAGE)
    certain(monkeypatch, team)
    late = give_role(team.project, team.outsider, "annotator")
    for person in (*team.annotators[3:], late):
        answer_with(person, take(person, team), "approve")
    assert GoldScore.objects.count() == 4
    assert stored_counters(team.project) == recount(team.project)


def test_it_holds_up_no_draw() -> None:
    from reviews.services.sampling.draws import draw_where_upstream_is_done

    team = make_team(annotators=6)
    adopt_c3(team, audit_fraction=0.5)
    source = make_item(team, STAGE)
    for person in team.annotators[1:3]:
        claim_and_submit(person, source, "approve")
    assert draw_where_upstream_is_done() == 1
    Dialogue.objects.filter(pk=source.pk).update(status=DialogueStatus.VERIFIED)
    from reviews.models import Cycle

    Cycle.objects.filter(dialogue=source).update(
        state="verified", exit_revision=source.head_id, ended_at="2025-01-01T00:00:00Z"
    )
    make_gold(team, source)
    other = make_item(team, STAGE)
    for person in team.annotators[1:3]:
        claim_and_submit(person, other, "approve")
    assert draw_where_upstream_is_done() == 1


def test_work_on_it_is_shown_to_annotators_and_goes_on_no_record(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    make_gold(team)
    make_item(team, STAGE)
    certain(monkeypatch, team)
    person = team.annotators[3]
    fold_all()

    def submitted(shown_to: User | None) -> tuple[int, int]:
        of = {"project": team.project, "now": timezone.now(), "by_week": True, "shown_to": shown_to}
        return read_throughput(**of).total, read_throughput(**of, person=person).total

    before = submitted(None)
    # Without the two reviews of the answer, which seems to wait for them.
    seen = (before[0] - 2, before[1])
    assert submitted(person) == seen
    answer_with(person, take(person, team), "approve")
    fold_all()
    assert submitted(None) == before
    assert submitted(person) == (seen[0] + 1, seen[1] + 1)
    assert submitted(team.annotators[4]) == seen
    assert WORK.recount(team.project) == []


def test_an_item_is_retired_where_its_version_of_the_stage_would_tell_what_it_is(team: Team) -> None:
    def adopt(key: str, title: str) -> None:
        protocol = current_protocol(team.project)
        assert protocol is not None
        stages = tuple(one.model_copy(update={"title": title}) if one.key == key else one for one in protocol.stages)
        changed_one = protocol.model_copy(update={"stages": stages})
        adopt_protocol(actor=team.administrator, project=team.project, protocol=changed_one)

    def in_use(item: GoldItem) -> bool:
        return GoldItem.objects.get(pk=item.pk).retired_at is None

    first = make_gold(team)
    adopt("expert", "Another look")
    assert in_use(first)
    waiting = make_item(team, STAGE)
    adopt(STAGE, "A second cross-check")
    assert not in_use(first)
    assert Dialogue.objects.get(pk=first.source_id).gold_role == ""
    third = make_gold(team)
    adopt("expert", "A third look")
    assert in_use(third)
    start_migration(actor=team.administrator, project=team.project)
    assert not in_use(third)
    assert StageRun.objects.filter(cycle__dialogue=waiting).exists()
