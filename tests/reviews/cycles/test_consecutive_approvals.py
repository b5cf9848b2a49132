"""Stages that look until nothing is found: approvals in a row, another reviewer after a change, the rounds needed."""

import pytest

from annotator.errors import Denied
from annotator.models import Dialogue, Role, User
from annotator.models.content import DialogueStatus
from annotator.services.history.events import broken_links
from reviews.core.protocols import load_preset
from reviews.models import StageRun
from reviews.services.protocols.versions import adopt_preset, adopt_protocol, roles_of_members, shortfalls
from reviews.services.queue.claims import claim_next, claim_slot
from reviews.services.queue.stuck import count_stuck
from reviews.services.statistics.accuracy import read_accuracy, revisions_of_repeating
from reviews.services.statistics.all_counts import fold_all
from reviews.services.statistics.counters import recount, stored_counters
from tests.factories import (
    Team,
    begin,
    changed,
    claim_and_submit,
    current,
    give_role,
    make_dialogue,
    make_team,
    make_user,
    open_slot,
)

pytestmark = pytest.mark.django_db


def working(preset: str, *, annotators: int = 4, seniors: int = 2, **options: int) -> Team:
    team = make_team(annotators=annotators, seniors=seniors)
    adopt_preset(actor=team.administrator, project=team.project, preset=preset, **options)
    return team


@pytest.fixture
def team() -> Team:
    return working("cctu")


def item_of(team: Team) -> Dialogue:
    item = make_dialogue(team.project)
    begin(team.project, [item])
    return item


def say(person: User, item: Dialogue, verdict: str, text: str = "") -> Dialogue:
    document = changed(current(item), text or f"As {person} has it.") if verdict == "fix" else None
    claim_and_submit(person, item, verdict, document=document)
    item.refresh_from_db()
    return item


def outcomes(item: Dialogue, stage: str) -> list[str]:
    return list(
        StageRun.objects.filter(cycle__dialogue=item, stage=stage).order_by("round").values_list("outcome", flat=True)
    )


# --- two in a row -----------------------------------------------------------------------------------------------------


def test_two_different_people_in_a_row_pass_a_stage(team: Team) -> None:
    a, b, c, _ = team.annotators
    item = item_of(team)
    say(a, item, "approve")
    assert (item.stage, item.status) == ("data", DialogueStatus.IN_REVIEW)
    assert "Consecutive approvals need different people" in refused(a, item)
    say(b, item, "approve")
    assert item.stage == "validators"
    assert outcomes(item, "data") == ["confirm", "pass"]
    # Each stage counts for itself: who approved the data may begin with the validators.
    say(b, item, "approve")
    say(c, item, "approve")
    assert item.status == DialogueStatus.VERIFIED
    assert stored_counters(team.project) == recount(team.project)
    assert broken_links(item) == []


def refused(person: User, item: Dialogue) -> str:
    with pytest.raises(Denied) as caught:
        claim_slot(actor=person, slot=open_slot(item))
    return str(caught.value)


def test_a_change_begins_the_count_anew(team: Team) -> None:
    a, b, c, d = team.annotators
    item = item_of(team)
    say(a, item, "approve")
    say(b, item, "fix")
    # The author of the revision cannot approve it; a person who approved another one can.
    assert "A revision can’t be reviewed by its author" in refused(b, item)
    say(a, item, "approve")
    say(c, item, "fix")
    say(d, item, "approve")
    assert item.stage == "data"
    say(b, item, "approve")
    assert item.stage == "validators"
    assert outcomes(item, "data") == ["confirm", "restart", "confirm", "restart", "confirm", "pass"]
    assert stored_counters(team.project) == recount(team.project)


def test_three_people_are_never_stuck() -> None:
    team = working("cctu", annotators=3, seniors=2)
    a, b, c = team.annotators
    item = item_of(team)
    for person in (a, b, c, a, b):
        say(person, item, "fix")
    # b wrote it: a and c, in whatever order.
    say(c, item, "approve")
    say(a, item, "approve")
    assert item.stage == "validators"


def test_the_next_item_is_offered_to_whoever_may_take_it(team: Team) -> None:
    a, b, *_ = team.annotators
    item = item_of(team)
    say(a, item, "approve")
    assert claim_next(actor=a, project=team.project) is None
    claim = claim_next(actor=b, project=team.project)
    assert claim is not None
    assert claim.slot.dialogue_id == item.pk


def test_three_in_a_row_are_three_people() -> None:
    team = working("cctu", consecutive=3)
    a, b, c, _ = team.annotators
    item = item_of(team)
    say(a, item, "approve")
    say(b, item, "approve")
    assert "Consecutive approvals" in refused(a, item)
    assert claim_next(actor=a, project=team.project) is None
    say(c, item, "approve")
    assert item.stage == "validators"
    assert outcomes(item, "data") == ["confirm", "confirm", "pass"]


def test_what_an_expert_settles_comes_back_to_its_stage(team: Team) -> None:
    a, b, c, _ = team.annotators
    item = item_of(team)
    say(a, item, "approve")
    say(b, item, "approve")
    say(a, item, "approve")
    say(b, item, "escalate")
    assert (item.stage, item.status) == ("settlement", DialogueStatus.ESCALATED)
    say(team.senior, item, "approve")
    assert (item.stage, item.status) == ("validators", DialogueStatus.IN_REVIEW)
    # The doubt ended the row: it is counted from the beginning, and everybody may take part again.
    say(a, item, "approve")
    say(c, item, "approve")
    assert item.status == DialogueStatus.VERIFIED
    assert outcomes(item, "settlement") == ["return"]


def test_what_an_expert_changes_is_looked_at_by_others(team: Team) -> None:
    a, b, c, _ = team.annotators
    item = item_of(team)
    say(a, item, "escalate")
    say(team.senior, item, "fix")
    assert item.stage == "data"
    assert item.head is not None
    assert item.head.author == team.senior
    assert "A revision can’t be reviewed by its author" in refused(team.senior, item)
    say(b, item, "approve")
    say(c, item, "approve")
    assert item.stage == "validators"


def test_what_an_expert_rejects_is_out(team: Team) -> None:
    item = item_of(team)
    say(team.annotator, item, "reject")
    say(team.senior, item, "reject")
    assert item.status == DialogueStatus.REJECTED


def test_the_rounds_that_items_needed(team: Team) -> None:
    """Table 3: of four items one was revised in one round of the data stage, one in two, none in the code stage."""
    a, b, c, _ = team.annotators
    for fixes in ((), (), (a,), (a, b)):
        item = item_of(team)
        for person in fixes:
            say(person, item, "fix")
        for _ in range(2):
            others = [one for one in (a, b, c) if not fixes or one != fixes[-1]]
            say(others[0], item, "approve")
            say(others[1], item, "approve")
        assert item.status == DialogueStatus.VERIFIED
    fold_all()
    data, code = revisions_of_repeating(team.project, read_accuracy(project=team.project))
    assert (data.stage, data.title, data.items, data.revised) == ("data", "Data verification", 4, {1: 1, 2: 1})
    assert (code.stage, code.items, code.revised) == ("validators", 4, {})
    assert data.rates.total.value == 0.5
    assert code.rates.total.value == 0.0


# --- until nothing is found -------------------------------------------------------------------------------------------


def test_async_goes_on_until_a_reviewer_finds_nothing() -> None:
    team = working("async", without_rounds=True)
    a, b, c, _ = team.annotators
    item = item_of(team)
    say(a, item, "fix")
    assert (item.stage, item.status) == ("verification", DialogueStatus.IN_REVIEW)
    assert "A revision can’t be reviewed by its author" in refused(a, item)
    say(b, item, "fix")
    say(a, item, "fix")
    say(c, item, "approve")
    assert item.status == DialogueStatus.VERIFIED
    assert outcomes(item, "verification") == ["restart", "restart", "restart", "pass"]
    fold_all()
    [rounds] = revisions_of_repeating(team.project, read_accuracy(project=team.project))
    assert (rounds.items, rounds.revised) == (1, {3: 1})
    assert stored_counters(team.project) == recount(team.project)


def test_async_passes_at_once_what_is_right() -> None:
    team = working("async", without_rounds=True)
    assert say(team.annotator, item_of(team), "approve").status == DialogueStatus.VERIFIED


# --- a majority -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdicts", "status", "stage"),
    [
        (("approve", "approve", "reject"), DialogueStatus.POOLED, "expert"),
        (("approve", "fix", "approve"), DialogueStatus.POOLED, "expert"),
        (("reject", "approve", "reject"), DialogueStatus.REJECTED, ""),
        (("fix", "reject", "fix"), DialogueStatus.POOLED, "expert"),
        (("fix", "approve", "fix"), DialogueStatus.POOLED, "expert"),
        (("other", "fix", "fix"), DialogueStatus.POOLED, "expert"),
        (("fix", "other", "approve"), DialogueStatus.ESCALATED, "expert"),
        (("approve", "fix", "reject"), DialogueStatus.ESCALATED, "expert"),
        (("escalate", "approve", "fix"), DialogueStatus.ESCALATED, "expert"),
    ],
)
def test_a_majority_of_three_decides(verdicts: tuple[str, ...], status: str, stage: str) -> None:
    from reviews.core.protocols import MAJORITY_OF_THREE, read_protocol

    team = make_team(annotators=4)
    data = load_preset("c3").model_dump(mode="json")
    rows = [rule.model_dump(mode="json") for rule in MAJORITY_OF_THREE]
    data["stages"][2] |= {"reviewers": 3, "outcomes": rows}
    adopt_protocol(actor=team.administrator, project=team.project, protocol=read_protocol(data))
    item = item_of(team)
    for _ in range(2):
        claim_and_submit(team.annotator, item)
    for person, verdict in zip(team.annotators[1:], verdicts, strict=True):
        text = "One of a kind." if verdict == "other" else "The same for both."
        say(person, item, "fix" if verdict == "other" else verdict, text=text)
    assert (item.status, item.stage) == (status, stage)
    if verdicts.count("fix") == 2:
        assert current(item)["tasks"][0]["steps"][-1]["text"] == "The same for both."
    assert stored_counters(team.project) == recount(team.project)


# --- enough people ----------------------------------------------------------------------------------------------------


def test_who_is_missing_for_approvals_in_a_row() -> None:
    team = make_team(annotators=1, seniors=1)
    assert shortfalls(project=team.project, protocol=load_preset("cctu")) == [
        "“Data verification” needs 3 people with one of these roles: Annotator, Senior reviewer. It has 2. 2 are "
        "needed for approvals in a row. One of them may have made the last change.",
        "“Code verification” needs 3 people with one of these roles: Annotator, Senior reviewer. It has 2. 2 are "
        "needed for approvals in a row. One of them may have made the last change.",
        "“Settlement” needs 2 people with one of these roles: Senior reviewer. It has 1. One of them may have "
        "settled the item before.",
    ]
    assert shortfalls(project=make_team(annotators=1, seniors=2).project, protocol=load_preset("cctu")) == []


def test_an_item_whose_owner_editor_and_approver_are_all_there_is_said_to_wait_for_nobody() -> None:
    """With three people it waited for ever, and no page said so."""
    team = make_team(annotators=3, seniors=0)
    cctu, check = load_preset("cctu"), load_preset("c3").stages[0]
    protocol = cctu.model_copy(update={"stages": (check, *cctu.stages)})
    adopt_protocol(actor=team.administrator, project=team.project, protocol=protocol)
    a, b, c = team.annotators
    item = item_of(team)

    def stuck() -> dict[str, int]:
        found = count_stuck(project=team.project, stages=protocol.stages, people=roles_of_members(team.project))
        return {stage.key: one.items for stage, one in found.items()}

    say(a, item, "approve")
    say(b, item, "fix")
    assert stuck() == {}
    say(c, item, "approve")
    assert all(claim_next(actor=person, project=team.project) is None for person in team.annotators)
    assert stuck() == {"data": 1}
    assert shortfalls(project=team.project, protocol=protocol)[0] == (
        "“Data verification” needs 4 people with one of these roles: Annotator, Senior reviewer. It has 3. 2 are "
        "needed for approvals in a row. One of them may have made the last change. Another may own the dialogue."
    )
    give_role(team.project, make_user(), Role.ANNOTATOR)
    assert stuck() == {}
    assert "Data" not in shortfalls(project=team.project, protocol=protocol)[0]


def test_who_is_missing_for_pairs_that_change() -> None:
    team = make_team(annotators=1, seniors=1)
    rounds, *_ = shortfalls(project=team.project, protocol=load_preset("wild"))
    assert rounds == (
        "“Review in pairs” needs 4 people with one of these roles: Annotator, Senior reviewer. It has 2. One of "
        "them may be the author. One more is needed so that pairs can change."
    )
    assert shortfalls(project=make_team(annotators=2, seniors=2).project, protocol=load_preset("wild")) == []


def test_who_is_missing_for_a_second_look() -> None:
    team = make_team(annotators=0, seniors=1)
    verification, _ = shortfalls(project=team.project, protocol=load_preset("async", without_rounds=True))
    assert "needs 2 people with one of these roles: Annotator, Senior reviewer" in verification
    assert (
        shortfalls(
            project=make_team(annotators=0, seniors=2).project, protocol=load_preset("async", without_rounds=True)
        )
        == []
    )
