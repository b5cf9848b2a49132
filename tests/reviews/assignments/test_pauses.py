"""Pausing a project, a stage or a person; how much one may hold; and people who are away."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Membership
from annotator.services.history.events import broken_links
from reviews.models import Claim, ClaimState, Pause, Slot, SlotState
from reviews.services.assignments.changes import free_claim
from reviews.services.queue.absence import release_slots_of_former_members
from reviews.services.queue.claims import claim_next, claim_slot, expire_overdue
from reviews.services.queue.pauses import pause, resume, set_rules
from reviews.services.submission.submit import submit_review
from reviews.tasks import tidy_claims
from tests.factories import Team, begin, make_dialogues, make_item, open_slot

pytestmark = pytest.mark.django_db
TEAM = {"annotators": 4}


def test_a_paused_project_gives_out_nothing_and_takes_what_is_held(team: Team) -> None:
    item, other = make_item(team, "self_check_single"), make_item(team, "self_check_single")
    claim = claim_slot(actor=team.annotator, slot=open_slot(item))
    made, freed = pause(actor=team.administrator, project=team.project, reason="The guideline changes.")
    assert freed == 0
    with pytest.raises(Conflict, match=r"is paused: The guideline changes\. You can still submit"):
        claim_next(actor=team.annotators[1], project=team.project)
    with pytest.raises(Conflict, match="is paused"):
        claim_slot(actor=team.annotators[1], slot=open_slot(other))
    # Items that are already claimed can be resumed and submitted.
    again = claim_next(actor=team.annotator, project=team.project)
    assert again is not None
    assert again.pk == claim.pk
    submit_review(actor=team.annotator, slot=claim.slot, token=claim.token, verdict="approve")
    resume(actor=team.administrator, project=team.project, public_id=made.public_id)
    assert claim_next(actor=team.annotators[1], project=team.project) is not None


def test_a_paused_stage_leaves_the_others(team: Team) -> None:
    make_item(team, "cross_check")
    make_item(team, "self_check_single")
    pause(actor=team.administrator, project=team.project, stage="cross_check", reason="Tools are being mended")
    with pytest.raises(Conflict, match="“Cross-check” is paused: Tools are being mended"):
        claim_next(actor=team.annotators[1], project=team.project, stage="cross_check")
    taken = claim_next(actor=team.annotators[1], project=team.project)
    assert taken is not None
    assert taken.stage == "self_check_single"
    # A senior reviewer takes part in nothing but the cross-check and the expert's stage, which is not paused.
    assert claim_next(actor=team.senior, project=team.project) is None
    pause(actor=team.administrator, project=team.project, stage="expert")
    with pytest.raises(Conflict, match="is paused"):
        claim_next(actor=team.senior, project=team.project)


def test_what_was_left_lying_in_a_paused_stage_is_not_taken_over(team: Team) -> None:
    claim = claim_slot(actor=team.annotators[1], slot=open_slot(make_item(team, "cross_check")))
    Claim.objects.filter(pk=claim.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    pause(actor=team.administrator, project=team.project, stage="cross_check")
    assert claim_next(actor=team.annotators[2], project=team.project) is None


def test_what_is_reserved_for_a_paused_person_is_open_to_others(team: Team) -> None:
    item = make_item(team, "self_check_multi")
    _, freed = pause(actor=team.administrator, project=team.project, person=team.annotator, reason="Ill")
    assert freed == 1
    with pytest.raises(Conflict, match="has paused your work in this project: Ill"):
        claim_next(actor=team.annotator, project=team.project)
    taken = claim_next(actor=team.annotators[1], project=team.project)
    assert taken is not None
    assert taken.slot.dialogue_id == item.pk
    event = item.events.order_by("-number")[0]
    assert (event.kind, event.after["person"], event.after["reason"]) == (
        "slot.opened",
        team.annotator.public_id,
        "paused",
    )
    assert broken_links(item) == []


def test_what_comes_to_be_reserved_later_is_opened_by_beat(team: Team) -> None:
    item = make_item(team, "self_check_single")
    claim = claim_slot(actor=team.annotator, slot=open_slot(item))
    pause(actor=team.administrator, project=team.project, person=team.annotator)
    submit_review(actor=team.annotator, slot=claim.slot, token=claim.token, verdict="approve")
    assert Slot.objects.get(dialogue=item, state=SlotState.OPEN).reserved_for == team.annotator
    tidy_claims()
    assert Slot.objects.get(dialogue=item, state=SlotState.OPEN).reserved_for is None


def test_beat_takes_up_what_was_left_lying(team: Team) -> None:
    claim = claim_slot(actor=team.annotator, slot=open_slot(make_item(team, "self_check_single")))
    assert expire_overdue() == 0
    Claim.objects.filter(pk=claim.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    tidy_claims()
    claim.refresh_from_db()
    claim.slot.refresh_from_db()
    assert (claim.state, claim.slot.state, claim.slot.holder) == (ClaimState.EXPIRED, SlotState.OPEN, None)


def test_somebody_away_for_too_long_blocks_nothing(team: Team) -> None:
    item = make_item(team, "self_check_multi")
    long_ago = timezone.now() - timedelta(days=8)
    Membership.objects.filter(user=team.annotator).update(created_at=long_ago)
    Claim.objects.filter(person=team.annotator).update(heartbeat_at=long_ago)
    assert release_slots_of_former_members() == 0
    set_rules(actor=team.administrator, project=team.project, most_held=None, absent_days=9)
    assert release_slots_of_former_members() == 0
    set_rules(actor=team.administrator, project=team.project, most_held=None, absent_days=7)
    assert release_slots_of_former_members() == 1
    assert item.events.order_by("-number")[0].after["reason"] == "away"


@pytest.mark.postgres
def test_nobody_is_away_because_a_workers_clock_is_ahead(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """Items that were reserved for everybody were opened to all, permanently."""
    make_item(team, "self_check_multi")
    set_rules(actor=team.administrator, project=team.project, most_held=None, absent_days=7)
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(days=365))
    assert release_slots_of_former_members() == 0


def test_signing_in_is_a_sign_of_life(team: Team) -> None:
    make_item(team, "self_check_multi")
    long_ago = timezone.now() - timedelta(days=8)
    Membership.objects.filter(user=team.annotator).update(created_at=long_ago)
    Claim.objects.filter(person=team.annotator).update(heartbeat_at=long_ago)
    team.annotator.last_login = timezone.now()
    team.annotator.save(update_fields=["last_login"])
    set_rules(actor=team.administrator, project=team.project, most_held=None, absent_days=7)
    assert release_slots_of_former_members() == 0


def test_nobody_holds_more_than_one_may(team: Team) -> None:
    items = [make_item(team, "self_check_single") for _ in range(3)]
    set_rules(actor=team.administrator, project=team.project, most_held=2, absent_days=None)
    for item in items[:2]:
        claim_slot(actor=team.annotators[1], slot=open_slot(item))
    with pytest.raises(Conflict, match="already claimed 2 items"):
        claim_slot(actor=team.annotators[1], slot=open_slot(items[2]))
    # They can resume the items they hold, and an expired lease does not count.
    assert claim_next(actor=team.annotators[1], project=team.project) is not None
    Claim.objects.filter(slot__dialogue=items[0]).update(expires_at=timezone.now() - timedelta(seconds=1))
    claim_slot(actor=team.annotators[1], slot=open_slot(items[2]))


def test_a_freed_slot_is_open_to_everybody_and_the_draft_is_kept(team: Team) -> None:
    claim = claim_slot(actor=team.annotators[1], slot=open_slot(make_item(team, "cross_check")))
    slot = free_claim(actor=team.administrator, slot=claim.slot, reason="Gone home")
    claim.refresh_from_db()
    assert (claim.state, slot.state, slot.holder, slot.reserved_for) == (
        ClaimState.WITHDRAWN,
        SlotState.OPEN,
        None,
        None,
    )
    event = slot.dialogue.events.order_by("-number")[0]
    assert (event.kind, event.before["person"]) == ("slot.freed", team.annotators[1].public_id)
    with pytest.raises(Conflict, match="already open to everyone"):
        free_claim(actor=team.administrator, slot=slot)


def test_pauses_are_for_administrators_and_make_sense(team: Team) -> None:
    for act in (
        lambda: pause(actor=team.senior, project=team.project),
        lambda: set_rules(actor=team.senior, project=team.project, most_held=1, absent_days=None),
        lambda: resume(actor=team.annotator, project=team.project, public_id="x"),
    ):
        with pytest.raises(Denied):
            act()
    with pytest.raises(Invalid, match="has no stage"):
        pause(actor=team.administrator, project=team.project, stage="nowhere")
    with pytest.raises(Invalid, match="isn’t a member"):
        pause(actor=team.administrator, project=team.project, person=team.outsider)
    with pytest.raises(Invalid, match="not both"):
        pause(actor=team.administrator, project=team.project, person=team.senior, stage="expert")
    with pytest.raises(Invalid, match="from 1 to"):
        set_rules(actor=team.administrator, project=team.project, most_held=0, absent_days=None)
    made, _ = pause(actor=team.administrator, project=team.project)
    assert pause(actor=team.administrator, project=team.project) == (made, 0)
    with pytest.raises(Conflict, match="already paused"):
        pause(actor=team.administrator, project=team.project, reason="Another one")
    ended = resume(actor=team.administrator, project=team.project, public_id=made.public_id)
    assert resume(actor=team.administrator, project=team.project, public_id=made.public_id).ended_at == ended.ended_at
    assert team.project.events.filter(kind="project.resumed").count() == 1
    with pytest.raises(Hidden):
        resume(actor=team.administrator, project=team.project, public_id="nothing")
    kinds = set(team.project.events.values_list("kind", flat=True))
    assert {"project.paused", "project.resumed"} <= kinds
    assert Pause.objects.count() == 1


def test_the_page_says_why_nothing_is_given_out(team: Team) -> None:
    begin(team.project, make_dialogues(team.project, 2))
    client = Client()
    client.force_login(team.annotator)
    pause(actor=team.administrator, project=team.project, reason="Lunch")
    refused = client.post(f"/p/{team.project.slug}/next/", follow=True)
    assert "Work in this project is paused: Lunch." in refused.content.decode()
    assert "Work in this project is paused: Lunch." in client.get("/").content.decode()


def test_my_work_offers_nothing_of_what_is_paused(team: Team) -> None:
    make_item(team, "self_check_single")
    make_item(team, "cross_check")
    client = Client()
    client.force_login(team.annotators[1])
    pages = ["/", f"/p/{team.project.slug}/"]

    def offers() -> list[int]:
        return [client.get(page).content.decode().count(f'action="/p/{team.project.slug}/next/"') for page in pages]

    assert offers() == [3, 1]  # My work: what comes first, and each of the two stages
    stage, _ = pause(actor=team.administrator, project=team.project, stage="cross_check")
    assert offers() == [2, 1]
    mine, _ = pause(actor=team.administrator, project=team.project, person=team.annotators[1])
    assert offers() == [0, 0]
    for one in (stage, mine):
        resume(actor=team.administrator, project=team.project, public_id=one.public_id)
    assert offers() == [3, 1]
