"""Items counted as they come to their end: known values by hand, each item once, equal to what all items say."""

from copy import deepcopy
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotator.models import Dialogue, Role
from annotator.models.content import GoldRole
from annotator.services.jobs import jobs
from benchmark.services.releases.figures import read_figures
from reviews.core.agreement import Stratum
from reviews.core.protocols import load_preset, read_protocol
from reviews.models import Cycle, ItemHistoryCount
from reviews.services.cycles.migration import start_migration
from reviews.services.cycles.start import supersede_cycle
from reviews.services.protocols.versions import adopt_protocol
from reviews.services.sampling.draws import close_population_and_draw
from reviews.services.statistics.accuracy import Accuracy, read_accuracy
from reviews.services.statistics.all_counts import fold_all
from reviews.services.statistics.counters import recount, stored_counters
from reviews.services.statistics.item_history import ITEM_HISTORY
from reviews.views.statistics.tables import revision_table
from tests.factories import (
    STAGES,
    Team,
    adopt_c3,
    begin,
    changed,
    claim_and_submit,
    current,
    give_role,
    make_dialogue,
    make_item,
)

pytestmark = pytest.mark.django_db

POINTS = ["baseline", *STAGES]


TEAM = {"annotators": 4}


def reworded(item: Dialogue) -> dict[str, Any]:
    """The item with another message, and an answer that only differs in its white space."""
    document = changed(current(item), current(item)["tasks"][0]["steps"][-1]["text"] + "  ")
    task = document["tasks"][0]
    task["user_message"] = f"Please tell me: {task['user_message']}"
    return document


def escalated(team: Team, verdict: str, **submission: Any) -> Dialogue:
    """An item that the expert ends: the owner changed nothing, one colleague proposed another answer."""
    item = make_item(team, "expert")
    claim_and_submit(team.senior, item, verdict, **submission)
    return item


def passed(team: Team, first_fix: str = "") -> Dialogue:
    """An item that waits for the draw, as its owner left it in the first self-check."""
    item = make_item(team, "self_check_single")
    document = changed(current(item), first_fix) if first_fix else None
    claim_and_submit(team.annotator, item, "fix" if first_fix else "approve", document=document)
    claim_and_submit(team.annotator, item)
    for person in team.annotators[1:3]:
        claim_and_submit(person, item, "approve")
    return item


def right(accuracy: Accuracy) -> dict[str, tuple[int, int, int]]:
    return {point.key: (point.right, point.message, point.of) for point in accuracy.by_stage}


def test_nothing_has_ended(team: Team) -> None:
    make_item(team, "cross_check")
    fold_all()
    accuracy = read_accuracy(project=team.project)
    assert (accuracy.by_stage, accuracy.finished, accuracy.unfinished) == ([], 0, 1)


def test_the_curve_of_four_items(team: Team) -> None:
    rulings = [
        {"anchor": "/tasks/t1/steps/s1/text", "choice": "left", "reason_kind": "answer_wrong", "reason": "As it was."}
    ]
    # Right from the beginning: the expert rules for the revision under review.
    escalated(team, "", rulings=rulings)
    # Wrong until the expert.
    escalated(team, "", rulings=[rulings[0] | {"choice": "right"}])
    # Wrong throughout.
    escalated(team, "reject")
    # Not at its end.
    make_item(team, "expert")
    fold_all()
    accuracy = read_accuracy(project=team.project)
    assert right(accuracy) == {
        **dict.fromkeys(POINTS[:4], (1, 0, 3)),
        "expert": (2, 0, 3),
    }
    assert (accuracy.verified, accuracy.rejected, accuracy.unfinished) == (2, 1, 1)
    figure = accuracy.by_stage[0].figure
    # Wilson's interval of 1 in 3.
    assert (figure.value, figure.low, figure.high) == (
        pytest.approx(1 / 3),
        pytest.approx(0.0614919, abs=1e-6),
        pytest.approx(0.7923404, abs=1e-6),
    )
    assert [(one.stage, one.revised, one.items) for one in accuracy.revisions] == [
        *((stage, {}, 3) for stage in STAGES[:3]),
        ("expert", {1: 1}, 3),
    ]


def test_an_item_is_right_wherever_it_is_what_was_verified(team: Team) -> None:
    """Changed for the worse and back again; the expert stage, which it never entered, leaves what came before."""
    adopt_c3(team, audit_fraction=0.0)
    item = make_item(team, "self_check_single")
    original = current(item)
    claim_and_submit(team.annotator, item, "fix", document=changed(original))
    claim_and_submit(team.annotator, item, "fix", document=original)
    for person in team.annotators[1:3]:
        claim_and_submit(person, item, "approve")
    fold_all()
    accuracy = read_accuracy(project=team.project)
    assert right(accuracy) == dict.fromkeys(POINTS, (1, 0, 1)) | {"self_check_single": (0, 0, 1)}
    assert (accuracy.verified, "expert" in [one.stage for one in accuracy.revisions]) == (1, False)


def test_a_message_that_is_rewritten_is_shown_apart(team: Team) -> None:
    item = passed(team, "It is 18 degrees.")
    close_population_and_draw(actor=team.administrator, project=team.project)
    claim_and_submit(team.senior, item, "fix", document=reworded(item))
    fold_all()
    accuracy = read_accuracy(project=team.project)
    assert right(accuracy) == {
        "baseline": (0, 0, 1),
        **dict.fromkeys(STAGES[:3], (0, 1, 1)),
        "expert": (1, 0, 1),
    }
    assert accuracy.by_stage[1].figure.value == 0
    assert accuracy.by_stage[1].without_messages.value == 1
    [audit] = accuracy.audits
    assert (audit.stage, audit.strata) == ("expert", [Stratum(team.annotator.pseudonym, 1, 1, 1, "1")])
    assert [(one.revised, one.items) for one in accuracy.revisions] == [({1: 1}, 1), ({}, 1), ({}, 1), ({1: 1}, 1)]


def test_what_is_not_drawn_is_of_the_population(team: Team) -> None:
    items = [passed(team) for _ in range(11)]
    close_population_and_draw(actor=team.administrator, project=team.project)
    drawn = [item for item in items if Cycle.objects.filter(dialogue=item, state="active").exists()]
    # A tenth of eleven, rounded up.
    assert len(drawn) == 2
    fold_all()
    [audit] = read_accuracy(project=team.project).audits
    assert audit.strata == [Stratum(team.annotator.pseudonym, 9, 0, 0, "1")]
    assert audit.residual.error_rate.undefined == "Nothing has been audited yet."
    for item in drawn:
        claim_and_submit(team.senior, item, "approve")
    fold_all()
    [audit] = read_accuracy(project=team.project).audits
    assert audit.strata == [Stratum(team.annotator.pseudonym, 11, 2, 0, "1")]
    assert audit.residual.error_rate.value == 0
    assert ITEM_HISTORY.recount(team.project) == []


def test_a_revision_rate_is_of_what_somebody_looked_at(team: Team) -> None:
    items = [passed(team) for _ in range(11)]
    close_population_and_draw(actor=team.administrator, project=team.project)
    fold_all()

    def revised() -> tuple[int, int, int, float | None]:
        *others, expert = read_accuracy(project=team.project).revisions
        assert [(one.count, one.not_drawn) for one in others] == [(0, 0)] * 3
        return expert.count, expert.items, expert.not_drawn, expert.rates.total.value

    # Of what was not drawn, nobody knows.
    assert revised() == (0, 0, 9, None)
    first, second = [item for item in items if Cycle.objects.filter(dialogue=item, state="active").exists()]
    claim_and_submit(team.senior, first, "fix", document=changed(current(first)))
    claim_and_submit(team.senior, second, "approve")
    fold_all()
    assert revised() == (1, 2, 9, 0.5)
    row = revision_table(read_accuracy(project=team.project)).rows[-1]
    assert row[:5] == ["Expert verification", "total", 1, 9, 0.5]
    released = read_figures(team.project)["accuracy"]["revisions"][-1]
    assert (released["items"], released["not_drawn"], released["revised"]["value"]) == (2, 9, 0.5)
    # As an earlier program counted: what was not drawn as looked at and left as it was.
    ItemHistoryCount.objects.filter(axis="not_drawn").update(axis="revised", value="0", stratum="")
    assert {one.key[0] for one in ITEM_HISTORY.recount(team.project, repair=True)} == {"revised", "not_drawn"}
    assert revised() == (1, 2, 9, 0.5)


def test_draws_of_unlike_shares_are_strata_of_their_own(team: Team) -> None:
    # One of five looked at, and wrong; then five of five, all right: about half, not one in six.
    for share, verdict in ((0.2, "fix"), (1.0, "approve")):
        adopt_c3(team, audit_fraction=share)
        items = [passed(team) for _ in range(5)]
        close_population_and_draw(actor=team.administrator, project=team.project)
        for item in items:
            if Cycle.objects.filter(dialogue=item, state="active").exists():
                claim_and_submit(
                    team.senior, item, verdict, document=changed(current(item)) if verdict == "fix" else None
                )
    fold_all()
    [audit] = read_accuracy(project=team.project).audits
    owner = team.annotator.pseudonym
    assert audit.strata == [Stratum(owner, 5, 1, 1, "1"), Stratum(owner, 5, 5, 0, "2")]
    assert audit.residual.error_rate.value == 0.5
    assert [figure.value for figure in audit.residual.strata] == [1.0, 0.0]


@pytest.mark.parametrize("outcome", ["restart", "back_to_author"])
def test_an_error_stays_in_its_sample_when_experts_look_again(team: Team, outcome: str) -> None:
    preset = load_preset("c3", audit_fraction=1.0).model_dump(mode="json")
    preset["stages"][-1]["outcomes"][1]["outcome"] = outcome
    adopt_protocol(actor=team.administrator, project=team.project, protocol=read_protocol(preset))
    give_role(team.project, team.outsider, Role.SENIOR_REVIEWER)
    items = [passed(team) for _ in range(2)]
    close_population_and_draw(actor=team.administrator, project=team.project)
    claim_and_submit(team.senior, items[0], "approve")
    claim_and_submit(team.senior, items[1], "fix", document=changed(current(items[1])))
    if outcome == "back_to_author":
        claim_and_submit(team.annotator, items[1])
        claim_and_submit(team.annotators[1], items[1], "approve")
        claim_and_submit(team.annotators[2], items[1], "escalate")
    claim_and_submit(team.outsider, items[1], "approve")
    fold_all()
    [audit] = read_accuracy(project=team.project).audits
    assert audit.strata == [Stratum(team.annotator.pseudonym, 2, 2, 1, "1")]
    counts = stored_counters(team.project)
    assert (counts["sampled:expert"], counts["sampled_errors:expert"]) == (2, 1)
    assert counts == recount(team.project)


def test_a_sample_stays_whole_when_its_stage_takes_every_item(team: Team) -> None:
    """Items that were still open and were moved to the new version left the population."""
    adopt_c3(team, audit_fraction=1.0)
    items = [passed(team) for _ in range(2)]
    close_population_and_draw(actor=team.administrator, project=team.project)
    claim_and_submit(team.senior, items[0], "approve")
    data = load_preset("c3").model_dump(mode="json")
    data["stages"][-1]["entry"] = {"mode": "all"}
    adopt_protocol(actor=team.administrator, project=team.project, protocol=read_protocol(data))
    jobs.run(start_migration(actor=team.administrator, project=team.project).pk)
    claim_and_submit(team.senior, items[1], "fix", document=changed(current(items[1])))
    fold_all()
    [audit] = read_accuracy(project=team.project).audits
    assert audit.strata == [Stratum(team.annotator.pseudonym, 2, 2, 1, "1")]


def test_an_approval_of_a_drawn_item_is_no_error_whatever_follows_from_it(team: Team) -> None:
    """Experts who return what they approve, a stage that wants another approval, one with more than one reviewer."""
    data = load_preset("async", without_rounds=True).model_dump(mode="json")
    data["stages"][1]["entry"] = {"mode": "escalated_and_fraction", "fraction": 1.0}
    again, pairs = deepcopy(data["stages"][0]), load_preset("c3").model_dump(mode="json")["stages"][2]
    again |= {"key": "again", "title": "Again", "consecutive": 2, "entry": {"mode": "fraction", "fraction": 1.0}}
    pairs["entry"] = {"mode": "fraction", "fraction": 1.0}
    data["stages"][1:1] = [again, pairs]
    adopt_protocol(actor=team.administrator, project=team.project, protocol=read_protocol(data))
    items = begin(team.project, [make_dialogue(team.project) for _ in range(3)])
    one, other, third, fourth = team.annotators
    for item in items:
        claim_and_submit(one, item, "approve")
    right, wrong, left = items
    close_population_and_draw(actor=team.administrator, project=team.project, stage="again")
    for item in items:
        claim_and_submit(
            one,
            item,
            "fix" if item == wrong else "approve",
            document=changed(current(wrong)) if item == wrong else None,
        )
    for item in items:
        claim_and_submit(other, item, "approve")
    claim_and_submit(third, wrong, "approve")
    close_population_and_draw(actor=team.administrator, project=team.project, stage="cross_check")
    for item in items:
        claim_and_submit(third, item, "approve")
    supersede_cycle(actor=team.administrator, dialogue=left, reason="Revised.", force=True)
    claim_and_submit(fourth, right, "approve")
    claim_and_submit(fourth, wrong, "escalate")
    # Disputed items are not part of the sample.
    close_population_and_draw(actor=team.administrator, project=team.project, stage="settlement")
    claim_and_submit(team.senior, right, "approve")
    claim_and_submit(team.senior, wrong, "reject")
    fold_all()
    audits = read_accuracy(project=team.project).audits
    found = {audit.stage: (audit.population, audit.audited, audit.errors) for audit in audits}
    assert found == {"again": (2, 2, 1), "cross_check": (2, 2, 1), "settlement": (1, 1, 0)}
    counts = stored_counters(team.project)
    assert {stage: (counts[f"sampled:{stage}"], counts.get(f"sampled_errors:{stage}", 0)) for stage in found} == {
        "again": (3, 1), "cross_check": (2, 1), "settlement": (1, 0),
    }  # fmt: skip
    assert counts == recount(team.project)


def test_an_erratum_shows_what_the_first_passage_overlooked(team: Team) -> None:
    item = passed(team)
    close_population_and_draw(actor=team.administrator, project=team.project)
    claim_and_submit(team.senior, item, "approve")
    fold_all()
    assert right(read_accuracy(project=team.project)) == dict.fromkeys(POINTS, (1, 0, 1))
    supersede_cycle(actor=team.administrator, dialogue=item, reason="An erratum.")
    fold_all()
    assert read_accuracy(project=team.project).finished == 0
    claim_and_submit(team.annotator, item, "fix", document=changed(current(item)))
    claim_and_submit(team.annotator, item)
    for person in team.annotators[1:3]:
        claim_and_submit(person, item, "approve")
    close_population_and_draw(actor=team.administrator, project=team.project)
    claim_and_submit(team.senior, item, "approve")
    fold_all()
    assert right(read_accuracy(project=team.project)) == dict.fromkeys(POINTS, (0, 0, 1))
    assert ITEM_HISTORY.recount(team.project) == []


def test_one_persons_items(team: Team) -> None:
    escalated(team, "reject")
    fold_all()
    assert read_accuracy(project=team.project, owner=team.annotator).rejected == 1
    assert read_accuracy(project=team.project, owner=team.annotators[1]).finished == 0


@pytest.mark.parametrize("items", [1, 4])
def test_reading_asks_a_fixed_number_of_questions(team: Team, items: int) -> None:
    for _ in range(items):
        escalated(team, "reject")
    fold_all()
    with CaptureQueriesContext(connection) as captured:
        read_accuracy(project=team.project)
    assert len(captured) <= 6


def test_gold_items_do_not_count(team: Team) -> None:
    item = escalated(team, "reject")
    Dialogue.objects.filter(pk=item.pk).update(gold_role=GoldRole.GOLD)
    fold_all()
    accuracy = read_accuracy(project=team.project)
    assert (accuracy.finished, accuracy.by_stage, accuracy.revisions) == (0, [], [])
    assert ITEM_HISTORY.recount(team.project) == []
