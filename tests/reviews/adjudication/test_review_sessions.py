"""Review sessions: who sees them, one decision for each dispute, and that each is an expert's review like any other."""

from functools import partial
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Dialogue, Event, User
from annotator.services.history.events import broken_links
from reviews.core.protocols import load_preset, read_protocol
from reviews.models import Claim, Review, ReviewSession, SessionDecision, Slot
from reviews.services.adjudication import review_sessions
from reviews.services.protocols.versions import adopt_preset, adopt_protocol
from reviews.services.queue.claims import claim_slot
from reviews.services.sampling.draws import draw_where_upstream_is_done
from reviews.services.sampling.rounds import read_rounds
from tests.factories import (
    Team,
    adopt_c3,
    begin,
    changed,
    claim_and_submit,
    current,
    make_dialogue,
    make_item,
    make_team,
    open_slot,
)

pytestmark = pytest.mark.django_db

TEXT = "/tasks/t1/steps/s1/text"
RULINGS = {TEXT: {"choice": "right", "reason_kind": "answer_wrong", "reason": "As observed."}}


@pytest.fixture
def team() -> Team:
    team = make_team(seniors=2)
    adopt_c3(team, audit_fraction=0.0)
    return team


def round_of(team: Team) -> review_sessions.Round:
    return review_sessions.find_round(actor=team.senior, project=team.project, address="1")


def start_session(team: Team) -> ReviewSession:
    people = [team.senior.public_id, *(one.public_id for one in team.annotators[1:])]
    return review_sessions.start_session(actor=team.senior, project=team.project, round=round_of(team), people=people)


def decide(team: Team, item: Dialogue, **more: Any) -> Review:
    session = ReviewSession.objects.get()
    slot = review_sessions.open_dispute(
        actor=team.senior, project=team.project, round=round_of(team), dialogue_id=item.public_id
    )
    token = Claim.objects.get(slot=slot, state="live").token
    options = {"people": [team.annotators[1].public_id], "note": "It reads the observation."} | more
    return review_sessions.decide_together(
        actor=team.senior, session=session, submission={"slot": slot, "token": token, "rulings": RULINGS}, **options
    )


def test_a_long_session_says_how_many_it_has_decided_and_lists_them_by_the_page(
    team: Team, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review_sessions, "PAGE_SIZE", 2)
    items = [make_item(team, "expert") for _ in range(3)]
    start_session(team)
    for item in items:
        decide(team, item)
    read = partial(review_sessions.read_session_summary, actor=team.senior, project=team.project, round=round_of(team))
    table = read(start=0)
    assert (table.total, table.decided, len(table.decisions)) == (3, 3, 2)
    # The page of a dispute shows their number alone, so it reads none of them.
    assert (read().total, read().decided, read().decisions) == (3, 3, [])
    client.force_login(team.senior)
    address = reverse("review-session", args=[team.project.slug, "cross_check-1"])
    first, second = (client.get(address + query).content.decode() for query in ("", "?from=2"))
    assert "Decided together: 3" in first
    assert "Decisions 1 to 2 of 3" in first
    assert "?from=2#done" in first
    assert items[2].external_id not in first
    assert "Decisions 3 to 3 of 3" in second
    assert items[2].external_id in second


def test_a_round_is_found_by_its_stage_or_as_the_usual_one(team: Team) -> None:
    assert round_of(team) == review_sessions.Round("cross_check", "Cross-check", 1)
    assert round_of(team).address == "cross_check-1"
    for address in ("", "-1", "0", "nothing", "nothing-1", "1-1", "cross_check-2", "cross_check-1x"):
        with pytest.raises(Hidden):
            review_sessions.find_round(actor=team.senior, project=team.project, address=address)
    with pytest.raises(Denied):
        review_sessions.find_round(actor=team.annotator, project=team.project, address="1")
    with pytest.raises(Hidden):
        review_sessions.find_round(actor=team.outsider, project=team.project, address="1")


def test_what_is_in_dispute_is_listed_until_it_is_settled(team: Team) -> None:
    assert review_sessions.rounds_in_dispute(actor=team.senior, project=team.project) == []
    first, second = make_item(team, "expert"), make_item(team, "expert")
    assert [
        (one.address, one.open) for one in review_sessions.rounds_in_dispute(actor=team.senior, project=team.project)
    ] == [("cross_check-1", 2)]
    start_session(team)
    decide(team, first)
    table = review_sessions.read_session_summary(actor=team.senior, project=team.project, round=round_of(team), start=0)
    assert [one.dialogue for one in table.disputes] == [second]
    assert [one.review.dialogue for one in table.decisions] == [first]
    assert (table.total, table.choices, table.reasons) == (2, [("right", 1)], [("answer_wrong", 1)])


def test_a_decision_is_an_experts_review_with_who_was_present(team: Team) -> None:
    item = make_item(team, "expert")
    start_session(team)
    review = decide(team, item)
    item.refresh_from_db()
    assert (item.status, item.head) == ("verified", review.made_revision)
    decision = SessionDecision.objects.get()
    assert (decision.review, decision.note) == (review, "It reads the observation.")
    assert set(decision.participants.all()) == {team.senior, team.annotators[1]}
    event = Event.objects.get(kind="review_session.decided")
    assert event.after["people"] == sorted([team.senior.public_id, team.annotators[1].public_id])
    assert broken_links(item) == []
    with pytest.raises(Conflict, match="has been settled"):
        decide(team, item)


def test_nobody_decides_together_alone_and_nothing_is_written_then(team: Team) -> None:
    item = make_item(team, "expert")
    start_session(team)
    for people, words in (
        ([], "Select who is present"),
        ([team.senior.public_id], "who else is present"),
        ([team.outsider.public_id], "no longer a member"),
    ):
        with pytest.raises(Invalid, match=words):
            decide(team, item, people=people)
    with pytest.raises(Invalid, match="at most 4,000"):
        decide(team, item, note="x" * 4001)
    assert not Review.objects.filter(stage_kind="expert").exists()
    assert not SessionDecision.objects.exists()


def test_the_rules_of_experts_hold(team: Team) -> None:
    item = make_item(team, "cross_check")
    claim_and_submit(team.senior, item, "approve")
    claim_and_submit(team.annotators[1], item, "fix", document=changed(current(item)))
    start_session(team)
    with pytest.raises(Denied):  # an earlier reviewer of the item
        review_sessions.open_dispute(
            actor=team.senior, project=team.project, round=round_of(team), dialogue_id=item.public_id
        )
    with pytest.raises(Denied):  # no senior reviewer
        review_sessions.open_dispute(
            actor=team.administrator, project=team.project, round=round_of(team), dialogue_id=item.public_id
        )
    claim_slot(actor=team.seniors[1], slot=open_slot(item))
    other = make_item(team, "expert")
    claim_slot(actor=team.seniors[1], slot=open_slot(other))
    with pytest.raises(Conflict, match="A colleague is working"):
        review_sessions.open_dispute(
            actor=team.senior, project=team.project, round=round_of(team), dialogue_id=other.public_id
        )


@pytest.mark.any_database
def test_the_next_dispute_is_one_that_the_person_may_settle(client: Client, team: Team) -> None:
    """The first one was never theirs to take, and stood in front of all others."""
    barred = make_item(team, "cross_check")
    claim_and_submit(team.senior, barred, "approve")
    claim_and_submit(team.annotators[1], barred, "fix", document=changed(current(barred)))
    first, second = make_item(team, "expert"), make_item(team, "expert")
    start_session(team)
    client.force_login(team.senior)
    url = reverse("review-session", args=[team.project.slug, "cross_check-1"])
    page = client.get(url).content.decode()
    assert page.index(f'value="{first.public_id}"') < page.index("Open next")
    assert f'value="{barred.public_id}"' not in page
    assert "needs somebody who hasn’t reviewed this item before" in page
    taken = client.post(url, {"dialogue": first.public_id})["Location"]
    assert 'data-key="Shift+P"' not in client.get(taken).content.decode()
    session = {"review-session": ReviewSession.objects.get().pk, "present": [team.annotators[2].public_id]}
    following = client.post(taken, session | {f"ruling:{TEXT}": "right", f"why:{TEXT}": "answer_wrong"})["Location"]
    assert following == reverse("workspace-settle", args=[open_slot(second).public_id])


def test_two_experts_of_a_blind_stage_do_not_see_each_others_decision(team: Team) -> None:
    data = load_preset("c3", audit_fraction=0.0).model_dump(mode="json")
    rows = ("approve", "approve", "pass"), ("fix", "fix", "pass_with_fix"), ("any", "any", "restart")
    table = [{"verdicts": verdicts, "content": "any", "outcome": outcome} for *verdicts, outcome in rows]
    table[1]["content"] = "same"
    data["stages"][3] |= {"reviewers": 2, "blind": True, "outcomes": table}
    adopt_protocol(actor=team.administrator, project=team.project, protocol=read_protocol(data))
    item = make_item(team, "expert")
    session = start_session(team)

    def open_dispute(person: User) -> Slot:
        return review_sessions.open_dispute(
            actor=person, project=team.project, round=round_of(team), dialogue_id=item.public_id
        )

    def settle(person: User) -> None:
        slot = open_dispute(person)
        submission = {"slot": slot, "token": Claim.objects.get(slot=slot).token, "rulings": RULINGS}
        review_sessions.decide_together(
            actor=person, session=session, people=[team.annotator.public_id], note="", submission=submission
        )

    def shown(person: User) -> tuple[int, list[tuple[str, int]]]:
        table = review_sessions.read_session_summary(actor=person, project=team.project, round=round_of(team), start=0)
        return len(table.decisions), table.choices

    one, other = team.seniors
    # Each has a place, and comes back to it.
    assert open_dispute(one) != open_dispute(other)
    assert open_dispute(one) == open_dispute(one)
    settle(one)
    assert shown(one) == (1, [("right", 1)])
    assert shown(other) == shown(team.administrator) == (0, [])
    assert Event.objects.get(kind="review_session.decided").sealed
    settle(other)
    item.refresh_from_db()
    assert item.status == "verified"
    assert shown(one) == shown(team.administrator) == (2, [("right", 2)])
    assert not Event.objects.filter(sealed=True).exists()
    assert broken_links(item) == []


def test_taking_another_up_gives_the_first_back(team: Team) -> None:
    first, second = make_item(team, "expert"), make_item(team, "expert")
    with pytest.raises(Conflict, match="Select who is present first"):
        review_sessions.open_dispute(
            actor=team.senior, project=team.project, round=round_of(team), dialogue_id=first.public_id
        )
    start_session(team)
    for item in (first, second):
        review_sessions.open_dispute(
            actor=team.senior, project=team.project, round=round_of(team), dialogue_id=item.public_id
        )
    assert [claim.slot.dialogue for claim in Claim.objects.filter(person=team.senior, state="live")] == [second]


@pytest.mark.any_database
def test_the_whole_session_without_scripts(client: Client, team: Team) -> None:
    first, second = make_item(team, "expert"), make_item(team, "expert")
    client.force_login(team.senior)
    url = reverse("review-session", args=[team.project.slug, "1"])
    listing = client.get(reverse("review-session-list", args=[team.project.slug])).content.decode()
    assert reverse("review-session", args=[team.project.slug, "cross_check-1"]) in listing
    assert "Start session" in client.get(url).content.decode()
    assert client.post(url, {}).status_code == 422
    client.post(url, {"present": [team.senior.public_id, team.annotators[2].public_id]})
    taken = client.post(url, {"dialogue": first.public_id})["Location"]
    page = client.get(taken).content.decode()
    assert "0 of 2 decided" in page
    assert "Decided together" in page
    form = {
        f"ruling:{TEXT}": "right", f"why:{TEXT}": "answer_wrong", "review-session": ReviewSession.objects.get().pk,
        "present": [team.annotators[2].public_id], "session-note": "Short.",
    }  # fmt: skip
    refused = client.post(taken, {**form, "present": []})
    assert refused.status_code == 422
    assert "Select who is present" in refused.content.decode()
    following = client.post(taken, form)["Location"]
    assert "1 of 2 decided" in client.get(following).content.decode()
    table = reverse("review-session", args=[team.project.slug, "cross_check-1"])
    assert client.post(following, form)["Location"] == table
    end = client.get(url).content.decode()
    assert "0 open disputes" in end
    assert "Decided together: 2" in end
    assert "Short." in end
    detail = client.get(reverse("dialogue", args=[team.project.slug, second.public_id])).content.decode()
    assert "Decided together:" in detail


@pytest.mark.any_database
def test_what_was_given_back_in_a_session_and_taken_up_alone_is_settled_alone(client: Client, team: Team) -> None:
    first, second = make_item(team, "expert"), make_item(team, "expert")
    start_session(team)
    client.force_login(team.senior)
    url = reverse("review-session", args=[team.project.slug, "1"])
    taken = client.post(url, {"dialogue": first.public_id})["Location"]
    session = {"review-session": ReviewSession.objects.get().pk, "present": [team.annotators[2].public_id]}
    client.post(f"{taken}keep/", session | {"session-note": "Not sure yet."})
    for item in (second, first):
        client.post(url, {"dialogue": item.public_id})
    assert "Not sure yet." in client.get(taken).content.decode()
    client.post(url, {"dialogue": second.public_id})
    # Later, nobody sits there any more.
    claim_slot(actor=team.senior, slot=open_slot(first))
    page = client.get(taken).content.decode()
    assert "Review session" not in page
    assert "Decided together" not in page
    assert client.post(taken, {f"ruling:{TEXT}": "right", f"why:{TEXT}": "answer_wrong"}).status_code == 302
    assert not SessionDecision.objects.exists()
    assert Review.objects.get(dialogue=first, stage_kind="expert").person == team.senior
    # Taken up in the session again, the other one is decided there.
    again = client.post(url, {"dialogue": second.public_id})["Location"]
    assert "Decided together" in client.get(again).content.decode()
    client.post(again, session | {f"ruling:{TEXT}": "right", f"why:{TEXT}": "answer_wrong"})
    assert SessionDecision.objects.get().review.dialogue == second


@pytest.mark.any_database
def test_who_edits_a_dispute_besides_settles_it_on_its_own_page(client: Client, team: Team) -> None:
    """Approved or rejected from the workspace, it was settled without who was present, and without the note."""
    item = make_item(team, "expert")
    start_session(team)
    client.force_login(team.senior)
    url = reverse("review-session", args=[team.project.slug, "1"])
    taken = client.post(url, {"dialogue": item.public_id})["Location"]
    slot = Slot.objects.get(claims__state="live").public_id
    besides = client.get(reverse("workspace", args=[slot]), {"at": "/"}).content.decode()
    submit = reverse("workspace-submit", args=[slot])
    assert "Back to the dispute" in besides
    assert f'action="{taken}"' in besides
    assert submit not in besides
    assert client.get(submit, {"verdict": "reject"})["Location"] == taken
    assert client.post(submit, {"verdict": "reject", "reason": "It cannot be saved."})["Location"] == taken
    assert not Review.objects.filter(stage_kind="expert").exists()
    session = {"review-session": ReviewSession.objects.get().pk, "present": [team.annotators[2].public_id]}
    client.post(taken, session | {"verdict": "reject", "reason": "It cannot be saved."})
    assert SessionDecision.objects.get().review.verdict == "reject"


@pytest.mark.any_database
def test_the_page_asks_as_often_for_four_disputes_as_for_one(
    client: Client, team: Team, django_assert_max_num_queries
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    make_item(team, "expert")
    start_session(team)
    client.force_login(team.senior)
    url = reverse("review-session", args=[team.project.slug, "1"])
    client.get(url)
    with CaptureQueriesContext(connection) as one:
        client.get(url)
    for _ in range(3):
        make_item(team, "expert")
    with django_assert_max_num_queries(len(one)):
        client.get(url)


# --- wild -------------------------------------------------------------------------------------------------------------


def disputed_round(team: Team) -> list[Dialogue]:
    """A round of pairs in which every drawn item is a dispute: once over a place, twice over the verdict alone."""
    adopt_preset(actor=team.administrator, project=team.project, preset="wild", round_fraction=0.5)
    for n in range(6):
        item = make_dialogue(team.project)
        begin(team.project, [item])
        claim_and_submit(team.annotators[n % len(team.annotators)], item, "approve")
    assert draw_where_upstream_is_done() == 1
    drawn = list(Dialogue.objects.filter(stage="rounds", slots__state="open").distinct().order_by("pk"))
    for item, verdicts in zip(drawn, (("approve", "fix"), ("reject", "reject"), ("approve", "escalate")), strict=True):
        slots = Slot.objects.filter(dialogue=item, state="open").order_by("index")
        for slot, verdict in zip(slots, verdicts, strict=True):
            assert slot.reserved_for is not None
            claim_and_submit(
                slot.reserved_for, item, verdict, document=changed(current(item)) if verdict == "fix" else None
            )
    return drawn


@pytest.mark.any_database
def test_a_round_of_pairs_is_gone_through_together(client: Client) -> None:
    team = make_team(annotators=5, seniors=2)
    items = disputed_round(team)
    assert len(items) == 3
    client.force_login(team.senior)
    slug = team.project.slug
    url = reverse("review-session", args=[slug, "rounds-1"])
    assert url in client.get(reverse("review-session-list", args=[slug])).content.decode()
    # Also where the rounds are shown, for people who may open it.
    samples = reverse("statistics-samples", args=[slug])
    assert url in client.get(samples).content.decode()
    other = Client()
    other.force_login(team.annotator)
    assert url not in other.get(samples).content.decode()
    assert client.get(reverse("review-session", args=[slug, "1"])).status_code == 200
    assert "3 open disputes" in client.get(url).content.decode()
    client.post(url, {"present": [team.senior.public_id, *(one.public_id for one in team.annotators[:2])]})
    taken = client.post(url, {"dialogue": items[0].public_id})["Location"]
    for n, _ in enumerate(items):
        page = client.get(taken).content.decode()
        assert f"{n} of 3 decided" in page
        form = {
            "review-session": ReviewSession.objects.get().pk,
            "present": [team.annotators[0].public_id],
            "session-note": f"Decision {n}.",
            "reason": "It is right.",
        }
        if f"ruling:{TEXT}" in page:
            form |= {f"ruling:{TEXT}": "right", f"why:{TEXT}": "answer_wrong"}
        response = client.post(taken, form)
        assert response.status_code == 302, response.content.decode()
        taken = response["Location"]
    assert taken == url
    assert "0 open disputes" in client.get(url).content.decode()
    assert SessionDecision.objects.count() == 3
    # They go back into the pool as not seen, and the round has found one error: two were false alarms.
    assert draw_where_upstream_is_done() == 1
    first, second = read_rounds(team.project)
    assert (first.seen, first.disputes, first.errors, first.ended_at is None) == (3, 3, 1, False)
    assert (second.number, second.unseen) == (2, 6)
    for item in items:
        assert broken_links(item) == []
