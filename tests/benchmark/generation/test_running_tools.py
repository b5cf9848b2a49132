"""Functions with code run in a generation: their state, their errors, and what cannot be run."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from annotator.core.sandbox import SandboxUnavailable
from annotator.core.schema.toolsets import CompiledToolset
from annotator.models import Dialogue, Event
from annotator.services.jobs import jobs
from annotator.services.toolsets.storing import ensure_toolset_revision
from annotator.translation import translated
from benchmark.core.generation.pipeline import advance, begin
from benchmark.core.generation.records import Recorded
from benchmark.core.generation.state import Setup, Source, Unusable
from benchmark.models import Chooser, Generation, ModelCall, Proposal
from benchmark.services.generation import running_tools
from benchmark.services.generation.people import go_back, write_answer
from benchmark.services.generation.reading import read_state
from benchmark.services.generation.recordings import start_from_records
from benchmark.services.generation.requests import continue_generation
from tests.factories import make_team

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]

SOURCE = """
import random


class Shelf:
    def __init__(self):
        self.items = []

    def load(self, state):
        self.items = list(state)

    def put(self, item):
        if item in self.items:
            raise ValueError(f"{item} is there already")
        self.items.append(item)
        return None if item == "dust" else {"count": len(self.items), "drawn": random.randint(1, 1000)}

    def wait(self, item):
        while True:
            pass

    def measure(self, item):
        return "x" * 50_000
"""


def function(name, **more):
    parameters = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters, **more}}


#: ``label`` has no code; what ``put`` says about its response is wrong.
TOOLS = [
    function("put", response={"type": "string"}), function("wait"), function("measure"), function("label")
]  # fmt: skip


@pytest.fixture
def team():
    return make_team(annotators=1)


def call(*pairs):
    calls = [{"name": name, "arguments": {"item": item}} for name, item in pairs]
    return ("actions", json.dumps({"action": "call", "calls": calls}))


RIGHT = ("verdict", '{"correct": true}')
FINISH = ("actions", '{"action": "finish"}')
ANSWER = ("answer", "There are three things on the shelf now.")


def start(team, name, *answers, source=SOURCE, run=True, **setup):
    toolset = ensure_toolset_revision(
        actor=None, project=team.project, tools=TOOLS, name="Shelf",
        implementation={"source": source, "class": "Shelf", "load": "load"},
    )  # fmt: skip
    records = [Recorded(name, number, "", text, purpose, "m") for number, (purpose, text) in enumerate(answers, 1)]
    given = {
        "name": name, "policies": ["any"], "relations": [["explicit"]],
        "request": "Put a lamp, a vase, a book and some dust there.", "initial_state": ["book"], **setup,
    }  # fmt: skip
    made = start_from_records(
        actor=team.administrator, records=records, wake_worker=False, project=team.project, toolset=toolset,
        setup=given, chooser=Chooser.FIRST,
    )  # fmt: skip
    return work(made) if run else made


def work(generation):
    jobs.run(Generation.objects.get(pk=generation.pk).job_id)
    return Generation.objects.select_related("project", "toolset_revision", "dialogue").get(pk=generation.pk)


def results(state):
    return [step["observation"] for task in state.tasks for step in task["steps"] if step["type"] == "call"]


def test_stateful_functions_run_and_others_are_simulated(team):
    simulated = ("observations", '{"results": ["labelled"]}')
    answers = (call(("put", "lamp"), ("label", "lamp")), RIGHT, simulated, call(("put", "vase")), RIGHT)
    answers += (call(("put", "book"), ("put", "dust")), RIGHT, FINISH, RIGHT, ANSWER)
    first, second = (start(team, f"shelf-{number}", *answers) for number in (1, 2))
    assert first.status == "done", translated(first.reason)
    state = read_state(first)
    lamp, label, vase, book, dust = results(state)
    assert (lamp["count"], label, vase["count"]) == (2, "labelled", 3)
    assert book == {"error": "ValueError: book is there already"}
    assert dust == "None"
    # No request, no money, no choice; the same bytes again.
    assert first.requests == first.calls.count() == len(answers)
    assert set(first.calls.values_list("purpose", flat=True)) == {"actions", "verdict", "observations", "answer"}
    assert first.dialogue.head.document() == second.dialogue.head.document()
    assert read_state(second).tasks == state.tasks
    # The policy is that of what was done, and the history says who wrote what.
    assert first.dialogue.head.document()["tasks"][0]["policy"] == "multi_tool"
    provenance = Event.objects.get(dialogue=first.dialogue, kind="dialogue.generated").after["provenance"]
    by = {one["place"]: one["by"] for one in provenance}
    assert by["/tasks/t1/steps/s1/observation"] == "program"
    assert by["/tasks/t1/steps/s2/observation"] == "model"
    # What a program returned is nobody's proposal.
    assert Proposal.objects.filter(generation=first, purpose="observations").count() == 1
    client = Client()
    client.force_login(team.administrator)
    page = client.get(reverse("generation", args=[team.project.slug, first.public_id]))
    assert page.status_code == 200


def test_simulating_can_be_chosen(team):
    simulated = ("observations", '{"results": ["put there"]}')
    answers = (call(("put", "lamp")), RIGHT, simulated, FINISH, RIGHT, ANSWER)
    generation = start(team, "shelf", *answers, run_tools=False)
    assert generation.status == "done", translated(generation.reason)
    assert results(read_state(generation)) == ["put there"]


@pytest.mark.parametrize(
    ("name", "source", "why"),
    [
        ("wait", SOURCE, "The call of wait could not be run. The code exceeded the"),
        ("measure", SOURCE, "must not be null or have more than 40,000 characters"),
        ("put", SOURCE.replace("random.randint(1, 1000)", "list({str(n) for n in range(40)})"), "something else"),
        ("put", SOURCE.replace("list(state)", "state.items"), "could not be loaded with this initial state"),
        ("put", SOURCE.replace("import random", "import nowhere"), "imports a module that is not available"),
    ],
)
def test_what_cannot_be_run_pauses_until_a_person_writes_the_result(team, name, source, why):
    generation = start(team, "shelf", call((name, "lamp")), RIGHT, FINISH, RIGHT, ANSWER, source=source)
    assert generation.status == "paused"
    assert why in translated(generation.reason)
    asked = generation.requests
    continue_generation(actor=team.administrator, generation=generation, wake_worker=False)
    assert work(generation).status == "paused"
    assert work(generation).requests == asked
    write_answer(actor=team.administrator, generation=generation, text='{"results": ["one"]}')
    assert work(generation).status == "done"


def test_a_sandbox_that_is_not_there_pauses_and_is_tried_again(team, monkeypatch):
    def gone(trajectory, twice):
        raise SandboxUnavailable("No seccomp.")

    with monkeypatch.context() as patch:
        patch.setattr(running_tools, "_run_in_sandbox", gone)
        generation = start(team, "shelf", call(("put", "lamp")), RIGHT, FINISH, RIGHT, ANSWER)
    assert (generation.status, translated(generation.reason)) == (
        "paused", "The code couldn’t be run. No seccomp."
    )  # fmt: skip
    continue_generation(actor=team.administrator, generation=generation, wake_worker=False)
    assert work(generation).status == "done"


def test_going_back_drops_results_and_the_state_behind_them(team):
    answers = (call(("put", "lamp")), RIGHT, call(("put", "vase")), RIGHT, call(("put", "book")), RIGHT)
    generation = start(team, "shelf", *answers)
    state = read_state(generation)
    assert [one.get("count") for one in results(state)] == [2, 3, None]
    assert generation.status == "paused"
    assert state.stage == "plan"
    generation = go_back(actor=team.administrator, generation=generation, events=5)
    assert [one and one["count"] for one in results(read_state(generation))] == [2, None]
    # The same plan again, by a person: the vase is not there yet, because its call is dropped.
    generation = go_back(actor=team.administrator, generation=generation, events=3)
    write_answer(actor=team.administrator, generation=generation, text=call(("put", "vase"))[1])
    again = results(read_state(work(generation)))
    assert [one["count"] for one in again] == [2, 3]
    assert again == results(state)[:2]


def test_a_result_of_another_state_is_dropped(team, monkeypatch):
    generation = start(team, "shelf", call(("put", "lamp")), RIGHT, FINISH, RIGHT, ANSWER, run=False)
    original = running_tools.ToolRun.run

    def slow(run):
        Generation.objects.filter(pk=generation.pk).update(status="paused")
        return original(run)

    monkeypatch.setattr(running_tools.ToolRun, "run", slow)
    paused = work(generation)
    assert paused.status == "paused"
    assert results(read_state(paused)) == [None]
    assert ModelCall.objects.filter(generation=generation).count() == 2


def test_a_given_request_needs_no_proposals():
    tools = CompiledToolset.of_tools(TOOLS)
    setup = Setup("one", ("any",), (("explicit",),), TOOLS, request="  Put a lamp there. ")
    state = begin(setup)
    assert (state.stage, state.tasks[0]["user_message"], state.task) == ("plan", "Put a lamp there.", 0)
    assert state.provenance == [{"place": "/tasks/t1/user_message", "role": "user", "by": "program"}]
    assert Setup.from_json(setup.to_json(), TOOLS) == setup
    assert tools.names
    with pytest.raises(Unusable, match="Write in English"):
        Setup("one", ("any",), (("explicit",),), TOOLS, request="请把灯放在那里，谢谢你的帮助。")
    # Whatever is done fits; limits stay.
    asked = advance(state, '{"action": "ask", "missing": "the place"}', Source("person"))
    assert asked.stage == "ask"
    assert advance(state, FINISH[1], Source("person")).stage == "answer"


def test_the_form_takes_a_request_and_a_state(team):
    toolset = ensure_toolset_revision(
        actor=None, project=team.project, tools=TOOLS, name="Shelf",
        implementation={"source": SOURCE, "class": "Shelf", "load": "load"},
    ).toolset  # fmt: skip
    client = Client()
    client.force_login(team.administrator)
    url = reverse("generation-start", args=[team.project.slug])
    asked = {
        "toolset": toolset.public_id, "name": "shelf", "language": "en", "seed": "1", "policy_1": "single_tool",
        "chooser": "people", "candidates": "5", "per_relation": "3", "retries": "2", "run_tools": "on",
        "request": "Put a lamp there.", "initial_state": "[“book”]",
    }  # fmt: skip
    answer = client.post(url, asked)
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "This is not JSON (line 1, column 2: Expecting value). Texts and keys need straight double quotes." in page
    assert client.post(url, asked | {"initial_state": '["book"]'}).status_code == 302
    generation = Generation.objects.get(project=team.project)
    assert (generation.setup["run_tools"], generation.setup["initial_state"]) == (True, ["book"])
    assert work(generation).status == "waiting"
    for text in (call(("put", "lamp"))[1], FINISH[1], ANSWER[1]):
        write_answer(actor=team.administrator, generation=generation, text=text)
        generation = work(generation)
    assert generation.status == "done"
    assert results(read_state(generation))[0]["count"] == 2
    assert Dialogue.objects.filter(project=team.project).count() == 1
