"""Programs read leaderboards, compare runs, and do with scores and errata what administrators do on their pages."""

import csv
import io

import pytest
from django.test import Client
from django.urls import reverse

from annotator.models import Event, Job
from annotator.models.content import DialogueStatus
from annotator.services.jobs import jobs
from benchmark.core.scoring import scoring_run
from benchmark.models import EntryStatistic, ErratumReport, Recount, Run, Score, SharedBoard
from benchmark.services.runs import boards
from tests.api_client import ApiClient, refusal
from tests.factories import make_team


@pytest.fixture
def scored(release, score, predictions_of):
    """A good run, and three that answer the first task of weather-1 in the same other way."""
    lines = predictions_of("good") + [
        line for name in "abc" for line in predictions_of(name, wrong=("weather-1",), task=0)
    ]
    assert score(lines).job.state == "done"
    return release


@pytest.fixture
def base(team):
    return f"/api/projects/{team.project.slug}/"


@pytest.fixture
def of_release(base, scored):
    return f"{base}releases/{scored.public_id}/"


@pytest.fixture
def program(team):
    return ApiClient(team.administrator, scopes=["administer"])


@pytest.fixture
def suspect(scored):
    return EntryStatistic.objects.get(entry="weather-1#0")


def test_a_leaderboard_says_what_its_page_and_its_file_say(team, scored, of_release, program, client):
    board = program.get(f"{of_release}scores/").json()
    assert (board["family"], board["families"], board["order"]) == ("wild", ["wild"], {"name": "right", "cell": "all"})
    assert [row["model"] for row in board["rows"]] == ["good", "a", "b", "c"]
    assert (board["withdrawn"], board["recounted"]) == (0, True)
    entries = board["rows"][0]["entries"]
    assert [row["figures"][0]["value"] for row in board["rows"]] == [1.0] + [pytest.approx((entries - 1) / entries)] * 3
    assert [row["rank"] for row in board["rows"]] == [row.rank for row in boards.leaderboard(scored, {}).rows]
    # By a slice, its figure is the first column.
    chosen = board["slices"][0]
    sliced = program.get(f"{of_release}scores/", {"slice": chosen}).json()
    assert "{name}={cell}".format(**sliced["columns"][0]) == chosen
    page = reverse("score-board-file", args=[team.project.slug, scored.public_id, "csv"])
    file = program.get(f"{of_release}scores/file/", {"slice": chosen})
    assert file.content == client.get(page, {"slice": chosen}).content
    assert next(csv.reader(io.StringIO(file.content.decode())))[:2] == ["rank", "model"]
    assert program.get(f"{of_release}scores/file/", {"format": "tex"}).content.startswith(b"\\begin{tabular}")
    for query in ({"slice": "nothing=x"}, {"sort": "nothing|x"}, {"family": "x"}):
        answer = program.get(f"{of_release}scores/", query)
        assert refusal(answer) == (400, "unknown_filter")
        assert "Use one of:" in answer.json()["sentence"]


def test_a_leaderboard_costs_the_same_for_any_number_of_runs(
    scored, of_release, program, score, predictions_of, django_assert_max_num_queries
):
    score([line for n in range(6) for line in predictions_of(f"m{n}")])
    with django_assert_max_num_queries(16):
        assert len(program.get(f"{of_release}scores/").json()["rows"]) == 10


@pytest.mark.parametrize(
    ("path", "page", "event"),
    [("scores/link/", "shared-scores", "scores"), ("errata/link/", "shared-errata", "errata")],
)
def test_public_links_are_switched_on_renewed_and_off(team, scored, of_release, program, path, page, event):
    url = of_release + path
    assert program.get(url).json()["on"] is False
    first = program.send(url).json()
    assert (first["on"], first["requester"]) == (True, team.administrator.public_id)
    assert program.send(url).json() == program.get(url).json() == first
    assert Client().get(first["link"].removeprefix("http://localhost:8000")).status_code == 200
    again = program.send(url, {"renew": True}).json()
    assert again["link"] != first["link"]
    token = first["link"].rstrip("/").rpartition("/")[2]
    assert Client().get(reverse(page, args=[token])).status_code == 404
    assert program.delete(url).status_code == program.delete(url).status_code == 204
    assert program.get(url).json()["link"] is None
    kinds = Event.objects.filter(kind__in=[f"{event}.shared", f"{event}.unshared"]).order_by("pk")
    assert [kind.rpartition(".")[2] for kind in kinds.values_list("kind", flat=True)] == [
        "shared", "unshared", "shared", "unshared"
    ]  # fmt: skip
    assert refusal(program.send(url, {"renew": "yes"}))[0] == 400
    for person, status in ((team.seniors[0], 403), (team.annotator, 403), (make_team("other").administrator, 404)):
        assert [refusal(ApiClient(person).get(url))[0], refusal(ApiClient(person).send(url))[0]] == [status] * 2
        assert ApiClient(person).delete(url).status_code == status
    assert refusal(ApiClient(team.administrator, scopes=["import"]).send(url))[0] == 403
    assert not SharedBoard.objects.exists()


def test_the_page_shows_the_link_that_a_program_made(team, scored, of_release, program, client):
    links = program.send(f"{of_release}scores/link/").json()
    page = client.get(reverse("score-board", args=[team.project.slug, scored.public_id])).content.decode()
    assert all(links[name].removeprefix("http://localhost:8000") in page for name in ("link", "table", "badge"))


def test_entries_have_their_statistics_and_their_items_go_back_to_review(
    team, of_release, base, suspect, program, client
):
    rows = program.get(f"{of_release}entries/").json()["results"]
    assert len(rows) == EntryStatistic.objects.count()
    (row,) = program.get(f"{of_release}entries/", {"flag": "same_answer"}).json()["results"]
    assert (row["key"], row["item"], row["runs"], row["right"], row["agreeing"], row["suspect"]) == (
        str(suspect.pk), "weather-1", 4, 1, 3, True
    )  # fmt: skip
    assert refusal(program.get(f"{of_release}entries/", {"flag": "odd"})) == (400, "unknown_filter")
    entry = program.get(f"{of_release}entries/{row['key']}/").json()
    assert [one["model"] for one in entry["answers"]] == ["a", "b", "c", "good"]
    assert len({one["said"] for one in entry["answers"][:3]}) == 1
    said = program.get(f"{base}runs/{entry['answers'][0]['run']}/entries/{entry['answers'][0]['key']}/").json()
    assert said["entry"] == "weather-1#0"

    url = f"{of_release}entries/{row['key']}/send-back/"
    senior = ApiClient(team.seniors[0])
    assert senior.get(f"{of_release}entries/").status_code == 200
    assert refusal(senior.send(url))[0] == 403
    assert refusal(program.send(f"{of_release}entries/{10**9}/send-back/"))[0] == 404
    sent = program.send(url).json()
    assert sent["item"] == "weather-1"
    suspect.item.dialogue.refresh_from_db()
    assert suspect.item.dialogue.status != DialogueStatus.VERIFIED
    assert refusal(program.send(url)) == (409, "conflict")
    answers = program.get(f"{base}dialogues/{sent['dialogue']}/answers/").json()["entries"]
    assert [(one["entry"], one["release"]) for one in answers] == [("weather-1#0", "1.0")]
    assert [(one["runs"], one["right"]) for one in answers[0]["answers"]] == [
        (["a", "b", "c"], False),
        (["good"], True),
    ]
    # Its reviewers must not see them, and the page agrees.
    assert refusal(ApiClient(team.annotator).get(f"{base}dialogues/{sent['dialogue']}/answers/"))[0] == 404
    page = client.get(reverse("entry-detail", args=[team.project.slug, suspect.release.public_id, suspect.pk]))
    assert "Send back to review" not in page.content.decode()


def test_scores_are_counted_again_without_what_was_withdrawn(team, of_release, suspect, program):
    program.send(f"{of_release}entries/{suspect.pk}/send-back/")
    board = program.get(f"{of_release}scores/").json()
    assert (board["withdrawn"], board["recounted"]) == (1, False)
    # Sending back has asked for it, and a second request finds the waiting job.
    job = program.send(f"{of_release}scores/recount/").json()
    assert (job["kind"], job["state"], job["public_id"]) == (
        "recount", "queued", Recount.objects.get().job.public_id
    )  # fmt: skip
    jobs.run(Recount.objects.get().job_id)
    board = program.get(f"{of_release}scores/").json()
    assert board["recounted"] is True
    assert board["columns"][1] == {"name": "kept", "cell": "all"}
    assert [row["figures"][1]["value"] for row in board["rows"]] == [1.0] * 4
    assert refusal(ApiClient(team.seniors[0]).send(f"{of_release}scores/recount/"))[0] == 403


def test_an_erratum_is_added_from_an_entry_with_what_the_runs_answered(team, of_release, suspect, program, client):
    url = f"{of_release}errata/"
    body = {"entry": str(suspect.pk), "severity": "major", "reason": "The city is wrong."}
    assert refusal(ApiClient(team.seniors[0]).send(url, body))[0] == 403
    for wrong, status in (
        ({"severity": "huge"}, 400), ({"entry": "1" * 18}, 404), ({"answer": "0"}, 404), ({"item": "none"}, 422),
        ({"text": "x"}, 400),
    ):  # fmt: skip
        assert refusal(program.send(url, body | wrong))[0] == status, wrong
    assert refusal(program.send(url, {"severity": "minor", "reason": "x"})) == (422, "invalid")
    answer = program.send(url, body)
    assert answer.status_code == 201
    report = answer.json()
    assert (report["item"], report["state"], report["reporter"]) == (
        "weather-1", "confirmed", team.administrator.public_id
    )  # fmt: skip
    assert "right in 1 of 4 runs" in ErratumReport.objects.get().erratum.record["evidence"]
    assert refusal(program.send(url, body))[0] == 409
    page = reverse("erratum-decide", args=[team.project.slug, suspect.release.public_id, report["public_id"]])
    assert "The city is wrong." in client.get(page).content.decode()
    # One of an item, with evidence of its own.
    plain = {"item": "weather-2", "severity": "minor", "reason": "A typing error.", "evidence": "“teh”"}
    assert program.send(url, plain).status_code == 201
    assert ErratumReport.objects.order_by("pk").last().erratum.record["evidence"] == "“teh”"


def test_two_runs_are_compared_as_on_their_page(team, of_release, base, program, client):
    good, poor = (Run.objects.get(model=name) for name in ("good", "a"))
    query = {"a": good.public_id, "b": poor.public_id}
    found = program.get(f"{base}runs/compare/", query).json()
    assert (found["first"], found["second"]) == (good.public_id, poor.public_id)
    assert (found["only_first"], found["only_second"], found["p"], found["differs"]) == (1, 0, 1.0, False)
    right = next(one for one in found["figures"] if (one["name"], one["cell"]) == ("right", "all"))
    assert right["first"]["value"] == 1.0
    assert right["second"]["value"] == pytest.approx((found["n"] - 1) / found["n"])
    (row,) = program.get(f"{base}runs/compare/entries/", query).json()["results"]
    assert (row["entry"], row["right"]) == ("weather-1#0", "first")
    scores = Score.objects.filter(entry="weather-1#0")
    assert (row["first"], row["second"]) == tuple(
        str(scores.get(score_set__run=run).pk) for run in (good, poor)
    )  # fmt: skip
    assert program.get(f"{base}runs/compare/entries/", query | {"which": "second"}).json()["results"] == []
    page = client.get(reverse("run-compare", args=[team.project.slug]), query).content.decode()
    assert reverse("run-entry", args=[team.project.slug, good.public_id, row["first"]]) in page
    assert refusal(program.get(f"{base}runs/compare/entries/", query | {"which": "third"})) == (400, "unknown_filter")
    for wrong in ({}, {"a": good.public_id}, query | {"b": "none"}, query | {"b": good.public_id}):
        assert refusal(program.get(f"{base}runs/compare/", wrong))[0] == 404
    assert refusal(ApiClient(team.annotator).get(f"{base}runs/compare/", query))[0] == 403


def test_a_run_is_scored_again_when_the_scorers_are_newer(team, of_release, base, program, monkeypatch):
    run = Run.objects.get(model="good")
    url = f"{base}runs/{run.public_id}/score-again/"
    assert refusal(program.send(url)) == (409, "conflict")
    monkeypatch.setattr(scoring_run, "VERSION", scoring_run.VERSION + 1)
    assert refusal(ApiClient(team.seniors[0]).send(url))[0] == 403
    job = program.send(url).json()
    assert program.send(url).json()["public_id"] == job["public_id"]
    jobs.run(Job.objects.get(public_id=job["public_id"]).pk)
    newest = program.get(f"{base}runs/{run.public_id}/").json()
    version = scoring_run.VERSION
    assert (newest["scorer"], newest["scorers"]) == (version, [version, version - 1])
    earlier = program.get(f"{base}runs/{run.public_id}/", {"scorer": version - 1}).json()
    assert (earlier["scorer"], earlier["right"]) == (version - 1, newest["right"])
    keys = [
        {row["key"] for row in program.get(f"{base}runs/{run.public_id}/entries/", {"scorer": one}).json()["results"]}
        for one in newest["scorers"]
    ]
    assert len(keys[0]) == len(keys[1]) == newest["entries"]
    assert not keys[0] & keys[1]
    refused = program.get(f"{base}runs/{run.public_id}/", {"scorer": 99})
    assert refusal(refused) == (400, "unknown_filter")
    assert f"Use one of: “{version}”, “{version - 1}”" in refused.json()["sentence"]
    assert program.get(f"{base}jobs/{job['public_id']}/").json()["state"] == "done"
