"""Rounds of pairs: who looks at what, what a round finds, and when everything goes on."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.errors import Conflict
from annotator.models import Dialogue, Event, User
from annotator.models.content import DialogueStatus
from annotator.services.history.events import broken_links
from reviews.core.agreement import Visit
from reviews.core.protocols.random_draws import ROUNDS
from reviews.models import Cycle, Draw, DrawItem, Slot, SlotState, StageRun, StageRunState
from reviews.services.cycles.start import supersede_cycle
from reviews.services.protocols.versions import adopt_preset
from reviews.services.queue.claims import claim_next
from reviews.services.sampling.draws import close_population_and_draw, draw_where_upstream_is_done, recompute_draw
from reviews.services.sampling.rounds import open_disputes, read_rounds
from reviews.services.statistics import item_history
from reviews.services.statistics.accuracy import read_accuracy
from reviews.services.statistics.all_counts import fold_all
from reviews.services.statistics.counters import recount, stored_counters
from reviews.services.statistics.item_history import ITEM_HISTORY
from reviews.services.submission.submit import submit_review
from tests.factories import Team, begin, changed, claim_and_submit, current, make_dialogue, make_team

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=5, seniors=2)
    adopt_preset(actor=team.administrator, project=team.project, preset="wild", round_fraction=0.5)
    return team


def annotated(team: Team, count: int) -> list[Dialogue]:
    """Items that have passed the annotation, owned by the annotators in turn, and wait for the first round."""
    items = []
    for n in range(count):
        item = make_dialogue(team.project)
        begin(team.project, [item])
        claim_and_submit(team.annotators[n % len(team.annotators)], item, "approve")
        items.append(item)
    return items


def next_round(team: Team) -> Draw:
    """Do what beat does: end the current round and draw the next one."""
    assert draw_where_upstream_is_done() == 1
    return Draw.objects.filter(project=team.project).order_by("-number")[0]


def drawn(draw: Draw) -> list[Dialogue]:
    return list(Dialogue.objects.filter(pk__in=draw.items.filter(selected=True).values("dialogue")).order_by("pk"))


def look(item: Dialogue, *verdicts: str, text: str = "") -> None:
    """Both people for whom the item is reserved submit."""
    slots = Slot.objects.filter(dialogue=item, stage="rounds", state=SlotState.OPEN).order_by("index")
    for slot, verdict in zip(list(slots), verdicts, strict=True):
        person = slot.reserved_for
        assert person is not None
        words = text or f"As {person} has it."
        document = changed(current(item), words) if verdict == "fix" else None
        claim_and_submit(person, item, verdict, document=document)


def settle(team: Team, item: Dialogue, verdict: str = "reject") -> None:
    claim_and_submit(team.seniors[0], item, verdict)


def statuses(team: Team) -> dict[str, int]:
    return {
        key.removeprefix("status:"): n for key, n in stored_counters(team.project).items() if key.startswith("status:")
    }


def consistent(team: Team) -> None:
    assert stored_counters(team.project) == recount(team.project)
    for item in Dialogue.objects.filter(project=team.project):
        assert broken_links(item) == []
        unfinished = StageRun.objects.filter(cycle__dialogue=item, state__in=["open", "pooled", "drawn"])
        assert unfinished.count() == (0 if item.status in ("verified", "rejected") else 1)


def test_the_first_round_waits_until_nothing_is_upstream(team: Team) -> None:
    annotated(team, 3)
    late = make_dialogue(team.project)
    begin(team.project, [late])
    assert draw_where_upstream_is_done() == 0
    claim_and_submit(team.annotators[0], late, "approve")
    draw = next_round(team)
    assert (draw.number, draw.population_size, draw.sample_size, draw.algorithm) == (1, 4, 2, ROUNDS)
    assert draw.strata == {"unseen": [4, 2], "seen": [0, 0]}
    assert recompute_draw(draw) == []
    consistent(team)


def test_each_item_goes_to_a_pair_that_may_look_at_it(team: Team) -> None:
    annotated(team, 6)
    draw = next_round(team)
    pairs = {frozenset((one, other)) for one, other, _ in draw.pairs}
    assert sum(count for *_, count in draw.pairs) == 3
    for item in drawn(draw):
        slots = list(Slot.objects.filter(dialogue=item, stage="rounds", state=SlotState.OPEN))
        people = [slot.reserved_for for slot in slots]
        assert all(isinstance(person, User) for person in people)
        assert item.owner not in people
        assert frozenset(person.pseudonym for person in people if person) in pairs
    # Everybody finds what is theirs, and nobody anything else.
    slot = Slot.objects.filter(stage="rounds", state=SlotState.OPEN).order_by("pk")[0]
    person = slot.reserved_for
    assert person is not None
    claim = claim_next(actor=person, project=team.project)
    assert claim is not None
    assert claim.slot.reserved_for == person


def test_pairs_change_from_round_to_round(team: Team) -> None:
    annotated(team, 8)
    seen: list[set[frozenset[str]]] = []
    for _ in range(2):
        draw = next_round(team)
        seen.append({frozenset(pair[:2]) for pair in draw.pairs})
        for item in drawn(draw):
            look(item, "approve", "approve")
    assert not seen[0] & seen[1]


def test_a_clean_pass_through_everything_ends_the_rounds(team: Team) -> None:
    items = annotated(team, 4)
    first = next_round(team)
    for item in drawn(first):
        look(item, "approve", "approve")
        item.refresh_from_db()
        assert (item.status, item.stage) == (DialogueStatus.POOLED, "rounds")
    second = next_round(team)
    # The unseen first: the two rounds share nobody.
    assert not {item.pk for item in drawn(first)} & {item.pk for item in drawn(second)}
    assert second.strata == {"unseen": [2, 2], "seen": [2, 0]}
    for item in drawn(second):
        look(item, "approve", "approve")
    closing = next_round(team)
    assert (closing.closing, closing.sample_size, closing.population_size) == (True, 0, 4)
    assert recompute_draw(closing) == []
    assert statuses(team) == {"verified": 4}
    assert [(one.number, one.seen, one.errors, one.disputes, one.last) for one in read_rounds(team.project)] == [
        (1, 2, 0, 0, False),
        (2, 2, 0, 0, True),
    ]
    for item in items:
        assert Cycle.objects.get(dialogue=item).exit_revision == Dialogue.objects.get(pk=item.pk).head
    assert draw_where_upstream_is_done() == 0
    consistent(team)


def test_an_error_makes_another_round(team: Team) -> None:
    annotated(team, 4)
    first = next_round(team)
    wrong, right = drawn(first)
    look(wrong, "fix", "fix", text="The same for both.")
    look(right, "approve", "approve")
    wrong.refresh_from_db()
    assert wrong.status == DialogueStatus.POOLED
    run = StageRun.objects.get(cycle__dialogue=wrong, stage="rounds", state=StageRunState.POOLED)
    # Two independent people submitted this content, so it was seen without a dispute.
    assert (run.round, run.looks, run.seen, run.entry_revision) == (2, 1, True, wrong.head)
    for item in drawn(next_round(team)):
        look(item, "approve", "approve")
    # Everything was seen, and the second round found nothing.
    assert next_round(team).closing
    figures = read_rounds(team.project)
    assert [(one.errors, one.disputes, one.accuracy.value) for one in figures] == [(1, 0, 0.5), (0, 0, 1.0)]
    consistent(team)


def test_all_seen_but_the_last_round_found_an_error(team: Team) -> None:
    annotated(team, 4)
    for item in drawn(next_round(team)):
        look(item, "approve", "approve")
    wrong, right = drawn(next_round(team))
    look(wrong, "fix", "fix", text="The same for both.")
    look(right, "approve", "approve")
    third = next_round(team)
    assert (third.closing, third.sample_size) == (False, 2)
    assert third.strata == {"unseen": [0, 0], "seen": [4, 2]}
    for item in drawn(third):
        look(item, "approve", "approve")
    assert next_round(team).closing
    assert statuses(team) == {"verified": 4}
    consistent(team)


def test_a_round_of_which_nothing_was_looked_at_ends_no_rounds(team: Team) -> None:
    annotated(team, 2)
    [first] = drawn(next_round(team))
    look(first, "approve", "approve")
    [second] = drawn(next_round(team))
    look(second, "fix", "fix", text="Both say so.")
    # All were seen, but the last round found an error: so there is a third, whose item starts again.
    [third] = drawn(next_round(team))
    supersede_cycle(actor=team.administrator, dialogue=third, reason="An erratum.", force=True)
    draw = close_population_and_draw(actor=team.administrator, project=team.project)
    assert draw is not None
    assert (draw.number, draw.closing, draw.population_size) == (4, False, 1)
    assert "verified" not in statuses(team)
    consistent(team)


def test_a_dispute_is_settled_and_its_item_looked_at_again(team: Team) -> None:
    annotated(team, 4)
    first = next_round(team)
    disputed, right = drawn(first)
    look(disputed, "approve", "fix")
    look(right, "approve", "approve")
    disputed.refresh_from_db()
    assert (disputed.status, disputed.stage) == (DialogueStatus.ESCALATED, "settlement")
    [dispute] = open_disputes(team.project, "rounds", 1, actor=team.senior)
    assert (dispute.dialogue, dispute.run.stage, len(dispute.reviews)) == (disputed, "rounds", 2)
    assert dispute.discrepancies > 0
    assert open_disputes(team.project, "rounds", 2, actor=team.senior) == []
    [figures] = read_rounds(team.project)
    assert (figures.seen, figures.disputes, figures.open_disputes, figures.errors) == (2, 1, 1, 0)
    # Nobody knows yet whether the one in dispute holds an error: it is no item without one.
    assert (figures.accuracy.value, figures.accuracy.n) == (1.0, 1)
    # The round goes on while its dispute is open.
    assert draw_where_upstream_is_done() == 0
    with pytest.raises(Conflict, match="Round 1 of “Review in pairs” is still in progress"):
        close_population_and_draw(actor=team.administrator, project=team.project)

    assert dispute.slot is not None
    from reviews.services.queue.claims import claim_slot
    from tests.reviews.rulings import disputed_anchors

    claim = claim_slot(actor=team.seniors[0], slot=dispute.slot)
    anchors = disputed_anchors(dispute.slot)
    rulings = {anchor: {"choice": "right", "reason_kind": "answer_wrong"} for anchor in anchors}
    submit_review(actor=team.seniors[0], slot=dispute.slot, token=claim.token, rulings=rulings)
    disputed.refresh_from_db()
    assert (disputed.status, disputed.stage) == (DialogueStatus.POOLED, "rounds")
    run = StageRun.objects.get(cycle__dialogue=disputed, stage="rounds", state=StageRunState.POOLED)
    assert (run.seen, run.looks) == (False, 1)
    assert open_disputes(team.project, "rounds", 1, actor=team.senior) == []
    second = next_round(team)
    assert disputed in drawn(second) or second.strata["unseen"] == [3, 2]
    [figures, _] = read_rounds(team.project)
    assert (figures.errors, figures.disputes, figures.open_disputes) == (1, 1, 0)
    consistent(team)


def test_a_false_alarm_is_no_error_but_is_looked_at_again(team: Team) -> None:
    annotated(team, 2)
    [item] = drawn(next_round(team))
    look(item, "approve", "escalate")
    claim_and_submit(team.seniors[0], item, "approve")
    [figures] = read_rounds(team.project)
    assert (figures.errors, figures.disputes, figures.ended_at) == (0, 1, None)
    second = next_round(team)
    assert second.strata == {"unseen": [2, 1], "seen": [0, 0]}
    consistent(team)


def test_a_rounds_accuracy_holds_what_its_session_mended(
    team: Team, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    adopt_preset(actor=team.administrator, project=team.project, preset="wild", round_fraction=1.0)
    items = annotated(team, 4)
    next_round(team)
    for item in items[:2]:
        look(item, "approve", "escalate")
        claim_and_submit(
            next(one for one in team.seniors if one != item.owner), item, "fix", document=changed(current(item))
        )
    for item in items[2:]:
        look(item, "approve", "approve")
    for item in drawn(next_round(team)):
        look(item, "approve", "approve")
    draw_where_upstream_is_done()

    def curve() -> list[tuple[str, int, int]]:
        found = read_accuracy(project=team.project)
        [stage] = [one for one in found.by_round if one.stage == "rounds"]
        revised = {one.stage: (one.count, one.items, one.not_drawn) for one in found.revisions}
        assert (revised["rounds"], revised["settlement"]) == ((0, 4, 0), (2, 2, 0))
        return [(one.key, one.right, one.of) for one in stage.rounds]

    # As an earlier version counted: fixes of the session belonged to the next round, and there was no third round.
    monkeypatch.setattr(
        item_history,
        "as_visit",
        lambda run: Visit(run.stage, run.round, run.entry_revision.content_hash, run.exit_revision.content_hash),
    )
    fold_all()
    assert curve() == [("0", 2, 4), ("1", 2, 4), ("2", 4, 4), ("3", 4, 4)]
    monkeypatch.undo()
    assert ITEM_HISTORY.recount(team.project, repair=True)
    assert curve() == [("0", 2, 4), ("1", 4, 4), ("2", 4, 4)]
    assert ITEM_HISTORY.recount(team.project) == []
    assert [one.number for one in read_rounds(team.project)] == [1, 2]
    consistent(team)
    client.force_login(team.senior)
    page = client.get(f"/p/{team.project.slug}/statistics/accuracy/").content.decode()
    assert "Nothing here estimates the errors left" in page


def test_what_is_rejected_leaves_the_rounds(team: Team) -> None:
    annotated(team, 2)
    [item] = drawn(next_round(team))
    look(item, "reject", "reject")
    settle(team, item, "reject")
    item.refresh_from_db()
    assert item.status == DialogueStatus.REJECTED
    second = next_round(team)
    assert second.population_size == 1
    [figures, _] = read_rounds(team.project)
    assert (figures.errors, figures.disputes) == (1, 1)
    consistent(team)


def test_what_comes_late_joins_the_next_round(team: Team) -> None:
    annotated(team, 2)
    first = next_round(team)
    [late] = annotated(team, 1)
    assert StageRun.objects.get(cycle__dialogue=late, stage="rounds").round == 2
    [item] = drawn(first)
    look(item, "approve", "approve")
    assert next_round(team).population_size == 3
    consistent(team)


def test_the_rounds_are_on_record(team: Team) -> None:
    annotated(team, 2)
    draw = next_round(team)
    look(drawn(draw)[0], "approve", "approve")
    next_round(team)
    event = Event.objects.get(kind="round.ended")
    assert event.after == {
        "draw": draw.public_id, "stage": "rounds", "round": 1, "drawn": 1, "seen": 1, "errors": 0, "disputes": 0,
    }  # fmt: skip
    assert DrawItem.objects.filter(draw=draw).count() == 2


def test_the_round_ends_with_its_last_review(team: Team, django_capture_on_commit_callbacks: object) -> None:
    annotated(team, 2)
    draw = next_round(team)
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        look(drawn(draw)[0], "approve", "approve")
    draw.refresh_from_db()
    assert draw.round_ended_at is not None
    assert Draw.objects.filter(project=team.project).count() == 2


def test_only_first_looks_count_for_agreement(team: Team) -> None:
    from reviews.models import AgreementPending

    annotated(team, 2)
    for number in range(3):
        for item in drawn(next_round(team)):
            look(item, "fix", "fix", text=f"The same for both, {number}.")
    # Rounds 1 and 2 looked at each item for the first time, round 3 at one of them again.
    assert AgreementPending.objects.count() == 2


def test_who_is_paused_is_not_paired(team: Team) -> None:
    from reviews.models import Pause

    annotated(team, 6)
    for person in team.annotators[:3]:
        Pause.objects.create(project=team.project, person=person, actor=team.administrator)
    draw = next_round(team)
    paired = {name for one, other, _ in draw.pairs for name in (one, other)}
    assert paired
    assert not paired & {person.pseudonym for person in team.annotators[:3]}


def test_reading_the_rounds_takes_as_few_questions_for_many_as_for_few(
    team: Team,
) -> None:
    annotated(team, 4)
    counts = []
    for _ in range(2):
        for item in drawn(next_round(team)):
            look(item, "approve", "escalate")
            claim_and_submit(next(one for one in team.seniors if one.pk != item.owner_id), item, "approve")
        with CaptureQueriesContext(connection) as asked:
            read_rounds(team.project)
        counts.append(len(asked))
    assert counts[0] == counts[1] <= 5


def test_too_few_for_pairs_leaves_the_slots_to_whoever_comes() -> None:
    team = make_team(annotators=1, seniors=1)
    adopt_preset(actor=team.administrator, project=team.project, preset="wild", round_fraction=1.0)
    [item] = annotated(team, 1)
    draw = next_round(team)
    assert draw.pairs == []
    assert Slot.objects.filter(dialogue=item, stage="rounds", state="open", reserved_for=None).count() == 2


# --- large projects ---------------------------------------------------------------------------------------------------


def is_carried_out(draw: Draw) -> bool:
    return Draw.objects.get(pk=draw.pk).carried_out_at is not None


def test_a_large_round_is_carried_out_by_a_job(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    from annotator.models import Job
    from annotator.services.jobs import jobs
    from reviews.services.sampling import draws

    monkeypatch.setattr(draws, "AT_ONCE", 2)
    monkeypatch.setattr(draws, "CHUNK", 2)
    annotated(team, 6)
    for number in (1, 2):
        draw = next_round(team)
        assert not is_carried_out(draw)
        # Nothing goes on before everything drawn has its slots.
        assert draw_where_upstream_is_done() == 0
        jobs.run(Job.objects.filter(kind=draws.JOB).order_by("-pk")[0].pk)
        assert is_carried_out(draw)
        assert {run.round for run in StageRun.objects.filter(stage="rounds", state="pooled")} <= {number + 1}
        for item in drawn(draw):
            look(item, "approve", "approve")
    closing = next_round(team)
    assert closing.closing
    jobs.run(Job.objects.filter(kind=draws.JOB).order_by("-pk")[0].pk)
    assert statuses(team) == {"verified": 6}
    consistent(team)
