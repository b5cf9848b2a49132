"""Patterns counted while people hand in, several folders work and somebody repairs."""

from functools import partial
from importlib import import_module

import pytest
from django.apps import apps

from reviews.core.agreement import PatternCounts
from reviews.models import AgreementCount, AgreementPending
from reviews.services.statistics.agreement import fold_agreement, read_agreement, recount_agreement
from tests.factories import Team, adopt_c3, hand_in, make_item, make_team
from tests.racing import lost, race

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=4, seniors=2)
    adopt_c3(team)
    return team


def fold_all() -> None:
    while fold_agreement():
        pass


def test_folding_against_settling_folding_and_repairing(team: Team) -> None:
    items = [make_item(team, "cross_check") for _ in range(6)]
    for item in items:
        hand_in(team.annotators[1], item, "approve")
    wrong: list[object] = []

    def settle() -> None:
        for item in items:
            hand_in(team.annotators[2], item, "reject")

    def fold() -> None:
        for _ in range(12):
            fold_agreement()

    def repair() -> None:
        for _ in range(6):
            wrong.extend(recount_agreement(team.project, repair=True))

    assert lost(race(settle, fold, fold, repair)) == []
    fold_all()
    # Nothing was ever wrong, so nothing was repaired.
    assert wrong == []
    counted = read_agreement(project=team.project, stage="cross_check", label="verdict")
    assert counted == PatternCounts({("approve", "reject"): 6})
    assert not AgreementPending.objects.exists()


def test_two_who_repair_do_not_repair_twice(team: Team) -> None:
    item = make_item(team, "cross_check")
    for person in team.annotators[1:3]:
        hand_in(person, item, "approve")
    fold_all()
    AgreementCount.objects.update(count=5)
    results = race(*[partial(recount_agreement, team.project, repair=True)] * 3)
    assert lost(results) == []
    assert recount_agreement(team.project) == []
    assert sorted(map(bool, results)) == [False, False, True]


def test_what_settled_before_it_was_counted_is_counted(team: Team) -> None:
    item = make_item(team, "cross_check")
    for person in team.annotators[1:3]:
        hand_in(person, item, "approve")
    AgreementPending.objects.all().delete()
    import_module("reviews.migrations.0002_agreement").await_counting(apps, None)
    fold_all()
    counted = read_agreement(project=team.project, stage="cross_check", label="verdict")
    assert counted == PatternCounts({("approve", "approve"): 1})
    assert recount_agreement(team.project) == []
