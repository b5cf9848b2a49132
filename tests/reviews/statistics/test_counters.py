"""Counters: at every step what counting the rows would give, folded or not."""

import pytest

from annotator.models import Project
from reviews.services.cycles.start import supersede_cycle
from reviews.services.queue.claims import claim_next
from reviews.services.sampling.draws import close_population_and_draw
from reviews.services.statistics.counters import COUNTERS, read_counters, recount, stored_counters, write_deltas
from tests.factories import Team, begin, changed, claim_and_submit, current, make_dialogue, make_item, make_team

pytestmark = pytest.mark.django_db
TEAM = {"annotators": 4}


def right(project: Project) -> None:
    assert stored_counters(project) == recount(project)


def test_counters_are_right_after_every_transition(team: Team) -> None:
    project = team.project
    item = make_dialogue(project)
    right(project)
    begin(project, [item])
    right(project)
    claim_and_submit(team.annotator, item, document=changed(current(item)))
    right(project)
    claim_and_submit(team.annotator, item)
    right(project)
    claim_and_submit(team.annotators[1], item, "approve")
    right(project)
    claim_and_submit(team.annotators[2], item, "fix", document=changed(current(item), "Else."))
    right(project)
    claim_and_submit(team.senior, item, "reject")
    right(project)
    supersede_cycle(actor=team.administrator, dialogue=item, reason="An erratum.")
    right(project)
    for _ in range(2):
        claim_and_submit(team.annotator, item)
    for person in team.annotators[1:3]:
        claim_and_submit(person, item, "approve")
    right(project)
    close_population_and_draw(actor=team.administrator, project=project)
    right(project)
    claim_and_submit(team.senior, item, "fix", document=changed(current(item), "More."))
    right(project)
    assert read_counters(project)["status:verified"] == 1


def test_what_is_set_aside_is_counted_out_again(team: Team) -> None:
    waiting, pooled, sampled = make_item(team, "cross_check"), make_item(team, "cross_check"), None
    for person in team.annotators[1:3]:
        claim_and_submit(person, pooled, "approve")
    claim_and_submit(team.annotators[1], waiting, "fix", document=changed(current(waiting)))
    for item in (waiting, pooled):
        supersede_cycle(actor=team.administrator, dialogue=item, reason="Revised.", force=True)
        right(team.project)
    sampled = make_item(team, "cross_check")
    for person in team.annotators[1:3]:
        claim_and_submit(person, sampled, "approve")
    close_population_and_draw(actor=team.administrator, project=team.project)
    supersede_cycle(actor=team.administrator, dialogue=sampled, reason="Revised.", force=True)
    right(team.project)


def test_folding_adds_to_what_is_there() -> None:
    project, other = make_team().project, make_team().project
    for amount in (3, -1):
        write_deltas(project_id=project.pk, deltas={"left:x": amount})
        write_deltas(project_id=other.pk, deltas={"left:x": 10 * amount, "done:x": 0})
        COUNTERS.fold()
    assert stored_counters(project) == {"left:x": 2}
    assert stored_counters(other) == {"left:x": 20}


def test_what_is_claimed_is_told_apart_from_what_is_open(team: Team) -> None:
    for _ in range(3):
        begin(team.project, [make_dialogue(team.project)])
    claim_next(actor=team.annotator, project=team.project)
    counts = read_counters(team.project)
    assert counts["stage:self_check_single:open"] == 2
    assert counts["stage:self_check_single:claimed"] == 1
    assert "stage:self_check_single:done" not in counts


def test_outcomes_add_up_to_what_has_settled(team: Team) -> None:
    make_item(team, "expert")
    counts = read_counters(team.project)
    assert counts["settled:self_check_single"] == counts["outcome:self_check_single:pass"] == 1
    assert (
        counts["outcome:cross_check:escalate"]
        == counts["compared:cross_check"]
        == counts["discrepant:cross_check"]
        == 1
    )


def test_projects_do_not_count_each_others_items(team: Team) -> None:
    make_item(team, "cross_check")
    assert read_counters(make_team().project) == {}
