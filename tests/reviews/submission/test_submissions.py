"""Submission: which verdict fits which content, what blocks it, and what is too late."""

import re
from copy import deepcopy
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.core.schema import canonical, content_hash
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Dialogue, Draft, Revision, Role
from annotator.services.dialogues.drafts import open_draft, replace_draft
from annotator.services.history.events import broken_links
from annotator.services.members import end_role
from reviews.core.protocols import load_preset
from reviews.models import Claim, ClaimState, Review, Slot, SlotState
from reviews.services.queue.claims import claim_slot, expire_overdue, heartbeat, release
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.submission import validation, waivers
from reviews.services.submission.submit import submit_review
from reviews.services.submission.validation import offered_verdicts
from reviews.services.submission.waivers import live_waivers, waive, waive_all
from reviews.services.submission.workbench import open_workbench
from tests.factories import (
    Team,
    begin,
    broken,
    changed,
    claim_and_submit,
    current,
    make_dialogue,
    make_document,
    make_item,
    open_slot,
)
from tests.pages import one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def item(team: Team) -> Dialogue:
    return make_item(team, "self_check_single")


def held(team: Team, item: Dialogue) -> Claim:
    return claim_slot(actor=team.annotator, slot=open_slot(item))


def submit(team: Team, claim: Claim, verdict: str = "", **more: Any) -> Review:
    return submit_review(actor=team.annotator, slot=claim.slot, token=claim.token, verdict=verdict, **more)


def suspicious(document: dict[str, Any]) -> dict[str, Any]:
    """A copy with one warning: a placeholder in the answer."""
    return changed(document, "It is clear. TODO: the degrees.")


# --- verdict and content ----------------------------------------------------------------------------------------------


def test_an_approval_leaves_the_content_as_it_is(team: Team, item: Dialogue) -> None:
    review = submit(team, held(team, item), "approve")
    assert (review.verdict, review.made_revision) == ("approve", None)
    assert review.seen_revision == item.head
    assert review.labels == {"t1": {"policy": "single_tool", "information": "explicit"}}


def test_a_fix_is_a_new_revision(team: Team, item: Dialogue) -> None:
    review = submit(team, held(team, item), "fix", document=changed(current(item)), reason="Stiff.")
    made = review.made_revision
    assert made is not None
    assert (made.parent, made.author, made.branch, made.number) == (item.head, team.annotator, "main", 2)
    assert made.message == "Stiff."
    item.refresh_from_db()
    assert item.head == made
    assert item.content_hash == made.content_hash


def test_a_self_check_says_its_verdict_by_what_it_changes(team: Team) -> None:
    assert claim_and_submit(team.annotator, make_item(team, "self_check_single")).verdict == "approve"
    item = make_item(team, "self_check_single")
    assert claim_and_submit(team.annotator, item, document=changed(current(item))).verdict == "fix"


def test_verdicts_that_contradict_the_content_are_refused(team: Team, item: Dialogue) -> None:
    claim = held(team, item)
    with pytest.raises(Invalid, match="You changed the dialogue"):
        submit(team, claim, "approve", document=changed(current(item)))
    with pytest.raises(Invalid, match="You haven’t changed anything"):
        submit(team, claim, "fix")
    with pytest.raises(Invalid, match="You haven’t changed anything"):
        submit(team, claim, "fix", document=current(item))
    with pytest.raises(Invalid, match="has no verdict"):
        submit(team, claim, "applaud")
    assert not Review.objects.exists()


def test_elsewhere_a_verdict_must_be_chosen(team: Team) -> None:
    item = make_item(team, "cross_check")
    with pytest.raises(Invalid, match="Choose a verdict: approve, fix, reject, escalate"):
        claim_and_submit(team.annotators[1], item)


def test_offered_are_the_verdicts_that_make_sense() -> None:
    cross, expert = load_preset("c3").stage("cross_check"), load_preset("c3").stage("expert")
    assert offered_verdicts(cross, changed=False) == ["approve", "reject", "escalate"]
    assert offered_verdicts(cross, changed=True) == ["fix", "reject", "escalate"]
    assert offered_verdicts(expert, changed=True) == ["fix", "reject"]


def test_what_cannot_be_stored_is_refused(team: Team, item: Dialogue) -> None:
    with pytest.raises(Invalid, match="can’t be saved"):
        submit(team, held(team, item), "fix", document={"kind": "multi_turn", "tasks": []})


@pytest.mark.parametrize("verdict", ["reject", "escalate"])
def test_a_refusal_needs_a_reason(team: Team, item: Dialogue, verdict: str) -> None:
    claim = held(team, item)
    with pytest.raises(Invalid, match=r"Enter .* reason"):
        submit(team, claim, verdict, reason="  ")
    with pytest.raises(Invalid, match="longer than 4,000"):
        submit(team, claim, verdict, reason="x" * 4001)
    assert submit(team, claim, verdict, reason="Nobody would ask this.").reason == "Nobody would ask this."


def test_what_an_escalation_changed_is_kept_for_the_expert(team: Team, item: Dialogue) -> None:
    review = submit(team, held(team, item), "escalate", document=changed(current(item)), reason="Unsure.")
    assert review.made_revision is not None
    assert review.made_revision.branch == f"slot-{review.slot.public_id}"
    before = item.head
    item.refresh_from_db()
    assert item.head == before


# --- drafts -----------------------------------------------------------------------------------------------------------


def drafted(team: Team, item: Dialogue, claim: Claim, document: dict[str, Any]) -> Draft:
    work = load_slot_work(actor=team.annotator, public_id=claim.slot.public_id)
    draft = open_draft(actor=team.annotator, dialogue=item, base=work.slot.revision, branch=work.branch)
    return replace_draft(actor=team.annotator, draft=draft, document=document, operation="test")


def test_the_draft_is_what_is_handed_in(team: Team, item: Dialogue) -> None:
    claim = held(team, item)
    draft = drafted(team, item, claim, changed(current(item)))
    review = submit(team, claim, "fix", draft=draft)
    draft.refresh_from_db()
    assert review.made_revision is not None
    assert review.made_revision.content == draft.content
    assert (draft.outcome, draft.closed_at is not None) == ("submitted", True)


def test_without_being_named_as_well(team: Team, item: Dialogue) -> None:
    claim = held(team, item)
    drafted(team, item, claim, changed(current(item)))
    assert submit(team, claim, "fix").made_revision is not None


def test_a_draft_that_moved_on_meanwhile_is_not_handed_in(team: Team, item: Dialogue) -> None:
    claim = held(team, item)
    draft = drafted(team, item, claim, changed(current(item)))
    replace_draft(actor=team.annotator, draft=draft, document=changed(current(item), "Else."), operation="test")
    draft.version -= 1
    with pytest.raises(Conflict, match="changed in another window"):
        submit(team, claim, "fix", draft=draft)
    assert not Review.objects.exists()
    assert Slot.objects.get(pk=claim.slot_id).state == SlotState.CLAIMED


def test_a_draft_begun_from_another_version_is_merged_first(team: Team, item: Dialogue) -> None:
    claim = held(team, item)
    draft = drafted(team, item, claim, changed(current(item)))
    release(actor=team.annotator, token=claim.token)
    claim_and_submit(team.annotators[1], item, document=changed(current(item), "First."))
    item = make_again(team, item)
    with pytest.raises(Conflict, match="isn’t based on the revision under review"):
        submit(team, held(team, item), "fix", draft=draft)


def test_in_a_blind_stage_too_the_page_that_merges_is_open_to_whoever_is_sent_there(team: Team, client: Client) -> None:
    item = make_item(team, "self_check_single")
    claim_and_submit(team.annotator, item, "fix", document=changed(current(item)))
    claim_and_submit(team.annotator, item, "approve")
    item.refresh_from_db()
    person = team.annotators[1]
    claim = claim_slot(actor=person, slot=open_slot(item))
    slot = claim.slot.public_id
    bench = open_workbench(actor=person, slot_id=slot)
    assert bench.work.blind
    replace_draft(actor=person, draft=bench.draft, document=current(item) | {"env_info": "2026"}, operation="test")
    head = item.head
    assert head is not None
    Draft.objects.filter(pk=bench.draft.pk).update(base=head.parent_id)
    client.force_login(person)
    submit_page, merge_page = (reverse(f"workspace-{page}", args=[slot]) for page in ("submit", "merge"))
    refused = client.post(submit_page, {"verdict": "fix", "seen": 1})
    assert "Merge them first" in refused.content.decode()
    assert "Your draft is based on an older revision" in client.get(f"/work/{slot}/").content.decode()
    assert client.get(merge_page).status_code == 200
    assert client.post(merge_page).status_code == 302
    assert client.post(submit_page, {"verdict": "fix", "seen": 2}).status_code == 302
    assert Review.objects.get(slot=claim.slot).verdict == "fix"


def make_again(team: Team, item: Dialogue) -> Dialogue:
    """Hand the dialogue over, so that the first annotator gets its second self-check."""
    from reviews.services.assignments.changes import hand_over

    return hand_over(actor=team.administrator, dialogue=item, to=team.annotator)


def test_a_whole_document_leaves_the_draft_unused_but_kept(team: Team, item: Dialogue) -> None:
    claim = held(team, item)
    draft = drafted(team, item, claim, changed(current(item)))
    submit(team, claim, "fix", document=changed(current(item), "Other."))
    draft.refresh_from_db()
    assert draft.outcome == "kept"


# --- checks -----------------------------------------------------------------------------------------------------------


def test_errors_stand_in_the_way_of_approval(team: Team) -> None:
    item = make_item(team, "self_check_single", broken(make_document("x")))
    claim = held(team, item)
    with pytest.raises(Invalid, match="before approving") as caught:
        submit(team, claim, "approve")
    assert {one["severity"] for one in caught.value.details["findings"]} == {"error"}
    with pytest.raises(Invalid, match="before approving"):
        submit(team, claim, "fix", document=changed(broken(make_document("x"))))
    assert submit(team, claim, "fix", document=make_document("x")).verdict == "fix"


def test_errors_do_not_stand_in_the_way_of_a_refusal(team: Team) -> None:
    item = make_item(team, "self_check_single", broken(make_document("x")))
    assert claim_and_submit(team.annotator, item, "escalate").verdict == "escalate"


def test_a_cross_check_approves_no_errors_either(team: Team) -> None:
    item = make_item(team, "self_check_single")
    claim = held(team, item)
    fixed = suspicious(current(item))
    waive_all(actor=team.annotator, slot=claim.slot, document=fixed, reason="Wanted.")
    submit(team, claim, "fix", document=fixed)
    claim_and_submit(team.annotator, item)
    # The project grew stricter after the self-checks.
    team.project.check_settings = {"dialogue.placeholder_text": "error"}
    team.project.save()
    with pytest.raises(Invalid, match="Fix 1 error"):
        claim_and_submit(team.annotators[1], item, "approve")
    with pytest.raises(Invalid, match="before approving"):
        claim_and_submit(team.annotators[1], item, "fix", document=broken(current(item)))


def test_warnings_need_a_waiver_with_a_reason(team: Team, item: Dialogue) -> None:
    claim = held(team, item)
    fixed = suspicious(current(item))
    with pytest.raises(Invalid, match="Fix or waive") as caught:
        submit(team, claim, "fix", document=fixed)
    finding = caught.value.details["findings"][0]
    work = load_slot_work(actor=team.annotator, public_id=claim.slot.public_id)
    key = {"check": finding["check"], "anchor": finding["anchor"], "value_hash": finding["value_hash"]}
    with pytest.raises(Invalid, match=r"Enter .* reason"):
        waive(actor=team.annotator, work=work, reason=" ", **key)
    waive(actor=team.annotator, work=work, reason="Wanted in this example.", **key)
    assert submit(team, claim, "fix", document=fixed).verdict == "fix"


def test_a_waiver_is_void_once_its_value_changes(team: Team, item: Dialogue) -> None:
    claim = held(team, item)
    fixed = suspicious(current(item))
    assert waive_all(actor=team.annotator, slot=claim.slot, document=fixed, reason="Wanted.") == 1
    other = changed(current(item), "It is cloudy. TODO: the degrees.")
    with pytest.raises(Invalid, match="Fix or waive"):
        submit(team, claim, "fix", document=other)
    assert waive_all(actor=team.annotator, slot=claim.slot, document=fixed, reason="Wanted.") == 0
    submit(team, claim, "fix", document=fixed)


def test_one_person_waives_so_often_in_one_dialogue(
    team: Team, item: Dialogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waivers, "MAX_WAIVERS", 2)
    work = load_slot_work(actor=team.annotator, public_id=held(team, item).slot.public_id)
    for _ in range(3):
        # A double click says it once.
        waive(actor=team.annotator, work=work, check="x", anchor="/tasks/t1", value_hash="0", reason="Wanted.")
    waive(actor=team.annotator, work=work, check="x", anchor="/tasks/t1", value_hash="0", reason="As agreed.")
    with pytest.raises(Invalid, match="You can waive at most 2 warnings"):
        waive(actor=team.annotator, work=work, check="x", anchor="/tasks/t1", value_hash="1", reason="Wanted.")
    with pytest.raises(Invalid, match="waive at most 2 warnings"):
        waive_all(actor=team.annotator, slot=work.slot, document=suspicious(current(item)), reason="Wanted.")
    assert live_waivers(actor=team.annotator, dialogue=item) == {("x", "/tasks/t1", "0"): "As agreed."}
    # One person's limit does not affect others.
    assert waive_all(actor=team.senior, slot=work.slot, document=suspicious(current(item)), reason="Wanted.") == 1


# --- checklist, findings ----------------------------------------------------------------------------------------------


def test_the_checklist_is_answered_per_task_and_for_the_dialogue(team: Team, item: Dialogue) -> None:
    answers = {"t1": {"relevance": True, "facts": None}, "dialogue": {"variety": True}}
    assert submit(team, held(team, item), checklist=answers).checklist == answers


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"t1": {"nonsense": True}}, "has no question “nonsense”"),
        ({"t1": {"variety": True}}, "has no question “variety” for t1"),
        ({"dialogue": {"facts": True}}, "has no question “facts” for dialogue"),
        ({"t1": {"facts": "yes"}}, "true, false or null"),
        ({"t1": True}, "must be an object"),
        ({"t1": {"facts": False}}, "You answered “No” to"),
    ],
)
def test_answers_that_make_no_sense(team: Team, item: Dialogue, answers: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        submit(team, held(team, item), checklist=answers)


def test_a_no_is_fine_where_the_item_does_not_pass(team: Team, item: Dialogue) -> None:
    review = submit(team, held(team, item), "escalate", reason="Wrong.", checklist={"t1": {"facts": False}},
                    notes={"t1": {"facts": "It rains."}})  # fmt: skip
    assert review.checklist == {"t1": {"facts": False}}
    assert review.checklist_notes == {"t1": {"facts": "It rains."}}


def test_answers_about_a_task_that_was_deleted_are_dropped(team: Team) -> None:
    item = make_item(team, "self_check_single", make_document("x", tasks=2))
    document = current(item)
    del document["tasks"][1]
    review = claim_and_submit(
        team.annotator, item, document=document, checklist={"t2": {"facts": True}, "t1": {"facts": True}}
    )
    assert review.checklist == {"t1": {"facts": True}}


def test_errors_are_named_from_the_taxonomy_at_a_place(team: Team, item: Dialogue) -> None:
    place = "/tasks/t1/steps/s1/text"
    review = submit(
        team, held(team, item), "escalate", reason="Odd.",
        named_errors=[{"kind": "answer_wrong", "anchor": place, "note": "Not said."}, {"kind": "other"}],
    )  # fmt: skip
    first, second = review.errors.order_by("pk")
    assert (first.kind, first.anchor, first.note) == ("answer_wrong", place, "Not said.")
    assert len(first.value_hash) == 16
    assert (second.kind, second.anchor) == ("other", "")


def test_a_place_at_which_many_errors_are_named_is_read_once(
    team: Team, item: Dialogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hundred errors of a dialogue of some megabytes took half a minute of the web server."""
    read: list[Any] = []
    monkeypatch.setattr(validation, "value_hash", lambda value: str(read.append(value) or "hash"))
    named_errors = [{"kind": "other", "anchor": anchor} for anchor in ("", "/tasks/t1") for _ in range(100)]
    review = submit(team, held(team, item), "escalate", reason="Odd.", named_errors=named_errors)
    assert (review.errors.count(), len(read)) == (200, 2)


@pytest.mark.parametrize(
    ("named_error", "words"),
    [
        ({"kind": "ugly", "anchor": ""}, "no error type “ugly”"),
        ({"kind": "other", "anchor": "/tasks/t9"}, "nothing there"),
        ({"kind": "other", "anchor": "", "note": "x" * 1001}, "longer than 1,000"),
    ],
)
def test_errors_that_make_no_sense(team: Team, item: Dialogue, named_error: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        submit(team, held(team, item), "escalate", reason="Odd.", named_errors=[named_error])


def test_rulings_are_the_experts(team: Team, item: Dialogue) -> None:
    with pytest.raises(Invalid, match="Only senior reviewers make rulings"):
        submit(team, held(team, item), rulings={"/tasks/t1": {"choice": "left", "reason_kind": "other"}})


# --- claims -----------------------------------------------------------------------------------------------------------


def overdue(claim: Claim) -> None:
    Claim.objects.filter(pk=claim.pk).update(expires_at=timezone.now() - timedelta(seconds=1))


def test_a_submission_ends_the_claim_and_keeps_the_time_worked(team: Team, item: Dialogue) -> None:
    claim = held(team, item)
    Claim.objects.filter(pk=claim.pk).update(heartbeat_at=claim.heartbeat_at - timedelta(seconds=90))
    heartbeat(actor=team.annotator, token=claim.token, active_seconds=60)
    review = submit(team, claim)
    claim.refresh_from_db()
    assert (claim.state, review.seconds) == (ClaimState.SUBMITTED, 60)
    slot = Slot.objects.get(pk=claim.slot_id)
    assert (slot.state, slot.holder) == (SlotState.DONE, team.annotator)


def test_the_last_seconds_come_with_the_verdict_and_a_page_that_is_left_asks_for_no_answer(
    team: Team, item: Dialogue, client: Client
) -> None:
    """A review of less than a minute counted as none, and of each page up to a minute was lost."""
    claim = held(team, item)
    Claim.objects.filter(pk=claim.pk).update(heartbeat_at=claim.heartbeat_at - timedelta(seconds=20))
    client.force_login(team.annotator)
    work = f"/work/{claim.slot.public_id}/"
    assert 'name="active_seconds"' in client.get(work + "submit/").content.decode()
    # Refused, it counts as well, and only once; never more than the time that has passed.
    assert client.post(work + "submit/", {"verdict": "reject", "active_seconds": "15"}).status_code == 422
    assert client.post(work + "submit/", {"verdict": "approve", "active_seconds": "15"}).status_code == 302
    assert 15 <= Review.objects.get().seconds <= 18
    left = client.post(work + "heartbeat/", {"active_seconds": "9", "leaving": "1"})
    assert (left.status_code, left.content) == (204, b"")
    assert client.post(work + "heartbeat/", {"active_seconds": "9"}).status_code == 409
    assert Claim.objects.get(pk=claim.pk).active_seconds == Review.objects.get().seconds


def test_handing_in_twice_gives_the_same_review(team: Team, item: Dialogue) -> None:
    claim = held(team, item)
    fixed = changed(current(item))
    first = submit(team, claim, "fix", document=fixed)
    assert submit(team, claim, "fix", document=fixed) == first
    assert Review.objects.count() == 1
    assert broken_links(item) == []


def test_what_is_nested_too_deeply_is_refused_and_passes_for_no_other_submission(team: Team, item: Dialogue) -> None:
    claim = held(team, item)

    def finding(note: str) -> list[dict[str, Any]]:
        deep: Any = 1
        for _ in range(5000):
            deep = [deep]
        return [{"kind": "answer_wrong", "anchor": "/tasks/t1", "note": note, "more": deep}]

    with pytest.raises(Invalid, match="nested more than 60 levels deep"):
        submit(team, claim, named_errors=finding("one"))
    first = submit(team, claim)
    for unknown in ("", None):
        # As of reviews from before it was kept, or of one that came so once.
        Review.objects.filter(pk=first.pk).update(submission_hash=unknown)
        with pytest.raises(Invalid, match="nested more"):
            submit(team, claim, named_errors=finding("two"))
        with pytest.raises(Conflict, match="wasn’t saved") as refused:
            submit(team, claim, "fix", document=changed(current(item)))
        assert refused.value.details["review"]["public_id"] == first.public_id


def test_whoever_holds_nothing_hands_in_nothing(team: Team, item: Dialogue) -> None:
    claim = held(team, item)
    for person, token in ((team.annotators[1], claim.token), (team.annotator, "nonsense")):
        with pytest.raises(Conflict, match="Claim this item first"):
            submit_review(actor=person, slot=claim.slot, token=token)


def test_a_lease_that_ran_out_does_not_matter_while_nobody_else_came(team: Team, item: Dialogue) -> None:
    claim = held(team, item)
    overdue(claim)
    assert submit(team, claim).person == team.annotator


def test_nor_after_tidying_up(team: Team, item: Dialogue) -> None:
    claim = held(team, item)
    overdue(claim)
    expire_overdue()
    assert submit(team, claim).person == team.annotator
    claim.refresh_from_db()
    assert claim.state == ClaimState.SUBMITTED


def test_what_comes_too_late_is_kept_and_said_so(team: Team, item: Dialogue) -> None:
    claim = held(team, item)
    overdue(claim)
    other = claim_slot(actor=team.annotators[1], slot=claim.slot)
    fixed = changed(current(item))
    with pytest.raises(Conflict, match="a colleague has claimed this item"):
        submit(team, claim, "fix", document=fixed)
    kept = Draft.objects.get(author=team.annotator)
    assert kept.document() == fixed
    assert kept.closed_at is None
    other.refresh_from_db()
    assert other.state == ClaimState.LIVE
    submit_review(actor=team.annotators[1], slot=other.slot, token=other.token)
    with pytest.raises(Conflict, match="a colleague has claimed this item"):
        submit(team, claim)


def test_what_comes_too_late_and_is_no_dialogue_is_not_said_to_be_kept(team: Team, item: Dialogue) -> None:
    claim = held(team, item)
    overdue(claim)
    claim_slot(actor=team.annotators[1], slot=claim.slot)
    with pytest.raises(Conflict, match="couldn’t be saved"):
        submit(team, claim, "fix", document={"kind": "multi_turn"})


def test_the_same_person_in_another_window(team: Team, item: Dialogue) -> None:
    first = held(team, item)
    overdue(first)
    expire_overdue()
    second = held(team, item)
    assert first.token != second.token
    review = submit(team, first)
    second.refresh_from_db()
    assert second.state == ClaimState.SUBMITTED
    assert submit(team, second) == review


def test_whoever_left_the_project_hands_in_nothing(team: Team, item: Dialogue) -> None:
    claim = held(team, item)
    end_role(actor=team.administrator, project=team.project, user=team.annotator, role=Role.ANNOTATOR)
    with pytest.raises(Hidden):
        submit(team, claim)
    assert not Review.objects.exists()


def test_a_refused_submission_changes_nothing(team: Team, item: Dialogue) -> None:
    claim = held(team, item)
    before = item.events.count()
    with pytest.raises(Invalid):
        submit(team, claim, "approve", document=changed(current(item)))
    assert Slot.objects.get(pk=claim.slot_id).state == SlotState.CLAIMED
    assert item.events.count() == before
    assert item.revisions.count() == 1


def merging(team: Team, places: int) -> tuple[Slot, Draft]:
    """A draft and a newer revision that both have changed so many places."""
    document = make_document("x")
    item = make_dialogue(team.project, document)
    begin(team.project, [item])
    slot = claim_slot(actor=team.annotator, slot=open_slot(item)).slot
    head = Dialogue.objects.get(pk=item.pk).head
    assert head is not None
    branch = load_slot_work(actor=team.annotator, public_id=slot.public_id).branch
    draft = open_draft(actor=team.annotator, dialogue=item, base=head, branch=branch)

    def written(value: int) -> str:
        copy = deepcopy(document)
        copy["tasks"][0]["steps"][0]["observation"] |= {f"k{n}": value for n in range(places)}
        return canonical(copy)

    Draft.objects.filter(pk=draft.pk).update(content=written(1))
    newer = Revision.objects.create(
        dialogue=item, parent=head, number=2, branch="main", toolset_revision=head.toolset_revision,
        content=written(2), content_hash=content_hash(written(2)),
    )  # fmt: skip
    Dialogue.objects.filter(pk=item.pk).update(head=newer)
    Slot.objects.filter(pk=slot.pk).update(revision=newer)
    return slot, draft


def choices(page: str, side: str) -> dict[str, str]:
    """Return what the page's form sends if that side is chosen everywhere."""
    anchors = {unescape(anchor) for anchor in re.findall(r'name="(choice:[^"]+)"', page)}
    [decided] = re.findall(r'name="decided" value="([^"]*)"', page)
    return dict.fromkeys(anchors, side) | {"decided": unescape(decided)}


def values_of(draft: Draft) -> list[int]:
    observation = Draft.objects.get(pk=draft.pk).document()["tasks"][0]["steps"][0]["observation"]
    return [value for key, value in observation.items() if key.startswith("k")]


def test_the_merge_page_shows_the_first_of_very_many_changes(client: Client, team: Team) -> None:
    """The lists beside what is to be chosen are for looking up."""
    slot, _ = merging(team, 205)
    client.force_login(team.annotator)
    page = client.get(f"/work/{slot.public_id}/merge/").content.decode()
    assert page.count("The first 200 of 205") == 2


@pytest.mark.parametrize("page", ["", "submit/", "merge/"])
def test_the_claim_is_kept_alive_wherever_somebody_takes_long(client: Client, team: Team, page: str) -> None:
    slot, _ = merging(team, 1)
    client.force_login(team.annotator)
    url = reverse("workspace-heartbeat", args=[slot.public_id])
    assert f'<assay-heartbeat data-url="{url}"' in client.get(f"/work/{slot.public_id}/{page}").content.decode()


def test_conflicts_of_a_merge_are_chosen_page_by_page_and_none_is_forgotten(client: Client, team: Team) -> None:
    slot, draft = merging(team, 205)
    client.force_login(team.annotator)
    merge_page = f"/work/{slot.public_id}/merge/"
    # An invalid decision decides nothing.
    for decided in ("[", "[1]", '{"": ["mine"]}', "[" * 9000):
        assert client.post(merge_page, {"decided": decided, "rest": "both"}).status_code == 409
    answer = client.get(merge_page)
    for side, shown in (("mine", 100), ("theirs", 100), ("mine", 5)):
        page = answer.content.decode()
        assert one_line(page).count("Use mine</label>") == shown
        answer = client.post(merge_page, choices(page, side))
    assert answer.status_code == 302
    assert (values_of(draft).count(1), values_of(draft).count(2)) == (105, 100)


def test_nobody_merges_with_a_version_that_came_in_after_they_chose(client: Client, team: Team) -> None:
    slot, draft = merging(team, 1)
    client.force_login(team.annotator)
    merge_page = f"/work/{slot.public_id}/merge/"
    page = client.get(merge_page).content.decode()
    [onto] = re.findall(r'name="onto" value="([^"]*)"', page)
    head = Dialogue.objects.get(pk=slot.dialogue_id).head
    assert head is not None
    document = head.document()
    document["tasks"][0]["steps"][0]["observation"]["k0"] = 3
    text = canonical(document)
    newer = Revision.objects.create(
        dialogue=head.dialogue, parent=head, number=3, branch="main", toolset_revision=head.toolset_revision,
        content=text, content_hash=content_hash(text),
    )  # fmt: skip
    Dialogue.objects.filter(pk=slot.dialogue_id).update(head=newer)
    Slot.objects.filter(pk=slot.pk).update(revision=newer)
    answer = client.post(merge_page, choices(page, "theirs") | {"onto": onto})
    assert answer.status_code == 409
    assert "a newer revision was saved in the meantime" in answer.content.decode()
    assert values_of(draft) == [1]
    assert client.post(merge_page, choices(page, "theirs") | {"onto": newer.public_id}).status_code == 302
    assert values_of(draft) == [3]


def test_more_conflicts_than_a_form_has_fields_are_merged_with_one_choice_for_the_rest(
    client: Client, team: Team
) -> None:
    slot, draft = merging(team, 5100)
    client.force_login(team.annotator)
    merge_page = f"/work/{slot.public_id}/merge/"
    page = client.get(merge_page).content.decode()
    assert "5000 more conflicts" in page
    assert client.post(merge_page, choices(page, "mine") | {"rest": "theirs"}).status_code == 302
    assert (values_of(draft).count(1), values_of(draft).count(2)) == (100, 5000)
