"""All that is counted: each thing once, equal to what a recount finds at every step, repaired where it is not."""

import json
from collections import Counter as Tally
from collections.abc import Sequence
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from annotator.models import Project
from reviews.models import ItemHistory
from reviews.services.statistics.all_counts import COUNTINGS, fold, fold_all, recount
from reviews.services.statistics.counters import COUNTERS
from reviews.services.statistics.counting import Counting
from reviews.services.statistics.item_history import ITEM_HISTORY
from tests.factories import Team, changed, claim_and_submit, current, make_item
from tests.racing import lost, race

pytestmark = pytest.mark.django_db

AnyCounting = Counting[Any, Any]


def each(*countings: AnyCounting) -> Any:
    return pytest.mark.parametrize("counting", countings, ids=lambda one: one.counts.__name__)


TEAM = {"annotators": 4, "seniors": 2}


def work(team: Team) -> None:
    """Two items that ended after a dispute, and one that waits for an expert."""
    for verdict in ("reject", "fix", ""):
        item = make_item(team, "cross_check")
        findings = [{"kind": "answer_wrong", "anchor": "/tasks/t1", "note": ""}]
        claim_and_submit(team.annotators[1], item, "reject", named_errors=findings)
        claim_and_submit(team.annotators[2], item, "approve")
        if verdict:
            claim_and_submit(team.senior, item, verdict, document=changed(current(item)) if verdict == "fix" else None)


def outbox(counting: AnyCounting, team: Team) -> Any:
    return counting.outbox._default_manager.filter(project=team.project)


@each(*COUNTINGS)
def test_counts_are_right_however_much_of_the_outbox_is_folded(
    team: Team, counting: AnyCounting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "portion", 2)
    work(team)
    assert counting.recount(team.project) == []
    while counting.fold():
        assert counting.recount(team.project) == []
    assert not outbox(counting, team).exists()
    assert counting.stored(team.project)
    assert counting.fold() == 0


@each(*COUNTINGS)
def test_wrong_counts_are_found_and_repaired(team: Team, counting: AnyCounting) -> None:
    work(team)
    fold_all()
    right = counting.stored(team.project)
    rows = counting.counts._default_manager.filter(project=team.project).order_by("pk")
    one, two, three = ((row, tuple(getattr(row, name) for name in counting.key)) for row in rows[:3])
    rows.filter(pk=one[0].pk).update(**{counting.number: 50})
    two[0].delete()
    made_up = three[0]
    made_up.pk = None
    setattr(made_up, counting.key[-1], "made up")
    made_up.save()
    found = counting.recount(team.project)
    assert {each.key: (each.stored, each.right) for each in found} == {
        one[1]: (50, right[one[1]]),
        two[1]: (0, right[two[1]]),
        (*three[1][:-1], "made up"): (right[three[1]], 0),
    }
    assert counting.recount(team.project, repair=True) == found
    assert counting.recount(team.project) == []
    # None is left that counts nothing.
    assert counting.stored(team.project) == right
    assert not rows.filter(pk=made_up.pk).exists()


def test_an_items_history_that_was_lost_is_worked_out_again(team: Team) -> None:
    work(team)
    fold_all()
    kept = list(ItemHistory.objects.order_by("pk").values_list("pk", "keys"))
    ItemHistory.objects.all().delete()
    assert ITEM_HISTORY.recount(team.project, repair=True) == []
    assert list(ItemHistory.objects.order_by("pk").values_list("pk", "keys")) == kept


@pytest.mark.parametrize(
    "counting", [one for one in COUNTINGS if one is not COUNTERS], ids=lambda one: one.counts.__name__
)
def test_what_cannot_be_counted_is_set_aside_and_the_others_go_on(
    team: Team, counting: AnyCounting, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(team)
    bad = next(iter(counting._named(outbox(counting, team).order_by("pk")).values()))
    count = counting.count

    def failing(project: Project, items: Sequence[Any]) -> Any:
        if bad in items:
            raise KeyError("steps")
        return count(project, items)

    with monkeypatch.context() as patch:
        patch.setattr(counting, "count", failing)
        fold_all()
        assert [row.problem for row in outbox(counting, team)] == ["KeyError: 'steps'"]
        assert counting.stored(team.project)
        assert counting.recount(team.project, repair=True) == []
        assert outbox(counting, team).exists()
    # It can be counted by now.
    assert counting.recount(team.project)
    assert outbox(counting, team).exists()
    assert counting.recount(team.project, repair=True)
    assert not outbox(counting, team).exists()
    assert counting.recount(team.project) == []


def test_the_command_finds_and_repairs(team: Team) -> None:
    def command(*arguments: str) -> tuple[dict[str, Any], str, int]:
        out, err, code = StringIO(), StringIO(), 0
        try:
            call_command("recount_statistics", *arguments, stdout=out, stderr=err)
        except SystemExit as stop:
            code = int(stop.code or 0)
        return json.loads(out.getvalue().splitlines()[-1]), err.getvalue(), code

    work(team)
    fold_all()
    assert command() == ({"ok": True, "different": 0, "repaired": 0}, "", 0)
    for counting in COUNTINGS:
        counting.counts._default_manager.order_by("pk")[0].delete()
    summary, said, code = command("--project", team.project.slug)
    assert (summary, code) == ({"ok": False, "different": 4, "repaired": 0}, 1)
    assert said.count("is stored as 0 but should be") == 4
    assert command("--repair")[0] == {"ok": True, "different": 4, "repaired": 4}
    assert command()[0] == {"ok": True, "different": 0, "repaired": 0}


def test_the_command_knows_its_projects(manage_here: Any) -> None:
    done = manage_here("recount_statistics", "--project", "nowhere")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "There is no project “nowhere”.\n")


@pytest.mark.django_db(transaction=True)
def test_folding_against_working_folding_and_repairing(team: Team) -> None:
    items = [make_item(team, "cross_check") for _ in range(4)]
    for item in items:
        claim_and_submit(team.annotators[1], item, "approve")
    wrong: list[object] = []

    def settle() -> None:
        for item in items:
            claim_and_submit(team.annotators[2], item, "reject")
            claim_and_submit(team.senior, item, "reject")

    def folding() -> None:
        for _ in range(8):
            fold()

    def repair() -> None:
        for _ in range(4):
            wrong.extend(recount(team.project, repair=True))

    assert lost(race(settle, folding, folding, repair)) == []
    fold_all()
    # Nothing was ever wrong, so nothing was repaired.
    assert wrong == []
    assert list(recount(team.project)) == []
    assert not any(outbox(counting, team).exists() for counting in COUNTINGS)


@pytest.mark.django_db(transaction=True)
def test_of_several_who_repair_one_does(team: Team) -> None:
    work(team)
    fold_all()
    for counting in COUNTINGS:
        counting.counts._default_manager.filter(project=team.project).update(**{counting.number: 50})
    many = len(list(recount(team.project)))
    results = race(*[lambda: list(recount(team.project, repair=True))] * 3)
    assert lost(results) == []
    repaired = Tally(one.key for result in results for one in result)
    assert len(repaired) == many
    assert set(repaired.values()) == {1}
    assert list(recount(team.project)) == []
