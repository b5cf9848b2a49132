"""One person with several windows in a training, and a training that changes at the same moment."""

from typing import Any

import pytest

from annotator.models import Event
from reviews.models import Claim, ClaimState, Slot, Trainee, TrainingResult
from reviews.services.queue.claims import claim_next
from reviews.services.training.decisions import decide_trainee, try_again
from reviews.services.training.items import retire_training_item
from tests.factories import Team, changed
from tests.racing import lost, race, won
from tests.reviews.gold.gold_team import answer_with, gold_team
from tests.reviews.gold.test_training import switch_on

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def team() -> Team:
    return gold_team()


def claiming(team: Team, place: int = 4) -> Any:
    return lambda: claim_next(actor=team.annotators[place], project=team.project)


def test_two_windows_get_and_submit_one_item_once(team: Team) -> None:
    switch_on(team, items=1, mark=1)
    claims = race(*(claiming(team) for _ in range(4)))
    assert lost(claims) == []
    assert len({claim.pk for claim in claims}) == 1
    [claim] = {claim.pk: claim for claim in claims}.values()
    person = team.annotators[4]
    fixed = changed(claim.slot.revision.document())

    def submit(verdict: str, **more: Any) -> Any:
        return lambda: answer_with(person, Claim.objects.get(pk=claim.pk), verdict, **more)

    results = race(*(submit("fix", document=fixed) for _ in range(2)), submit("approve"))
    assert len({review.pk for review in won(results)}) == 1
    assert TrainingResult.objects.count() == 1
    trainee = Trainee.objects.get(person=person)
    assert trainee.state == ("passed" if won(results)[0].verdict == "fix" else "failed")
    assert Event.objects.filter(kind__in=["training.passed", "training.failed"]).count() == 1


def test_several_people_get_slots_of_their_own(team: Team) -> None:
    [item] = switch_on(team, items=1, mark=1)
    claims = race(*(claiming(team, place) for place in (3, 4, 5)))
    assert lost(claims) == []
    slots = Slot.objects.filter(dialogue=item.dialogue)
    assert sorted(slots.values_list("index", flat=True)) == [0, 1, 2]


def test_a_new_attempt_begins_once_and_a_removed_item_is_not_given(team: Team) -> None:
    first, second = switch_on(team, items=2, mark=2)
    person = team.annotators[4]
    for _ in range(2):
        claim = claim_next(actor=person, project=team.project)
        assert claim is not None
        answer_with(person, claim, "approve")
    race(*(lambda: try_again(actor=person, project=team.project) for _ in range(3)))
    assert Trainee.objects.get(person=person).attempt == 2

    def retire() -> Any:
        return retire_training_item(actor=team.administrator, project=team.project, public_id=first.public_id)

    claim, _retired = race(claiming(team), retire)
    assert claim.slot.dialogue_id in (first.dialogue_id, second.dialogue_id)

    def exempt() -> Any:
        return decide_trainee(
            actor=team.administrator, project=team.project, public_id=person.public_id, state="exempt"
        )

    race(exempt, lambda: answer_with(person, claim, "approve"))
    assert Trainee.objects.get(person=person).state == "exempt"
    assert not Claim.objects.filter(person=person, state=ClaimState.LIVE, slot__is_gold=True).exists()
