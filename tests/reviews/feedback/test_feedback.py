"""Feedback as it is told: to authors of what was changed of their words, to reviewers of where they were overruled."""

import pytest

from annotator.errors import Hidden
from annotator.models import Notice
from annotator.services.notices.notices import mark_read
from reviews.models import Feedback, FeedbackKind
from reviews.services.adjudication.decisions import read_decision
from reviews.services.feedback.openings import opening_about
from reviews.services.feedback.reading import count_kinds, list_feedback
from tests.factories import Team, begin, claim_and_submit, current, make_document, make_item
from tests.reviews.adjudication.test_adjudication import DAY, MESSAGE, TEXT, disputed, edited, ruling

pytestmark = pytest.mark.django_db
TEAM = {"seniors": 2}


def test_the_author_hears_what_was_changed_and_why(team: Team) -> None:
    item = disputed(team, None, {"text": "Sunny."})
    claim_and_submit(team.senior, item, rulings={TEXT: ruling("right")}, reason="The sky is clear.")
    notice = Feedback.objects.get(person=team.annotator)
    assert "The sky is clear." in notice.text
    assert "Wrong or unsupported answer at task 1, answer s1, text: As observed." in notice.text


def test_the_author_hears_of_their_own_words_alone(team: Team) -> None:
    """Neither of what the expert left as it was, nor of what reviewers added."""
    item = disputed(team, {"message": "Weather in Ghent x?"}, {"text": "Sunny.", "date": "2025-05-02"})
    rulings = {MESSAGE: ruling("left", reason_kind="message_unnatural"), TEXT: ruling("left"), DAY: ruling("right")}
    claim_and_submit(team.senior, item, rulings=rulings)
    own = {"actor": team.annotator, "project": team.project}
    [told] = list_feedback(**own).rows
    assert [named_error.anchor for named_error in told.named_errors] == [MESSAGE]
    assert told.feedback.text.count("\n") == 1
    assert [row.key for row in count_kinds(project=team.project, person=team.annotator)] == ["message_unnatural"]


def test_reviewers_hear_where_they_were_overruled(team: Team) -> None:
    item = disputed(team, {"message": "Weather in Ghent x?"}, {"text": "Sunny."})
    claim_and_submit(team.senior, item, rulings={MESSAGE: ruling("left"), TEXT: ruling("left")})
    said = {row.person: row for row in Feedback.objects.filter(kind=FeedbackKind.OVERRULED)}
    assert {person: [one.anchor for one in row.rulings.all()] for person, row in said.items()} == {
        team.annotators[2]: [MESSAGE, TEXT]
    }
    notice = Notice.objects.get(subject=said[team.annotators[2]].public_id)
    words = "A dispute about a dialogue that you reviewed was settled. The result differs from your review."
    assert notice.text.endswith(words)
    [told] = list_feedback(actor=team.annotators[2], project=team.project).rows
    assert [named_error.note for named_error in told.named_errors] == ["As observed."] * 2
    [counted] = count_kinds(project=team.project, person=team.annotators[2])
    assert (counted.key, counted.count) == ("answer_wrong", 2)


def test_why_a_reviewer_was_overruled_is_hidden_while_they_may_review_blind(team: Team) -> None:
    item = disputed(team, None, {"text": "Sunny."})
    claim_and_submit(team.senior, item, rulings={TEXT: ruling("left")}, reason="The sky is clear.")
    assert not list_feedback(actor=team.annotators[2], project=team.project).rows[0].veiled
    begin(team.project, [item])
    for _ in range(2):
        claim_and_submit(team.annotator, item)
    [told] = list_feedback(actor=team.annotators[2], project=team.project).rows
    assert (told.veiled, told.named_errors) == (True, [])


@pytest.mark.parametrize(("verdict", "whom"), [("approve", 2), ("reject", 1)])
def test_a_verdict_is_overruled_as_well(team: Team, verdict: str, whom: int) -> None:
    item = make_item(team, "cross_check")
    claim_and_submit(team.annotators[1], item, "approve")
    claim_and_submit(team.annotators[2], item, "reject")
    claim_and_submit(team.senior, item, verdict)
    row, person = Feedback.objects.get(kind=FeedbackKind.OVERRULED), team.annotators[whom]
    assert row.person == person
    about = {
        "approve": f"The dialogue passed, although {person} had rejected it.",
        "reject": f"The dialogue was rejected, although {person} had approved it.",
    }
    start = f"A dispute about a dialogue that {person} reviewed was settled."
    assert opening_about(row, nameless=False) == f"{start} {about[verdict]}"
    assert "that a colleague reviewed" in opening_about(row, nameless=True)
    assert not any(" you" in opening_about(one, nameless=False).lower() for one in Feedback.objects.all())
    assert read_decision(row).changes == []


def test_whoever_is_author_and_reviewer_is_told_once(team: Team) -> None:
    item = make_item(team, "self_check_single", make_document("x"))
    document = edited(current(item), text="Sunny.", message="Weather in Ghent x?")
    claim_and_submit(team.annotator, item, "escalate", document=document)
    claim_and_submit(team.senior, item, rulings={TEXT: ruling("left"), MESSAGE: ruling("right")})
    told = Feedback.objects.get()
    assert (told.person, told.kind) == (team.annotator, FeedbackKind.ADJUDICATION)
    about = f"A dispute about a dialogue of {told.person} was settled. The result differs from their revision."
    assert opening_about(told, nameless=False) == about
    decision = read_decision(told)
    assert (decision.before, [one.anchor for one in decision.changes]) == (f"The version of {told.person}", [TEXT])
    assert decision.choices == {
        TEXT: "the version before the review",
        MESSAGE: f"the version of {told.person}",
    }
    assert {one.anchor for one in told.rulings.all()} == {TEXT, MESSAGE}


def test_no_author_hears_of_what_was_left_as_it_was(team: Team) -> None:
    item = disputed(team, None, {"text": "Sunny."})
    claim_and_submit(team.senior, item, rulings={TEXT: ruling("left")})
    assert Feedback.objects.get().person == team.annotators[2]


def test_a_notice_is_read_by_whom_it_is_for(team: Team) -> None:
    item = disputed(team, None, {"text": "Sunny."})
    claim_and_submit(team.senior, item, rulings={TEXT: ruling("right")})
    notice = Notice.objects.get(subject=Feedback.objects.get(person=team.annotator).public_id)
    assert notice.target.endswith(f"/feedback/#f-{notice.subject}")
    for person in (team.annotators[1], team.senior, team.outsider):
        with pytest.raises(Hidden):
            mark_read(actor=person, public_id=notice.public_id)
    first = mark_read(actor=team.annotator, public_id=notice.public_id)
    assert mark_read(actor=team.annotator, public_id=notice.public_id).read_at == first.read_at
    assert not Notice.objects.filter(person=team.annotator, kind="feedback").unread().exists()
