"""Undo of sending back: the new cycle is withdrawn, and the earlier one counts again or goes on where it was."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from annotator.core.roles import Role
from annotator.errors import Conflict
from annotator.models import Dialogue, Event, Job, OutdatedDialogue
from annotator.models.content import DialogueStatus, GoldRole
from annotator.services.archiving import archive_project
from annotator.services.dialogues.revisions import lock_dialogue, revise
from annotator.services.dialogues.tags import change_tags
from annotator.services.integrity.history_checks import history_problems
from annotator.services.jobs import jobs
from annotator.services.projects import publish_guideline
from reviews.core.protocols import load_preset
from reviews.models import (
    AssignmentPlan,
    Claim,
    Comment,
    Cycle,
    CycleState,
    Draw,
    GoldItem,
    Priority,
    Review,
    Slot,
    SlotState,
    StageRun,
)
from reviews.services.assignments import plans
from reviews.services.assignments.changes import hand_over, prioritise
from reviews.services.assignments.plans import confirm_plan, make_plan, make_undo
from reviews.services.assignments.undo import Forecast, forecast_undo
from reviews.services.cycles import sending_back
from reviews.services.cycles.migration import start_migration
from reviews.services.cycles.outdated import mark_outdated, read_scope, withdraw_change
from reviews.services.cycles.start import supersede_cycle
from reviews.services.feedback.comments import comment_on
from reviews.services.gold.results import suggest
from reviews.services.history.dialogue_history import read_history
from reviews.services.protocols.versions import adopt_preset, adopt_protocol
from reviews.services.queue.claims import claim_next, claim_slot, release
from reviews.services.queue.progress import read_progress
from reviews.services.sampling.draws import close_population_and_draw, draw_where_upstream_is_done
from reviews.services.statistics.accuracy import read_accuracy
from reviews.services.statistics.all_counts import fold_all
from reviews.services.statistics.counters import recount, stored_counters
from reviews.services.statistics.item_history import ITEM_HISTORY
from reviews.services.submission.submit import submit_review
from reviews.services.submission.workbench import open_workbench
from tests.consistency import assert_consistent
from tests.factories import (
    Team,
    adopt_c3,
    changed,
    claim_and_submit,
    current,
    give_role,
    make_item,
    make_team,
    make_user,
    open_slot,
)
from tests.pages import one_line
from tests.racing import lost, overlap, race, won
from tests.reviews.cycles.test_rounds import annotated, drawn, look, next_round
from tests.reviews.gold.gold_team import STAGE, gold_team, make_gold, verified

pytestmark = pytest.mark.django_db
TEAM = {"annotators": 4}


def send_back(team: Team, *items: Dialogue, stage: str = "self_check_single") -> AssignmentPlan:
    """Preview sending these dialogues back, and do it."""
    return confirm(team, preview(team, *items, stage=stage))


def preview(team: Team, *items: Dialogue, stage: str = "self_check_single") -> AssignmentPlan:
    keys = [one.pk for one in items]
    more: dict[str, Any] = {"action": "send_back", "dialogues": keys, "stage": stage, "reason": "Dates"}
    return make_plan(actor=team.administrator, project=team.project, **more)


def confirm(team: Team, made: AssignmentPlan) -> AssignmentPlan:
    return confirm_plan(actor=team.administrator, project=team.project, public_id=made.public_id)


def undo(team: Team, made: AssignmentPlan) -> AssignmentPlan:
    """Preview the undo."""
    return make_undo(actor=team.administrator, project=team.project, public_id=made.public_id)


def figures(team: Team) -> tuple[Any, ...]:
    """Everything that is counted."""
    fold_all()
    accuracy = read_accuracy(project=team.project)
    progress = read_progress(project=team.project)
    return stored_counters(team.project), progress, accuracy


def rows(item: Dialogue) -> tuple[Any, ...]:
    """The dialogue and what its review consists of, without withdrawn cycles and positions in queues."""
    item.refresh_from_db()
    cycles = Cycle.objects.in_effect().filter(dialogue=item).order_by("number")
    runs = StageRun.objects.filter(cycle__in=cycles).order_by("pk")
    columns = ("pk", "state", "holder", "reserved_for", "owner", "priority", "revision", "confirms")
    slots = Slot.objects.filter(cycle__in=cycles).order_by("pk")
    return (
        (item.status, item.stage, item.head_id, item.owner_id, item.gold_role),
        list(cycles.values()),
        list(runs.values()),
        list(slots.values_list(*columns)),
        list(Review.objects.filter(dialogue=item).order_by("pk").values()),
        list(OutdatedDialogue.objects.filter(dialogue=item).values_list("change", "cleared_at")),
    )


def ended(team: Team, verdict: str = "approve", **more: Any) -> Dialogue:
    """A dialogue that a senior reviewer ended."""
    item = make_item(team, "expert")
    if verdict == "approve":
        anchor = "/tasks/t1/steps/s1/text"
        more["rulings"] = [{"anchor": anchor, "choice": "left", "reason_kind": "answer_wrong", "reason": "As it was."}]
        verdict = ""
    claim_and_submit(team.senior, item, verdict, **more)
    item.refresh_from_db()
    return item


def flag_all(team: Team) -> Any:
    """Mark everything that was reviewed without a guideline as outdated."""
    publish_guideline(actor=team.administrator, project=team.project, text="Dates as YYYY-MM-DD.", seen=0)
    scope = read_scope(project=team.project, number=1, policies=[], error_types=[])
    return mark_outdated(actor=team.administrator, project=team.project, scope=scope, reason="Dates")


def test_ended_reviews_count_again(team: Team) -> None:
    right, wrong = ended(team), ended(team, "reject")
    assert (right.status, wrong.status) == (DialogueStatus.VERIFIED, DialogueStatus.REJECTED)
    flag_all(team)
    before, kept = figures(team), [rows(right), rows(wrong)]
    # One verified of two finished items: the first is as it was, the other is wrong throughout.
    assert [(point.key, point.right, point.of) for point in before[2].by_stage][-1] == ("expert", 1, 2)
    made = send_back(team, right, wrong)
    during = figures(team)
    assert during[0]["status:in_review"] == 2
    assert during[2].by_stage == []
    assert OutdatedDialogue.objects.filter(dialogue=right, cleared_at=None).count() == 0
    done = confirm(team, undo(team, made))
    assert done.result["done"] == 2
    assert figures(team) == before
    assert [rows(right), rows(wrong)] == kept
    gone = Cycle.objects.get(dialogue=right, number=2)
    assert (gone.state, gone.reason) == (CycleState.WITHDRAWN, "A change of many items was undone.")
    assert set(gone.slots.values_list("state", flat=True)) == {SlotState.CANCELLED}
    assert ITEM_HISTORY.recount(team.project) == []
    assert_consistent(team.project)
    entry = read_history(actor=team.administrator, dialogue=right)[0]
    assert entry.text == "Cycle 2 withdrawn, cycle 1 counts again: A change of many items was undone."
    # It can be sent back again, and its numbers are never used twice.
    send_back(team, right)
    assert Cycle.objects.get(dialogue=right, state="active").number == 3
    assert_consistent(team.project)


def test_reviews_in_progress_go_on_where_they_were(team: Team) -> None:
    crossed, expert, pooled = make_item(team, "cross_check"), make_item(team, "expert"), make_item(team, "cross_check")
    for person in team.annotators[1:3]:
        claim_and_submit(person, pooled, "approve")
    pooled.refresh_from_db()
    assert pooled.status == DialogueStatus.POOLED
    # One slot is reserved, the other waits with high priority.
    one, two = Slot.objects.filter(dialogue=crossed, state="open").order_by("pk")
    Slot.objects.filter(pk=one.pk).update(reserved_for=team.annotators[3])
    prioritise(actor=team.administrator, dialogue=crossed, priority=Priority.HIGH, slots=[two.pk])
    before, kept = figures(team), [rows(item) for item in (crossed, expert, pooled)]
    made = send_back(team, crossed, expert, pooled)
    assert figures(team)[0] != before[0]
    confirm(team, undo(team, made))
    assert figures(team) == before
    assert [rows(item) for item in (crossed, expert, pooled)] == kept
    assert_consistent(team.project)
    # They go on: the reserved person gets their slot, and the pool is drawn.
    claim_and_submit(team.annotators[3], crossed, "approve")
    claim_and_submit(team.annotators[1], crossed, "approve")
    crossed.refresh_from_db()
    assert crossed.status == DialogueStatus.POOLED
    claim_and_submit(team.senior, expert, "reject")
    draw = close_population_and_draw(actor=team.administrator, project=team.project)
    assert draw is not None
    assert draw.population_size == 2
    assert_consistent(team.project)
    # Then they are sent back once more, and it is undone once more.
    again = send_back(team, expert)
    confirm(team, undo(team, again))
    assert list(Cycle.objects.filter(dialogue=expert).order_by("number").values_list("state", flat=True)) == [
        "rejected",
        "withdrawn",
        "withdrawn",
    ]
    assert_consistent(team.project)


def test_a_slot_that_waits_again_is_offered_to_everyone(team: Team) -> None:
    item = make_item(team, "cross_check")
    made = send_back(team, item)
    later = make_item(team, "cross_check")
    # Everybody's place in the queue is past the slots that were cancelled.
    for person in team.annotators[1:3]:
        claim = claim_next(actor=person, project=team.project, stage="cross_check")
        assert claim is not None
        assert claim.slot.dialogue_id == later.pk
        submit_review(actor=person, slot=claim.slot, token=claim.token, verdict="approve")
    confirm(team, undo(team, made))
    for person in team.annotators[1:3]:
        claim = claim_next(actor=person, project=team.project, stage="cross_check")
        assert claim is not None
        assert claim.slot.dialogue_id == item.pk


def test_it_is_not_undone_after_anybody_has_worked_on_it(team: Team) -> None:
    claimed, reviewed, edited, owned, revised, same = (ended(team) for _ in range(6))
    made = send_back(team, claimed, reviewed, edited, owned, revised, same)
    other = team.annotators[3]
    # Claimed, with a draft, and given back: the slot looks as before.
    claim = claim_slot(actor=team.annotator, slot=open_slot(claimed))
    open_workbench(actor=team.annotator, slot_id=claim.slot.public_id)
    release(actor=team.annotator, token=claim.token)
    claim_and_submit(team.annotator, reviewed)
    with transaction.atomic():
        locked = lock_dialogue(edited.pk)
        assert locked.head is not None
        revise(actor=None, dialogue=locked, seen=locked.head, document=changed(current(edited)), message="By hand")
    hand_over(actor=team.administrator, dialogue=owned, to=other)
    # As a revised import does.
    supersede_cycle(actor=team.administrator, dialogue=revised, reason="Revised by an import.")
    # This is not work on the dialogue.
    change_tags(actor=team.senior, dialogue=same, add=["x"])
    prioritise(actor=team.administrator, dialogue=same, priority=Priority.HIGH)
    comment_on(actor=team.annotator, dialogue=same, anchor="", text="Why again?")
    back = undo(team, made)
    assert dict(map(tuple, back.refused)) == {
        claimed.external_id: "Somebody has worked on it since.",
        reviewed.external_id: "Somebody has worked on it since.",
        edited.external_id: "Its content has changed since.",
        owned.external_id: "Its owner has changed.",
        revised.external_id: "Its review has started again or has ended since.",
    }
    confirm(team, back)
    same.refresh_from_db()
    assert same.status == DialogueStatus.VERIFIED
    assert Comment.objects.get(dialogue=same).sealed is False
    assert stored_counters(team.project) == recount(team.project)


def test_a_claim_between_preview_and_confirmation_stops_the_undo(team: Team) -> None:
    one, two = ended(team), ended(team)
    back = undo(team, send_back(team, one, two))
    claim_slot(actor=team.annotator, slot=open_slot(two))
    with pytest.raises(Conflict, match="Somebody has worked on it since"):
        confirm(team, back)
    one.refresh_from_db()
    assert one.status == DialogueStatus.IN_REVIEW


def test_reviews_of_a_blind_stage_that_became_visible_prevent_the_undo_and_the_preview_says_so(
    team: Team, client: Client
) -> None:
    half, fresh = make_item(team, "cross_check"), make_item(team, "cross_check")
    claim_and_submit(team.annotators[1], half, "approve")
    kept = rows(half)
    # The same blind stage starts again: its reviews stay sealed, so it can go on.
    made = preview(team, half, stage="cross_check")
    assert forecast_undo(made) == Forecast(undoable=1, revealed=0, answers=0)
    back = undo(team, confirm(team, made))
    assert back.refused == []
    confirm(team, back)
    assert rows(half) == kept
    assert Review.objects.filter(dialogue=half, sealed=True).count() == 1
    assert_consistent(team.project)
    # Another stage starts: they become visible.
    made = preview(team, half, fresh)
    assert forecast_undo(made) == Forecast(undoable=1, revealed=1, answers=0)
    client.force_login(team.administrator)
    page = f"/p/{team.project.slug}/assignments/plans/{made.public_id}/"
    shown = one_line(client.get(page))
    assert "For 1 item, this can be undone for 7 days, as long as nobody works on it." in shown
    assert "For 1 item, this can’t be undone: the reviews in its blind stage become visible." in shown
    api = f"/api/projects/{team.project.slug}/assignments/plans/{made.public_id}/"
    assert client.get(api).json()["undo"] == {"undoable": 1, "revealed": 1, "answers": 0}
    confirm(team, made)
    sent = client.get(api).json()
    assert (sent["undo"], sent["confirmed_by"]) == (None, team.administrator.public_id)
    back = undo(team, made)
    assert back.refused == [
        [half.external_id, "Sending it back made reviews of a blind stage visible, so this stage can’t go on."]
    ]
    shown = one_line(client.get(f"/p/{team.project.slug}/assignments/plans/{back.public_id}/"))
    assert "The review of each item continues, or counts again, as it was before" in shown
    confirm(team, back)
    fresh.refresh_from_db()
    assert (fresh.status, fresh.stage) == (DialogueStatus.IN_REVIEW, "cross_check")


def test_it_is_not_undone_after_a_move_to_another_protocol(team: Team) -> None:
    item = make_item(team, "cross_check")
    made = send_back(team, item)
    protocol = load_preset("c3").model_copy(update={"name": "Renamed"})
    adopt_protocol(actor=team.administrator, project=team.project, protocol=protocol)
    jobs.run(start_migration(actor=team.administrator, project=team.project).pk)
    assert undo(team, made).refused[0][1] == "Something has happened to it since. Its history shows it."


def test_a_flag_is_not_restored_if_its_change_was_withdrawn(team: Team) -> None:
    back, marked = ended(team), ended(team)
    change = flag_all(team)
    made = send_back(team, back)
    withdraw_change(actor=team.administrator, project=team.project, change=change)
    confirm(team, undo(team, made))
    assert not OutdatedDialogue.objects.filter(dialogue__in=[back, marked], cleared_at=None).exists()


def test_an_item_of_a_round_goes_on_until_the_round_has_ended() -> None:
    team = make_team(annotators=5, seniors=2)
    adopt_preset(actor=team.administrator, project=team.project, preset="wild", round_fraction=1.0)
    annotated(team, 2)
    one, two = drawn(next_round(team))
    stage = Cycle.objects.get(dialogue=one).stage_runs.order_by("pk")[0].stage
    kept = rows(one)
    confirm(team, undo(team, send_back(team, one, stage=stage)))
    assert rows(one) == kept
    look(two, "approve", "approve")
    late = send_back(team, one, stage=stage)
    draw_where_upstream_is_done()
    assert undo(team, late).refused == [[one.external_id, "The round that it was in has ended."]]
    assert_consistent(team.project)


def test_the_audit_of_a_draw_still_sends_back_what_an_undo_restored() -> None:
    team = make_team(annotators=4, seniors=2)
    adopt_c3(team, audit_fraction=0.5, send_back_above=0.3, send_back_audited=1)
    items = [make_item(team, "cross_check") for _ in range(6)]
    for item in items:
        for person in team.annotators[1:3]:
            claim_and_submit(person, item, "approve")
    draw = close_population_and_draw(actor=team.administrator, project=team.project)
    assert draw is not None
    audited, (first, late, left) = (
        list(Dialogue.objects.filter(pk__in=draw.items.filter(selected=selected).values("dialogue")).order_by("pk"))
        for selected in (True, False)
    )
    confirm(team, undo(team, send_back(team, first)))
    away = send_back(team, late)
    claim_and_submit(team.senior, audited[0], "fix", document=changed(current(audited[0])))
    assert jobs.run(Job.objects.get(kind=sending_back.JOB).pk).result == {"returned": 2}
    assert {one.cycles.get(state="active").number for one in (first, left)} == {3, 2}
    # It would be the only one that stayed.
    assert undo(team, away).refused == [
        [late.external_id, "An audit has since sent back the other items of its owner."]
    ]


def test_gold_items_stay_retired_and_their_answer_can_get_another(client: Client) -> None:
    team = gold_team()
    item = make_gold(team)
    source, other = item.source, verified(team)
    made = preview(team, source, item.dialogue, stage=STAGE)
    assert made.refused == [[item.dialogue.external_id, "It is a gold item."]]
    assert forecast_undo(made) == Forecast(undoable=1, revealed=0, answers=1)
    client.force_login(team.administrator)
    page = one_line(client.get(f"/p/{team.project.slug}/assignments/plans/{made.public_id}/"))
    assert "1 item is the known answer of a gold item. The gold item is retired, also after an undo." in page
    confirm(team, made)
    assert {one.pk for one in suggest(project=team.project, stage=STAGE)} == {other.pk}
    confirm(team, undo(team, made))
    source.refresh_from_db()
    assert (source.status, source.gold_role) == (DialogueStatus.VERIFIED, "")
    assert GoldItem.objects.get(pk=item.pk).live is False
    assert {one.pk for one in suggest(project=team.project, stage=STAGE)} == {source.pk, other.pk}
    make_gold(team, source)
    source.refresh_from_db()
    assert source.gold_role == GoldRole.ANSWER
    assert_consistent(team.project)


def test_the_history_of_a_gold_item_does_not_show_sending_back_that_was_undone() -> None:
    team = gold_team()
    item = make_item(team, STAGE)
    confirm(team, undo(team, send_back(team, item)))
    for person in team.annotators[1:3]:
        claim_and_submit(person, item, "fix", document=changed(current(item)))
    gold = make_gold(team, Dialogue.objects.get(pk=item.pk))
    kinds = list(Event.objects.filter(dialogue=gold.dialogue).order_by("number").values_list("kind", flat=True))
    assert kinds.count("cycle.begun") == 1
    assert not {"cycle.superseded", "cycle.withdrawn"} & set(kinds)
    assert_consistent(team.project)


def test_a_job_undoes_many_for_the_person_who_confirmed_it(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "AT_ONCE", 1)
    monkeypatch.setattr(plans, "CHUNK", 1)
    items = [ended(team) for _ in range(3)]
    made = send_back(team, *items)
    assert made.job is not None
    jobs.run(made.job.pk)
    back = undo(team, made)
    eve = give_role(team.project, make_user("eve"), Role.ADMINISTRATOR)
    done = confirm_plan(actor=eve, project=team.project, public_id=back.public_id)
    assert (done.actor, done.confirmed_by) == (team.administrator, eve)
    claim_slot(actor=team.annotator, slot=open_slot(items[1]))
    assert done.job is not None
    jobs.run(done.job.pk)
    done.refresh_from_db()
    assert (done.result["done"], done.result["skipped"]) == (
        2,
        [[items[1].external_id, "Somebody has worked on it since."]],
    )
    told = Event.objects.filter(kind="cycle.withdrawn").order_by("pk")
    assert [(one.dialogue, one.actor) for one in told] == [(items[0], eve), (items[2], eve)]
    assert_consistent(team.project)


def test_an_archived_project_refuses_the_undo(team: Team, client: Client) -> None:
    made = send_back(team, ended(team))
    back = undo(team, made)
    archive_project(actor=team.administrator, project=team.project)
    client.force_login(team.administrator)
    page = f"/p/{team.project.slug}/assignments/plans/{back.public_id}/"
    assert client.post(page).status_code in (403, 409)
    with pytest.raises(IntegrityError), transaction.atomic():
        confirm(team, back)
    assert Cycle.objects.filter(state=CycleState.ACTIVE).count() == 1


def test_the_database_keeps_the_result_of_an_ended_cycle(team: Team) -> None:
    item = ended(team)
    done = Cycle.objects.filter(dialogue=item, number=1)
    for change in ({"state": "superseded"}, {"state": "withdrawn"}, {"exit_revision": None}, {"number": 7}):
        with pytest.raises(IntegrityError), transaction.atomic():
            done.update(**change)
    active = make_item(team, "cross_check")
    supersede_cycle(actor=team.administrator, dialogue=active, reason="Again", force=True)
    with pytest.raises(IntegrityError), transaction.atomic():
        # Its successor counts.
        Cycle.objects.filter(dialogue=active, number=1).update(state="active", ended_at=None)


@pytest.mark.postgres
def test_the_database_refuses_claims_and_reviews_of_a_withdrawn_cycle(team: Team) -> None:
    touched = make_item(team, "cross_check")
    made = send_back(team, item := ended(team))
    confirm(team, undo(team, made))
    worked = Cycle.objects.filter(dialogue=touched)
    with pytest.raises(IntegrityError, match="has no claims or reviews"), transaction.atomic():
        worked.update(state="withdrawn", ended_at=timezone.now())
    slot = Slot.objects.get(cycle__dialogue=item, cycle__number=2)
    claim = Claim.objects.filter(slot__cycle__dialogue=touched).order_by("pk").first()
    review = Review.objects.filter(dialogue=touched).order_by("pk").first()
    assert claim is not None
    assert review is not None
    claim.pk, claim.slot, claim.token = None, slot, "another"
    review.pk, review.slot, review.public_id = None, slot, "another"
    review.stage_run = slot.stage_run
    for row in (claim, review):
        with pytest.raises(IntegrityError, match="the cycle was withdrawn"), transaction.atomic():
            row.save(force_insert=True)


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
def test_an_undo_and_a_claim_come_one_after_the_other(team: Team) -> None:
    item = ended(team)
    back = undo(team, send_back(team, item))
    slot = open_slot(item)
    claim, refused = overlap(lambda: claim_slot(actor=team.annotator, slot=slot), lambda: confirm(team, back))
    assert claim.slot_id == slot.pk
    assert isinstance(refused, Conflict)
    assert "Somebody has worked on it since" in refused.sentence
    other = ended(team)
    back, slot = undo(team, send_back(team, other)), open_slot(other)
    _, late = overlap(lambda: confirm(team, back), lambda: claim_slot(actor=team.annotator, slot=slot))
    assert isinstance(late, Conflict)
    other.refresh_from_db()
    assert other.status == DialogueStatus.VERIFIED
    assert_consistent(team.project)


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
def test_an_undo_and_a_submission_at_once_leave_one_of_them(team: Team) -> None:
    for _ in range(3):
        item = make_item(team, "cross_check")
        made = send_back(team, item)
        back, slot = undo(team, made), open_slot(item)

        def submit(slot: Slot = slot) -> Review:
            claim = claim_slot(actor=team.annotator, slot=slot)
            return submit_review(actor=team.annotator, slot=slot, token=claim.token, verdict="approve")

        results = race(lambda back=back: confirm(team, back), submit)
        assert len(won(results)) == 1
        assert all(isinstance(one, Conflict) for one in lost(results))
        assert [*history_problems(team.project)] == []
        assert stored_counters(team.project) == recount(team.project)


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
def test_a_round_does_not_end_while_an_undo_brings_an_item_back() -> None:
    team = make_team(annotators=5, seniors=2)
    adopt_preset(actor=team.administrator, project=team.project, preset="wild", round_fraction=1.0)
    annotated(team, 2)
    one, two = drawn(next_round(team))
    back = undo(team, send_back(team, one, stage=Cycle.objects.get(dialogue=one).stage_runs.order_by("pk")[0].stage))
    # Nothing of the round is left, but nobody has ended it.
    look(two, "approve", "approve")
    Draw.objects.update(round_ended_at=None)
    overlap(lambda: confirm(team, back), draw_where_upstream_is_done)
    assert Draw.objects.get().round_ended_at is None
    assert_consistent(team.project)


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
def test_a_late_submission_waits_for_the_undo_and_then_counts(team: Team) -> None:
    item = make_item(team, "cross_check")
    slot = open_slot(item)
    claim = claim_slot(actor=team.annotators[1], slot=slot)
    plans.changes.free_claim(actor=team.administrator, slot=slot)
    made = send_back(team, item)

    def submit() -> Review:
        return submit_review(actor=team.annotators[1], slot=slot, token=claim.token, verdict="approve")

    with pytest.raises(Conflict):
        submit()
    back = undo(team, made)
    _, late = overlap(lambda: confirm(team, back), submit)
    assert isinstance(late, Review), late
    assert_consistent(team.project)
