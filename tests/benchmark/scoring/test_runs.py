"""Runs in the application: predictions are uploaded, scored by a job, ranked, opened and compared."""

import csv
import io
import json
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from annotator.models import JobState, Role
from annotator.services.database.filters import UnknownFilter
from annotator.services.jobs import jobs
from benchmark.models import Prediction, PredictionFile, Run, RunPair, Score, ScoreSet
from benchmark.services.runs import boards, scoring
from benchmark.services.stored_files import full_path
from benchmark.views.entry_view import message_view
from tests.benchmark.conftest import as_lines, gzipped
from tests.benchmark.scoring.scoring_cases import prediction
from tests.factories import give_role
from tests.racing import race


def test_a_file_becomes_runs_with_predictions_scores_and_figures(release, predictions_of, score):
    lines = predictions_of("good") + predictions_of("poor", wrong=("weather-1",))
    file = score([*lines, lines[0], prediction("nobody", 0, []), b"{"])
    assert file.job.state == JobState.DONE
    assert (file.doubled, file.foreign, file.problems, file.missing) == (1, 1, 1, 0)
    assert len(file.notes) == 3
    good, poor = Run.objects.filter(file=file).order_by("model")
    assert (good.model, good.release_sha256, good.language, good.complete) == ("good", release.sha256, "en", True)
    entries = len(lines) // 2
    first, second = (ScoreSet.objects.get(run=run) for run in (good, poor))
    assert (first.entries, first.right, second.right) == (entries, entries, entries * 2 // 3)
    assert first.comparers == {"published-wild": 1, "published-c3": 1, "strict": 1}
    figure = first.figures.get(name="right", cell="all")
    assert (figure.n, figure.value) == (entries, 1)
    scored = second.scores.filter(right=False).first()
    assert scored.error
    assert scored.prediction.content[0]["content"] == "No."
    assert scored.prediction.item.dialogue.external_id == "weather-1"
    assert scored.detail["label"] == "error"


def test_the_leaderboard_ranks_by_chance_and_sorts_by_any_figure(release, predictions_of, score):
    score(predictions_of("good") + predictions_of("poor", wrong=("weather-1",)))
    board = boards.leaderboard(release, {})
    assert [(row.run.model, row.rank) for row in board.rows] == [("good", 1), ("poor", 1)]
    assert board.column == ("right", "all")
    policy = next(one for one in board.slices if one.startswith("policy="))
    assert boards.leaderboard(release, {"slice": policy}).column == tuple(policy.split("="))
    assert boards.leaderboard(release, {"sort": "AP|published"}).column == ("AP", "published")
    for name, wrong in (("family", "x"), ("slice", "y=z"), ("sort", "'")):
        with pytest.raises(UnknownFilter, match=name):
            boards.leaderboard(release, {name: wrong})
    many = [f"weather-{number}" for number in (1, 2, 3)]
    score(predictions_of("poor", wrong=many), filename="more.jsonl")
    latest = boards.leaderboard(release, {}).rows[-1]
    assert (latest.run.model, latest.run.attempt) == ("poor", 2)
    n = latest.score_set.entries
    assert latest.rank == (2 if 2 * 3 / 2**n < boards.LEVEL else 1)


def test_a_second_click_starts_one_job_and_only_administrators_start_any(team, predictions_of, score):
    lines = predictions_of("m")
    first = score(lines, run=False)
    assert score(lines, run=False) == first
    with pytest.raises(Exception, match="administrators"):
        score(lines, actor=team.annotator)
    with pytest.raises(Exception, match="Use a file that ends in one of"):
        score(lines, filename="answers.csv")
    with pytest.raises(Exception, match="can’t be scored as cctu"):
        score(lines, family="cctu")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "empty"),
        (b"{}\n", "no predictions for this release"),
        (b"[1]", "one JSON list"),
        (as_lines([prediction("nowhere", 0, [])]), "The references have no nowhere"),
    ],
)
def test_a_file_that_cannot_be_scored_fails_with_a_sentence_and_leaves_nothing(
    release, predictions_of, score, content, sentence
):
    file = score(content)
    assert file.job.state == JobState.FAILED
    assert sentence in str(file.job.error)
    assert (file.foreign, file.problems) == (content.count(b"nowhere"), content.count(b"{}"))
    assert not Run.objects.exists()
    assert not Score.objects.exists()


def test_a_killed_attempt_is_begun_again(release, predictions_of, score, monkeypatch):
    lines = predictions_of("m")
    file = score(gzipped(as_lines(lines)), filename="answers.jsonl.gz", run=False)

    def die(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(scoring._FileWriter, "finish", die)
        with pytest.raises(KeyboardInterrupt):
            jobs.run(file.job_id)
    assert Prediction.objects.count() == len(lines)
    assert not Run.objects.filter(complete=True).exists()
    jobs.run(file.job_id, heartbeat_timeout=timedelta(0))
    file.job.refresh_from_db()
    assert file.job.state == JobState.DONE
    assert (Run.objects.count(), Prediction.objects.count(), Score.objects.count()) == (1, len(lines), len(lines))


def test_pages_of_scores(release, predictions_of, team, score, client):
    slug = team.project.slug
    lines = predictions_of("<b>good</b>") + predictions_of("poor", wrong=("weather-1",))
    for line in lines:
        line["rounds"][0]["content"] = line["rounds"][0]["content"] or None
    file = score(lines)
    board = reverse("score-board", args=[slug, release.public_id])
    for query in ({}, {"slice": boards.leaderboard(release, {}).slices[0]}, {"sort": "OP|published"}):
        page = client.get(board, query)
        assert page.status_code == 200
        assert "&lt;b&gt;good&lt;/b&gt;" in page.content.decode()
    assert client.get(reverse("prediction-file", args=[slug, file.public_id])).status_code == 200
    good, poor = Run.objects.order_by("model")
    run = client.get(reverse("run", args=[slug, poor.public_id]))
    assert run.status_code == 200
    assert client.get(reverse("run", args=[slug, poor.public_id]) + "?outcome=all").status_code == 200
    wrong = Score.objects.filter(score_set__run=poor, right=False).order_by("pk")
    entry = client.get(reverse("run-entry", args=[slug, poor.public_id, wrong[0].pk])).content.decode()
    assert "No." in entry
    assert "The reference" in entry
    if len(wrong) > 1:
        assert reverse("run-entry", args=[slug, poor.public_id, wrong[1].pk]) in entry
    # An entry of another run is none of this one.
    assert client.get(reverse("run-entry", args=[slug, good.public_id, wrong[0].pk])).status_code == 404
    chosen = client.get(reverse("run-compare-with", args=[slug]), {"run": good.public_id, "with": poor.public_id})
    compare = client.get(chosen.url)
    assert f"{len(wrong)} are right in &lt;b&gt;good&lt;/b&gt; only" in " ".join(compare.content.decode().split())
    assert client.get(f"{chosen.url}&which=second").status_code == 200
    assert client.get(reverse("run-compare", args=[slug]), {"a": good.public_id, "b": "x"}).status_code == 404


def test_calls_that_are_no_list_are_shown_as_none():
    """Scorers read a transcript with such a message."""
    view = message_view(1, {"role": "assistant", "content": "Done.", "tool_calls": 5})
    assert (view.text, view.calls) == ("Done.", ())


def test_a_leaderboard_is_exported(release, predictions_of, team, score, client):
    score(predictions_of("=1+1_%"))
    slug = team.project.slug

    def load(form):
        return client.get(reverse("score-board-file", args=[slug, release.public_id, form]))

    table = list(csv.reader(io.StringIO(load("csv").content.decode())))
    assert table[0][:3] == ["rank", "model", "attempt"]
    assert table[1][1] == "'=1+1_%"
    (row,) = json.loads(load("json").content)
    assert (row["model"], row["figures"]["Right, as published"]["value"]) == ("=1+1_%", "100.0")
    latex = load("tex").content.decode()
    assert r"\toprule" in latex
    assert r"=1+1\_\% & 100.0" in latex
    assert load("exe").status_code == 404


def test_the_form_says_what_is_wrong_and_leads_to_the_job(release, predictions_of, team, client):
    url = reverse("score-board", args=[team.project.slug, release.public_id])
    page = client.post(url, {"family": "wild", "history": "calls"})
    assert page.status_code == 422
    upload = io.BytesIO(as_lines(predictions_of("m")))
    upload.name = "answers.txt"
    refused = client.post(url, {"family": "wild", "history": "calls", "file": upload})
    assert refused.status_code == 422
    assert "Use a file that ends in one of" in refused.content.decode()
    upload.seek(0)
    upload.name = "answers.jsonl"
    begun = client.post(url, {"family": "wild", "history": "calls", "file": upload})
    assert begun.status_code == 302
    assert begun.url == reverse("prediction-file", args=[team.project.slug, PredictionFile.objects.get().public_id])
    assert full_path(PredictionFile.objects.get().file).suffix == ".jsonl"


def test_reviewers_see_no_scores(release, predictions_of, team, score):
    score(predictions_of("m"))
    slug, run = team.project.slug, Run.objects.get()
    entry = Score.objects.first()
    pages = [
        reverse("score-board", args=[slug, release.public_id]), reverse("run", args=[slug, run.public_id]),
        reverse("run-entry", args=[slug, run.public_id, entry.pk]),
        reverse("score-board-file", args=[slug, release.public_id, "csv"]),
    ]  # fmt: skip
    for person, status in ((team.annotator, 403), (team.seniors[0], 200), (team.outsider, 404)):
        client = Client()
        client.force_login(person)
        for page in pages:
            assert client.get(page).status_code == status, (person, page)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_jobs_at_once_number_their_attempts_and_compare_their_runs(release, predictions_of, team, score):
    # Jobs of one person that run code of others wait for one another.
    give_role(team.project, team.annotator, Role.ADMINISTRATOR)
    lines = predictions_of("m")
    files = [score(lines, actor=person, run=False) for person in (team.administrator, team.annotator)]
    race(*[lambda job=file.job_id: jobs.run(job) for file in files])
    assert [run.attempt for run in Run.objects.filter(complete=True).order_by("attempt")] == [1, 2]
    assert RunPair.objects.get().n == ScoreSet.objects.first().entries


def test_what_a_database_can_t_store_is_kept_or_refused_with_a_sentence(score, predictions_of):
    file = score(predictions_of("a\0b"))
    assert "/run must be a text without NUL" in str(file.job.error)
    said = {"role": "assistant", "content": "a\0b", "tool_calls": [
        {"id": "\0", "type": "function", "function": {"name": "f\0", "arguments": r'{"a": "\u0000"}'}}
    ]}  # fmt: skip
    strange = [
        *predictions_of("m"),
        {"run": "n\0", "dialogue": "weather-1\0", "task": 0, "rounds": []},
        {"run": "n", "id": "weather-1\0#0", "messages": [said]},
        {"run": "n", "id": "weather-1#0", "messages": [said]},
    ]
    file = score(strange, filename="strange.jsonl")
    assert file.job.state == "done", file.job.error
    assert (file.problems, file.foreign) == (1, 1)
    assert Run.objects.get(model="n").predictions.get().content[0]["calls"][0]["name"] == "f\0"
    log = {"eval": {"model": "x\0"}, "samples": [{"id": "weather-1#0", "epoch": 1, "messages": [said]}]}
    file = score(json.dumps(log).encode(), filename="log.json")
    assert file.job.state == "done", file.job.error
    assert Run.objects.filter(model="log").exists()
