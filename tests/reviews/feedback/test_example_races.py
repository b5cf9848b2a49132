"""Two people at one moment: an example is marked and withdrawn once, a dispute taken up and decided by one."""

import pytest

from annotator.errors import Conflict
from annotator.models import Dialogue
from annotator.services.history.events import broken_links
from reviews.models import Claim, Example, Review, ReviewSession, SessionDecision
from reviews.services.adjudication import review_sessions
from reviews.services.feedback.examples import mark_example, withdraw_example
from tests.factories import Team, claim_and_submit, make_item
from tests.racing import lost, race, won

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = "/tasks/t1/steps/s1/text"
RULINGS = {TEXT: {"choice": "right", "reason_kind": "answer_wrong"}}


TEAM = {"seniors": 2}


def test_two_who_mark_and_withdraw(team: Team) -> None:
    item = make_item(team, "expert")
    claim_and_submit(team.senior, item, rulings=RULINGS)
    results = race(
        *(
            lambda who=who: mark_example(actor=who, project=team.project, dialogue=item, comment="Look.")
            for who in team.seniors
        )
    )
    assert len(won(results)) == 1
    assert [type(one) for one in lost(results)] == [Conflict]
    public_id = Example.objects.get().public_id
    results = race(
        *(
            lambda who=who: withdraw_example(actor=who, project=team.project, public_id=public_id)
            for who in team.seniors
        )
    )
    assert lost(results) == []
    assert item.events.filter(kind="example.withdrawn").count() == 1
    assert broken_links(Dialogue.objects.get(pk=item.pk)) == []


def test_two_who_take_a_dispute_up_and_decide(team: Team) -> None:
    item = make_item(team, "expert")
    round_ = review_sessions.find_round(actor=team.senior, project=team.project, address="1")
    people = [team.annotators[1].public_id]
    review_sessions.start_session(actor=team.senior, project=team.project, round=round_, people=people)

    def decide(who):  # type: ignore[no-untyped-def]
        slot = review_sessions.open_dispute(actor=who, project=team.project, round=round_, dialogue_id=item.public_id)
        token = Claim.objects.get(slot=slot, person=who, state="live").token
        return review_sessions.decide_together(
            actor=who,
            session=ReviewSession.objects.get(),
            people=people,
            note="",
            submission={"slot": slot, "token": token, "rulings": RULINGS},
        )

    results = race(*(lambda who=who: decide(who) for who in team.seniors))
    assert len(won(results)) == 1
    assert [type(one) for one in lost(results)] == [Conflict]
    assert Review.objects.filter(stage_kind="expert").count() == SessionDecision.objects.count() == 1
    assert broken_links(Dialogue.objects.get(pk=item.pk)) == []
