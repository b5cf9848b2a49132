"""Gold items that are left when nothing else waits for a person: all come to them, as the lists promise."""

import pytest

from annotator.models import Dialogue, User
from annotator.services.dialogues.listing import Filters, shown_dialogues
from reviews.models import Priority
from reviews.services.assignments.changes import prioritise
from reviews.services.gold.settings import retire_gold_item
from reviews.services.queue.claims import claim_next, release
from reviews.services.queue.progress import read_my_work
from tests.factories import Team, make_item
from tests.reviews.gold.gold_team import STAGE, always, answer_with, gold_team, make_gold

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Team:
    return gold_team()


def work_off(person: User, team: Team, stage: str | None = STAGE) -> tuple[list[int], list[int]]:
    """Keys of the dialogues that the person gets until nothing is left, and what waited before each."""
    got, waiting = [], []
    while True:
        waiting.append(read_my_work(actor=person, project=team.project).total)
        claim = claim_next(actor=person, project=team.project, stage=stage)
        if claim is None:
            return got, waiting
        got.append(claim.slot.dialogue_id)
        answer_with(person, claim, "approve")


@pytest.mark.parametrize("rate", [None, 0.0, 0.05, 0.5])
@pytest.mark.parametrize("stage", [STAGE, None])
def test_what_the_lists_show_as_waiting_comes_to_whoever_goes_on(
    team: Team, stage: str | None, rate: float | None
) -> None:
    """An item that waits but goes to nobody would be recognised as a gold item."""
    if rate is not None:
        always(team, rate)
    for _ in range(3):
        make_gold(team)
    for _ in range(2):
        make_item(team, STAGE)
    for person in team.annotators[3:5]:
        listed = shown_dialogues(actor=person, project=team.project, filters=Filters(stage=STAGE))
        here = set(listed.values_list("pk", flat=True))
        assert len(here) == 5
        got, waiting = work_off(person, team, stage)
        assert (len(got), set(got)) == (5, here)
        assert waiting == [5, 4, 3, 2, 1, 0]
    # Ordinary items have left the stage by now; the others stay, and have been theirs.
    assert work_off(team.annotators[5], team, stage)[1] == [3, 2, 1, 0]


def test_what_is_nearest_to_the_end_comes_first_gold_or_not(team: Team) -> None:
    """Work from an earlier stage would reveal that nothing ordinary waits in the later one."""
    gold = make_gold(team).dialogue_id
    early, urgent = make_item(team, "self_check_single"), make_item(team, "self_check_single")
    prioritise(actor=team.administrator, dialogue=urgent, priority=Priority.HIGH)
    got, _ = work_off(team.annotators[3], team, None)
    assert [got[0], *(one for one in got[1:] if one != urgent.pk)][:3] == [urgent.pk, gold, early.pk]


def test_given_back_they_come_round_like_ordinary_ones(team: Team) -> None:
    gold = {make_gold(team).dialogue_id for _ in range(3)}
    ordinary = [make_item(team, STAGE).pk for _ in range(2)]
    person, got = team.annotators[3], []
    for _ in range(10):
        claim = claim_next(actor=person, project=team.project, stage=STAGE)
        assert claim is not None
        got.append(claim.slot.dialogue_id)
        release(actor=person, token=claim.token)
        assert read_my_work(actor=person, project=team.project).total == 5
    assert got[:2] == ordinary
    assert set(got[2:5]) == gold
    assert got[5:] == got[:5]


def test_who_may_not_be_tested_and_what_is_retired_find_nothing(team: Team) -> None:
    item = make_gold(team)
    for person in (team.annotators[1], team.senior):
        assert work_off(person, team)[0] == []
    retire_gold_item(actor=team.administrator, project=team.project, public_id=item.public_id)
    assert work_off(team.annotators[3], team) == ([], [0])
    assert not Dialogue.objects.filter(pk=item.dialogue_id, archived_at=None).exists()
