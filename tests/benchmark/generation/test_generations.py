"""Generations in the application: asked, stored, paid once, paused, continued, changed by people, made candidates."""

import socket
import threading
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, connections, transaction
from django.utils import timezone

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Dialogue, Event, JobState, Project
from annotator.services.jobs import jobs
from annotator.translation import translated
from benchmark.core.generation.purposes import Purpose, Role, shipped_template
from benchmark.core.generation.records import request_hash
from benchmark.demo.chat_server import said, serving
from benchmark.demo.generation_script import MODEL, TOOLS, scripted_records
from benchmark.models import Chooser, Endpoint, Generation, ModelCall, PromptTemplate
from benchmark.services.generation import asking, people, stepping, templates
from benchmark.services.generation.reading import load_generation, read_state
from benchmark.services.generation.requests import (
    Player,
    continue_generation,
    pause_generation,
    start_generation,
)
from benchmark.services.inference import client as clients
from benchmark.services.inference.endpoints import add_endpoint, remove_endpoint
from benchmark.services.inference.options import Options
from benchmark.services.inference.requests import Budget
from reviews.services.history.dialogue_history import read_history
from tests.benchmark.generation.conftest import make_setup
from tests.factories import make_dialogue, make_team, make_toolset
from tests.racing import lost, race, won

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(clients, "_FIRST_WAIT", 0.001)
    monkeypatch.setattr(clients, "_LONGEST_WAIT", 0.002)
    monkeypatch.setattr(clients, "GIVE_UP", 0.2)


@pytest.fixture
def answering():
    """A server whose models play the script for these policies."""

    def script_of(*policies):
        known = {one.request: one.answer for one in scripted_records(make_setup(*policies))}
        return lambda body: said(known[request_hash(MODEL, body["messages"][0]["content"], {})])

    return script_of


@pytest.fixture
def start(team):
    """Start a generation at an endpoint: ``start(server, "chat")``; ``run=False`` leaves the job to the test."""

    def begin(server, *policies, run=True, options=None, prices=(0, 0), **more):
        known = Endpoint.objects.filter(project=team.project, removed_at=None).first()
        endpoint = known or add_endpoint(
            actor=team.administrator, project=team.project, name="Local", base_url=server.url, key="sk-secret"
        )
        setup = make_setup(*policies)
        player = Player(MODEL, endpoint, options or Options(), *map(Decimal, prices))
        generation = start_generation(
            actor=team.administrator, project=team.project, toolset=make_toolset(team.project, TOOLS, "trips"),
            setup=setup.to_json(), players=dict.fromkeys(Role, player), wake_worker=False,
            **{"chooser": Chooser.FIRST} | more,
        )  # fmt: skip
        return work(generation) if run else generation

    return begin


def work(generation, **more):
    jobs.run(Generation.objects.get(pk=generation.pk).job_id, **more)
    return Generation.objects.select_related("job", "dialogue", "project").get(pk=generation.pk)


def go_on(team, generation, **more):
    continue_generation(actor=team.administrator, generation=generation, wake_worker=False, **more)
    return work(generation)


def test_a_dialogue_is_generated_recorded_and_reviewed(team, start, answering):
    with serving(answering("multi_tool", "clarify")) as server:
        generation = start(server, "multi_tool", "clarify", prices=(2, 10))
    assert generation.status == "done", generation.reason
    assert generation.job.state == JobState.DONE
    dialogue = generation.dialogue
    assert (dialogue.external_id, dialogue.status, dialogue.error_count) == ("m-cl", "in_review", 0)
    assert dialogue.head.toolset_revision == generation.toolset_revision
    asked = len(server.asked)
    assert (generation.requests, generation.tokens) == (asked, 110 * asked)
    assert generation.cost == asked * Decimal("0.0003")
    call = generation.calls.get(number=1)
    assert (call.state, call.purpose, call.role, call.attempts) == ("answered", "first_task", "user", 1)
    assert call.prompt == server.asked[0]["messages"][0]["content"]
    assert call.template.content == shipped_template(Purpose.FIRST_TASK)
    assert len({headers["idempotency-key"] for headers in server.headers}) == asked
    event = Event.objects.get(dialogue=dialogue, kind="dialogue.generated")
    assert event.after["generation"] == generation.public_id
    assert {one["role"] for one in event.after["provenance"]} == {"user", "planner", "checker", "tool", "assistant"}
    history = read_history(actor=team.administrator, dialogue=dialogue)
    assert "Generated by models and people" in [one.text for one in history]
    assert "sk-secret" not in str(ModelCall.objects.values()) + str(Generation.objects.values())


@pytest.mark.parametrize("method", ["_store_answer", "store_candidate"])
def test_killed_in_the_middle_it_goes_on_without_repeating_a_paid_call(start, answering, monkeypatch, method):
    with serving(answering("single_tool")) as server:
        generation = start(server, "single_tool", run=False)
        original, calls = getattr(stepping, method), []

        def dies(*arguments, **more):
            result = original(*arguments, **more)
            calls.append(None)
            if len(calls) == 3 or method == "store_candidate":
                raise KeyboardInterrupt
            return result

        with monkeypatch.context() as patched:
            patched.setattr(stepping, method, dies)
            with pytest.raises(KeyboardInterrupt):
                jobs.run(generation.job_id)
        answered = generation.calls.filter(state="answered").count()
        if method == "_store_answer":
            # The answer of the third was on its way into the database.
            assert (answered, generation.calls.count()) == (2, 3)
        generation = work(generation, heartbeat_timeout=timedelta(0))
        if method == "_store_answer":
            assert generation.status == "paused"
            assert "Request 3 was sent" in translated(generation.reason)
            assert len(server.asked) == 3
            continue_generation(actor=None, generation=generation, send_again=True, wake_worker=False)
            generation = work(generation)
    assert generation.status == "done"
    keys = [headers["idempotency-key"] for headers in server.headers]
    assert len(keys) == generation.calls.count() + (method == "_store_answer")
    assert generation.calls.count() == generation.requests == len(set(keys))


def test_a_request_without_answer_is_sent_again_where_that_is_free(start, answering, monkeypatch):
    with serving(answering("chat")) as server:
        generation = start(server, "chat", run=False, idempotent=True)

        def dies(*arguments, **more):
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(stepping, "_store_answer", dies)
            with pytest.raises(KeyboardInterrupt):
                jobs.run(generation.job_id)
        generation = work(generation, heartbeat_timeout=timedelta(0))
    assert generation.status == "done"
    assert generation.calls.get(number=1).attempts == 2
    assert server.headers[0]["idempotency-key"] == server.headers[1]["idempotency-key"]


@pytest.mark.parametrize("idempotent", [False, True])
def test_after_a_lost_connection_only_a_free_request_is_repeated(team, start, answering, idempotent, monkeypatch):
    monkeypatch.setattr(clients, "GIVE_UP", 60)
    script, lost_ones = answering("chat"), []

    def drops(body):
        if len(server.asked) == 2:
            lost_ones.append(body)
            return lambda handler: handler.connection.shutdown(socket.SHUT_RDWR)
        return script(body)

    with serving(drops) as server:
        generation = start(server, "chat", idempotent=idempotent)
        if not idempotent:
            assert (generation.status, len(server.asked)) == ("paused", 2)
            assert "Request 2 was sent" in translated(generation.reason)
            assert generation.calls.get(number=2).state == "asked"
            generation = go_on(team, generation)
            assert (generation.status, len(server.asked)) == ("paused", 2)
            generation = go_on(team, generation, send_again=True)
    assert (generation.status, generation.calls.get(number=2).attempts, len(lost_ones)) == ("done", 2, 1)


def test_a_choice_while_the_job_ends_starts_another(team, start, answering):
    with serving(answering("chat")) as server:
        generation = start(server, "chat", chooser=Chooser.PEOPLE)
        ending = generation.job
        type(ending).objects.filter(pk=ending.pk).update(state=JobState.RUNNING, ended_at=None)
        people.choose_candidate(actor=team.administrator, generation=generation, candidate="c1")
        assert Generation.objects.get(pk=generation.pk).job_id != ending.pk
        assert work(generation).status == "done"


def test_an_archived_project_asks_nothing(team, start, answering):
    with serving(answering("chat")) as server:
        generation = start(server, "chat", run=False)
        Project.objects.filter(pk=team.project.pk).update(archived_at=timezone.now())
        generation = work(generation)
        assert (generation.status, server.asked) == ("paused", [])
    assert "archived" in translated(generation.reason)


def test_a_budget_that_ends_pauses_and_can_be_raised(team, start, answering):
    with serving(answering("single_tool", "chat")) as server:
        generation = start(server, "single_tool", "chat", budget=Budget(tokens=1_500), options=Options(max_tokens=20))
    assert generation.status == "paused"
    assert generation.requests > 2
    assert "budget is used up" in translated(generation.reason)
    assert generation.tokens <= 1_500
    assert generation.job.state == JobState.FAILED
    with serving(answering("single_tool", "chat")) as server:
        Endpoint.objects.update(base_url=server.url)
        before = generation.requests
        generation = go_on(team, generation, budget=Budget())
        assert len(server.asked) == generation.requests - before
    assert generation.status == "done"


def test_an_endpoint_that_fails_for_long_pauses_and_nothing_is_lost(team, start, answering):
    down, script = threading.Event(), answering("single_tool")

    def sometimes(body):
        if down.is_set():
            return lambda handler: handler.json(503, {"error": {"message": "overloaded"}})
        if "You plan" in body["messages"][0]["content"]:
            down.set()
        return script(body)

    with serving(sometimes) as server:
        generation = start(server, "single_tool")
        assert generation.status == "paused"
        assert "status 503: overloaded" in translated(generation.reason)
        failed, sent = generation.calls.get(state="failed"), len(server.asked) - 2
        assert (failed.number, failed.purpose, generation.requests) == (3, "verdict", 2)
        with pytest.raises(Invalid, match="Retries are left"):
            people.retry_step(actor=team.administrator, generation=generation)
    with serving(script) as server:
        Endpoint.objects.update(base_url=server.url)
        generation = go_on(team, generation)
    assert generation.status == "done"
    assert generation.calls.get(number=3).attempts == sent + 1 > 2


def test_people_choose_edit_write_and_go_back(team, start, answering):
    ada = team.administrator
    with serving(answering("single_tool")) as server:
        generation = start(server, "single_tool", chooser=Chooser.PEOPLE)
        assert (generation.status, generation.reason) == ("waiting", None)
        state = read_state(generation)
        assert len(state.candidates) == 3
        with pytest.raises(Conflict, match="gone on"):
            people.choose_candidate(actor=ada, generation=generation, candidate="c1", seen=99)
        with pytest.raises(Invalid, match="no candidate"):
            people.choose_candidate(actor=ada, generation=generation, candidate="c9")
        with pytest.raises(Hidden):
            people.choose_candidate(actor=team.outsider, generation=generation, candidate="c1")
        people.choose_candidate(actor=ada, generation=generation, candidate="c2", seen=1)
        with pytest.raises(Conflict, match="Pause the generation first"):
            people.write_answer(actor=ada, generation=generation, text="Hello")
        back = people.go_back
        pause_generation(actor=ada, generation=generation)
        jobs.run(Generation.objects.get(pk=generation.pk).job_id)
        generation = back(actor=ada, generation=generation, events=1)
        assert (generation.status, read_state(generation).stage) == ("paused", "choose")
        people.choose_candidate(actor=ada, generation=generation, candidate="c1", work=False)
        text = '{"action": "call", "calls": [{"name": "get_forecast", "arguments": {"city": "CITY", "day": "Monday"}}]}'
        with pytest.raises(Invalid, match="no function"):
            people.write_answer(actor=ada, generation=generation, text=text.replace("get_forecast", "rain"))
        people.write_answer(actor=ada, generation=generation, text=text, work=False)
        people.write_answer(
            actor=ada, generation=generation, text='{"results": [{"sky": "grey", "degrees": 9}]}', work=False
        )
        people.write_answer(actor=ada, generation=generation, text='{"action": "finish"}', work=False)
        people.write_answer(actor=ada, generation=generation, text="Grey, 9 degrees.")
        generation = work(generation)
    assert generation.status == "done"
    event = Event.objects.get(dialogue=generation.dialogue, kind="dialogue.generated")
    assert {one.get("who") for one in event.after["provenance"] if one["by"] == "person"} == {ada.public_id}
    with pytest.raises(Conflict, match="has ended"):
        people.go_back(actor=ada, generation=generation, events=0)
    kinds = Event.objects.filter(project=team.project, kind__startswith="generation.").values_list("kind", flat=True)
    assert set(kinds) == {
        "generation.started", "generation.chosen", "generation.paused", "generation.back", "generation.written"
    }  # fmt: skip


def test_a_role_without_model_waits_for_a_person(team):
    generation = start_generation(
        actor=team.administrator, project=team.project, toolset=make_toolset(team.project, TOOLS, "trips"),
        setup=make_setup("chat").to_json(), players={}, wake_worker=False,
    )  # fmt: skip
    generation = work(generation)
    assert generation.status == "waiting"
    assert "No model plays the role user" in translated(generation.reason)


def test_only_administrators_and_only_what_makes_sense(team):
    toolset, setup = make_toolset(team.project, TOOLS, "trips"), make_setup("chat").to_json()
    fields = {"project": team.project, "toolset": toolset, "players": {}, "wake_worker": False}
    for person, refusal in ((team.annotator, Denied), (team.senior, Denied), (team.outsider, Hidden)):
        with pytest.raises(refusal):
            start_generation(actor=person, setup=setup, **fields)
        with pytest.raises(refusal):
            templates.save_template(actor=person, project=team.project, purpose=Purpose.ANSWER, content="x")
    ada = team.administrator
    with pytest.raises(Hidden):
        start_generation(actor=ada, setup=setup, **fields | {"toolset": make_toolset(make_team("far").project)})
    for wrong in ({"policies": ["dance"]}, {"name": " "}, {"policies": 3}, {"unknown": 1}, {"seed": "x", "name": None}):
        with pytest.raises(Invalid):
            start_generation(actor=ada, setup=setup | wrong, **fields)
    with pytest.raises(Invalid, match="prices"):
        start_generation(actor=ada, setup=setup, budget=Budget(cost=Decimal(1)), **fields)
    endpoint = add_endpoint(
        actor=ada, project=team.project, name="Gone", base_url="https://models.example.org/v1", key=""
    )
    remove_endpoint(actor=ada, endpoint=endpoint)
    with pytest.raises(Conflict, match="removed"):
        start_generation(actor=ada, setup=setup, **fields | {"players": {Role.USER: Player("m", endpoint)}})
    generation = start_generation(actor=ada, setup=setup, **fields)
    with pytest.raises(Conflict, match="already has"):
        start_generation(actor=ada, setup=setup, **fields)
    assert load_generation(actor=ada, project=team.project, public_id=generation.public_id) == generation
    assert load_generation(actor=team.annotator, project=team.project, public_id=generation.public_id) == generation
    with pytest.raises(Denied):
        continue_generation(actor=team.senior, generation=generation)
    with pytest.raises(Hidden):
        load_generation(actor=team.outsider, project=team.project, public_id=generation.public_id)
    for wrong in ({"number": 0}, {"state": "answered"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            ModelCall.objects.create(
                **{
                    "generation": generation, "number": 1, "purpose": "answer", "model": "m", "prompt": "x",
                    "template": PromptTemplate.objects.first(), "request_sha256": "",
                } | wrong
            )  # fmt: skip
    assert Dialogue.objects.count() == 0


def test_prompts_have_versions_that_a_generation_keeps(team):
    ada, project = team.administrator, team.project
    newest = templates.newest_templates(project)
    assert {one.number for one in newest.values()} == {1}
    assert set(newest) == set(Purpose)
    for content, line in (("one\n{{ nothing }}", 2), ("{% for", 1), ("a\0b", 0)):
        with pytest.raises(Invalid) as caught:
            templates.save_template(actor=ada, project=project, purpose=Purpose.ANSWER, content=content)
        assert caught.value.details.get("line", 0) == line
    second = templates.save_template(actor=ada, project=project, purpose=Purpose.ANSWER, content="Answer {{ message }}")
    same = templates.save_template(actor=ada, project=project, purpose=Purpose.ANSWER, content="Answer {{ message }}")
    assert (second.number, same.pk) == (2, second.pk)
    assert [one.number for one in templates.list_versions(actor=ada, project=project, purpose=Purpose.ANSWER)] == [2, 1]
    generation = start_generation(
        actor=ada, project=project, toolset=make_toolset(project, TOOLS, "trips"), setup=make_setup("chat").to_json(),
        players={}, work=False,
    )  # fmt: skip
    templates.save_template(actor=ada, project=project, purpose=Purpose.ANSWER, content="Say it: {{ message }}")
    assert Generation.objects.get(pk=generation.pk).templates["answer"] == 2


def test_cancelling_and_pausing_keep_what_was_paid(team, start, answering, monkeypatch):
    monkeypatch.setattr(asking, "BEAT", 0.01)
    script = answering("single_tool")

    def stops(body):
        if len(server.asked) == 2:
            jobs.cancel_job(actor=None, job=generation.job)
        elif len(server.asked) == 4:
            pause_generation(actor=None, generation=generation)
        connections.close_all()
        return script(body)

    with serving(stops) as server:
        generation = start(server, "single_tool", run=False)
        generation = work(generation)
        assert (generation.status, generation.job.state) == ("paused", JobState.CANCELLED)
        assert generation.requests == len(server.asked) == 2
        generation = go_on(team, generation)
        assert (generation.status, generation.reason, generation.job.state) == ("paused", None, JobState.DONE)
        assert generation.requests == len(server.asked) == 4
        generation = go_on(team, generation)
    assert generation.status == "done"
    assert generation.requests == len(server.asked)


def test_of_several_at_once_one_wins(team, start, answering):
    ada = team.administrator
    with serving(answering("single_tool")) as server:
        generation = start(server, "single_tool", chooser=Chooser.PEOPLE)
    found = race(
        *(
            lambda choice=choice: people.choose_candidate(
                actor=ada, generation=generation, candidate=choice, seen=1, work=False
            )
            for choice in ("c1", "c2", "c3")
        )
    )
    assert len(won(found)) == 1
    assert {type(one) for one in lost(found)} == {Conflict}
    found = race(*[lambda: continue_generation(actor=ada, generation=generation, wake_worker=False)] * 3)
    assert (len(won(found)), {type(one) for one in lost(found)}) == (1, {Conflict})
    found = race(
        *[
            lambda content=content: templates.save_template(
                actor=ada, project=team.project, purpose=Purpose.REPLY, content=content
            )
            for content in ("Reply.", "Reply!")
        ]
    )
    assert sorted(one.number for one in found) == [2, 3]


def test_a_name_taken_meanwhile_fails_the_generation(team, start, answering):
    with serving(answering("chat")) as server:
        generation = start(server, "chat", run=False)
        make_dialogue(team.project, external_id="ch")
        generation = work(generation)
    assert generation.status == "failed"
    assert "already has a dialogue “ch”" in translated(generation.reason)
    assert generation.dialogue is None
