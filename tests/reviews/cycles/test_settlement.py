"""Outcomes: from verdicts to the next stage, the head, the owner and the trail."""

import re
from typing import Any

import pytest
from django.test import Client

from annotator.core.schema import load_text
from annotator.models import Dialogue, Event, Revision
from annotator.models.content import DialogueStatus
from annotator.services.history.events import broken_links
from reviews.core.protocols import Protocol, load_preset, read_protocol
from reviews.models import Cycle, CycleState, Feedback, FeedbackKind, Slot, SlotState, StageRun, StageRunState
from reviews.services.protocols.versions import adopt_protocol
from reviews.services.queue.claims import claim_slot
from tests.factories import Team, adopt_c3, changed, claim_and_submit, current, make_item, open_slot

pytestmark = pytest.mark.django_db
TEAM = {"annotators": 4, "seniors": 2}


def fresh(item: Dialogue) -> Dialogue:
    return Dialogue.objects.select_related("head", "owner").get(pk=item.pk)


def last_run(item: Dialogue) -> StageRun:
    return StageRun.objects.filter(cycle__dialogue=item).order_by("-pk")[0]


def run_of(item: Dialogue, stage: str, round: int = 1) -> StageRun:
    return StageRun.objects.get(cycle__dialogue=item, stage=stage, round=round)


def kinds(item: Dialogue) -> list[str]:
    return list(Event.objects.filter(dialogue=item).order_by("number").values_list("kind", flat=True))


def cross_check(team: Team, item: Dialogue, one: str, two: str, **texts: str) -> Dialogue:
    """The second and third annotator review blind; ``one`` and ``two`` are verdicts, texts what a fix says."""
    for person, verdict, key in ((team.annotators[1], one, "first"), (team.annotators[2], two, "second")):
        document = changed(current(item), texts.get(key, "Mended.")) if verdict == "fix" else None
        claim_and_submit(person, item, verdict, document=document)
    return fresh(item)


# --- self-checks ------------------------------------------------------------------------------------------------------


def test_the_first_self_check_makes_the_owner(team: Team) -> None:
    item = make_item(team, "self_check_single")
    assert (item.owner, item.status, item.stage) == (None, DialogueStatus.IN_REVIEW, "self_check_single")
    claim_and_submit(team.annotators[1], item)
    item = fresh(item)
    assert (item.owner, item.stage) == (team.annotators[1], "self_check_multi")
    slot = open_slot(item)
    assert (slot.reserved_for, slot.owner) == (team.annotators[1], team.annotators[1])


def test_a_fix_moves_the_head_and_goes_on(team: Team) -> None:
    item = make_item(team, "self_check_single")
    claim_and_submit(team.annotator, item, document=changed(current(item)))
    item = fresh(item)
    assert item.head is not None
    assert item.head.number == 2
    run = run_of(item, "self_check_single")
    assert (run.outcome, run.exit_revision, run.state) == ("pass_with_fix", item.head, StageRunState.SETTLED)
    assert run.discrepancy_count is None
    assert open_slot(item).revision == item.head
    assert open_slot(item).revision_author == team.annotator


def test_the_labels_lists_read_follow_the_head(team: Team) -> None:
    item = make_item(team, "self_check_single")
    document = current(item)
    document["tasks"][0]["user_message"] = "How is the weather in Bruges?"
    document["tasks"][0]["steps"][0]["arguments"]["city"] = "Bruges"
    claim_and_submit(team.annotator, item, document=document)
    assert fresh(item).title.startswith("How is the weather in Bruges")


@pytest.mark.parametrize("verdict", ["reject", "escalate"])
def test_a_self_check_that_does_not_pass_goes_to_an_expert(team: Team, verdict: str) -> None:
    item = make_item(team, "self_check_single")
    claim_and_submit(team.annotator, item, verdict)
    item = fresh(item)
    assert (item.status, item.stage, item.owner) == (DialogueStatus.ESCALATED, "expert", team.annotator)
    run = run_of(item, "expert")
    assert (run.entered_as, run.escalated_from) == ("escalated", run_of(item, "self_check_single"))


# --- cross-check ------------------------------------------------------------------------------------------------------


def test_one_review_settles_nothing(team: Team) -> None:
    item = make_item(team, "cross_check")
    claim_and_submit(team.annotators[1], item, "approve")
    assert run_of(item, "cross_check").state == StageRunState.OPEN
    assert fresh(item).stage == "cross_check"


def test_two_approvals_wait_for_the_draw(team: Team) -> None:
    item = cross_check(team, make_item(team, "cross_check"), "approve", "approve")
    assert (item.status, item.stage) == (DialogueStatus.POOLED, "expert")
    run = run_of(item, "cross_check")
    assert (run.outcome, run.discrepancy_count) == ("pass", 0)
    assert last_run(item).state == StageRunState.POOLED
    assert not Slot.objects.filter(dialogue=item, stage="expert").exists()


def test_two_equal_fixes_pass_with_that_fix(team: Team) -> None:
    item = cross_check(team, make_item(team, "cross_check"), "fix", "fix", first="Same.", second="Same.")
    run = run_of(item, "cross_check")
    assert (run.outcome, run.discrepancy_count) == ("pass_with_fix", 0)
    assert item.head is not None
    assert item.head.author == team.annotators[1]
    assert item.head.document()["tasks"][0]["steps"][-1]["text"] == "Same."
    numbers = Revision.objects.filter(dialogue=item).order_by("number").values_list("number", "sealed")
    assert list(numbers) == [(1, False), (2, False), (3, False)]


def test_fixes_that_mean_the_same_are_equal(team: Team) -> None:
    item = cross_check(team, make_item(team, "cross_check"), "fix", "fix", first="Same words.", second="Same  words. ")
    assert run_of(item, "cross_check").outcome == "pass_with_fix"


@pytest.mark.parametrize(
    ("one", "two", "discrepancies"),
    [
        ("approve", "fix", 1),
        ("fix", "approve", 1),
        ("approve", "reject", 1),
        ("approve", "escalate", 1),
        ("fix", "reject", 2),
        ("reject", "escalate", 1),
        ("escalate", "escalate", 0),
    ],
)
def test_what_is_disputed_is_escalated(team: Team, one: str, two: str, discrepancies: int) -> None:
    before = make_item(team, "cross_check")
    item = cross_check(team, before, one, two)
    run = run_of(item, "cross_check")
    assert (run.outcome, run.discrepancy_count) == ("escalate", discrepancies)
    assert (item.status, item.stage, item.head) == (DialogueStatus.ESCALATED, "expert", before.head)
    assert open_slot(item).revision == item.head


def test_different_fixes_are_escalated_with_both(team: Team) -> None:
    item = cross_check(team, make_item(team, "cross_check"), "fix", "fix", first="One.", second="Two.")
    assert run_of(item, "cross_check").outcome == "escalate"
    assert Revision.objects.filter(dialogue=item, sealed=False).count() == 3


def test_two_rejections_reject(team: Team) -> None:
    item = cross_check(team, make_item(team, "cross_check"), "reject", "reject")
    cycle = Cycle.objects.get(dialogue=item)
    assert (item.status, item.stage) == (DialogueStatus.REJECTED, "")
    assert (cycle.state, cycle.exit_revision) == (CycleState.REJECTED, None)
    assert cycle.ended_at is not None
    assert kinds(item)[-1] == "cycle.rejected"


# --- expert -----------------------------------------------------------------------------------------------------------


def expert_item(team: Team) -> Dialogue:
    """Rejected by one of two colleagues: a dispute about the verdict, not about content."""
    return cross_check(team, make_item(team, "cross_check"), "approve", "reject")


def test_an_expert_approves(team: Team) -> None:
    before = expert_item(team)
    claim_and_submit(team.senior, before, "approve")
    item = fresh(before)
    cycle = Cycle.objects.get(dialogue=item)
    assert (item.status, item.stage, cycle.state) == (DialogueStatus.VERIFIED, "", CycleState.VERIFIED)
    assert cycle.exit_revision == item.head == before.head
    assert not Feedback.objects.filter(person=team.annotator).exists()


def test_an_expert_fixes(team: Team) -> None:
    item = expert_item(team)
    claim_and_submit(team.senior, item, "fix", document=changed(current(item)), reason="Shorter is better.")
    item = fresh(item)
    cycle = Cycle.objects.get(dialogue=item)
    assert item.head is not None
    assert (item.status, item.head.author, cycle.exit_revision) == (DialogueStatus.VERIFIED, team.senior, item.head)
    notice = Feedback.objects.get(person=team.annotator)
    assert notice.kind == FeedbackKind.ADJUDICATION
    assert "Shorter is better." in notice.text


def test_an_expert_rejects(team: Team) -> None:
    item = expert_item(team)
    claim_and_submit(team.senior, item, "reject", reason="Nobody asks this.")
    assert fresh(item).status == DialogueStatus.REJECTED
    assert "The dialogue was rejected" in Feedback.objects.get(person=team.annotator).text


# --- other tables -----------------------------------------------------------------------------------------------------


def adopt(team: Team, stage: int, outcomes: list[dict[str, Any]], **changes: Any) -> Protocol:
    data = load_preset("c3").model_dump(mode="json")
    data["stages"][stage] |= {"outcomes": outcomes, **changes}
    protocol = read_protocol(data)
    adopt_protocol(actor=team.administrator, project=team.project, protocol=protocol)
    return protocol


ANY = {"verdicts": ["any", "any"]}


def test_back_to_the_author(team: Team) -> None:
    adopt(team, 2, [ANY | {"outcome": "back_to_author"}])
    item = cross_check(team, make_item(team, "cross_check"), "approve", "fix")
    assert (item.status, item.stage) == (DialogueStatus.IN_REVIEW, "self_check_multi")
    slot = open_slot(item)
    assert (slot.round, slot.reserved_for) == (2, team.annotator)
    claim_and_submit(team.annotator, item)
    assert fresh(item).stage == "cross_check"
    assert run_of(item, "cross_check", 2).state == StageRunState.OPEN
    # Reviewers of the first round may review the second.
    claim_and_submit(team.annotators[1], item, "approve")


def test_the_author_reads_what_was_proposed_in_what_is_sent_back(team: Team, client: Client) -> None:
    """The item continues from their own revision, so the fix is shown next to it."""
    adopt(team, 2, [ANY | {"outcome": "back_to_author"}])
    item = cross_check(team, make_item(team, "cross_check"), "fix", "escalate", first="Proposed.")
    slot = claim_slot(actor=team.annotator, slot=open_slot(item)).slot
    client.force_login(team.annotator)
    page = client.get(f"/work/{slot.public_id}/").content.decode()
    told = page.partition("This dialogue was sent back to its author.")[2].partition("</ul>")[0]
    assert "It cannot be saved." in told
    (link,) = re.findall(r'href="([^"]+changes/[^"]+)"', told)
    assert "Proposed" in client.get(link).content.decode()
    claim_and_submit(team.annotator, item)
    again = claim_slot(actor=team.annotators[1], slot=open_slot(fresh(item))).slot
    client.force_login(team.annotators[1])
    assert "sent back" not in client.get(f"/work/{again.public_id}/").content.decode()


def test_a_stage_begins_anew_with_the_one_fix(team: Team) -> None:
    rows = [
        {"verdicts": ["approve", "approve"], "outcome": "pass"},
        {"verdicts": ["fix", "any"], "outcome": "restart"},
        ANY | {"outcome": "escalate"},
    ]
    adopt(team, 2, rows)
    item = cross_check(team, make_item(team, "cross_check"), "approve", "fix")
    run = run_of(item, "cross_check", 2)
    assert (item.stage, run.state) == ("cross_check", StageRunState.OPEN)
    assert item.head is not None
    assert (item.head.author, run.entry_revision) == (team.annotators[2], item.head)
    assert open_slot(item).revision_author == team.annotators[2]


def test_a_stage_begins_anew_from_the_same_version_where_fixes_differ(team: Team) -> None:
    adopt(team, 2, [{"verdicts": ["approve", "approve"], "outcome": "pass"}, ANY | {"outcome": "restart"}])
    before = make_item(team, "cross_check")
    item = cross_check(team, before, "fix", "fix", first="One.", second="Two.")
    assert item.head == before.head
    assert run_of(item, "cross_check", 2).entry_revision == before.head


def test_one_colleague_beside_the_author(team: Team) -> None:
    adopt_c3(team, cross_check_reviewers=1)
    item = make_item(team, "cross_check")
    claim_and_submit(team.annotators[1], item, "fix", document=changed(current(item)))
    assert fresh(item).status == DialogueStatus.ESCALATED
    assert run_of(item, "cross_check").discrepancy_count is None
    other = make_item(team, "cross_check")
    claim_and_submit(team.annotators[1], other, "approve")
    assert fresh(other).status == DialogueStatus.POOLED


def test_without_an_audit_what_passes_is_verified_at_once(team: Team) -> None:
    adopt_c3(team, audit_fraction=0)
    item = cross_check(team, make_item(team, "cross_check"), "approve", "approve")
    assert item.status == DialogueStatus.VERIFIED


def test_a_cycle_keeps_the_protocol_it_began_under(team: Team) -> None:
    item = make_item(team, "cross_check")
    adopt_c3(team, cross_check_reviewers=1)
    claim_and_submit(team.annotators[1], item, "approve")
    assert fresh(item).stage == "cross_check"
    claim_and_submit(team.annotators[2], item, "approve")
    assert fresh(item).status == DialogueStatus.POOLED


# --- the trail --------------------------------------------------------------------------------------------------------


def test_every_transition_leaves_its_event_in_a_whole_chain(team: Team) -> None:
    item = expert_item(team)
    claim_and_submit(team.senior, item, "approve")
    assert kinds(item) == [
        "cycle.begun",
        *("review.submitted", "stage.settled") * 2,
        "review.submitted",
        "review.submitted",
        "stage.settled",
        "review.submitted",
        "stage.settled",
        "cycle.verified",
    ]
    assert broken_links(item) == []
    settled = Event.objects.filter(dialogue=item, kind="stage.settled").order_by("number")
    assert [event.after["outcome"] for event in settled] == ["pass", "pass", "escalate", "pass"]


def test_a_slot_is_done_once_it_is_reviewed(team: Team) -> None:
    item = cross_check(team, make_item(team, "cross_check"), "approve", "approve")
    assert set(Slot.objects.filter(dialogue=item).values_list("state", flat=True)) == {SlotState.DONE}


def test_content_is_never_changed_in_place(team: Team) -> None:
    item = make_item(team, "self_check_single")
    first = Revision.objects.get(dialogue=item)
    claim_and_submit(team.annotator, item, document=changed(current(item)))
    again = Revision.objects.get(pk=first.pk)
    assert (again.content, again.content_hash) == (first.content, first.content_hash)
    assert load_text(again.content) != current(item)
