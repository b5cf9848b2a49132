"""Taking back what was just submitted or skipped: everything is as before, and the history has both."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotator.errors import Conflict, Hidden
from annotator.models import Dialogue, Draft, Event, Revision, Role
from annotator.services.dialogues.drafts import open_draft, replace_draft
from annotator.services.members import end_role
from reviews.models import (
    Claim,
    ClaimState,
    GoldScore,
    Review,
    ReviewDraft,
    ReviewError,
    Slot,
    SlotState,
    StageRun,
    WorkloadCount,
    WorkloadPending,
)
from reviews.services.cycles.start import supersede_cycle
from reviews.services.history.dialogue_history import read_history
from reviews.services.queue.claims import claim_next, claim_slot, release, skip
from reviews.services.queue.pauses import pause, set_rules
from reviews.services.queue.slot_work import load_claim, load_slot_work
from reviews.services.statistics.counters import stored_counters
from reviews.services.statistics.workload import WORK
from reviews.services.submission.review_forms import read_form, store_form
from reviews.services.submission.submit import submit_review
from reviews.services.submission.take_back import TAKE_BACK_SECONDS, can_take_back, forget_forms, take_back
from tests.consistency import assert_consistent
from tests.factories import Team, changed, claim_and_submit, current, give_role, make_item, open_slot
from tests.pages import one_line
from tests.reviews.gold.gold_team import STAGE, certain, gold_team, make_gold, take

pytestmark = pytest.mark.django_db

TEAM = {"annotators": 4}
FORM = {
    "reason": "It is clear.",
    "checklist": {"t1": {"request_clear": True}},
    "notes": {"t1": {"request_clear": "Once it was not."}},
    "named_errors": [{"kind": "", "anchor": "", "note": "Not sure yet."}],
}


@pytest.fixture
def item(team: Team) -> Dialogue:
    return make_item(team, "cross_check")


def undo(claim: Claim) -> Claim:
    """Take back as a page does: with the claim as it is stored now."""
    person = claim.person
    return take_back(actor=person, claim=load_claim(actor=person, slot=claim.slot.public_id))


def state(item: Dialogue) -> dict[str, Any]:
    """What everybody but the reviewer can see of an item, and what is counted of it."""
    item.refresh_from_db()
    return {
        "dialogue": (item.status, item.stage, item.owner_id, item.head_id, item.updated_at),
        "slots": list(Slot.objects.filter(dialogue=item).order_by("pk").values_list("state", "holder", "position")),
        "runs": list(StageRun.objects.filter(cycle__dialogue=item).order_by("pk").values_list("state", "outcome")),
        "reviews": list(Review.objects.filter(dialogue=item).order_by("pk").values_list("pk", "verdict")),
        "errors": ReviewError.objects.filter(review__dialogue=item).count(),
        "counters": stored_counters(item.project),
        "work": sorted(WORK.stored(item.project).items()),
        "waiting": sorted(WorkloadPending.objects.filter(review__dialogue=item).values_list("review", "errors")),
        "open": [*Revision.objects.filter(dialogue=item, sealed=False).order_by("pk").values_list("pk", flat=True)],
    }


def test_everything_is_as_before_the_submission(team: Team, item: Dialogue) -> None:
    person = team.annotators[1]
    claim_and_submit(team.annotators[2], make_item(team, "cross_check"), "approve")
    WORK.fold()
    claim = claim_slot(actor=person, slot=open_slot(item))
    work = load_slot_work(actor=person, public_id=claim.slot.public_id)
    draft = open_draft(actor=person, dialogue=item, base=claim.slot.revision, branch=work.branch)
    draft = replace_draft(actor=person, draft=draft, document=changed(current(item)), operation="test")
    store_form(actor=person, work=work, changes=FORM)
    Claim.objects.filter(pk=claim.pk).update(active_seconds=40)
    before, form = state(item), read_form(actor=person, work=work).form
    for counted in (False, True):
        review = submit_review(
            actor=person, slot=claim.slot, token=claim.token, verdict="fix", draft=draft, reason="Warm.",
            named_errors=[{"kind": "other", "anchor": "/tasks/t1", "note": ""}],
        )  # fmt: skip
        assert can_take_back(review)
        assert state(item) != before
        if counted:
            WORK.fold()
            assert WorkloadCount.objects.filter(what="time", key="40").exists()
        again = undo(claim)
        assert state(item) == before
        assert (again.pk, again.state, again.token, again.active_seconds) == (claim.pk, "live", claim.token, 40)
        assert again.expires_at > again.heartbeat_at
        draft = Draft.objects.get(pk=draft.pk)
        assert (draft.closed_at, draft.outcome, draft.document()) == (None, "", changed(current(item)))
        assert read_form(actor=person, work=load_slot_work(actor=person, public_id=claim.slot.public_id)).form == form
        assert_consistent(team.project)
    # What it made stays, for its author only, and the history tells both.
    assert Revision.objects.filter(dialogue=item, sealed=True, author=person).count() == 2
    assert [event.kind for event in Event.objects.filter(dialogue=item).order_by("number")][-4:] == [
        "review.submitted", "review.taken_back",
    ] * 2  # fmt: skip
    assert "Cross-check: review taken back by its reviewer" in [
        entry.text for entry in read_history(actor=person, dialogue=item)
    ]
    assert not any("taken back" in entry.text for entry in read_history(actor=team.annotators[2], dialogue=item))
    assert WORK.recount(team.project) == []


def test_a_review_that_was_taken_back_does_not_count_when_the_stage_settles(team: Team, item: Dialogue) -> None:
    first, second = team.annotators[1:3]
    claim = claim_slot(actor=first, slot=open_slot(item))
    submit_review(
        actor=first, slot=claim.slot, token=claim.token, verdict="fix", document=changed(current(item), "Wrong.")
    )
    undo(claim)
    claim_and_submit(second, item, "approve")
    item.refresh_from_db()
    assert item.stage == "cross_check"
    submit_review(actor=first, slot=claim.slot, token=claim.token, verdict="approve")
    item.refresh_from_db()
    assert (item.status, item.head_id) == ("pooled", item.slots.latest("pk").revision_id)
    run = StageRun.objects.get(cycle__dialogue=item, stage="cross_check")
    assert (run.outcome, run.discrepancy_count) == ("pass", 0)
    assert_consistent(team.project)


def test_taking_back_twice_is_once(team: Team, item: Dialogue) -> None:
    claim = claim_and_submit(team.annotators[1], item, "approve").slot.claims.get()
    assert undo(claim).pk == undo(claim).pk == claim.pk
    assert Event.objects.filter(dialogue=item, kind="review.taken_back").count() == 1


def test_the_next_item_goes_back_to_its_place_unless_it_was_worked_on(team: Team, item: Dialogue) -> None:
    person = team.annotators[1]
    other = make_item(team, "cross_check")
    claim = claim_slot(actor=person, slot=open_slot(item))
    set_rules(actor=team.administrator, project=team.project, most_held=1, absent_days=None)
    for worked_on in (False, True):
        submit_review(actor=person, slot=claim.slot, token=claim.token, verdict="approve")
        following = claim_next(actor=person, project=team.project, stage="cross_check")
        assert following is not None
        assert following.slot.dialogue == other
        if not worked_on:
            undo(claim)
            following.refresh_from_db()
            assert following.state == ClaimState.RELEASED
            continue
        work = load_slot_work(actor=person, public_id=following.slot.public_id)
        store_form(actor=person, work=work, changes={"reason": "Already begun."})
        with pytest.raises(Conflict, match="already claimed 1 item"):
            undo(claim)
        set_rules(actor=team.administrator, project=team.project, most_held=None, absent_days=None)
        undo(claim)
        assert Claim.objects.filter(person=person, state=ClaimState.LIVE).count() == 2
    assert_consistent(team.project)


def settled(team: Team, claim: Claim) -> None:
    claim_and_submit(team.annotators[2], claim.slot.dialogue, "approve")


def restarted(team: Team, claim: Claim) -> None:
    supersede_cycle(actor=team.administrator, dialogue=claim.slot.dialogue, reason="Again.", force=True)


def late(team: Team, claim: Claim) -> None:
    Review.objects.update(created_at=timezone.now() - timedelta(seconds=TAKE_BACK_SECONDS + 2))


@pytest.mark.parametrize(
    ("happens", "sentence"),
    [
        (settled, "This stage has ended for the item and its result counts"),
        (restarted, "was reassigned or its review was restarted"),
        (late, "for 60 seconds after it was submitted. That time is over"),
    ],
)
def test_what_followed_is_not_undone(
    team: Team, item: Dialogue, happens: Callable[[Team, Claim], None], sentence: str
) -> None:
    review = claim_and_submit(team.annotators[1], item, "approve")
    claim = review.slot.claims.get()
    happens(team, claim)
    before = state(item)
    with pytest.raises(Conflict, match=sentence):
        undo(claim)
    assert state(item) == before


def test_a_stage_with_one_reviewer_settles_at_once(team: Team) -> None:
    review = claim_and_submit(team.annotator, make_item(team, "self_check_single"))
    assert not can_take_back(review)
    with pytest.raises(Conflict, match="This stage has ended"):
        undo(review.slot.claims.get())


def test_only_a_member_takes_back_their_own(team: Team, item: Dialogue) -> None:
    person = team.annotators[1]
    claim = claim_and_submit(person, item, "approve").slot.claims.get()
    with pytest.raises(Hidden):
        load_claim(actor=team.annotators[2], slot=claim.slot.public_id)
    pause(actor=team.administrator, project=team.project, person=person)
    undo(claim)
    submit_review(actor=person, slot=claim.slot, token=claim.token, verdict="approve")
    give_role(team.project, person, Role.ADMINISTRATOR)
    end_role(actor=team.administrator, project=team.project, user=person, role=Role.ANNOTATOR)
    with pytest.raises(Conflict, match="needs the role"):
        undo(claim)


def test_a_gold_item_is_taken_back_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    team = gold_team()
    gold = make_gold(team)
    certain(monkeypatch, team)
    person = team.annotators[3]
    claim = take(person, team)
    assert claim.slot.is_gold
    WORK.fold()
    before = state(gold.dialogue)
    for _ in range(2):
        review = submit_review(actor=person, slot=claim.slot, token=claim.token, verdict="approve")
        assert can_take_back(review)
        assert GoldScore.objects.get().review == review
        WORK.fold()
        undo(claim)
        assert state(gold.dialogue) == before
        assert not GoldScore.objects.exists()
    assert_consistent(team.project)
    late_one = submit_review(actor=person, slot=claim.slot, token=claim.token, verdict="approve")
    assert late_one.slot.state == SlotState.DONE
    late(team, claim)
    with pytest.raises(Conflict, match="That time is over"):
        undo(claim)


def test_after_the_time_no_answer_tells_a_gold_item_from_one_whose_stage_has_ended(
    monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    """A gold item never settles, so the reason must not depend on what became of the item."""
    team = gold_team()
    person = team.annotators[3]
    waits, ended, again = (make_item(team, STAGE) for _ in range(3))
    claims = [claim_and_submit(person, one, "approve").slot.claims.get() for one in (waits, ended, again)]
    claim_and_submit(team.annotators[2], ended, "approve")
    restarted(team, claims[2])
    make_gold(team)
    certain(monkeypatch, team)
    make_item(team, STAGE)
    gold = take(person, team)
    assert gold.slot.is_gold
    submit_review(actor=person, slot=gold.slot, token=gold.token, verdict="approve")
    late(team, gold)
    client.force_login(person)
    answers = set()
    for claim in [*claims, gold]:
        page = one_line(client.post(f"/work/{claim.slot.public_id}/take-back/", follow=True))
        api = client.post(f"/api/work/{claim.slot.public_id}/take-back/", {"token": claim.token}, "application/json")
        said = re.findall(r"A review can be taken back[^<]+|This stage has ended[^<]+|was reassigned[^<]+", page)
        answers.add((*said, api.status_code, api.content))
    assert len(answers) == 1
    assert "That time is over" in str(answers)


def test_skipped_items_are_listed_and_taken_again(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    """The list tells nothing about colleagues, and a gold item looks like the others."""
    team = gold_team()
    person, colleague = team.annotators[3], team.annotators[2]
    plain = [make_item(team, STAGE) for _ in range(3)]
    for _ in plain:
        skip(actor=person, token=take(person, team).token)
    make_gold(team)
    certain(monkeypatch, team)
    make_item(team, STAGE)
    gold = take(person, team)
    skip(actor=person, token=gold.token)
    client.force_login(person)

    def rows() -> dict[str, str]:
        page = one_line(client.get("/"))
        found = re.findall(r'<li class="row spread">(.*?)</li>', page)
        return {re.search(r"take-back|work/([^/]+)/", row)[1]: row for row in found}  # type: ignore[index]

    before = rows()
    assert list(before) == [one.slot.public_id for one in Claim.objects.filter(person=person).order_by("-pk")]
    shapes = set()
    for claim in Claim.objects.filter(person=person).select_related("slot__dialogue"):
        row, dialogue = before[claim.slot.public_id], claim.slot.dialogue
        for secret in (claim.slot.public_id, dialogue.public_id, dialogue.external_id, dialogue.title):
            row = row.replace(secret, "…")
        shapes.add(re.sub(r"<time.*?</time>|csrfmiddlewaretoken[^>]+", "", row))
    assert len(shapes) == 1, shapes
    # A colleague who takes the slot changes nothing in the list; the button says why it does nothing.
    taken = Claim.objects.get(person=person, slot__dialogue=plain[0])
    theirs = claim_slot(actor=colleague, slot=taken.slot)
    assert list(rows()) == list(before)
    answer = client.post(f"/work/{taken.slot.public_id}/take-back/", follow=True)
    assert "A colleague is working on this item" in one_line(answer)
    release(actor=colleague, token=theirs.token)
    client.post(f"/work/{taken.slot.public_id}/take-back/")
    assert Claim.objects.get(person=person, state=ClaimState.LIVE).slot == taken.slot
    assert taken.slot.public_id not in rows()
    client.post(f"/work/{gold.slot.public_id}/take-back/")
    gold.refresh_from_db()
    assert gold.state == ClaimState.LIVE
    # What has left the stage is not listed.
    supersede_cycle(actor=team.administrator, dialogue=plain[1], reason="Again.", force=True)
    assert len(rows()) == 1
    client.force_login(colleague)
    assert "Skipped by you" not in one_line(client.get("/"))


@pytest.mark.parametrize("give_back", [skip, release])
def test_a_skipped_item_is_claimed_again(team: Team, item: Dialogue, give_back: Callable[..., None]) -> None:
    person, colleague = team.annotators[1:3]
    other = make_item(team, "cross_check")
    claim = claim_slot(actor=person, slot=open_slot(item))
    give_back(actor=person, token=claim.token)
    following = claim_slot(actor=person, slot=open_slot(other))
    assert undo(claim).pk == claim.pk
    following.refresh_from_db()
    assert following.state == ClaimState.RELEASED
    give_back(actor=person, token=claim.token)
    theirs = claim_slot(actor=colleague, slot=claim.slot)
    with pytest.raises(Conflict, match="A colleague is working on this item"):
        undo(claim)
    release(actor=colleague, token=theirs.token)
    assert undo(claim).pk > claim.pk
    release(actor=person, token=load_claim(actor=person, slot=claim.slot.public_id).token)
    pause(actor=team.administrator, project=team.project, person=person)
    with pytest.raises(Conflict, match="paused your work"):
        undo(claim)
    assert_consistent(team.project)


def test_forms_are_kept_only_as_long_as_they_are_needed(team: Team, item: Dialogue) -> None:
    person = team.annotators[1]
    claim = claim_slot(actor=person, slot=open_slot(item))
    work = load_slot_work(actor=person, public_id=claim.slot.public_id)
    store_form(actor=person, work=work, changes=FORM)
    submit_review(actor=person, slot=claim.slot, token=claim.token, verdict="approve")
    assert forget_forms() == 0
    late(team, claim)
    assert forget_forms() == 1
    assert not ReviewDraft.objects.exists()


# --- pages and API ----------------------------------------------------------------------------------------------------


def test_the_notice_after_a_submission_takes_it_back(team: Team, item: Dialogue, client: Client) -> None:
    person, other = team.annotators[1], make_item(team, "cross_check")
    claim = claim_slot(actor=person, slot=open_slot(item))
    client.force_login(person)
    address = f"/work/{claim.slot.public_id}/"
    page = client.post(f"{address}submit/", {"verdict": "approve", "version": "0"}, follow=True)
    following = Claim.objects.get(person=person, state=ClaimState.LIVE)
    assert page.redirect_chain == [(f"/work/{following.slot.public_id}/", 302)]
    assert following.slot.dialogue == other
    shown = one_line(page)
    assert f"{item.external_id} submitted." in shown
    form = re.search(r'<form method="post" action="([^"]*)"[^>]*data-undo="15"', shown)
    assert form is not None
    assert form[1] == f"{address}take-back/"
    assert shown.count('data-key="z"') == 1
    page = client.post(form[1], follow=True)
    assert page.redirect_chain == [(address, 302)]
    assert "Your review is taken back." in one_line(page)
    assert not Claim.objects.filter(pk=following.pk, state=ClaimState.LIVE).exists()
    client.post(f"{address}submit/", {"verdict": "approve", "version": "0", "stay": ""})
    assert 'data-key="z"' in one_line(client.get("/"))
    settled(team, claim)
    page = client.post(form[1], follow=True, headers={"referer": "http://testserver/p/"})
    assert "This stage has ended for the item" in one_line(page)
    assert item.slots.filter(stage="cross_check", state=SlotState.DONE).count() == 2


def test_the_notice_offers_nothing_when_the_stage_has_ended(team: Team, client: Client) -> None:
    claim = claim_slot(actor=team.annotator, slot=open_slot(make_item(team, "self_check_single")))
    client.force_login(team.annotator)
    address = f"/work/{claim.slot.public_id}/submit/"
    page = one_line(client.post(address, {"verdict": "approve", "version": "0", "stay": ""}, follow=True))
    assert "Its stage has ended, so this can’t be undone." in page
    assert 'data-key="z"' not in page


def test_the_notice_after_a_skip_opens_the_item_again(team: Team, item: Dialogue, client: Client) -> None:
    person, other = team.annotators[1], make_item(team, "cross_check")
    claim = claim_slot(actor=person, slot=open_slot(item))
    client.force_login(person)
    address = f"/work/{claim.slot.public_id}/"
    page = client.post(f"{address}skip/", follow=True)
    assert Claim.objects.get(person=person, state=ClaimState.LIVE).slot.dialogue == other
    assert f'action="{address}take-back/"' in one_line(page)
    assert client.post(f"{address}take-back/").url == address
    assert Claim.objects.get(person=person, state=ClaimState.LIVE).pk == claim.pk


def test_a_program_takes_back_with_the_token(team: Team, item: Dialogue, client: Client) -> None:
    person = team.annotators[1]
    claim = claim_and_submit(person, item, "approve").slot.claims.get()
    client.force_login(person)
    address, sent = f"/api/work/{claim.slot.public_id}/take-back/", {"token": claim.token}
    answer = client.post(address, sent, content_type="application/json")
    assert (answer.status_code, answer.json()["token"]) == (200, claim.token)
    assert client.post(address, sent, content_type="application/json").status_code == 200
    claim_and_submit(team.annotators[2], item, "approve")
    submit_review(actor=person, slot=claim.slot, token=claim.token, verdict="approve")
    answer = client.post(address, sent, content_type="application/json")
    assert answer.status_code == 409
    assert "can’t be taken back" in answer.json()["sentence"]
