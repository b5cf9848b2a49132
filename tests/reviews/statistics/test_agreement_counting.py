"""Patterns counted as stages settle: each run once, equal to what all reviews say, repaired where they are not."""

import copy
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from annotator.models import Dialogue, Project
from reviews.core.agreement import PatternCounts
from reviews.core.protocols import MAJORITY_OF_THREE, load_preset, read_protocol
from reviews.models import AgreementCount, AgreementPending, StageRun
from reviews.services.cycles.start import supersede_cycle
from reviews.services.protocols.versions import adopt_protocol
from reviews.services.statistics.agreement import AGREEMENT, monday, pair_key, read_agreement, read_each_pair
from reviews.services.statistics.all_counts import fold_all
from reviews.views.statistics import agreement_tables as made
from tests.factories import Team, changed, claim_and_submit, current, make_document, make_item

pytestmark = pytest.mark.django_db
TEAM = {"annotators": 4}


def cross_check(team: Team, one: str, two: str, *, people: tuple[int, int] = (1, 2)) -> Dialogue:
    """An item through the blind cross-check by two of the team's annotators; a fix changes the first answer."""
    item = make_item(team, "cross_check")
    for number, verdict in zip(people, (one, two), strict=True):
        document = changed(current(item), f"By {number}.") if verdict == "fix" else None
        claim_and_submit(team.annotators[number], item, verdict, document=document)
    return item


def counts(project: Project, label: str, **more: Any) -> PatternCounts:
    return read_agreement(project=project, stage="cross_check", label=label, **more)


def test_a_settled_cross_check_is_counted_once(team: Team) -> None:
    cross_check(team, "approve", "reject")
    assert AgreementPending.objects.count() == 1
    assert counts(team.project, "verdict") == PatternCounts()
    fold_all()
    fold_all()
    assert counts(team.project, "verdict") == PatternCounts({("approve", "reject"): 1})
    assert not AgreementPending.objects.exists()


def test_every_label_is_counted_task_by_task(team: Team) -> None:
    item = cross_check(team, "approve", "fix")
    fold_all()
    tasks = current(item)["tasks"]
    for label in ("policy", "information"):
        assert counts(team.project, label) == PatternCounts.of((task[label],) * 2 for task in tasks)
    calls = [sum(step["type"] == "call" for step in task["steps"]) for task in tasks]
    assert counts(team.project, "calls") == PatternCounts.of((count, count, count) for count in calls if count)
    edges = [sum(len(step["depends_on"]) for step in task["steps"]) for task in tasks]
    assert counts(team.project, "edges") == PatternCounts.of((count, count, count) for count in edges if count)


def test_tasks_of_a_dialogue_are_counted_together(team: Team) -> None:
    item = make_item(team, "cross_check", make_document("One", tasks=3))
    one, two = team.annotators[1:3]
    document = copy.deepcopy(current(item))
    document["tasks"][2]["information"] = "partial_information"
    claim_and_submit(one, item, "approve")
    claim_and_submit(two, item, "fix", document=document)
    fold_all()
    for pair in (None, (one.pk, two.pk)):
        found = counts(team.project, "information", pair=pair)
        explicit, reference = ("explicit", "explicit"), ("coreferential_reference", "coreferential_reference")
        apart = ("coreferential_reference", "partial_information")
        assert dict(found.checked()) == {explicit: 1, reference: 1, apart: 1}
        assert set(found.together()) == {(reference, apart, 1), (reference, explicit, 1), (apart, explicit, 1)}
        assert counts(team.project, "verdict", pair=pair).together() == []
    assert AGREEMENT.recount(team.project) == []
    AGREEMENT.withdraw(team.project, [StageRun.objects.get(stage="cross_check").pk])
    assert not AgreementCount.objects.exists()


def test_the_migration_counts_again_by_dialogue_and_can_go_back(team: Team) -> None:
    for tag in ("One", "Two"):
        item = make_item(team, "cross_check", make_document(tag, tasks=2))
        for person in team.annotators[1:3]:
            claim_and_submit(person, item, "approve")
    fold_all()
    right = AGREEMENT.stored(team.project)
    AgreementCount.objects.filter(pattern__startswith="&").delete()
    waiting = cross_check(team, "approve", "approve")
    migration = import_module("reviews.migrations.0015_count_agreement_by_dialogue")
    for _ in range(2):
        migration.count_again(apps, SimpleNamespace(connection=connection))
        assert (AgreementCount.objects.count(), AgreementPending.objects.count()) == (0, 3)
    fold_all()
    new = StageRun.objects.get(cycle__dialogue=waiting, stage="cross_check")
    right.update(AGREEMENT.tally(team.project, [new.pk]))
    assert AGREEMENT.stored(team.project) == right
    assert AGREEMENT.recount(team.project) == []


def test_a_pair_is_told_apart_and_the_stage_adds_them_up(team: Team) -> None:
    cross_check(team, "reject", "approve", people=(1, 2))
    cross_check(team, "approve", "reject", people=(2, 1))
    cross_check(team, "approve", "reject", people=(1, 3))
    fold_all()
    one, two, three = (team.annotators[number].pk for number in (1, 2, 3))
    assert list(read_each_pair(project=team.project, stage="cross_check", label="verdict")) == sorted(
        [(one, two), (one, three)]
    )
    # The first of the pair has the lower id, and rejected both times.
    assert counts(team.project, "verdict", pair=(one, two)) == PatternCounts({("reject", "approve"): 2})
    assert counts(team.project, "verdict", pair=(two, one)) == counts(team.project, "verdict", pair=(one, two))
    assert counts(team.project, "verdict", pair=(one, three)) == PatternCounts({("approve", "reject"): 1})
    assert counts(team.project, "verdict") == PatternCounts({("approve", "reject"): 3})


def test_what_is_no_independent_first_look_is_not_counted(team: Team) -> None:
    item = cross_check(team, "approve", "fix")
    fold_all()
    before = counts(team.project, "verdict")
    # The expert's word, self-checks, and a second cycle of the same item.
    claim_and_submit(team.senior, item, "reject")
    supersede_cycle(actor=team.administrator, dialogue=item, reason="An erratum.")
    for person in (team.annotator, team.annotator, team.annotators[1], team.annotators[2]):
        claim_and_submit(person, item, "approve" if person in team.annotators[1:] else "")
    assert StageRun.objects.filter(cycle__dialogue=item, stage="cross_check", state="settled").count() == 2
    assert not AgreementPending.objects.exists()
    assert counts(team.project, "verdict") == before
    assert AGREEMENT.recount(team.project) == []


def test_weeks_are_windows(team: Team) -> None:
    cross_check(team, "approve", "approve")
    earlier = cross_check(team, "reject", "reject")
    now = timezone.now()
    StageRun.objects.filter(cycle__dialogue=earlier, stage="cross_check").update(settled_at=now - timedelta(weeks=3))
    fold_all()
    today = now.date()
    both = PatternCounts({("approve", "approve"): 1, ("reject", "reject"): 1})
    assert counts(team.project, "verdict") == both
    assert counts(team.project, "verdict", since=today - timedelta(weeks=3)) == both
    assert counts(team.project, "verdict", since=today) == PatternCounts({("approve", "approve"): 1})
    assert counts(team.project, "verdict", until=today - timedelta(weeks=1)) == PatternCounts({("reject", "reject"): 1})


@pytest.mark.parametrize(("zone", "week"), [("UTC", date(2026, 5, 25)), ("Asia/Shanghai", date(2026, 6, 1))])
def test_a_week_begins_at_the_projects_own_midnight(team: Team, zone: str, week: date) -> None:
    Project.objects.filter(pk=team.project.pk).update(time_zone=zone)
    item = cross_check(team, "approve", "approve")
    # A Sunday evening in Greenwich is a Monday morning in Shanghai.
    sunday = datetime(2026, 5, 31, 17, 30, tzinfo=UTC)
    StageRun.objects.filter(cycle__dialogue=item, stage="cross_check").update(settled_at=sunday)
    fold_all()
    assert set(AgreementCount.objects.filter(project=team.project).values_list("week", flat=True)) == {week}
    assert AGREEMENT.recount(team.project) == []


def test_a_week_begins_on_monday() -> None:
    assert {monday(date(2026, 11, day)) for day in range(16, 23)} == {date(2026, 11, 16)}
    assert pair_key(12, 3) == pair_key(3, 12) == "3:12"


def test_all_pairs_of_three_reviewers_are_added_up(team: Team) -> None:
    data = load_preset("c3").model_dump(mode="json")
    rows = [row.model_dump(mode="json") for row in MAJORITY_OF_THREE]
    data["stages"][2] |= {"reviewers": 3, "outcomes": rows}
    adopt_protocol(actor=team.administrator, project=team.project, protocol=read_protocol(data))
    item = make_item(team, "cross_check")
    for person in team.annotators[1:]:
        claim_and_submit(person, item, "approve")
    fold_all()
    calls = [sum(step["type"] == "call" for step in task["steps"]) for task in current(item)["tasks"]]
    units = PatternCounts.of((3 * count, 3 * count, 3 * count, 3) for count in calls if count)
    assert counts(team.project, "calls") == units
    one, two = team.annotators[1].pk, team.annotators[2].pk
    assert counts(team.project, "calls", pair=(one, two)) == PatternCounts.of((n, n, n) for n in calls if n)
    table = made.pattern_table("calls", PatternCounts({(3, 3, 5, 3): 1}), {})
    assert table.rows == [["3 + 3 + 5, all pairs of 3 reviewers", 1]]
