"""Generations over HTTP, as a program uses them."""

import json

import pytest

from annotator.core.scopes import Scope
from benchmark.core.generation.state import Setup
from benchmark.demo.generation_script import TOOLS, scripted_records
from benchmark.models import Generation
from benchmark.services.inference.endpoints import add_endpoint
from tests.api_client import ApiClient, refusal
from tests.benchmark.generation.claimed import work
from tests.benchmark.generation.test_layers import fresh, made, verify
from tests.factories import make_toolset

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.fixture
def base(team):
    return f"/api/projects/{team.project.slug}/generations/"


@pytest.fixture
def body(team):
    """What starts a generation of one task from recorded answers."""
    setup = Setup("trip", ("single_tool",), (("explicit",),), TOOLS, seed=4)
    records = b"".join(one.to_line() for one in scripted_records(setup)).decode()
    toolset = make_toolset(team.project, TOOLS, "trips").toolset
    return {
        "toolset": toolset.public_id, "policies": ["single_tool"], "name": "trip", "seed": 4, "records": records,
    }  # fmt: skip


def test_a_generation_is_started_claimed_chosen_and_done(team, base, body):
    admin, person, other = (ApiClient(one) for one in (team.administrator, *team.annotators[:2]))
    begun = admin.send(base, body)
    assert begun.status_code == 202, begun.json()
    assert refusal(admin.send(base, body)) == (409, "conflict")
    generation = Generation.objects.get()
    path = f"{base}{generation.public_id}/"
    assert (begun.json()["status"], begun.json()["waits_for"]) == ("running", None)
    work(generation)
    claimed = person.send(f"{base}next/")
    assert claimed.status_code == 201
    row = claimed.json()
    assert (row["claim"]["person"], row["waits_for"]["stage"], row["seen"]) == (team.annotator.public_id, "choose", 1)
    assert row["candidates"][0].keys() == {"id", "text", "relation", "problem"}
    assert other.send(f"{base}next/").status_code == 204
    assert refusal(other.send(f"{path}claim/")) == (409, "conflict")
    assert refusal(other.send(f"{path}claim/", {"take_over": True}))[0] == 403
    assert refusal(other.send(f"{path}release/"))[0] == 403
    assert person.send(f"{path}heartbeat/").json()["person"] == team.annotator.public_id
    choice = {"act": "choose", "seen": 1, "candidate": "c1", "text": ""}
    assert refusal(other.send(f"{path}act/", choice)) == (409, "conflict")
    assert refusal(person.send(f"{path}act/", choice | {"act": "dance"}))[0] == 400
    assert refusal(person.send(f"{path}act/", choice | {"act": "reject"}))[0] == 422
    assert person.send(f"{path}act/", choice).json()["status"] == "running"
    assert refusal(person.send(f"{path}act/", choice)) == (409, "conflict")
    work(generation)
    done = person.get(path).json()
    assert (done["status"], done["claim"], done["candidates"], done["dialogue"] is not None) == ("done", None, [], True)
    assert [task["policy"] for task in done["tasks"]] == ["single_tool"]
    (listed,) = person.get(base).json()["results"]
    assert listed == {name: done[name] for name in listed}
    answers = b"".join(admin.get(f"{path}answers/").streaming_content).splitlines()
    assert len(answers) == done["requests"]
    assert json.loads(answers[0])["purpose"] == "first_task"
    assert refusal(person.get(f"{path}answers/"))[0] == 403


def test_administrators_pause_and_continue_and_scopes_hold(team, base, body):
    admin = ApiClient(team.administrator)
    path = f"{base}{admin.send(base, body).json()['public_id']}/"
    assert admin.send(f"{path}pause/").json()["status"] == "paused"
    assert admin.send(f"{path}continue/", {"token_budget": 5}).json()["token_budget"] == 5
    annotate = ApiClient(team.administrator, scopes=[Scope.ANNOTATE])
    assert annotate.send(f"{path}claim/").status_code == 201
    assert annotate.send(f"{path}release/").status_code == 204
    for refused in (annotate.send(f"{path}pause/"), annotate.send(base, body)):
        assert refusal(refused)[0] == 403
    assert refusal(ApiClient(team.outsider).get(path))[0] == 404


def test_models_play_the_roles_that_are_named_or_all(team, base, body):
    admin = ApiClient(team.administrator)
    endpoint = add_endpoint(
        actor=team.administrator, project=team.project, name="E", base_url="https://models.example", key=""
    )
    player = {"role": "all", "endpoint": endpoint.public_id, "model": "m-1", "temperature": 0, "input_price": "1"}
    planner = player | {"role": "planner", "model": "m-2"}
    given = {name: body[name] for name in ("toolset", "policies")}
    begun = admin.send(base, given | {"policies": ["chat", "clarify"], "players": [player, planner]}).json()
    assert begun["name"] == "ch-cl-en-1"
    models = Generation.objects.get().role_models
    assert set(models.values_list("role", "model")) == {
        ("user", "m-1"), ("planner", "m-2"), ("checker", "m-1"), ("tool", "m-1"), ("assistant", "m-1"),
    }  # fmt: skip
    for wrong, status in (
        ({"players": [player, player]}, 400), ({"policies": []}, 400), ({"policies": ["odd"]}, 400),
        ({"players": [player | {"endpoint": "none"}]}, 404), ({"toolset": "none"}, 404), ({"records": "{"}, 422),
        ({"relations": [["explicit"], ["explicit"]]}, 422), ({"name": "a\x07b"}, 422), ({"cost_budget": "1"}, 422),
    ):  # fmt: skip
        answer = admin.send(base, given | wrong)
        assert refusal(answer)[0] == status, (wrong, answer.json())


def test_a_verified_dialogue_is_continued_with_its_tools(team, base, body):
    admin = ApiClient(team.administrator)
    past = verify(team, made(team, "one", "single_tool"))
    cell = {"past": past.public_id, "policies": ["single_tool", "chat"]}
    begun = admin.send(base, cell)
    assert begun.status_code == 202, begun.json()
    found = begun.json()
    assert (found["past"], found["name"], found["language"]) == (past.public_id, "one-ch-1", "en")
    assert [task["id"] for task in found["tasks"]] == ["t1"]
    assert admin.get(base).json()["results"][-1]["past"] == past.public_id
    later = fresh(made(team, "two", "single_tool", "chat", past=past))
    for wrong, status in (
        ({"past": "none"}, 404), ({"past": ""}, 422), ({"toolset": body["toolset"]}, 422),
        ({"policies": ["chat", "chat"]}, 422), ({"policies": ["single_tool"]}, 422), ({"past": later.public_id}, 409),
    ):  # fmt: skip
        answer = admin.send(base, cell | wrong)
        assert refusal(answer)[0] == status, (wrong, answer.json())
