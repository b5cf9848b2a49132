"""Inferences over a release: what is asked, stored, paid and resumed, with a scripted endpoint."""

import logging
import threading
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Event, Job, JobState
from annotator.services.jobs import jobs
from benchmark.demo.chat_server import called, completion, said, serving
from benchmark.models import Endpoint, Inference, InferenceAnswer, InferenceReply, Run
from benchmark.services.inference import client as clients
from benchmark.services.inference import endpoints, requests, runner
from benchmark.services.inference.options import Options
from benchmark.services.inference.requests import Budget
from benchmark.views.inference_forms import describe_options
from tests.benchmark.conftest import make_verified, run_release
from tests.factories import make_team
from tests.racing import lost, race

KEY = "sk-secret-0123456789"
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]


@pytest.fixture
def release(team):
    for name in ("weather-1", "weather-2", "weather-3"):
        make_verified(team, name)
    return run_release(team, native_format="wild")


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(clients, "_FIRST_WAIT", 0.001)
    monkeypatch.setattr(clients, "_LONGEST_WAIT", 0.002)
    monkeypatch.setattr(clients, "GIVE_UP", 0.2)


@pytest.fixture
def start(team, release):
    """Start an inference at an endpoint: ``start(server)``; ``run=False`` leaves the job to the test."""

    def begin(server, *, run=True, budget=None, **options):
        fields = {name: options.pop(name) for name in ("input_price", "output_price", "history") if name in options}
        known = Endpoint.objects.filter(project=team.project).first()
        endpoint = known or endpoints.add_endpoint(
            actor=team.administrator, project=team.project, name="Local", base_url=server.url, key=KEY
        )
        inference = requests.start_inference(
            actor=team.administrator, release=release, endpoint=endpoint, model="model-1", family="wild",
            options=Options(**options), budget=budget, wake_worker=False, **fields,
        )  # fmt: skip
        return work(inference) if run else inference

    return begin


def work(inference, **more):
    """Run the job of an inference, and that of its predictions; return the inference as it is now."""
    jobs.run(inference.job_id, **more)
    found = Inference.objects.select_related("job", "predictions__job").get(pk=inference.pk)
    if found.predictions:
        jobs.run(found.predictions.job_id)
    return found


def go_on(team, inference, **more):
    return work(requests.continue_inference(actor=team.administrator, inference=inference, wake_worker=False, **more))


def solve(body):
    """Answer as the references of the release do: each call with the city of the question, then the answer."""
    last = body["messages"][-1]
    if last["role"] == "tool":
        return said("It is sunny.")
    names = [tool["function"]["name"] for tool in body["tools"]]
    return called((names[0], {"city": last["content"]}))


def test_a_model_is_asked_about_every_task_and_its_answers_are_scored(team, release, start):
    with serving(solve) as server:
        inference = start(server, input_price=Decimal(2), output_price=Decimal(10))
    assert inference.job.state == JobState.DONE, inference.job.error
    run = Run.objects.get()
    assert (run.model, run.provider, run.complete) == ("model-1", "Local", True)
    assert (inference.done, inference.requests) == (inference.total, len(server.asked))
    assert run.score_sets.get().entries == inference.total
    assert (run.input_tokens, run.output_tokens) == (100 * len(server.asked), 10 * len(server.asked))
    assert run.cost == inference.cost == len(server.asked) * Decimal("0.0003")
    assert run.settings["answered_as"] == ["model-1"]
    assert {body["model"] for body in server.asked} == {"model-1"}
    assert jobs.queue_of(inference.job.kind) == "models"


def test_nothing_is_asked_twice_after_a_kill(team, start, monkeypatch):
    with serving(solve) as server:
        inference = start(server, run=False, concurrency=1)
        store = runner._Loop._store

        def dies_later(self, *arguments, **more):
            store(self, *arguments, **more)
            if self.inference.requests == 2:
                raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(runner._Loop, "_store", dies_later)
            patched.setattr(runner._Loop, "_drain", lambda self: None)
            with pytest.raises(KeyboardInterrupt):
                jobs.run(inference.job_id)
        assert InferenceReply.objects.count() == 2
        inference = work(inference, heartbeat_timeout=timedelta(0))
    assert inference.job.state == JobState.DONE
    keys = [headers["idempotency-key"] for headers in server.headers]
    assert len(keys) == len(set(keys)) == inference.requests
    assert Run.objects.get().score_sets.get().entries == inference.total


def test_a_budget_stops_in_time_and_can_be_raised(team, start):
    with serving(solve) as server:
        inference = start(server, budget=Budget(tokens=500), max_tokens=10, concurrency=2)
        assert inference.job.state == JobState.FAILED
        assert "budget is used up" in str(inference.job.error)
        assert inference.input_tokens + inference.output_tokens <= 500
        asked = len(server.asked)
        assert asked == inference.requests > 0
        inference = go_on(team, inference, budget=Budget())
    assert inference.job.state == JobState.DONE
    assert inference.requests == len(server.asked)
    assert Run.objects.get().complete


def test_an_endpoint_that_fails_for_long_is_left_and_continued_later(team, start):
    down = threading.Event()

    def script(body):
        if down.is_set():
            return lambda handler: handler.json(429, {"error": {"message": "Slow down."}})
        if len(server.asked) == 3:
            down.set()
        return solve(body)

    with serving(script) as server:
        inference = start(server, concurrency=1)
        assert inference.job.state == JobState.FAILED
        assert "status 429: Slow down." in str(inference.job.error)
        assert inference.requests == 3
        down.clear()
        server.asked.clear()
        inference = go_on(team, inference)
    assert inference.job.state == JobState.DONE
    assert InferenceAnswer.objects.count() == inference.total


def test_a_refused_request_counts_as_wrong_and_one_refused_every_time_stops(team, start):
    with serving(lambda body: refuse if "weather-2" in str(body["messages"]) else solve(body)) as server:
        inference = start(server)
    assert inference.job.state == JobState.DONE
    assert inference.refused == InferenceReply.objects.filter(message=None).count() > 0
    assert "Too long." in InferenceReply.objects.filter(message=None).first().error
    with serving(lambda body: refuse) as server:
        Endpoint.objects.update(base_url=server.url)
        inference = start(server)
    assert inference.job.state == JobState.FAILED
    assert "refuses every request" in str(inference.job.error)
    assert not inference.replies.exists()


def refuse(handler):
    handler.json(400, {"error": {"message": "Too long."}})


def test_another_model_behind_the_name_stops_the_inference(team, start):
    def script(body):
        model = "model-1" if len(server.asked) < 3 else "model-1-turbo"
        return lambda handler: handler.json(200, {**completion(body, solve(body)), "model": model})

    with serving(script) as server:
        inference = start(server, concurrency=1)
        assert "now answers as model-1-turbo; before, it was model-1" in str(inference.job.error)
        inference = go_on(team, inference)
    assert inference.job.state == JobState.DONE
    assert Run.objects.get().settings["answered_as"] == ["model-1", "model-1-turbo"]


def test_cancelling_keeps_what_was_paid(team, start):
    asked = threading.Event()

    def script(body):
        if len(server.asked) == 3:
            jobs.cancel_job(actor=None, job=inference.job)
            connections.close_all()
            asked.set()
        return solve(body)

    with serving(script) as server:
        inference = start(server, run=False, concurrency=1)
        inference = work(inference)
        assert asked.is_set()
        assert inference.job.state == JobState.CANCELLED
        assert inference.requests == len(server.asked)
        inference = go_on(team, inference)
    assert inference.job.state == JobState.DONE
    assert inference.requests == len(server.asked)


def test_only_part_of_a_release_is_asked(team, start):
    with serving(solve) as server:
        inference = start(server, limit=1)
    scores = Run.objects.get().score_sets.get()
    assert inference.total == inference.done == scores.entries
    assert scores.missing == 2 * scores.entries, "those of the other two dialogues"


def test_a_setting_of_0_is_shown():
    shown = [str(value) for _label, value in describe_options(Options(temperature=0.0, seed=0), "wild")]
    assert [one for one in shown if one in ("0", "0.0")] == ["0.0", "0"]


def test_who_may_start_what(team, release, start):
    with serving(solve) as server:
        inference = start(server)
        endpoint = Endpoint.objects.get()
        same = {"release": release, "model": "m", "family": "wild", "endpoint": endpoint}
        for person in (team.annotator, team.seniors[0]):
            with pytest.raises(Denied):
                requests.start_inference(actor=person, **same)
            with pytest.raises(Denied):
                requests.load_inference(actor=person, project=team.project, public_id=inference.public_id)
            with pytest.raises(Denied):
                endpoints.list_endpoints(actor=person, project=team.project)
        with pytest.raises(Conflict, match="is complete"):
            requests.continue_inference(actor=team.administrator, inference=inference)
        for options, sentence in (
            (Options(extra={"messages": []}), "sets “messages” itself"), (Options(delays=("x",)), "is no delay"),
        ):  # fmt: skip
            with pytest.raises(Invalid, match=sentence):
                requests.start_inference(actor=team.administrator, options=options, **same)
        with pytest.raises(Invalid, match="needs the prices"):
            requests.start_inference(actor=team.administrator, budget=Budget(cost=Decimal(1)), **same)
        with pytest.raises(Invalid, match="can’t be scored as cctu"):
            requests.start_inference(actor=team.administrator, **(same | {"family": "cctu"}))
        waiting = start(server, run=False)
        with pytest.raises(Conflict, match="in progress"):
            requests.continue_inference(actor=team.administrator, inference=waiting)
        endpoints.remove_endpoint(actor=team.administrator, endpoint=endpoint)
        with pytest.raises(Conflict, match="was removed"):
            requests.start_inference(actor=team.administrator, **same)
        waiting = work(waiting)
        assert "endpoint was removed" in str(waiting.job.error)
    other = make_team("other")
    strange = Endpoint.objects.create(project=other.project, name="x", base_url="https://x.example")
    with pytest.raises(Hidden):
        requests.start_inference(actor=team.administrator, **(same | {"endpoint": strange}))


def test_a_key_appears_nowhere(team, start, caplog):
    caplog.set_level(logging.DEBUG)
    with serving(lambda body: lambda handler: handler.json(401, {"error": {"message": f"Bad key {KEY}"}})) as server:
        inference = start(server)
    assert inference.job.state == JobState.FAILED
    assert "Bad key [key]" in str(inference.job.error)
    assert Endpoint.objects.get().key not in ("", KEY)
    seen = [caplog.text, str(list(Event.objects.values())), str(list(Job.objects.values()))]
    slug, release = team.project.slug, inference.release.public_id
    client = Client()
    client.force_login(team.administrator)
    for page in (
        reverse("endpoint-list", args=[slug]), reverse("inference-start", args=[slug, release]),
        reverse("inference", args=[slug, inference.public_id]), reverse("score-board", args=[slug, release]),
        reverse("score-board-file", args=[slug, release, "json"]), reverse("job-list", args=[slug]),
    ):  # fmt: skip
        response = client.get(page)
        assert response.status_code == 200
        seen.append(response.content.decode())
    stored = Endpoint.objects.get().key
    assert not any(secret in text for text in seen for secret in (KEY, stored))


@pytest.mark.postgres
def test_two_who_continue_at_once_start_one_job(team, start):
    with serving(lambda body: lambda handler: handler.json(401, {"error": {"message": "No."}})) as server:
        inference = start(server)
    found = race(
        *[lambda: requests.continue_inference(actor=team.administrator, inference=inference, wake_worker=False)] * 4
    )
    assert [str(one) for one in lost(found)] == ["The inference is in progress."] * 3
    assert Job.objects.filter(kind="inference").count() == 2


def test_an_endpoint_s_words_can_be_stored_whatever_they_are(team, start):
    strange = "m\0\ud800"

    def script(body):
        if "weather-2" in str(body["messages"]):
            return lambda handler: handler.json(400, {"error": {"message": strange}})
        return lambda handler: handler.json(
            200, completion(body, called((strange, {"a": strange}))) | {"model": strange}
        )

    with serving(script) as server:
        inference = start(server)
    assert inference.job.state == JobState.DONE, inference.job.error
    assert inference.answered_as == ["m�?"]
    assert Run.objects.get().complete
