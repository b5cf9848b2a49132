"""Rounds of revision by stage (CCTU, table 3): the page, its file, the API, and what they say of nothing."""

import csv
from io import StringIO
from typing import Any

import pytest
from django.test import Client

from reviews.models import ItemHistoryCount
from reviews.services.protocols.versions import adopt_preset
from reviews.services.statistics.accuracy import StageRevisions
from reviews.views.statistics.revision_tables import rounds_chart, rounds_table
from tests.factories import Team, adopt_c3, make_team

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

#: What the paper counts: of 200 items, so many were revised in one round and in two.
TABLE_3 = {"data": {0: 156, 1: 38, 2: 6}, "validators": {0: 146, 1: 19, 2: 35}}


@pytest.fixture
def team() -> Team:
    team = make_team()
    adopt_preset(actor=team.administrator, project=team.project, preset="cctu")
    return team


def count(team: Team, revised: dict[str, dict[int, int]], finished: int) -> None:
    ItemHistoryCount.objects.bulk_create(
        [
            ItemHistoryCount(project=team.project, axis="revised", point=stage, value=str(rounds), count=items)
            for stage, by_rounds in revised.items()
            for rounds, items in by_rounds.items()
        ]
        + [ItemHistoryCount(project=team.project, axis="item", point="", value="verified", count=finished)]
    )


def page(team: Team, path: str = "revisions/", **query: str) -> Any:
    client = Client()
    client.force_login(team.annotator)
    return client.get(f"/p/{team.project.slug}/statistics/{path}", query)


def test_the_papers_table(team: Team) -> None:
    count(team, TABLE_3, 200)
    data, code = csv.DictReader(StringIO(page(team, csv="revision-rounds").content.decode()))
    assert [data[key] for key in ("stage", "items", "rounds_1", "rounds_2", "revised")] == [
        "Data verification", "200", "38", "6", "44",
    ]  # fmt: skip
    assert [code[key] for key in ("stage", "items", "rounds_1", "rounds_2", "revised", "revision_rate")] == [
        "Code verification", "200", "19", "35", "54", "0.27",
    ]  # fmt: skip
    # Wilson's interval of 54 in 200.
    assert (float(code["low"]), float(code["high"])) == (
        pytest.approx(0.213234, abs=1e-6),
        pytest.approx(0.335434, abs=1e-6),
    )
    text = page(team).content.decode()
    assert "27 % (54 of 200)" in text
    assert "22 % (44 of 200)" in text


def test_for_machines(team: Team) -> None:
    count(team, TABLE_3, 200)
    client = Client()
    client.force_login(team.annotator)
    found = client.get(f"/api/projects/{team.project.slug}/statistics/revisions/").json()
    assert found["finished"] == 200
    code = found["stages"][1]
    assert (code["stage"], code["items"], code["revised"]) == ("validators", 200, {"1": 19, "2": 35})
    assert [figure["value"] for figure in code["by_rounds"]] == [0.095, 0.175]
    assert code["rate"]["value"] == 0.27


def test_a_stage_nobody_has_come_to_says_why_it_has_no_rate(team: Team) -> None:
    count(team, {"data": {0: 1}}, 1)
    data, code = csv.DictReader(StringIO(page(team, csv="revision-rounds").content.decode()))
    assert (data["revision_rate"], code["revision_rate"]) == ("0.0", "")
    assert code["note"] == "No item reviewed in this stage is finished yet."
    assert "undefined" in page(team).content.decode()


def test_many_rounds_share_a_column() -> None:
    [row] = rounds_table([StageRevisions("verification", "Verification", {1: 4, 6: 2, 7: 1, 9: 1}, 20)]).rows
    assert row[:10] == ["Verification", 20, 4, 0, 0, 0, 0, 2, 2, 8]
    table = rounds_table([StageRevisions("verification", "Verification", {1: 4}, 20, 11)])
    assert ([column.key for column in table.columns][1:3], table.rows[0][1:3]) == (["items", "not_drawn"], [20, 11])
    chart = rounds_chart([StageRevisions("a", "A", {1: 8}, 20)])
    assert "40 % (8 of 20)" in [shape.text for shape in chart.shapes]


def test_only_a_protocol_that_repeats_has_the_page_in_its_navigation(team: Team) -> None:
    assert "/statistics/revisions/" in page(team, "accuracy/").content.decode()
    other = make_team()
    adopt_c3(other)
    assert "/statistics/revisions/" not in page(other, "accuracy/").content.decode()
    text = page(other).content.decode()
    assert "No stage of this project repeats after a change" in text
    assert page(other, csv="revision-rounds").status_code == 404
