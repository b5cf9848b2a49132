"""Programs add endpoints, run models on a release, and ask for human baselines, as administrators do on pages."""

import json
import logging

import pytest
from django.test import Client
from django.urls import reverse

from annotator.models import Event, Job, JobState, Notice
from annotator.services.jobs import jobs
from benchmark.demo.chat_server import called, said, serving
from benchmark.models import Endpoint, Inference, Release, Run
from benchmark.services.inference import client as clients
from benchmark.services.inference.keys import decrypt_key
from tests.api_client import ApiClient, refusal
from tests.benchmark.conftest import make_verified, run_release
from tests.factories import make_team

KEY, OTHER = "sk-secret-0123456789", "sk-other-9876543210"
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """No worker is woken, because tests run the jobs themselves, and requests are repeated without pauses."""
    monkeypatch.setattr(jobs, "wake", lambda job: None)
    monkeypatch.setattr(clients, "_FIRST_WAIT", 0.001)
    monkeypatch.setattr(clients, "GIVE_UP", 0.05)


@pytest.fixture
def release(team):
    for name in ("weather-1", "weather-2", "weather-3"):
        make_verified(team, name)
    return run_release(team, native_format="wild")


@pytest.fixture
def base(team):
    return f"/api/projects/{team.project.slug}/"


@pytest.fixture
def program(team):
    return ApiClient(team.administrator, scopes=["administer"])


def patch(client, path, body):
    return client.patch(path, json.dumps(body), content_type="application/json")


def run_jobs():
    while (job := Job.objects.filter(state=JobState.QUEUED).order_by("pk").first()) is not None:
        jobs.run(job.pk)


def solve(body):
    last = body["messages"][-1]
    if last["role"] == "tool":
        return said("It is sunny.")
    return called((body["tools"][0]["function"]["name"], {"city": last["content"]}))


def test_a_key_is_only_written(team, base, program, caplog):
    caplog.set_level(logging.DEBUG)
    url = f"{base}endpoints/"
    body = {"name": "Remote", "base_url": "https://models.example.org/v1/", "key": KEY}
    seen = []

    def got(answer):
        seen.append(answer.content.decode())
        return answer

    added = got(program.send(url, body))
    assert added.status_code == 201
    endpoint = added.json()
    assert (endpoint["base_url"], endpoint["has_key"]) == ("https://models.example.org/v1", True)
    assert decrypt_key(Endpoint.objects.get().key) == KEY
    path = f"{url}{endpoint['public_id']}/"
    assert got(program.get(url)).json()["results"] == [got(program.get(path)).json()] == [endpoint]
    assert got(patch(program, path, {"key": OTHER})).json() == endpoint
    assert decrypt_key(Endpoint.objects.get().key) == OTHER
    stored = Endpoint.objects.get().key
    # Refusals do not repeat it either.
    for wrong, status in (
        (body, 409), (body | {"name": "x", "base_url": f"https://u:{KEY}@models.example.org"}, 422),
        (body | {"name": "x", "base_url": KEY}, 422), (body | {"key": f"{KEY} {KEY}"}, 422),
        (body | {"key": KEY * 100}, 400), (body | {"key": [KEY]}, 400), (body | {"token": KEY}, 400),
        ({"key": KEY}, 400),
    ):  # fmt: skip
        assert refusal(got(program.send(url, wrong)))[0] == status
    for wrong in ({}, {"key": ""}, {"key": f"{KEY}\n{KEY}"}, {"key": OTHER, "name": "New"}):
        assert refusal(got(patch(program, path, wrong)))[0] in (400, 422)
    page = reverse("endpoint-list", args=[team.project.slug])
    browser = Client()
    browser.force_login(team.administrator)
    assert "Remote" in got(browser.get(page)).content.decode()
    assert program.delete(path).status_code == 204
    assert program.delete(path).status_code == 404
    assert "Remote" not in browser.get(page).content.decode()
    assert (Endpoint.objects.get().key, program.get(url).json()["results"]) == ("", [])
    kinds = ["endpoint.added", "endpoint.key_replaced", "endpoint.removed"]
    events = Event.objects.filter(kind__startswith="endpoint.").order_by("pk")
    assert list(events.values_list("kind", flat=True)) == kinds
    seen += [caplog.text, str(list(Event.objects.values()))]
    assert not any(secret in text for text in seen for secret in (KEY, OTHER, stored))


def test_a_model_is_run_followed_stopped_and_continued(team, release, base, program):
    starts = f"{base}releases/{release.public_id}/inferences/"
    refused = 0

    def script(body):
        nonlocal refused
        if "weather-2" in str(body["messages"]) and refused == 0:
            refused = 1
            return lambda handler: handler.json(400, {"error": {"message": "Too long."}})
        return solve(body)

    with serving(script) as server:
        endpoint = program.send(f"{base}endpoints/", {"name": "Local", "base_url": server.url}).json()["public_id"]
        body = {
            "endpoint": endpoint, "model": "model-1", "temperature": 0, "limit": 3, "extra": {"top_p": 0.5},
            "input_price": "2", "output_price": 10, "token_budget": 100, "concurrency": 1,
        }  # fmt: skip
        answer = program.send(starts, body)
        assert answer.status_code == 202
        begun = answer.json()
        assert (begun["family"], begun["name"], begun["job"]["state"], begun["scoring"]) == (
            "wild", "model-1", "queued", None
        )  # fmt: skip
        path = f"{base}inferences/{begun['public_id']}/"
        assert program.send(f"{path}cancel/").json()["job"]["state"] == "cancelled"
        # Its budget ends it after a reply; another one lets it go on.
        assert program.send(f"{path}continue/").json()["token_budget"] == 100
        assert refusal(program.send(f"{path}continue/")) == (409, "conflict")
        run_jobs()
        stopped = program.get(path).json()
        assert stopped["job"]["state"] == "failed"
        assert "budget" in stopped["job"]["error"]
        assert program.send(f"{path}continue/", {"token_budget": None, "cost_budget": "1.5"}).json()[
            "cost_budget"
        ] == "1.5000"  # fmt: skip
        run_jobs()
    done = program.get(path).json()
    assert (done["job"]["state"], done["scoring"]["state"], done["done"]) == ("done", "done", done["total"])
    assert (done["token_budget"], done["refused"], len(done["refusals"])) == (None, 1, 1)
    assert "Too long." in done["refusals"][0]["error"]
    assert done["requests"] * 100 == done["input_tokens"]
    assert float(done["cost"]) == pytest.approx(done["requests"] * 0.0003)
    assert (done["settings"]["temperature"], done["settings"]["extra"]) == (0, {"top_p": 0.5})
    assert (done["runs"], done["answered_as"]) == ([Run.objects.get().public_id], ["model-1"])
    assert {one["top_p"] for one in server.asked} == {0.5}
    (row,) = program.get(starts).json()["results"]
    assert row == {name: done[name] for name in row}
    browser = Client()
    browser.force_login(team.administrator)
    page = browser.get(reverse("inference", args=[team.project.slug, begun["public_id"]])).content.decode()
    assert "Too long." in page
    assert refusal(program.send(f"{path}continue/")) == (409, "conflict")


def test_who_may_run_models_and_what_is_refused(team, release, base, program):
    starts = f"{base}releases/{release.public_id}/inferences/"
    made = {"name": "Remote", "base_url": "https://models.example.org/v1", "key": KEY}
    endpoint = program.send(f"{base}endpoints/", made).json()["public_id"]
    body = {"endpoint": endpoint, "model": "m"}
    for wrong, status, words in (
        ({"family": "odd"}, 400, "“wild”"), ({"tool_mode": "x"}, 400, "“prompt”"), ({"temperature": 11}, 400, ""),
        ({"extra": {"a": "x" * 5_000}}, 400, "4,000"), ({"extra": []}, 400, ""), ({"timeout": 1}, 400, ""),
        ({"seeds": 1}, 400, "concurrency"), ({"input_price": "a"}, 400, ""), ({"stream": "yes"}, 400, ""),
        ({"extra": {"messages": []}}, 422, "messages"), ({"attempts": 2}, 422, "attempts"),
        ({"delays": ["1"]}, 422, "delays"), ({"cost_budget": "1"}, 422, "prices"), ({"family": "cctu"}, 422, "cctu"),
        ({"endpoint": "none"}, 404, "endpoint"), ({"model": " "}, 400, ""),
    ):  # fmt: skip
        answer = program.send(starts, body | wrong)
        assert refusal(answer)[0] == status, wrong
        assert words in json.dumps(answer.json(), ensure_ascii=False), wrong
    other = make_team("other")
    for person, status in ((team.seniors[0], 403), (team.annotator, 403), (other.administrator, 404)):
        client = ApiClient(person)
        for path in (starts, f"{base}endpoints/", f"{base}releases/{release.public_id}/baselines/"):
            assert (client.get(path).status_code, client.send(path, body).status_code) == (status, status)
    # The ids of a project are none of another.
    begun = program.send(starts, body).json()["public_id"]
    theirs = ApiClient(other.administrator)
    for path in (f"inferences/{begun}/", f"endpoints/{endpoint}/", f"jobs/{Inference.objects.get().job.public_id}/"):
        assert theirs.get(f"/api/projects/{other.project.slug}/{path}").status_code == 404
        assert program.get(base + path).status_code == 200
    assert ApiClient(team.administrator, scopes=["import"]).send(starts, body).status_code == 403


def test_a_member_is_asked_for_a_baseline(team, release, base, program):
    person = team.annotators[0]
    url = f"{base}releases/{release.public_id}/baselines/"
    answer = program.send(url, {"person": person.public_id, "history": "answers", "limit": 1})
    assert answer.status_code == 202
    found = answer.json()
    assert (found["person"], found["endpoint"], found["name"], found["history"]) == (
        person.public_id, None, "Human baseline", "answers"
    )  # fmt: skip
    assert Notice.objects.get(person=person, kind="assignment").target.endswith(f"/baselines/{found['public_id']}/")
    run_jobs()
    path = f"{base}inferences/{found['public_id']}/"
    waiting = program.get(path).json()
    assert (waiting["waits"], waiting["done"], waiting["runs"]) == (True, 0, [])
    assert program.get(url).json()["results"][0]["total"] == waiting["total"] > 0
    later = {"updated_since": "2100-01-01T00:00:00Z"}
    assert program.get(url, later).json()["results"] == []
    for wrong, status in (
        ({"person": "none"}, 422), ({"person": team.outsider.public_id}, 422), ({"temperature": 1}, 400),
        ({"tool_mode": "prompt"}, 400), ({"delays": ["0"]}, 422),
    ):  # fmt: skip
        assert refusal(program.send(url, {"person": person.public_id} | wrong))[0] == status, wrong
    browser = Client()
    browser.force_login(person)
    assert browser.get(reverse("baseline", args=[team.project.slug, found["public_id"]])).status_code == 200


def test_jobs_are_listed_and_stopped(team, release, base, program):
    Job.objects.filter(ended_at=None).delete()
    begun = program.send(f"{base}releases/", {"version": "2.0", "format": "wild"}).json()
    job = Release.objects.get(public_id=begun["public_id"]).job
    listed = program.get(f"{base}jobs/").json()["results"]
    assert listed[-1] == program.get(f"{base}jobs/{job.public_id}/").json()
    assert (listed[-1]["kind"], listed[-1]["requester"], listed[-1]["state"]) == (
        "release", team.administrator.public_id, "queued"
    )  # fmt: skip
    assert refusal(ApiClient(team.seniors[0]).send(f"{base}jobs/{job.public_id}/cancel/"))[0] == 403
    stopped = program.send(f"{base}jobs/{job.public_id}/cancel/")
    assert (stopped.status_code, stopped.json()["state"]) == (202, "cancelled")
    done = Job.objects.filter(state=JobState.DONE).first()
    assert refusal(program.send(f"{base}jobs/{done.public_id}/cancel/")) == (409, "conflict")
    browser = Client()
    browser.force_login(team.administrator)
    assert "Cancelled" in browser.get(reverse("job-list", args=[team.project.slug])).content.decode()
    since = {"updated_since": "2100-01-01T00:00:00Z"}
    assert program.get(f"{base}jobs/", since).json()["results"] == []
