"""Two people at one moment: a dispute is made once and answered once, and a goal is set once."""

from collections.abc import Callable

import pytest

from annotator.errors import Conflict
from annotator.models import Event, User
from reviews.models import DailyGoal, FeedbackDispute, FeedbackReply
from reviews.services.feedback.threads import answer_dispute, dispute_feedback, reply_to_feedback
from reviews.services.queue.goals import set_goal
from tests.factories import Team
from tests.racing import lost, race, won
from tests.reviews.feedback.test_threads import WHY, loaded, overruled

pytestmark = pytest.mark.django_db(transaction=True)
TEAM = {"seniors": 2}


def test_two_disputes_two_replies_and_two_answers_at_once(team: Team) -> None:
    row, reviewer = overruled(team), team.annotators[2]
    results = race(*(lambda: dispute_feedback(actor=reviewer, feedback=row, reason=WHY) for _ in range(2)))
    assert (lost(results), FeedbackDispute.objects.count()) == ([], 1)
    race(*(lambda: reply_to_feedback(actor=reviewer, feedback=row, text="Please look.") for _ in range(2)))
    assert FeedbackReply.objects.count() == 1

    def answer(actor: User, accept: bool) -> Callable[[], object]:
        return lambda: answer_dispute(actor=actor, feedback=loaded(actor, row), accept=accept, text="So.")

    results = race(answer(team.senior, True), answer(team.administrator, False))
    assert len(won(results)) == 1
    assert [type(one) for one in lost(results)] == [Conflict]
    assert Event.objects.filter(project=team.project, kind__startswith="feedback.dispute_").count() == 1


def test_two_goals_at_once(team: Team) -> None:
    person = team.annotator
    results = race(
        lambda: set_goal(actor=person, project=team.project, person=person, reviews=10),
        lambda: set_goal(actor=team.administrator, project=team.project, person=person, reviews=20),
    )
    assert lost(results) == []
    [first, second] = Event.objects.filter(kind="daily_goal.changed").order_by("pk")
    assert second.before["goal"] == first.after["goal"]
    assert DailyGoal.objects.get().reviews == second.after["goal"]
