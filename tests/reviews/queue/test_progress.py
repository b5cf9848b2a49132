"""The figures on the project page and on My work."""

import random
import re
from collections import Counter
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotator.errors import DomainError
from annotator.models import Dialogue, Role, User
from annotator.services.abilities import set_abilities
from reviews.core.protocols import load_preset
from reviews.models import Claim, GoldItem, Priority, Slot, StageRun
from reviews.services.assignments.changes import prioritise, reassign
from reviews.services.protocols.versions import adopt_protocol, shortfalls, stage_titles
from reviews.services.queue import progress
from reviews.services.queue.claims import claim_next, claim_slot, expire_overdue, release, skip
from reviews.services.queue.progress import read_my_work, read_progress
from reviews.services.submission.submit import submit_review
from tests.factories import (
    STAGES,
    Team,
    adopt_c3,
    begin,
    changed,
    claim_and_submit,
    current,
    give_role,
    make_dialogue,
    make_dialogues,
    make_item,
    make_team,
    make_user,
    open_slot,
)
from tests.pages import one_line
from tests.reviews.gold.gold_team import STAGE, always, gold_team, make_gold, take

pytestmark = pytest.mark.django_db


def waiting(team: Team, person: int) -> dict[str, int]:
    work = read_my_work(actor=team.annotators[person], project=team.project)
    return {stage.key: stage.count for stage in work.waiting}


def test_a_project_without_a_protocol() -> None:
    team = make_team()
    make_dialogue(team.project)
    shown = read_progress(project=team.project)
    assert (shown.stages, shown.protocol, shown.total) == ([], None, 1)
    assert read_my_work(actor=team.annotator, project=team.project).waiting == []


def test_how_many_items_stand_in_each_stage(team: Team) -> None:
    begin(team.project, make_dialogues(team.project, 3))
    make_item(team, "cross_check")
    claim_next(actor=team.annotators[1], project=team.project)
    shown = read_progress(project=team.project)
    assert [stage.key for stage in shown.stages] == ["self_check_single", "self_check_multi", "cross_check", "expert"]
    single, multi, cross, expert = shown.stages
    assert (single.open, single.claimed, single.done, single.settled) == (3, 0, 1, 1)
    assert (multi.open, multi.done) == (0, 1)
    assert (cross.open, cross.claimed, cross.discrepancy_rate) == (1, 1, None)
    assert (expert.open, expert.pooled) == (0, 0)
    assert shown.statuses["in_review"] == shown.total == 4


def test_reviewers_who_disagree_too_often_raise_the_alarm(team: Team) -> None:
    protocol = load_preset("c3").model_copy(update={"alarm_after": 2})
    adopt_protocol(actor=team.administrator, project=team.project, protocol=protocol)
    for one, two in (("approve", "approve"), ("approve", "fix")):
        item = make_item(team, "cross_check")
        claim_and_submit(team.annotators[1], item, one)
        claim_and_submit(team.annotators[2], item, two, document=changed(current(item)) if two == "fix" else None)
    shown = read_progress(project=team.project)
    cross = shown.stages[2]
    assert (cross.compared, cross.discrepant, cross.discrepancy_rate, cross.alarm) == (2, 1, 0.5, True)
    assert shown.alarms == [cross]
    assert shown.pooled == 1
    assert cross.outcomes == {"pass": 1, "escalate": 1}


def test_my_work_counts_what_i_may_take(team: Team) -> None:
    make_item(team, "cross_check")
    make_item(team, "self_check_multi")
    begin(team.project, make_dialogues(team.project, 2))
    assert waiting(team, 0) == {"self_check_single": 2, "self_check_multi": 1, "cross_check": 0}
    assert waiting(team, 1) == {"self_check_single": 2, "self_check_multi": 0, "cross_check": 1}


def test_an_item_for_two_reviewers_waits_once_also_when_a_colleague_let_it_lapse(team: Team) -> None:
    items = [make_item(team, "cross_check") for _ in range(2)]
    assert waiting(team, 1)["cross_check"] == 2
    claim = claim_next(actor=team.annotators[2], project=team.project, stage="cross_check")
    assert claim is not None
    assert claim.slot.dialogue == items[0]
    assert waiting(team, 1)["cross_check"] == 2
    Claim.objects.update(expires_at=claim.created_at)
    assert waiting(team, 1)["cross_check"] == 2


def test_my_work_counts_no_further_than_anybody_reads(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(team.project, make_dialogues(team.project, 5))
    monkeypatch.setattr(progress, "MANY", 3)
    row = read_my_work(actor=team.annotator, project=team.project).waiting[0]
    assert (row.count, row.more) == (3, True)


def test_my_work_shows_what_i_hold(team: Team) -> None:
    begin(team.project, make_dialogues(team.project, 2))
    claim = claim_next(actor=team.annotator, project=team.project)
    work = read_my_work(actor=team.annotator, project=team.project)
    assert work.claims == [claim]
    assert work.total == 1
    assert read_my_work(actor=team.annotators[1], project=team.project).claims == []


def test_the_key_and_the_button_of_my_work_take_what_comes_first(team: Team, client: Client) -> None:
    """They took the last stage's next item, and passed over what was urgent or reserved in the others."""
    begin(team.project, make_dialogues(team.project, 1))
    late, urgent, own = make_item(team, "cross_check"), *make_dialogues(team.project, 2)
    begin(team.project, [urgent, own])
    prioritise(actor=team.administrator, dialogue=urgent, priority=Priority.HIGH)
    person = team.annotators[1]
    reassign(actor=team.administrator, slot=open_slot(own), to=person)
    client.force_login(person)
    # The first person to check an item checks it once more.
    for item in (urgent, urgent, own, own, late):
        shown = one_line(client.get("/"))
        form = re.search(r'<form[^>]*action="([^"]*)">((?:(?!</form>).)*data-key="n")', shown)
        assert form is not None
        assert 'name="stage"' not in form[2]
        page = client.post(form[1])
        slot = Slot.objects.get(public_id=page.url.split("/")[2])
        assert slot.dialogue == item
        submit_review(actor=person, slot=slot, token=slot.claims.get().token, verdict="approve" if item == late else "")


def test_the_key_of_my_work_stands_at_one_button(team: Team, client: Client) -> None:
    """It stood beside each project's, and took the first project's item whichever one meant."""
    other = make_team("another")
    adopt_c3(other)
    give_role(other.project, team.annotator, Role.ANNOTATOR)
    for one in (team, other):
        begin(one.project, make_dialogues(one.project, 1))
    client.force_login(team.annotator)
    page = one_line(client.get("/"))
    assert page.count("Claim next item<span") == 1
    assert page.count(">Start <kbd") == 1
    assert page.count('data-key="n"') == page.count(">n</kbd>") == 1


def test_an_administrator_alone_has_no_work(team: Team) -> None:
    begin(team.project, make_dialogues(team.project, 1))
    work = read_my_work(actor=team.administrator, project=team.project)
    assert (work.waiting, work.roles) == ([], frozenset({Role.ADMINISTRATOR}))


def test_titles_of_earlier_versions_remain(team: Team) -> None:
    adopt_c3(team, cross_check_reviewers=1)
    assert list(stage_titles(team.project)) == ["self_check_single", "self_check_multi", "cross_check", "expert"]


def test_too_few_people_are_said() -> None:
    team = make_team(annotators=1, seniors=0)
    sentences = shortfalls(project=team.project, protocol=load_preset("c3"))
    assert len(sentences) == 2
    assert sentences[0] == (
        "“Cross-check” needs 3 people with one of these roles: Annotator, Senior reviewer. It has 1. One of them "
        "may be the author."
    )
    assert sentences[1] == "“Expert verification” needs 1 person with one of these roles: Senior reviewer. It has 0."
    for _ in range(2):
        give_role(team.project, make_user(), Role.SENIOR_REVIEWER)
    assert shortfalls(project=team.project, protocol=load_preset("c3")) == []


def test_an_escalated_item_that_every_senior_reviewer_has_checked_is_said_to_wait_for_nobody(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waited for ever: My work said “No items”, and the project page that one waits."""
    team = make_team("stuck")
    adopt_c3(team)
    make_item(team, "expert")
    assert read_my_work(actor=team.senior, project=team.project).stuck == []
    item = make_item(team, "cross_check")
    claim_and_submit(team.senior, item, "approve")
    claim_and_submit(team.annotators[1], item, "reject")
    sentence = (
        "“Expert verification”: nobody can review 1 item, because everybody with the role senior reviewer has reviewed "
        "or written it, or owns it. Add another senior reviewer."
    )
    work = read_my_work(actor=team.senior, project=team.project)
    assert (work.stuck, [(one.count, one.stuck) for one in work.waiting if one.key == "expert"]) == (
        [sentence],
        [(1, (1, False))],
    )
    for person, address in ((team.senior, "/"), (team.senior, "/p/stuck/"), (team.administrator, "/p/stuck/")):
        client.force_login(person)
        page = one_line(client.get(address))
        assert sentence in page
        assert ("1 that nobody can claim" if address == "/" else "(1 that nobody can claim)") in page
    # Of a long queue the oldest places are looked at: there may be more.
    monkeypatch.setattr("reviews.services.queue.stuck.LOOKED_AT", 2)
    client.force_login(team.senior)
    assert "1+ that nobody can claim" in (page := one_line(client.get("/")))
    assert "“Expert verification”: nobody can review at least 1 item" in page
    assert "(1+ that nobody can claim)" in one_line(client.get("/p/stuck/"))
    # A blind reviewer does not learn who has reviewed what.
    client.force_login(team.annotators[2])
    pages = one_line(client.get("/")) + one_line(client.get("/p/stuck/"))
    assert not any(words in pages for words in ("nobody can claim", "nobody can review"))
    assert read_my_work(actor=team.annotators[2], project=team.project).stuck == []
    give_role(team.project, make_user(), Role.SENIOR_REVIEWER)
    roles = frozenset({Role.ADMINISTRATOR})
    assert read_progress(project=team.project, roles=roles).shortfalls == []


def test_the_row_of_stages_counts_reviews_alone_and_says_so(client: Client) -> None:
    """One dialogue takes two reviews in the cross-check; verified ones are counted in dialogues, separately."""
    team = make_team()
    adopt_c3(team)
    make_item(team, "cross_check")
    client.force_login(team.annotator)
    page = one_line(client.get(f"/p/{team.project.slug}/"))
    row = page[page.index('<ol class="pipeline"') : page.index("</ol>")]
    assert "Remaining reviews" in page[: page.index('<ol class="pipeline"')]
    assert re.findall(r'figure">\s*(\d+)\s*<', row) == ["0", "0", "2", "0"]
    assert "Verified" not in row
    assert "1 dialogue by status" in page


def test_the_last_item_that_was_given_back_waits_still(team: Team) -> None:
    """“No items”, said My work, while the next claim gave it."""
    first, second = (make_item(team, "cross_check") for _ in range(2))
    given_back = claim_next(actor=team.annotators[1], project=team.project, stage="cross_check")
    assert given_back is not None
    release(actor=team.annotators[1], token=given_back.token)
    taken = claim_next(actor=team.annotators[1], project=team.project, stage="cross_check")
    assert taken is not None
    assert {given_back.slot.dialogue_id, taken.slot.dialogue_id} == {first.pk, second.pk}
    submit_review(actor=team.annotators[1], slot=taken.slot, token=taken.token, verdict="approve")
    assert waiting(team, 1)["cross_check"] == 1
    again = claim_next(actor=team.annotators[1], project=team.project, stage="cross_check")
    assert again is not None
    assert again.slot.dialogue_id == given_back.slot.dialogue_id


def serve(person: User, team: Team) -> Counter[str]:
    """Claim and submit until nothing comes; return how many of the items that wait now were served, by stage."""
    waiting_now = set(StageRun.objects.filter(project=team.project).values_list("pk", flat=True))
    gold_before = GoldItem.objects.count()
    served: Counter[str] = Counter()
    while (claim := claim_next(actor=person, project=team.project)) is not None:
        if claim.slot.stage_run_id in waiting_now:
            served[claim.stage] += 1
        submit_review(actor=person, slot=claim.slot, token=claim.token, verdict="approve")
    assert GoldItem.objects.count() == gold_before
    return served


@pytest.mark.parametrize("seed", range(4))
def test_my_work_counts_exactly_what_a_person_can_take(seed: int) -> None:
    """Whatever others have claimed, given back, reserved or let lapse, and whatever languages the person has."""
    chance, team = random.Random(seed), gold_team()
    make_gold(team)
    always(team, 0.0)
    people = [*team.annotators, *team.seniors]
    person = team.annotators[3]
    deeds = ("claim", "release", "skip", "hand in", "reserve", "hurry", "lapse")
    for stage in chance.choices([*STAGES, "cross_check", "cross_check"], k=9):
        item = make_item(team, stage)
        language = chance.choice(("", "en", "zh"))
        Dialogue.objects.filter(pk=item.pk).update(language=language)
        for one in chance.sample(people, 2):
            slot, deed = open_slot(item), chance.choice(deeds)
            if slot is None:
                continue
            try:
                if deed == "hand in":
                    claim_and_submit(one, item, "approve")
                elif deed in ("reserve", "hurry"):
                    changes = {"priority": 0} if deed == "hurry" else {"reserved_for": one}
                    Slot.objects.filter(pk=slot.pk, state="open").update(**changes)
                else:
                    claim = claim_slot(actor=one, slot=slot)
                    if deed == "lapse":
                        Claim.objects.filter(pk=claim.pk).update(expires_at=claim.created_at)
                    elif deed != "claim":
                        (release if deed == "release" else skip)(actor=one, token=claim.token)
            except DomainError:
                continue
    Claim.objects.filter(person=person, state="live").update(expires_at=timezone.now() - timedelta(minutes=1))
    expire_overdue(limit=0)
    if seed % 2:
        set_abilities(actor=team.administrator, project=team.project, user=person, languages=["zh"], skills=[])
    work = read_my_work(actor=person, project=team.project)
    own = Counter(claim.stage for claim in work.claims)
    counted = Counter({stage.key: stage.count + own[stage.key] for stage in work.waiting})
    assert serve(person, team) == +counted
    assert read_my_work(actor=person, project=team.project).total == 0


def test_what_is_skipped_comes_last_and_in_none_of_its_slots(team: Team) -> None:
    person, colleague = team.annotators[1:3]
    items = [make_item(team, "cross_check") for _ in range(3)]
    prioritise(actor=team.administrator, dialogue=items[0], priority=Priority.HIGH)
    begin(team.project, make_dialogues(team.project, 1))

    def take_and_skip() -> Dialogue:
        claim = claim_next(actor=person, project=team.project)
        assert claim is not None
        skip(actor=person, token=claim.token)
        return claim.slot.dialogue

    assert [take_and_skip() for _ in range(3)] == items
    # A colleague has one of the slots: the other one is the same dialogue.
    taken = claim_slot(actor=colleague, slot=Claim.objects.filter(person=person).earliest("pk").slot)
    assert taken.slot.dialogue == items[0]
    assert take_and_skip().stage == "self_check_single"
    # Then in the order in which they were skipped, also across priorities and stages.
    assert [take_and_skip() for _ in range(3)] == items
    assert take_and_skip().stage == "self_check_single"
    new = make_item(team, "cross_check")
    assert take_and_skip() == new
    assert read_my_work(actor=person, project=team.project).total == 5


def test_the_next_item_is_the_one_that_was_worked_on_last(team: Team, client: Client) -> None:
    person = team.annotators[1]
    first, second = (claim_slot(actor=person, slot=open_slot(make_item(team, "cross_check"))) for _ in range(2))
    make_item(team, "cross_check")
    client.force_login(person)
    address = f"/p/{team.project.slug}/next/"
    for claim in (first, second, first):
        later = Claim.objects.latest("heartbeat_at").heartbeat_at + timedelta(seconds=1)
        Claim.objects.filter(pk=claim.pk).update(heartbeat_at=later, expires_at=later + timedelta(hours=1))
        assert client.post(address).url == f"/work/{claim.slot.public_id}/"
        assert read_my_work(actor=person, project=team.project).claims[0] == claim


@pytest.mark.parametrize("given", ["ordinary", "gold"])
def test_what_was_given_back_waits_still(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    """The count was one too low until the hour was over; a gold item counts as any other."""
    team = gold_team()
    make_gold(team)
    for _ in range(3):
        make_item(team, STAGE)
    always(team)
    person, due = team.annotators[3], 0 if given == "gold" else 1
    monkeypatch.setattr("reviews.services.queue.gold_claims.is_due", lambda secret, **turn: turn["claims"] == due)

    def count() -> int:
        return read_my_work(actor=person, project=team.project).total

    assert count() == 4
    claim = take(person, team)
    assert claim.slot.is_gold == (given == "gold")
    assert count() == 3
    release(actor=person, token=claim.token)
    assert count() == 4
    for left in (3, 2, 1):
        other = take(person, team)
        assert other.slot != claim.slot
        submit_review(actor=person, slot=other.slot, token=other.token, verdict="approve")
        assert count() == left
    assert take(person, team).slot == claim.slot
    assert count() == 0
