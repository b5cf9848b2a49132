"""Threads about feedback: the two ends, blindness, and the answer to a dispute."""

import re
from collections.abc import Callable

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Dialogue, Event, Notice, User
from annotator.services.dialogues.revisions import lock_dialogue, revise
from reviews.models import Cycle, DisputeState, Feedback, FeedbackDispute, FeedbackKind, FeedbackReply
from reviews.services.feedback import reading
from reviews.services.feedback.threads import (
    Thread,
    answer_dispute,
    dispute_feedback,
    load_feedback,
    reply_to_feedback,
)
from reviews.services.queue.claims import claim_slot
from tests.api_client import ApiClient
from tests.factories import Team, begin, changed, claim_and_submit, open_slot
from tests.pages import one_line
from tests.reviews.adjudication.test_adjudication import TEXT, disputed, ruling

pytestmark = pytest.mark.django_db
TEAM = {"seniors": 2}
WHY = "The observation says sunny."


def overruled(team: Team) -> Feedback:
    """The feedback to a reviewer whom the first senior reviewer overruled."""
    item = disputed(team, None, {"text": "Sunny."})
    claim_and_submit(team.senior, item, rulings={TEXT: ruling("left")}, reason="The sky is clear.")
    return loaded(team.annotators[2], Feedback.objects.get(kind=FeedbackKind.OVERRULED))


def loaded(actor: User, row: Feedback) -> Feedback:
    return load_feedback(actor=actor, project=row.dialogue.project, public_id=row.public_id)


def thread(actor: User, row: Feedback) -> Thread:
    return reading.read_feedback(actor=actor, project=row.dialogue.project, public_id=row.public_id).thread


def unread(person: User) -> list[str]:
    return [one.text for one in Notice.objects.filter(person=person, read_at=None).order_by("pk")]


def test_a_dispute_goes_to_the_expert_who_decided_and_its_answer_back(team: Team, client: Client) -> None:
    row, reviewer, expert = overruled(team), team.annotators[2], team.senior
    other = team.seniors[1]
    address = f"/p/{team.project.slug}/feedback/{row.public_id}/"
    dispute_feedback(actor=reviewer, feedback=row, reason=WHY)
    assert (
        unread(expert)[-1] == f"Your decision on {row.dialogue.external_id} is disputed. Read the reason and answer it."
    )
    assert not any("disputed" in text for text in unread(other))
    client.force_login(expert)
    page = one_line(client.get(address))
    assert WHY in page
    assert "Accept the dispute" in page
    # The page says whom it is about, and shows both versions and the ruling.
    assert f"A dispute about a dialogue that {reviewer} reviewed was settled." in page
    assert f"The result differs from the review of {reviewer}." in page
    assert "The sky is clear." in page
    assert f"Decided: the version of {team.annotators[1]}" in page
    assert f"The version of {reviewer}" in page
    assert "Sunny." in re.sub("<[^>]+>", "", page)
    assert not any("disputed" in text for text in unread(expert))
    assert (
        f"/feedback/{row.public_id}/answer/"
        in client.get(f"/p/{team.project.slug}/feedback/?of=decided").content.decode()
    )
    refused = client.post(f"{address}answer/", {"verdict": "accept", "text": " "})
    assert (refused.status_code, "Give a reason for your answer." in refused.content.decode()) == (422, True)
    answered = client.post(f"{address}answer/", {"verdict": "accept", "text": "You are right."}, follow=True)
    assert "Dispute accepted. The dialogue is unchanged. Administrators got a notice" in answered.content.decode()
    assert "An accepted dispute changes no dialogue." in answered.content.decode()
    assert thread(reviewer, row).state == DisputeState.ACCEPTED
    assert unread(reviewer)[-1].endswith("was accepted: the decision was wrong.")
    assert "Send the dialogue back" in unread(team.administrator)[-1]
    client.force_login(reviewer)
    listed = client.get(f"/p/{team.project.slug}/feedback/").content.decode()
    assert "You are right." in listed
    assert "A dispute about a dialogue that you reviewed was settled." in listed
    own = client.get(address).content.decode()
    assert "that you reviewed was settled." in own
    assert not any(words in own for words in ("Both versions", "Decided:", f"of {team.annotators[1]}"))
    assert unread(reviewer) == []
    kinds = Event.objects.filter(project=team.project, kind__startswith="feedback.").order_by("pk")
    assert [one.kind for one in kinds] == ["feedback.disputed", "feedback.dispute_accepted"]
    assert {str(one.after) for one in kinds} == {str({"feedback": row.public_id})}
    assert all(one.dialogue_id is None for one in kinds)


def test_the_two_ends_and_administrators_alone_read_and_write(team: Team) -> None:
    row, reviewer = overruled(team), team.annotators[2]
    reply_to_feedback(actor=reviewer, feedback=row, text="Why is that?")
    reply_to_feedback(actor=team.senior, feedback=row, text="See the observation.")
    reply_to_feedback(actor=team.senior, feedback=row, text=" See the observation. ")
    for reader in (reviewer, team.senior, team.administrator):
        assert [(one.end, one.text) for one in thread(reader, row).posts] == [
            ("person", "Why is that?"), ("decider", "See the observation."),
        ]  # fmt: skip
    for stranger in (team.annotators[1], team.seniors[1], team.outsider):
        with pytest.raises(Hidden):
            loaded(stranger, row)
        with pytest.raises(Hidden):
            reply_to_feedback(actor=stranger, feedback=row, text="I also think so.")
    everybody = reading.list_feedback(actor=team.seniors[1], project=team.project, everybody=True).rows
    assert not any(one.thread.shown or one.thread.posts for one in everybody)
    [decided] = reading.list_feedback(actor=team.senior, project=team.project, decided=True).rows
    assert decided.feedback == row
    assert reading.list_feedback(actor=team.seniors[1], project=team.project, decided=True).rows == []


def test_a_dispute_is_made_by_its_person_and_answered_once_by_the_other_end(team: Team) -> None:
    row, reviewer, administrator = overruled(team), team.annotators[2], team.administrator
    refusals: list[tuple[type[Exception], Callable[[], object]]] = [
        (Denied, lambda: dispute_feedback(actor=team.senior, feedback=row, reason=WHY)),
        (Invalid, lambda: dispute_feedback(actor=reviewer, feedback=row, reason=" ")),
        (Invalid, lambda: dispute_feedback(actor=reviewer, feedback=row, reason="x" * 2001)),
        (Conflict, lambda: answer_dispute(actor=team.senior, feedback=row, accept=True, text="Yes.")),
        (Denied, lambda: answer_dispute(actor=reviewer, feedback=row, accept=True, text="Yes.")),
    ]
    for kind, act in refusals:
        with pytest.raises(kind):
            act()
    assert not FeedbackDispute.objects.exists()
    first = dispute_feedback(actor=reviewer, feedback=row, reason=WHY)
    assert dispute_feedback(actor=reviewer, feedback=row, reason=WHY) == first
    with pytest.raises(Conflict, match="already disputed"):
        dispute_feedback(actor=reviewer, feedback=row, reason="Another reason.")
    assert thread(reviewer, row).may_answer is False
    for _ in range(2):
        answer_dispute(actor=administrator, feedback=row, accept=False, text="It is cloudy.")
    with pytest.raises(Conflict, match="already been answered"):
        answer_dispute(actor=team.senior, feedback=row, accept=True, text="Yes.")
    assert [(one.kind, one.end) for one in thread(reviewer, row).posts] == [
        ("dispute", "person"), ("kept", "administrator"),
    ]  # fmt: skip
    assert unread(reviewer)[-1].endswith("was answered: the decision stays.")
    assert unread(team.senior)[-1].startswith("An administrator answered the dispute")


def test_while_the_dialogue_is_blind_again_no_name_is_shown_and_the_overruled_learn_nothing(team: Team) -> None:
    row, reviewer = overruled(team), team.annotators[2]
    dispute_feedback(actor=reviewer, feedback=row, reason=WHY)
    reply_to_feedback(actor=team.senior, feedback=row, text="The sky was grey.")
    begin(team.project, [row.dialogue])
    for _ in range(2):
        claim_and_submit(team.annotator, row.dialogue)
    shown = thread(reviewer, row)
    assert [(one.kind, one.mine) for one in shown.posts] == [("dispute", True)]
    assert (shown.state, shown.may_reply) == (DisputeState.OPEN, False)
    answer_dispute(actor=team.administrator, feedback=row, accept=True, text="Right.")
    assert thread(reviewer, row).state == DisputeState.OPEN
    with pytest.raises(Denied, match="blind stage again"):
        reply_to_feedback(actor=reviewer, feedback=row, text="Please answer.")
    # The expert reviews it again, and blind, but knows why they decided.
    claim_slot(actor=team.senior, slot=open_slot(row.dialogue, team.senior))
    told = reading.read_feedback(actor=team.senior, project=team.project, public_id=row.public_id)
    assert (told.nameless, told.veiled, told.thread.state) == (True, False, DisputeState.ACCEPTED)
    assert {one.author for one in told.thread.posts} <= {None, team.senior}
    client = Client()
    for person in (reviewer, team.senior):
        client.force_login(person)
        others = {str(one) for one in (reviewer, team.senior, team.administrator)} - {str(person)}
        page = client.get(f"/p/{team.project.slug}/feedback/{row.public_id}/").content.decode()
        assert not [name for name in others if name in page]


def test_programs_read_and_write_threads(team: Team) -> None:
    row, reviewer = overruled(team), team.annotators[2]
    path = f"/api/projects/{team.project.slug}/feedback/"
    before = timezone.now()
    made = ApiClient(reviewer).send(f"{path}{row.public_id}/dispute/", {"text": WHY})
    assert (made.status_code, made.json()["dispute"]) == (201, "open")
    reply = ApiClient(team.senior).send(f"{path}{row.public_id}/replies/", {"text": "I look."})
    assert [one["kind"] for one in reply.json()["posts"]] == ["dispute", "reply"]
    answer = ApiClient(team.senior).send(f"{path}{row.public_id}/answer/", {"accept": False, "text": "It stays."})
    assert (answer.status_code, answer.json()["dispute"]) == (200, "kept")
    stamp = before.isoformat().replace("+00:00", "Z")
    [listed] = ApiClient(reviewer).get(f"{path}?updated_since={stamp}").json()["results"]
    assert (listed["public_id"], listed["reason"]) == (row.public_id, "The sky is clear.")
    assert [one["author"] for one in listed["posts"]] == [
        reviewer.public_id, team.senior.public_id, team.senior.public_id,
    ]  # fmt: skip
    assert ApiClient(team.seniors[1]).get(path).json()["results"] == []


def test_the_database_refuses_half_an_answer_and_empty_texts(team: Team) -> None:
    row = overruled(team)
    wrong: list[Callable[[], object]] = [
        lambda: FeedbackDispute.objects.create(feedback=row, reason=""),
        lambda: FeedbackDispute.objects.create(feedback=row, reason=WHY, state="accepted"),
        lambda: FeedbackDispute.objects.create(feedback=row, reason=WHY, answer="Yes."),
        lambda: FeedbackReply.objects.create(feedback=row, author=team.senior, text=""),
    ]
    for act in wrong:
        with pytest.raises(IntegrityError), transaction.atomic():
            act()


def test_the_form_of_a_release_names_verified_dialogues_that_an_accepted_dispute_left_unchanged(
    team: Team, client: Client
) -> None:
    row = overruled(team)
    found, dialogue = Dialogue.objects.filter(pk=row.dialogue_id), row.dialogue
    dispute_feedback(actor=team.annotators[2], feedback=row, reason=WHY)
    found.update(status="verified")

    def named(person: User = team.administrator) -> bool:
        client.force_login(person)
        return f"/feedback/{row.public_id}/" in client.get(f"/p/{team.project.slug}/releases/").content.decode()

    assert not named()
    answer_dispute(actor=team.senior, feedback=row, accept=True, text="Yes.")
    assert named()
    assert not named(team.senior)
    # What would not go in, or was changed or reviewed again since, is not named.
    for change in ({"status": "in_review"}, {"archived_at": timezone.now()}, {"gold_role": "gold"}):
        before = {name: getattr(dialogue, name) for name in change} | {"status": "verified"}
        found.update(**before | change)
        assert not named()
        found.update(**before)
    assert named()
    cycle = Cycle.objects.get(dialogue=dialogue)
    Cycle.objects.filter(pk=cycle.pk).update(created_at=timezone.now())
    assert not named()
    Cycle.objects.filter(pk=cycle.pk).update(created_at=cycle.created_at)
    assert named()
    head = found.get().head
    assert head is not None
    document = changed(head.document(), "Rain.")
    revise(actor=team.senior, dialogue=lock_dialogue(dialogue.pk), seen=head, document=document, message="")
    assert not named()
