"""Programs upload predictions, wait for the job, and read runs and entries."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotator.models import Job
from annotator.services.jobs import jobs
from tests.api_client import ApiClient, refusal
from tests.benchmark.conftest import as_lines


@pytest.fixture
def base(team, release):
    return f"/api/projects/{team.project.slug}/"


def send(client, base, release, lines, **fields):
    file = SimpleUploadedFile("answers.jsonl", as_lines(lines))
    return client.post(f"{base}releases/{release.public_id}/predictions/", {"file": file, **fields})


def test_predictions_become_runs_with_figures_and_entries(team, release, predictions_of, base):
    client = ApiClient(team.administrator, scopes=["import"])
    lines = predictions_of("good") + predictions_of("poor", wrong=("weather-1",)) + [{"unreadable": 1}]
    sent = send(client, base, release, lines)
    assert sent.status_code == 202
    file = sent.json()
    # By default as the release’s own format; a repeated request finds the unfinished job.
    assert (file["family"], file["job"]["state"]) == ("wild", "queued")
    assert send(client, base, release, lines).json()["public_id"] == file["public_id"]
    jobs.run(Job.objects.get(kind="score_predictions").pk)
    done = client.get(f"{base}predictions/{file['public_id']}/").json()
    entries = (len(lines) - 1) // 2
    assert (done["job"]["state"], done["entries"], done["problems"], len(done["notes"])) == ("done", 2 * entries, 1, 1)

    good, poor = client.get(f"{base}releases/{release.public_id}/runs/").json()["results"]
    assert {good["public_id"], poor["public_id"]} == set(done["runs"])
    if good["model"] == "poor":
        good, poor = poor, good
    assert (good["entries"], good["right"], poor["right"]) == (entries, entries, entries * 2 // 3)
    first = poor["figures"][0]
    assert (first["name"], first["cell"], first["n"]) == ("right", "all", entries)
    assert first["value"] == pytest.approx(2 / 3)
    whole = client.get(f"{base}runs/{poor['public_id']}/").json()
    assert sum(whole["errors"].values()) == entries - poor["right"]
    assert first in whole["figures"]
    assert len(whole["figures"]) > len(poor["figures"])

    path = f"{base}runs/{poor['public_id']}/entries/"
    wrong = client.get(path, {"outcome": "wrong"}).json()["results"]
    assert {row["entry"].partition("#")[0] for row in wrong} == {"weather-1"}
    entry = client.get(f"{path}{wrong[0]['key']}/").json()
    assert entry["prediction"][0]["content"] == "No."
    assert entry["detail"]["label"] == "error"
    assert refusal(client.get(path, {"error": "nonsense"})) == (400, "unknown_filter")
    assert client.get(f"{base}releases/{release.public_id}/runs/", {"family": "c3"}).json()["results"] == []


def test_only_a_file_of_a_known_kind_is_scored_by_administrators(team, release, predictions_of, base):
    lines = predictions_of("m")
    administrator = ApiClient(team.administrator)
    assert refusal(send(administrator, base, release, lines, family="cctu")) == (422, "invalid")
    assert refusal(send(administrator, base, release, lines, family="x")) == (400, "invalid")
    assert refusal(send(ApiClient(team.annotator), base, release, lines))[0] == 403
    assert refusal(send(ApiClient(team.administrator, scopes=["read"]), base, release, lines))[0] == 403
    assert not Job.objects.filter(kind="score_predictions").exists()


def test_a_list_of_runs_costs_the_same_for_any_number(
    team, release, predictions_of, score, base, django_assert_max_num_queries
):
    client = ApiClient(team.administrator)
    score([line for n in range(6) for line in predictions_of(f"m{n}")])
    with django_assert_max_num_queries(12):
        found = client.get(f"{base}releases/{release.public_id}/runs/").json()["results"]
    assert [len(one["figures"]) > 5 for one in found] == [True] * 6
