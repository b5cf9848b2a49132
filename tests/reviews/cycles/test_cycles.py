"""Cycles start, are superseded and start again; imported ones stay hidden until they are published."""

import pytest
from django.db import IntegrityError, transaction

from annotator.core.dialogue_rows import DialogueRow, listed_columns
from annotator.core.schema import canonical, content_hash
from annotator.errors import Conflict
from annotator.models import Dialogue, Event, Job
from annotator.models.content import DialogueStatus
from annotator.services.dialogues.creation import Written, write_dialogues
from annotator.services.dialogues.drafts import rebase_draft, replace_draft
from annotator.services.dialogues.revisions import lock_dialogue, revise
from annotator.services.history.events import broken_links
from reviews.models import Claim, ClaimState, Cycle, CycleState, Review, Slot, SlotState, StageRun, StageRunState
from reviews.services.cycles.start import begin_cycles, publish_batch, supersede_cycle
from reviews.services.queue.claims import claim_next, claim_slot
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.statistics.counters import recount, stored_counters
from reviews.services.submission.workbench import open_workbench
from tests.factories import (
    Team,
    adopt_c3,
    begin,
    changed,
    claim_and_submit,
    current,
    make_dialogue,
    make_document,
    make_item,
    make_team,
    make_toolset,
    open_slot,
)

pytestmark = pytest.mark.django_db


def imported(team: Team, job: Job, count: int) -> list[Written]:
    toolset = make_toolset(team.project)
    rows = []
    for n in range(count):
        document = make_document(f"i{n}")
        text = canonical(document)
        rows.append(
            DialogueRow(
                external_id=f"i{n}",
                variant_group="",
                content=text,
                content_hash=content_hash(text),
                findings=[],
                toolset_revision_id=toolset.pk,
                **listed_columns(document),
            )
        )
    written = write_dialogues(
        actor=None, project=team.project, rows=rows, native_format="c3", batch=job, published=False
    )
    begin_cycles(actor=team.administrator, project=team.project, dialogues=written, hidden=True)
    return written


@pytest.fixture
def job(team: Team) -> Job:
    return Job.objects.create(project=team.project, kind="import_dialogues")


# --- beginning ----------------------------------------------------------------------------------


def test_a_cycle_begins_with_a_slot_in_the_first_stage(team: Team) -> None:
    item = begin(team.project, [make_dialogue(team.project)])[0]
    cycle = Cycle.objects.get(dialogue=item)
    assert (cycle.number, cycle.state, cycle.entry_revision) == (1, CycleState.ACTIVE, item.head)
    slot = Slot.objects.get(cycle=cycle)
    assert (slot.stage, slot.stage_kind, slot.state, slot.revision) == (
        "self_check_single", "self_check", SlotState.OPEN, item.head,
    )  # fmt: skip
    assert slot.protocol == cycle.protocol
    assert (item.status, item.stage) == (DialogueStatus.IN_REVIEW, "self_check_single")
    assert Event.objects.get(dialogue=item).kind == "cycle.begun"


def test_many_begin_at_once_in_their_order(team: Team) -> None:
    items = begin(team.project, [make_dialogue(team.project) for _ in range(5)])
    order = Slot.objects.order_by("position").values_list("dialogue", flat=True)
    assert list(order) == [item.pk for item in items]
    assert len(set(Slot.objects.values_list("public_id", flat=True))) == 5
    assert all(broken_links(item) == [] for item in items)


def test_without_a_protocol_nothing_begins() -> None:
    project = make_team().project
    with pytest.raises(Conflict, match="has no review protocol yet"):
        begin_cycles(actor=None, project=project, dialogues=[make_dialogue(project)], hidden=False)
    assert begin_cycles(actor=None, project=project, dialogues=[], hidden=False) == 0


def test_one_active_cycle_a_dialogue(team: Team) -> None:
    item = begin(team.project, [make_dialogue(team.project)])[0]
    with pytest.raises(IntegrityError), transaction.atomic():
        begin_cycles(actor=None, project=team.project, dialogues=[item], hidden=False)


# --- importing ----------------------------------------------------------------------------------


def test_imported_items_are_nobodys_until_they_are_published(team: Team, job: Job) -> None:
    imported(team, job, 3)
    assert set(Slot.objects.values_list("state", flat=True)) == {SlotState.HIDDEN}
    assert claim_next(actor=team.annotator, project=team.project) is None
    assert stored_counters(team.project) == recount(team.project) == {}
    assert publish_batch(job=job) == 3
    assert stored_counters(team.project) == recount(team.project)
    assert stored_counters(team.project)["status:in_review"] == 3
    claim = claim_next(actor=team.annotator, project=team.project)
    assert claim is not None
    dialogue = Dialogue.objects.get(external_id="i0")
    assert claim.slot.dialogue == dialogue
    assert dialogue.stage == "self_check_single"
    assert list(dialogue.events.order_by("number").values_list("kind", flat=True)) == [
        "dialogue.imported", "cycle.begun",
    ]  # fmt: skip
    assert broken_links(dialogue) == []


def test_publishing_twice_does_nothing(team: Team, job: Job) -> None:
    imported(team, job, 2)
    publish_batch(job=job)
    before = stored_counters(team.project)
    assert publish_batch(job=job) == 0
    assert stored_counters(team.project) == before


def test_publishing_leaves_other_imports_alone(team: Team, job: Job) -> None:
    imported(team, job, 2)
    other = Job.objects.create(project=team.project, kind="import_dialogues")
    assert publish_batch(job=other) == 0
    assert Slot.objects.filter(state=SlotState.HIDDEN).count() == 2


def test_without_a_protocol_imported_dialogues_stay_candidates() -> None:
    team = make_team()
    job = Job.objects.create(project=team.project, kind="import_dialogues")
    make_dialogue(team.project, published=False, batch=job)
    assert publish_batch(job=job) == 1
    assert Dialogue.objects.get().status == DialogueStatus.CANDIDATE
    assert stored_counters(team.project) == recount(team.project) == {"status:candidate": 1}
    adopt_c3(team)
    begin(team.project, Dialogue.objects.all())
    assert stored_counters(team.project) == recount(team.project)


# --- starting again ----------------------------------------------------------------------------------


def test_an_erratum_opens_a_new_cycle_and_leaves_the_old_one(team: Team) -> None:
    item = make_item(team, "expert")
    claim_and_submit(team.senior, item, "reject")
    old = Cycle.objects.get(dialogue=item)
    new = supersede_cycle(actor=team.administrator, dialogue=item, reason="It was right after all.")
    old.refresh_from_db()
    assert (old.state, new.number, new.reason) == (CycleState.REJECTED, 2, "It was right after all.")
    item.refresh_from_db()
    assert (item.status, item.stage) == (DialogueStatus.IN_REVIEW, "self_check_single")
    # The owner's item is not for anybody else to take over in its first self-check, but anybody may do it.
    assert open_slot(item).reserved_for is None
    assert broken_links(item) == []


def test_an_untouched_cycle_is_set_aside_without_asking(team: Team) -> None:
    item = make_item(team, "self_check_single")
    with transaction.atomic():
        locked = lock_dialogue(item.pk)
        head = locked.head
        assert head is not None
        revise(actor=None, dialogue=locked, seen=head, document=changed(current(item)), message="Imported")
    new = supersede_cycle(actor=team.administrator, dialogue=item, reason="Revised by an import.")
    old = Cycle.objects.get(dialogue=item, number=1)
    assert (old.state, old.exit_revision) == (CycleState.SUPERSEDED, None)
    assert Slot.objects.get(cycle=old).state == SlotState.CANCELLED
    assert StageRun.objects.get(cycle=old).state == StageRunState.CANCELLED
    item.refresh_from_db()
    assert new.entry_revision == item.head
    assert open_slot(item).revision == item.head


def test_live_work_and_reviews_are_not_set_aside_unasked(team: Team) -> None:
    item = make_item(team, "self_check_single")
    claim = claim_slot(actor=team.annotator, slot=open_slot(item))
    with pytest.raises(Conflict, match="Somebody has claimed"):
        supersede_cycle(actor=team.administrator, dialogue=item, reason="Revised.")
    claim_and_submit(team.annotator, item)
    with pytest.raises(Conflict, match="has reviews in its current cycle"):
        supersede_cycle(actor=team.administrator, dialogue=item, reason="Revised.")
    claim = claim_slot(actor=team.annotator, slot=open_slot(item))
    supersede_cycle(actor=team.administrator, dialogue=item, reason="Revised.", force=True)
    claim.refresh_from_db()
    assert claim.state == ClaimState.WITHDRAWN
    with pytest.raises(Conflict, match="was restarted"):
        load_slot_work(actor=team.annotator, public_id=claim.slot.public_id)
    assert Review.objects.filter(dialogue=item).count() == 1
    assert not Claim.objects.filter(state=ClaimState.LIVE).exists()


def test_what_was_sealed_in_a_cycle_set_aside_is_shown(team: Team) -> None:
    item = make_item(team, "cross_check")
    claim_and_submit(team.annotators[1], item, "fix", document=changed(current(item)))
    supersede_cycle(actor=team.administrator, dialogue=item, reason="Revised.", force=True)
    assert not Review.objects.filter(sealed=True).exists()
    assert not item.revisions.filter(sealed=True).exists()


def test_handing_in_for_a_cycle_set_aside_comes_too_late(team: Team) -> None:
    from reviews.services.submission.submit import submit_review

    item = make_item(team, "self_check_single")
    claim = claim_slot(actor=team.annotator, slot=open_slot(item))
    supersede_cycle(actor=team.administrator, dialogue=item, reason="Revised.", force=True)
    with pytest.raises(Conflict, match="was restarted"):
        submit_review(actor=team.annotator, slot=claim.slot, token=claim.token)


def test_what_was_written_in_a_blind_stage_comes_along_when_it_begins_anew(team: Team) -> None:
    item = make_item(team, "cross_check", make_document("x"))
    writer, other = team.annotators[2], team.annotators[1]
    slot = open_slot(item)
    claim_slot(actor=writer, slot=slot)
    draft = open_workbench(actor=writer, slot_id=slot.public_id).draft
    replace_draft(actor=writer, draft=draft, document=changed(draft.document(), "Mine."), operation="edit")
    supersede_cycle(actor=team.administrator, dialogue=item, reason="Revised.", force=True)
    for n in range(2):
        document = current(item)
        document["tasks"][0]["user_message"] += f" {n}"
        claim_and_submit(team.annotator, item, "fix", document=document)
    for person in (other, writer):
        slot = open_slot(item, person)
        claim_slot(actor=person, slot=slot)
        bench = open_workbench(actor=person, slot_id=slot.public_id)
        assert bench.outdated == (person == writer)
    # Merged, it holds what both have written.
    assert rebase_draft(actor=writer, draft=bench.draft, onto=bench.onto)[1] == []
    task = open_workbench(actor=writer, slot_id=slot.public_id).document["tasks"][0]
    assert task["steps"][-1]["text"] == "Mine."
    assert task["user_message"].endswith("0 1")
