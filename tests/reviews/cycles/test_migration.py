"""Another version of the protocol for what is under way: previewed, moved item by item, nothing lost."""

from typing import Any

import pytest

from annotator.errors import Conflict, Denied
from annotator.models import Dialogue, Event, Job, JobState, Notice, Revision, User
from annotator.models.content import DialogueStatus
from annotator.services.history.events import broken_links
from annotator.services.jobs import jobs
from reviews.core.agreement import PatternCounts
from reviews.core.protocols import Protocol, load_preset, read_protocol
from reviews.core.protocols.presets import MAJORITY_OF_THREE
from reviews.core.protocols.version_mapping import Action, destination
from reviews.models import Claim, ClaimState, Cycle, DrawItem, ProtocolVersion, Review, Slot, SlotState, StageRun
from reviews.services.cycles.migration import JOB, MigrationPreview, preview_migration, start_migration
from reviews.services.cycles.start import supersede_cycle
from reviews.services.protocols.versions import adopt_preset, adopt_protocol
from reviews.services.queue.claims import claim_slot
from reviews.services.sampling.draws import close_population_and_draw
from reviews.services.statistics.agreement import AGREEMENT, read_agreement
from reviews.services.statistics.all_counts import fold_all
from reviews.services.statistics.counters import recount, stored_counters
from reviews.services.statistics.workload import count_unsettled
from reviews.services.submission.submit import submit_review
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


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=5, seniors=2)
    adopt_c3(team)
    return team


def edited(place: int | None = None, /, **changes: Any) -> Protocol:
    data = load_preset("c3").model_dump(mode="json")
    if place is not None:
        data["stages"][place] |= changes
    return read_protocol(data)


def without(*keys: str) -> Protocol:
    data = load_preset("c3").model_dump(mode="json")
    data["stages"] = [stage for stage in data["stages"] if stage["key"] not in keys]
    return read_protocol(data)


def adopt(team: Team, protocol: Protocol) -> ProtocolVersion:
    return adopt_protocol(actor=team.administrator, project=team.project, protocol=protocol)


def migrate(team: Team) -> dict[str, Any]:
    job = start_migration(actor=team.administrator, project=team.project, reason="We saw that it takes three.")
    done = jobs.run(job.pk)
    assert done.state == JobState.DONE, done.error
    assert stored_counters(team.project) == recount(team.project)
    for item in Dialogue.objects.filter(project=team.project):
        assert broken_links(item) == []
        unfinished = StageRun.objects.filter(cycle__dialogue=item, state__in=["open", "pooled", "drawn"])
        assert unfinished.count() == (0 if item.status in ("verified", "rejected") else 1)
    return done.result


def preview(team: Team) -> MigrationPreview:
    return preview_migration(actor=team.administrator, project=team.project)


def fresh(item: Dialogue) -> Dialogue:
    item.refresh_from_db()
    return item


# --- what becomes of an item ------------------------------------------------------------------------------------------

THREE = [{"verdicts": ["any"] * 3, "outcome": "escalate"}]


@pytest.mark.parametrize(
    ("new", "key", "waiting", "escalated", "action", "to"),
    [
        (edited(), "cross_check", False, False, Action.STAY, "cross_check"),
        (edited(2, lease_minutes=90), "cross_check", False, False, Action.STAY, "cross_check"),
        (edited(2, reviewers=3, outcomes=THREE), "cross_check", False, False, Action.RESTART, "cross_check"),
        (edited(2, blind=False), "cross_check", False, False, Action.RESTART, "cross_check"),
        (without("self_check_multi"), "self_check_multi", False, False, Action.MOVE, "cross_check"),
        (without("self_check_single"), "self_check_single", False, False, Action.MOVE, "self_check_multi"),
        (without("expert"), "expert", True, False, Action.VERIFY, ""),
        (without("expert"), "expert", False, True, Action.MOVE, "self_check_single"),
        (edited(), "expert", True, False, Action.STAY, "expert"),
        (edited(3, entry={"mode": "all"}), "expert", True, False, Action.RESTART, "expert"),
        (
            edited(3, entry={"mode": "escalated_and_fraction", "fraction": 0.0}),
            "expert",
            True,
            False,
            Action.VERIFY,
            "",
        ),
        (load_preset("wild"), "cross_check", False, False, Action.MOVE, "annotation"),
        (load_preset("wild"), "expert", False, True, Action.MOVE, "settlement"),
    ],
)
def test_where_items_go(new: Protocol, key: str, waiting: bool, escalated: bool, action: Action, to: str) -> None:
    found = destination(load_preset("c3"), new, key, waiting=waiting, escalated=escalated)
    assert (found.action, found.stage) == (action, to)
    assert found.why.endswith(".")


# --- previewed --------------------------------------------------------------------------------------------------------


def test_the_preview_counts_and_says_why(team: Team) -> None:
    for stage in ("self_check_single", "cross_check", "cross_check", "expert"):
        make_item(team, stage)
    adopt(team, edited(2, reviewers=1, outcomes=[{"verdicts": ["any"], "outcome": "escalate"}]))
    found = preview(team)
    assert [(step.stage, step.items, step.action, step.to) for step in found.steps] == [
        ("self_check_single", 1, Action.STAY, "self_check_single"),
        ("cross_check", 2, Action.RESTART, "cross_check"),
        ("expert", 1, Action.STAY, "expert"),
    ]
    assert "The number of reviewers changes from 2 to 1" in found.steps[1].why
    assert (found.items, found.count("stay"), found.count("restart"), found.in_draw) == (4, 2, 2, 0)
    # Nothing has happened.
    assert not Cycle.objects.filter(protocol=found.version).exists()


def test_the_preview_says_whose_work_it_ends(team: Team) -> None:
    item = make_item(team, "cross_check")
    claim_slot(actor=team.annotators[1], slot=open_slot(item))
    other = make_item(team, "self_check_single")
    claim_slot(actor=team.annotators[2], slot=open_slot(other))
    adopt(team, edited(2, blind=False))
    assert preview(team).interrupted == 1


@pytest.mark.parametrize("who", ["annotator", "senior"])
def test_administrators_alone(team: Team, who: str) -> None:
    with pytest.raises(Denied):
        preview_migration(actor=getattr(team, who), project=team.project)
    with pytest.raises(Denied):
        start_migration(actor=getattr(team, who), project=team.project)


# --- moved ------------------------------------------------------------------------------------------------------------


def test_what_stays_keeps_what_was_handed_in(team: Team) -> None:
    item = make_item(team, "cross_check")
    claim_and_submit(team.annotators[1], item, "approve")
    claim = claim_slot(actor=team.annotators[2], slot=open_slot(item, team.annotators[2]))
    version = adopt(team, edited(2, lease_minutes=90))
    assert migrate(team) == {"stay": 1}
    assert Cycle.objects.get(dialogue=item).protocol == version
    # One review is in, the other is being written; the stage settles by the new version.
    submit_review(actor=team.annotators[2], slot=claim.slot, token=claim.token, verdict="approve")
    assert (fresh(item).status, item.stage) == (DialogueStatus.POOLED, "expert")
    assert Slot.objects.filter(dialogue=item, stage="cross_check", state=SlotState.DONE).count() == 2


def test_a_stage_that_begins_anew_keeps_its_reviews_on_record(team: Team) -> None:
    item = make_item(team, "cross_check")
    claim_and_submit(team.annotators[1], item, "approve")
    claim = claim_slot(actor=team.annotators[2], slot=open_slot(item, team.annotators[2]))
    adopt(team, edited(2, reviewers=3, outcomes=THREE))
    assert migrate(team) == {"restart": 1}
    assert Claim.objects.get(pk=claim.pk).state == ClaimState.WITHDRAWN
    (notice,) = [row for row in Notice.objects.all() if "was restarted" in row.text]
    assert notice.person == team.annotators[2]
    assert notice.text.startswith(
        f"{item.external_id} is no longer assigned to you because its review was restarted or has"
    )
    assert Review.objects.filter(dialogue=item, stage_run__stage="cross_check").count() == 1
    run = StageRun.objects.get(cycle__dialogue=item, stage="cross_check", state="open")
    assert run.round == 2
    assert Slot.objects.filter(stage_run=run, state="open").count() == 3
    with pytest.raises(Conflict, match="restarted from another revision"):
        submit_review(actor=team.annotators[2], slot=claim.slot, token=claim.token, verdict="approve")
    event = Event.objects.get(dialogue=item, kind="cycle.migrated")
    assert (event.before["protocol"], event.after["protocol"], event.after["action"]) == (1, 2, "restart")
    assert event.after["reason"] == "We saw that it takes three."


@pytest.mark.parametrize("again", ["migrated", "superseded"])
def test_what_was_sealed_opens_when_the_stage_that_began_anew_settles(team: Team, again: str) -> None:
    """Otherwise the item's reviewers there would read a colleague's verdict and fix first."""
    data = without("self_check_single", "self_check_multi").model_dump(mode="json")
    data["stages"][0]["outcomes"] = [{"verdicts": ["any"] * 2, "outcome": "escalate"}]
    data["stages"][1]["entry"]["send_back"] = None
    adopt(team, read_protocol(data))
    item, (first, second, third) = make_dialogue(team.project), team.annotators[:3]
    begin(team.project, [item])
    fix = claim_and_submit(first, item, "fix", document=changed(current(item)))
    if again == "migrated":
        data["stages"][0] |= {"reviewers": 3, "outcomes": THREE}
        adopt(team, read_protocol(data))
        assert migrate(team) == {"restart": 1}
    else:
        supersede_cycle(actor=team.administrator, dialogue=item, reason="Look again.", force=True)

    def open_to(person: User) -> tuple[int, int, int, int]:
        made = Review.objects.visible_to(person).filter(dialogue=item)
        events = Event.objects.visible_to(person).filter(dialogue=item, kind="review.submitted")
        versions = Revision.objects.visible_to(person).filter(dialogue=item)
        waiting = count_unsettled(team.project, first, what="day")
        return made.count(), versions.count(), events.count(), sum(waiting.values())

    fold_all()
    assert open_to(team.senior) == open_to(third) == (0, 1, 0, 1)
    assert open_to(first)[:3] == (1, 2, 1)
    claim_and_submit(second, item, "approve")
    assert open_to(team.senior)[:3] == (0, 1, 0)
    claim_and_submit(third, item, "approve")
    if again == "migrated":
        claim_and_submit(first, item, "approve")
    fold_all()
    assert open_to(team.senior) == (4, 2, 4, 0) if again == "migrated" else (3, 2, 3, 0)
    fix.made_revision.refresh_from_db()
    assert (fix.made_revision.sealed, fix.made_revision.number) == (False, 2)


def test_what_was_sealed_opens_when_the_item_leaves_the_stage(team: Team) -> None:
    opened, moved = make_item(team, "cross_check"), make_item(team, "cross_check")
    claim_and_submit(team.annotators[1], opened, "approve")
    adopt(team, edited(2, blind=False))
    assert migrate(team) == {"restart": 2}
    assert not Review.objects.filter(sealed=True).exists()
    adopt(team, edited())
    migrate(team)
    claim_and_submit(team.annotators[1], moved, "approve")
    supersede_cycle(actor=team.administrator, dialogue=moved, reason="Look again.", force=True)
    assert fresh(moved).stage == "self_check_single"
    assert not Review.objects.filter(sealed=True).exists()


def test_first_looks_after_a_stage_began_anew_count_for_agreement(team: Team) -> None:
    untouched, begun = make_item(team, "cross_check"), make_item(team, "cross_check")
    claim_and_submit(team.annotators[1], begun, "approve")
    three = [row.model_dump(mode="json") for row in MAJORITY_OF_THREE]
    adopt(team, edited(2, reviewers=3, outcomes=three))
    assert migrate(team)["restart"] == 2
    for item in (untouched, begun):
        for person in team.annotators[1:4]:
            claim_and_submit(person, item, "approve")
    fold_all()
    counted = read_agreement(project=team.project, stage="cross_check", label="verdict")
    assert counted == PatternCounts({("approve",) * 3: 1})
    assert AGREEMENT.recount(team.project) == []


def test_a_stage_that_is_gone_counts_as_passed(team: Team) -> None:
    item = make_item(team, "self_check_multi")
    adopt(team, without("self_check_multi"))
    assert migrate(team) == {"move": 1}
    assert (fresh(item).stage, item.status) == ("cross_check", DialogueStatus.IN_REVIEW)
    assert Slot.objects.filter(dialogue=item, stage="cross_check", state="open").count() == 2


def test_what_nothing_is_left_for_is_verified(team: Team) -> None:
    item = make_item(team, "cross_check")
    for person in team.annotators[1:3]:
        claim_and_submit(person, item, "approve")
    data = without("expert").model_dump(mode="json")
    rows = [{"verdicts": ["approve"], "outcome": "pass"}, {"verdicts": ["any"], "outcome": "restart"}]
    for stage in data["stages"][:2]:
        stage["outcomes"] = rows
    two = [{"verdicts": ["approve", "approve"], "outcome": "pass"}, {"verdicts": ["any"] * 2, "outcome": "restart"}]
    data["stages"][2]["outcomes"] = two
    adopt(team, read_protocol(data))
    assert migrate(team) == {"verify": 1}
    assert fresh(item).status == DialogueStatus.VERIFIED
    assert Cycle.objects.get(dialogue=item).exit_revision == item.head


def test_what_was_escalated_keeps_its_dispute(team: Team) -> None:
    from tests.reviews.rulings import disputed_anchors

    item = make_item(team, "expert")
    adopt_preset(actor=team.administrator, project=team.project, preset="wild")
    assert migrate(team) == {"move": 1}
    assert (fresh(item).stage, item.status) == ("settlement", DialogueStatus.ESCALATED)
    slot = open_slot(item)
    assert slot.stage == "settlement"
    assert disputed_anchors(slot)
    # The stage that escalated it is not there any more: what is settled goes to where colleagues look now.
    claim = claim_slot(actor=team.senior, slot=slot)
    rulings = {anchor: {"choice": "right", "reason_kind": "answer_wrong"} for anchor in disputed_anchors(slot)}
    submit_review(actor=team.senior, slot=slot, token=claim.token, rulings=rulings)
    assert (fresh(item).status, item.stage) == (DialogueStatus.POOLED, "rounds")


def test_what_was_drawn_stays_in_its_sample(team: Team) -> None:
    item = make_item(team, "cross_check")
    for person in team.annotators[1:3]:
        claim_and_submit(person, item, "approve")
    draw = close_population_and_draw(actor=team.administrator, project=team.project)
    assert draw is not None
    two = [
        {"verdicts": ["approve", "any"], "outcome": "pass"},
        {"verdicts": ["any", "any"], "outcome": "rejected"},
    ]
    adopt(team, edited(3, reviewers=2, outcomes=two))
    assert migrate(team) == {"restart": 1}
    run = StageRun.objects.get(cycle__dialogue=item, stage="expert", state="open")
    assert run.entered_as == "sampled"
    assert DrawItem.objects.get(draw=draw).stage_run == run


def test_what_an_expert_has_changed_is_looked_at_and_not_drawn_for_again(team: Team) -> None:
    again = edited(3).model_dump(mode="json")
    again["stages"][3]["outcomes"][1]["outcome"] = "restart"
    adopt(team, read_protocol(again))
    item = make_item(team, "cross_check")
    for person in team.annotators[1:3]:
        claim_and_submit(person, item, "approve")
    draw = close_population_and_draw(actor=team.administrator, project=team.project)
    claim_and_submit(team.seniors[0], item, "fix", document=changed(current(item)))
    again["stages"][3]["blind"] = True
    adopt(team, read_protocol(again))
    assert migrate(team) == {"restart": 1}
    claim_and_submit(team.seniors[1], item, "approve")
    assert fresh(item).status == DialogueStatus.VERIFIED
    assert DrawItem.objects.get(draw=draw).stage_run.outcome == "restart"


def test_what_ends_meanwhile_and_what_is_new_are_left_alone(team: Team) -> None:
    old = make_item(team, "self_check_single")
    verified = make_item(team, "cross_check")
    for person in team.annotators[1:3]:
        claim_and_submit(person, verified, "reject")
    adopt(team, edited(0, lease_minutes=45))
    new = make_item(team, "self_check_single")
    assert preview(team).items == 1
    migrate(team)
    numbers = {cycle.dialogue_id: cycle.protocol.number for cycle in Cycle.objects.select_related("protocol")}
    assert numbers == {old.pk: 2, verified.pk: 1, new.pk: 2}


def test_a_job_whose_worker_died_goes_on(team: Team) -> None:
    for _ in range(4):
        make_item(team, "self_check_single")
    adopt(team, edited(2, blind=False))
    job = start_migration(actor=team.administrator, project=team.project)
    running = jobs.acquire(job.pk)
    assert running is not None
    from reviews.services.cycles import migration

    cycles = list(Cycle.objects.order_by("pk").values_list("pk", flat=True))
    version = ProtocolVersion.objects.order_by("-number")[0]
    with running.chunk() as chunk:
        action = migration._migrate(team.administrator, cycles[0], version, "")
        chunk.advance(done=1, checkpoint={"last": cycles[0], "counts": {action: 1}})
    Job.objects.filter(pk=job.pk).update(state=JobState.QUEUED)
    assert jobs.run(job.pk).result == {"stay": 4}
    assert Event.objects.filter(kind="cycle.migrated").count() == 4


# --- refused ----------------------------------------------------------------------------------------------------------


def test_there_must_be_something_to_move(team: Team) -> None:
    make_item(team, "self_check_single")
    with pytest.raises(Conflict, match="already under version 1 of the protocol"):
        start_migration(actor=team.administrator, project=team.project)


def test_what_was_previewed_is_what_is_done(team: Team) -> None:
    make_item(team, "self_check_single")
    seen = adopt(team, edited(0, lease_minutes=45))
    adopt(team, edited(0, lease_minutes=46))
    with pytest.raises(Conflict, match="version 3 is now current, not 2"):
        start_migration(actor=team.administrator, project=team.project, version=seen)


def test_one_migration_at_a_time(team: Team) -> None:
    make_item(team, "self_check_single")
    adopt(team, edited(0, lease_minutes=45))
    begun = start_migration(actor=team.administrator, project=team.project)
    assert start_migration(actor=team.administrator, project=team.project) == begun
    with pytest.raises(Conflict, match="Another job is moving items"):
        start_migration(actor=team.administrator, project=team.project, reason="Another one")
    assert Job.objects.filter(kind=JOB).count() == 1


def test_rounds_begun_under_one_version_go_on_under_the_next() -> None:
    team = make_team(annotators=4, seniors=2)
    adopt_preset(actor=team.administrator, project=team.project, preset="wild", round_fraction=1.0)
    item = make_dialogue(team.project)
    begin(team.project, [item])
    claim_and_submit(team.annotator, item, "approve")
    draw = close_population_and_draw(actor=team.administrator, project=team.project)
    assert draw is not None
    adopt_preset(actor=team.administrator, project=team.project, preset="wild", round_fraction=0.5)
    assert migrate(team) == {"stay": 1}
    for slot in Slot.objects.filter(dialogue=item, stage="rounds"):
        assert slot.reserved_for is not None
        claim_and_submit(slot.reserved_for, item, "fix", document=changed(current(item), "The same."))
    assert (fresh(item).status, item.stage) == (DialogueStatus.POOLED, "rounds")
