"""Pages of statistics: what they say, who sees whose, what a file holds, and that they never count items."""

import csv
from datetime import date, timedelta
from io import StringIO
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.models import User
from reviews.core.agreement import dialogue_keys
from reviews.core.protocols import load_preset
from reviews.models import AgreementCount, Review, WorkloadCount, WorkloadPending
from reviews.services.protocols.versions import adopt_preset, parse
from reviews.services.statistics import workload
from reviews.services.statistics.all_counts import fold_all
from reviews.services.statistics.throughput import (
    expected_to_follow,
    read_error_types,
    read_outlook,
    read_throughput,
    read_times,
)
from reviews.services.statistics.workload import WORK, seconds_key
from reviews.views.statistics import pages as statistics
from tests.factories import Team, adopt_c3, begin, claim_and_submit, make_dialogue, make_item, make_team

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

PAGES = ("", "accuracy/", "revisions/", "agreement/")


TEAM = {"annotators": 4}


def page(person: User, team: Team, path: str = "", **query: str) -> Any:
    client = Client()
    client.force_login(person)
    return client.get(f"/p/{team.project.slug}/statistics/{path}", query)


def rows(response: Any) -> list[dict[str, str]]:
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(StringIO(response.content.decode())))


def rejected(team: Team, error_types: tuple[str, ...] = ()) -> None:
    """An item that goes all the way and is rejected; the first colleague names errors."""
    item = make_item(team, "cross_check")
    findings = [{"kind": kind, "anchor": "/tasks/t1", "note": ""} for kind in error_types]
    claim_and_submit(team.annotators[1], item, "reject", named_errors=findings)
    claim_and_submit(team.annotators[2], item, "approve")
    claim_and_submit(team.senior, item, "reject")


@pytest.mark.parametrize("path", PAGES)
def test_pages_without_anything_say_what_will_be_there(team: Team, path: str) -> None:
    text = page(team.annotator, team, path).content.decode()
    assert '<svg class="chart' not in text
    assert any(words in text for words in ("appears here once", "appears once", "shows how", "No reviews"))


@pytest.mark.parametrize("path", PAGES)
def test_pages_ask_a_fixed_number_of_questions(team: Team, path: str) -> None:
    asked = []
    for more in (1, 3):
        for _ in range(more):
            rejected(team, ("answer_wrong",))
        fold_all()
        with CaptureQueriesContext(connection) as captured:
            assert page(team.administrator, team, path).status_code == 200
        asked.append(len(captured))
    assert asked[0] == asked[1]


def test_accuracy_as_a_file(team: Team) -> None:
    rejected(team)
    fold_all()
    found = rows(page(team.annotator, team, "accuracy/", csv="accuracy-by-stage"))
    assert [row["point"] for row in found] == [
        "Baseline",
        "Self-check, single round",
        "Self-check, multi round",
        "Cross-check",
        "Expert verification",
    ]
    assert {(row["right"], row["items"], row["accuracy"]) for row in found} == {("0", "1", "0.0")}
    # Wilson's upper bound of 0 in 1.
    assert float(found[0]["high"]) == pytest.approx(0.793451, abs=1e-6)


def test_agreement_as_a_file_and_its_sentence(team: Team) -> None:
    rejected(team)
    fold_all()
    text = page(team.annotator, team, "agreement/").content.decode()
    assert "Both reviewers saw the author’s labels" in text
    found = rows(page(team.annotator, team, "agreement/", label="verdict", csv="agreement"))
    percent = found[0]
    assert (percent["statistic"], percent["value"], percent["n"]) == ("Percent agreement", "0.0", "1")
    assert rows(page(team.annotator, team, "agreement/", csv="patterns-verdict")) == [
        {"said": "Approve + Reject", "units": "1"}
    ]
    last_year = (timezone.now() - timedelta(days=365)).date().isoformat()
    assert (
        rows(page(team.annotator, team, "agreement/", label="verdict", until=last_year, csv="agreement"))[0]["note"]
        == "No unit has been rated by two people yet."
    )


def test_before_there_are_reviews_the_page_says_how_many_dialogues_it_takes(team: Team) -> None:
    assert "How many dialogues are needed" in page(team.annotator, team, "agreement/").content.decode()
    plan = rows(page(team.annotator, team, "agreement/", csv="plan"))
    # 138.3 dialogues by hand (Bloch and Kraemer 1989), or 65.7 of four tasks: rounded up to two digits.
    assert {"rarest": "0.5", "kappa": "0.8", "dialogues": "140", "dialogues_of_tasks": "66"} in plan


def test_a_wide_interval_says_how_many_dialogues_it_takes(team: Team) -> None:
    said = {
        **dialogue_keys([("explicit", "explicit")] * 2),
        **dialogue_keys([("explicit", "long_range_dependency")] * 2),
    }
    AgreementCount.objects.bulk_create(
        AgreementCount(
            project=team.project, stage="cross_check", label="information", pair="", week=date(2026, 5, 25),
            pattern=key, count=10 * count,
        )
        for key, count in said.items()
    )  # fmt: skip
    # Twenty dialogues of two tasks that are alike: Wilson's interval of 10 in 20 is 0.299 to 0.701, so ± 0.201. ± 0.1
    # takes (0.201 / 0.1)² = 4.03 times as many, so 61 more.
    percent = rows(page(team.annotator, team, "agreement/", label="information", csv="agreement"))[0]
    assert (percent["n"], percent["more_dialogues"]) == ("40", "61")
    assert float(percent["low"]) == pytest.approx(0.299, abs=5e-4)
    assert "design effect of dialogues" in percent["note"]
    text = page(team.annotator, team, "agreement/", label="information").content.decode()
    assert "more dialogues like these are needed for ± 0.1" in text
    [shown] = api(team.annotator, team, "agreement/", stage="cross_check", label="information").json()["labels"]
    assert shown["patterns"] == {'["explicit","explicit"]': 20, '["explicit","long_range_dependency"]': 20}
    figure = shown["figures"][0]
    assert (figure["more_dialogues"], figure["method"]) == (61, {"name": "wilson-by-dialogue", "version": 1})


def test_a_table_that_is_not_there(team: Team) -> None:
    assert page(team.administrator, team, "accuracy/", csv="agreement").status_code == 404


def test_single_people_are_for_overseers(team: Team) -> None:
    rejected(team)
    fold_all()
    one, two = team.annotators[1:3]
    pair = f"{two.public_id}:{one.public_id}"
    for person, code in ((team.senior, 200), (team.administrator, 200), (one, 404), (team.outsider, 404)):
        assert page(person, team, "agreement/", pair=pair).status_code == code
        assert page(person, team, "agreement/", csv="pairs").status_code == code
        assert page(person, team, csv="people").status_code == code
        assert page(person, team, f"people/{two.public_id}/").status_code == code
    assert page(one, team, f"people/{one.public_id}/").status_code == 200
    assert page(team.senior, team, f"people/{team.outsider.public_id}/").status_code == 404
    [found] = rows(page(team.senior, team, "agreement/", csv="pairs"))
    assert {found["person"], found["other"]} == {str(one), str(two)}


def test_of_many_pairs_the_page_shows_those_with_most_in_common(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "MAX_PAIRS", 1)
    rejected(team)
    for _ in range(2):
        item = make_item(team, "cross_check")
        for person in team.annotators[2:]:
            claim_and_submit(person, item, "approve")
    fold_all()
    shown = page(team.senior, team, "agreement/").content.decode()
    assert "The table shows the 1 pairs with the most items in common, out of 2." in shown
    table = shown[shown.index('id="pairs"') :]
    assert str(team.annotators[3]) in table
    assert str(team.annotators[1]) not in table
    # Both can be chosen, and the file has both.
    assert f"{team.annotators[1]} and {team.annotators[2]}" in shown
    assert len(rows(page(team.senior, team, "agreement/", csv="pairs"))) == 2


def test_nothing_of_an_unsettled_blind_stage_shows(team: Team) -> None:
    item = make_item(team, "cross_check")
    finding = {"kind": "answer_wrong", "anchor": "/tasks/t1", "note": ""}
    claim_and_submit(team.annotators[1], item, "reject", named_errors=[finding])
    fold_all()
    for viewer in (team.administrator, team.annotator):
        for path in (*PAGES, f"people/{team.annotator.public_id}/"):
            text = page(viewer, team, path).content.decode()
            assert "Wrong answer" not in text
            assert "answer_wrong" not in text
    assert read_error_types(project=team.project) == []
    assert WORK.recount(team.project) == []
    claim_and_submit(team.annotators[2], item, "approve")
    fold_all()
    [error_type] = read_error_types(project=team.project)
    assert (error_type.kind, error_type.by_stage) == ("answer_wrong", {"cross_check": 1})
    assert WORK.recount(team.project) == []


def test_what_has_not_settled_is_added_up_by_the_database(team: Team, django_assert_num_queries: Any) -> None:
    """However many wait in a blind stage, a page of statistics reads no review of them."""
    for reviewer in (team.annotators[1], team.annotators[1], team.annotators[2]):
        claim_and_submit(reviewer, make_item(team, "cross_check"), "approve")
    Review.objects.filter(sealed=True).update(seconds=62)
    fold_all()
    for what, key in (("day", Review.objects.latest("pk").created_at.date().isoformat()), ("time", "60")):
        with django_assert_num_queries(1) as asked:
            found = workload.count_unsettled(team.project, None, what=what)
        assert "COUNT(" in asked[0]["sql"]
        assert found == {
            (what, "cross_check", person.pseudonym, key): count
            for person, count in ((team.annotators[1], 2), (team.annotators[2], 1))
        }


def test_days_are_those_of_the_projects_zone(team: Team) -> None:
    team.project.time_zone = "Pacific/Kiritimati"
    team.project.save()
    make_item(team, "self_check_multi")
    review = Review.objects.get()
    # Ten in the evening in London is the day after on Kiritimati, fourteen hours ahead.
    evening = timezone.now().replace(hour=22, minute=0) - timedelta(days=1)
    Review.objects.filter(pk=review.pk).update(created_at=evening)
    fold_all()
    day = (evening + timedelta(hours=14)).date()
    assert WorkloadCount.objects.get(what="day").key == day.isoformat()
    found = read_throughput(project=team.project, now=evening + timedelta(hours=1), by_week=False)
    assert (found.starts, found.total) == ([day], 1)


def test_times_and_their_quartiles(team: Team) -> None:
    for seconds in (0, 10, 20, 30, 40):
        make_item(team, "self_check_multi")
        Review.objects.filter(pk=Review.objects.latest("pk").pk).update(seconds=seconds)
    fold_all()
    [stage] = read_times(project=team.project)
    # Nobody measured the first. Of 10, 20, 30, 40 the quartiles are 17.5, 25 and 32.5.
    assert (stage.n, stage.low, stage.median, stage.high) == (4, 17.5, 25, 32.5)
    assert [seconds_key(one) for one in (1, 59, 61, 63, 601, 620)] == ["1", "59", "60", "65", "600", "630"]


def test_what_is_left_and_why_there_is_no_forecast(team: Team) -> None:
    make_item(team, "self_check_single")
    fold_all()
    outlook = read_outlook(project=team.project, now=timezone.now())
    # Its self-check; then one more, two colleagues, and a tenth of an expert's.
    assert (outlook.open, outlook.following) == (1, pytest.approx(3.1))
    assert outlook.forecast.reason == "A forecast needs 10 full days of reviews. There are 0 so far."
    assert outlook.dates is None


def test_what_follows_goes_by_what_became_of_the_items_before(team: Team) -> None:
    protocol = adopt_c3(team)
    counters = {"settled:cross_check": 10, "settled:expert": 8, "outcome:expert:not_drawn": 5}
    # Of ten that left the cross-check three were seen by an expert; two waiting slots are one item.
    assert expected_to_follow(parse(protocol), {"cross_check": 2}, counters) == pytest.approx(0.3)
    # A tenth of what waits in the pool is drawn.
    assert expected_to_follow(parse(protocol), {}, {"stage:expert:pooled": 20}) == pytest.approx(2)


def test_looks_in_a_row_and_rounds_until_all_is_seen_are_foreseen() -> None:
    team = make_team(annotators=4)
    adopt_preset(actor=team.administrator, project=team.project, preset="cctu")
    items = begin(team.project, [make_dialogue(team.project) for _ in range(3)])
    # Two looks at the data and two at the code: one of twelve waits for each.
    assert _still_to_come(team) == 12
    claim_and_submit(team.annotators[0], items[0], "approve")
    assert _still_to_come(team) == 11
    # Five that left the data had three looks each.
    counters = {"settled:data": 15, "outcome:data:confirm": 5, "outcome:data:restart": 5}
    assert expected_to_follow(load_preset("cctu"), {"data": 2}, counters, confirmed={"data": 1}) == pytest.approx(3)
    rounds = make_team(annotators=4)
    adopt_preset(actor=rounds.administrator, project=rounds.project, preset="wild")
    items = begin(rounds.project, [make_dialogue(rounds.project) for _ in range(6)])
    # A fifth is drawn at a time, until two have seen each.
    assert _still_to_come(rounds) == 18
    for item in items:
        claim_and_submit(rounds.annotators[0], item, "approve")
    assert _still_to_come(rounds) == 12


def _still_to_come(team: Team) -> float:
    outlook = read_outlook(project=team.project, now=timezone.now())
    return outlook.open + outlook.following


def test_the_page_says_what_cannot_be_counted(team: Team) -> None:
    rejected(team, ("answer_wrong",))
    WorkloadPending.objects.filter(pk=WorkloadPending.objects.order_by("pk")[0].pk).update(
        problem="ValueError: of no use"
    )
    fold_all()
    shown = page(team.administrator, team).content.decode()
    assert "1 entry couldn’t be counted" in shown
    assert "of no use" in shown


def api(person: User, team: Team, path: str, **query: str) -> Any:
    client = Client()
    client.force_login(person)
    return client.get(f"/api/projects/{team.project.slug}/statistics/{path}", query)


def test_the_api_says_what_the_pages_say(team: Team) -> None:
    rejected(team, ("answer_wrong",))
    fold_all()
    accuracy = api(team.annotator, team, "accuracy/").json()
    assert (accuracy["finished"], accuracy["rejected"], accuracy["unfinished"]) == (1, 1, 0)
    assert accuracy["by_stage"][0]["figure"]["value"] == 0
    assert accuracy["by_stage"][0]["figure"]["high"] == pytest.approx(0.793451, abs=1e-6)
    progress = api(team.annotator, team, "progress/").json()
    assert [one["stage"] for one in progress["by_day"]["stages"]] == [
        "self_check_single",
        "self_check_multi",
        "cross_check",
        "expert",
    ]
    assert [(one["kind"], one["total"]) for one in progress["error_types"]] == [("answer_wrong", 1)]
    assert progress["forecast"]["reason"] == "Nothing left to review."
    agreement = api(team.annotator, team, "agreement/", stage="cross_check", label="verdict").json()
    [verdict] = agreement["labels"]
    assert (verdict["figures"][0]["value"], verdict["patterns"]) == (0.0, {'["approve","reject"]': 1})
    assert "saw the author’s labels" in agreement["note"]


def test_the_api_keeps_people_apart(team: Team) -> None:
    rejected(team)
    fold_all()
    one, two = team.annotators[1:3]
    pair = {"stage": "cross_check", "pair": f"{one.public_id}:{two.public_id}"}
    assert api(one, team, "agreement/", **pair).status_code == 404
    found = api(team.senior, team, "agreement/", **pair).json()
    assert [figure["name"] for figure in found["labels"][0]["figures"]][1] == "Cohen's kappa"
    assert api(one, team, f"people/{two.public_id}/").status_code == 404
    assert api(one, team, f"people/{one.public_id}/").json()["by_week"]["stages"][0]["counts"] == [1]
    assert api(team.senior, team, "agreement/", stage="nowhere").status_code == 400
