"""The pages of generations: started, chosen, changed, finished, counted; prompts; and who may do what."""

import json
from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotator.core.checks.registry import all_checks
from annotator.core.text import message
from annotator.models import Dialogue
from annotator.models.content import DialogueStatus
from annotator.services.jobs import jobs
from benchmark.core.generation import pipeline
from benchmark.core.generation.problems import Problem
from benchmark.core.generation.purposes import Purpose, shipped_template
from benchmark.core.generation.state import Setup
from benchmark.demo.generation_script import MODEL, TOOLS, scripted_records
from benchmark.models import Generation, PromptTemplate, Proposal
from benchmark.services.inference.endpoints import add_endpoint
from tests.factories import make_toolset
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

POLICIES = ("single_tool", "clarify")
SETUP = Setup("trip", POLICIES, (("explicit",), ("partial_information", "coreferential_reference")), TOOLS, seed=4)
#: The second answer, the planner's first, is refused.
SLIPS = {2: "I would call get_forecast."}


class Pages:
    """The pages as one person uses them; what their forms start is run at once."""

    def __init__(self, team, person=None):
        self.project, self.client = team.project, Client()
        self.client.force_login(person or team.administrator)

    def get(self, name, *arguments, **more):
        return self.client.get(reverse(name, args=[self.project.slug, *arguments]), **more)

    def post(self, name, *arguments, data):
        return self.client.post(reverse(name, args=[self.project.slug, *arguments]), data)

    def text(self, name, *arguments):
        answer = self.get(name, *arguments)
        assert answer.status_code == 200
        return unescape(one_line(answer))

    def act(self, generation, act, expected=302, **data):
        found = Generation.objects.get(pk=generation.pk)
        data = {"seen": len(found.state["events"]), "act": act} | data
        answer = self.post("generation", generation.public_id, data=data)
        assert answer.status_code == expected, answer.content.decode()
        return unescape(one_line(answer))


def work(generation):
    jobs.run(Generation.objects.get(pk=generation.pk).job_id)
    return Generation.objects.get(pk=generation.pk)


@pytest.fixture
def pages(team):
    return Pages(team)


@pytest.fixture
def form(team):
    """What the form of a new generation sends."""
    toolset = make_toolset(team.project, TOOLS, "trips").toolset
    return {
        "toolset": toolset.public_id, "name": "trip", "language": "en", "seed": 4, "chooser": "people",
        "candidates": 5, "per_relation": 3, "retries": 2, "policy_1": "single_tool", "policy_2": "clarify",
        "relations_2": list(SETUP.relations[1]),
    }  # fmt: skip


def records(setup=SETUP, slips=SLIPS):
    return SimpleUploadedFile("answers.jsonl", b"".join(one.to_line() for one in scripted_records(setup, slips)))


@pytest.fixture
def generation(pages, form):
    answer = pages.post("generation-start", data=form | {"records": records()})
    assert answer.status_code == 302, answer.content.decode()
    return work(Generation.objects.get())


def test_from_a_file_of_answers_to_a_dialogue_in_review(team, pages, generation):
    assert generation.status == "waiting"
    shown = pages.text("generation", generation.public_id)
    assert "Choose the request of task 1" in shown
    first = generation.state["candidates"][0]["text"]
    assert first in shown
    # An annotator chooses, too, and edits what they choose.
    annotator = Pages(team, team.annotators[0])
    annotator.act(generation, "choose", candidate="c1", text=first.replace("?", ", please?"))
    generation = work(generation)
    assert generation.state["stage"] == "choose"
    shown = pages.text("generation", generation.public_id)
    assert "Request chosen and edited" in shown
    assert "Not accepted" in shown
    assert "prompt version 1" in shown
    assert "recorded" in shown
    assert "I would call get_forecast." in pages.text("generation-call", generation.public_id, 2)
    assert pages.get("generation-call", generation.public_id, 99).status_code == 404
    pages.act(generation, "choose", candidate="c1", text=generation.state["candidates"][0]["text"])
    generation = work(generation)
    assert generation.status == "done", generation.reason
    dialogue = generation.dialogue
    assert f'href="{dialogue.get_absolute_url()}"' in pages.text("generation", generation.public_id)
    assert reverse("generation", args=[team.project.slug, generation.public_id]) in pages.text(
        "dialogue", dialogue.public_id
    )
    assert [one["by"] for one in generation.state["provenance"] if one["place"] == "/tasks/t1/user_message"] == [
        "person"
    ]
    # The same file and choices give the same dialogue; its own records are that file.
    lines = b"".join(pages.get("generation-records", generation.public_id).streaming_content).splitlines()
    assert len(lines) == generation.requests
    assert json.loads(lines[0])["purpose"] == "first_task"
    figures = pages.text("generation-figures")
    counts = Proposal.objects.filter(outcome="edited", decided_by=team.annotators[0])
    assert [(one.role, one.model, one.relation) for one in counts] == [("user", MODEL, "explicit")]
    assert "Accuracy of generated candidates" in figures
    Dialogue.objects.filter(pk=dialogue.pk).update(status=DialogueStatus.VERIFIED)
    row = pages.get("generation-figures").context["figures"].accuracy[0]
    assert (row["unchanged"], row["changed"], row["rejected"], row["percent"]) == (1, 0, 0, 100)
    planner = next(
        one for one in pages.get("generation-figures").context["figures"].answers if one["role"] == "planner"
    )
    # Plans: get_forecast, finish, ask, get_forecast, finish; and one that was prose.
    assert (planner["accepted"], planner["refused"], planner["first"]) == (5, 1, 4)


def test_people_reject_write_change_and_go_back(team, pages, generation):
    assert "Say why" in pages.act(generation, "reject", 422, reason=" ")
    pages.act(generation, "reject", reason="Name the city first.")
    # The file has no second set of requests, so that a person writes one.
    generation = work(generation)
    assert generation.status == "paused"
    assert "There is no recorded answer to request" in pages.text("generation", generation.public_id)
    assert [one["total"] for one in pages.get("generation-figures").context["figures"].rejections] == [3]
    assert "Write in English" in pages.act(generation, "write", 422, text="今天格拉茨的天气怎么样？需要带伞吗？")
    pages.act(generation, "write", text="What will the weather be like in Graz on Friday?")
    generation = work(generation)
    assert generation.state["tasks"][0]["user_message"].endswith("Graz on Friday?")
    # What the recorded planner wanted is for another city: a person goes back and changes it.
    number = next(place for place, one in enumerate(generation.state["events"]) if '"action"' in one.get("text", ""))
    pages.act(generation, "back", events=number)
    generation.refresh_from_db()
    assert len(generation.state["events"]) == number
    plan = {"action": "call", "calls": [{"name": "get_forecast", "arguments": {"city": "Graz", "day": "Friday"}}]}
    pages.act(generation, "write", text=json.dumps(plan))
    generation = Generation.objects.get(pk=generation.pk)
    assert generation.state["stage"] == "observe"
    wrong = plan | {"calls": [{"name": "sail", "arguments": {}}]}
    pages.act(generation, "stop")
    assert "sail" in pages.act(generation, "plan", 422, text=json.dumps(wrong))
    plan["calls"][0]["arguments"]["day"] = "Monday"
    pages.act(generation, "plan", text=json.dumps(plan))
    generation.refresh_from_db()
    assert generation.state["tasks"][0]["steps"][0]["arguments"]["day"] == "Monday"
    assert "Models are being asked" in pages.act(generation, "write", 409, text="Hello")
    pages.act(generation, "stop")
    assert "has gone on since you loaded it" in pages.act(generation, "write", 409, seen=0, text="Hello")
    assert pages.act(generation, "dance", 422)


def test_what_was_gone_back_over_is_not_counted(team, pages, generation):
    annotator = Pages(team, team.annotators[0])
    text = generation.state["candidates"][0]["text"]
    annotator.act(generation, "choose", candidate="c1", text=text)
    pages.act(generation, "stop")
    pages.act(generation, "back", events=1)
    pages.act(generation, "release")
    # The administrator's pause lasts.
    annotator.act(generation, "choose", candidate="c1", text=text)
    generation.refresh_from_db()
    assert (generation.status, generation.state["stage"]) == ("paused", "plan")
    assert Proposal.objects.filter(outcome="chosen").count() == 2
    counts = pages.get("generation-figures").context["figures"].candidates
    assert [(one["chosen"], one["total"]) for one in counts] == [
        (1, len(generation.state["tasks"][0]["candidate_messages"]))
    ]


def test_a_generation_of_a_known_answer_is_hidden_from_those_tested(team, pages, form):
    pages.post("generation-start", data=form | {"chooser": "first", "records": records()})
    generation = work(Generation.objects.get())
    annotator = Pages(team, team.annotators[0])
    pages_of = [
        ("generation-list",),
        ("generation", generation.public_id),
        ("generation-call", generation.public_id, 2),
    ]
    assert [annotator.get(*one).status_code for one in pages_of] == [200] * 3
    Dialogue.objects.filter(pk=generation.dialogue_id).update(gold_role="answer")
    assert [annotator.get(*one).status_code for one in pages_of] == [200, 404, 404]
    assert "trip" not in annotator.text("generation-list").partition("<main")[2]
    assert annotator.get("generation-list").context["cells"] == []
    assert [pages.get(*one).status_code for one in pages_of] == [200] * 3


def test_other_check_settings_leave_what_happened(team, pages, generation, monkeypatch):
    pages.act(generation, "choose", candidate="c1", text=generation.state["candidates"][0]["text"])
    generation = work(generation)
    team.project.check_settings = {one.id: "error" for one in all_checks()}
    team.project.save()
    assert "Request chosen" in pages.text("generation", generation.public_id)
    # Neither does another version of a check leave a page that can't be shown.
    monkeypatch.setattr(pipeline, "read_candidates", lambda *given, **more: Problem("new", message("New rule.")))
    shown = pages.text("generation", generation.public_id)
    assert "Request chosen" in shown
    assert "I would call get_forecast." in shown
    assert pages.act(generation, "back", 422, events=len(generation.state["events"]) - 1)


def test_a_model_of_one_role_is_at_the_endpoint_of_all(team, pages, form):
    endpoint = add_endpoint(
        actor=team.administrator, project=team.project, name="A", base_url="https://models.example.org/v1", key=""
    )
    prices = {"all_input_price": "1", "all_output_price": "2", "planner_input_price": "0"}
    form |= {"all_endpoint": endpoint.public_id, "all_model": "small", "planner_model": "large", "cost_budget": "1"}
    assert "needs the prices" in unescape(pages.post("generation-start", data=form).content.decode())
    assert pages.post("generation-start", data=form | prices).status_code == 302
    generation = Generation.objects.get()
    players = {one.role: one for one in generation.role_models.all()}
    assert (players["planner"].model, players["user"].model) == ("large", "small")
    assert (players["planner"].input_price, players["planner"].output_price) == (0, 2)
    pages.act(generation, "stop")
    generation.role_models.filter(role="user").update(input_price=0, output_price=0)
    assert "needs the prices" in pages.act(generation, "continue", 422, cost_budget="2")


def test_a_running_generation_is_polled_and_stops_polling(pages, form):
    pages.post("generation-start", data=form | {"records": records()})
    generation = Generation.objects.get()
    assert 'hx-trigger="every 2s"' in pages.text("generation", generation.public_id)
    poll = {"headers": {"HX-Request": "true", "HX-Target": "generation-state"}}
    part = pages.get("generation", generation.public_id, **poll)
    assert part.status_code == 200
    assert "<h1>" not in part.content.decode()
    work(generation)
    assert pages.get("generation", generation.public_id, **poll).headers["HX-Refresh"] == "true"
    assert "hx-trigger" not in pages.text("generation", generation.public_id).partition("<main")[2]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"policy_2": "", "policy_3": "chat"}, "Choose a policy, because there is a later task."),
        ({"relations_2": []}, "Choose at least one relation."),
        ({"relations_2": ["long_range_dependency"]}, "A long-range dependency needs two tasks before it."),
        ({"planner_model": "m"}, "Choose the endpoint of this model."),
        ({"policy_1": "dance"}, "Select a valid choice."),
        ({"retries": 99}, "Enter a whole number from 0 to 10."),
        ({"all_endpoint": "nowhere"}, "Select a valid choice."),
        ({"cost_budget": "1"}, "A limit on the cost needs the prices of the tokens."),
        ({"records": SimpleUploadedFile("a.jsonl", b'{"answer": 1}')}, "Line 1 of the recorded answers"),
        ({"records": SimpleUploadedFile("a.jsonl", b"\n")}, "The file has no recorded answers."),
    ],
)
def test_a_wrong_form_says_what_is_wrong(pages, form, change, sentence):
    answer = pages.post("generation-start", data=form | change)
    assert answer.status_code == 422
    assert sentence in unescape(answer.content.decode())
    assert not Generation.objects.exists()


def test_a_gap_of_the_coverage_fills_in_the_form(pages, form):
    shown = pages.get("generation-start", data={"cell": "chat,multi_tool"})
    assert [shown.context["form"][f"policy_{number}"].value() for number in (1, 2, 3)] == ["chat", "multi_tool", None]
    assert pages.get("generation-start", data={"cell": "chat,dance"}).status_code == 400
    assert pages.get("generation-start", data={"cell": "chat,chat,chat,chat,chat"}).status_code == 400


def test_people_can_play_all_roles(pages, form):
    pages.post("generation-start", data=form | {"policy_1": "chat", "policy_2": ""})
    generation = work(Generation.objects.get())
    assert (generation.status, generation.name) == ("waiting", "trip")
    for text in ("How do I plan a day in a new city?", '{"action": "finish"}', "Walk, and leave time for lunch."):
        pages.act(generation, "write", text=text)
        generation = work(generation)
    assert generation.status == "done"
    assert generation.requests == 0


def test_the_list_is_filtered(pages, generation):
    assert [row.name for row, *_ in pages.get("generation-list").context["rows"]] == ["trip"]
    listed = pages.get("generation-list", data={"status": "waiting", "cell": "single_tool,clarify"})
    assert "Single-tool → Clarify" in listed.content.decode()
    assert pages.get("generation-list", data={"status": "done"}).context["rows"] == []
    assert pages.get("generation-list", data={"cell": "chat"}).status_code == 400


def test_prompts_are_previewed_saved_and_compared(team, pages):
    assert "First requests" in pages.text("prompt-list")
    content = shipped_template(Purpose.QUESTION)
    preview = pages.post("prompt", "question", data={"content": content, "preview": ""})
    assert preview.status_code == 200
    assert preview.context["preview"]
    assert pages.post("prompt", "question", data={"content": content + "\nBe brief.", "save": ""}).status_code == 302
    assert PromptTemplate.objects.get(project=team.project, purpose="question", number=2).author == team.administrator
    assert "Be brief." in pages.text("prompt", "question")
    assert pages.get("prompt", "question", data={"version": "1"}).context["chosen"].number == 1
    for wrong, sentence in (
        ("Hello\n{% if %}", "Line 2:"),
        ("{{ language.__class__ }}", "can’t be read"),
        ("{{ secret }}", "There is no value “secret”."),
    ):
        refused = pages.post("prompt", "question", data={"content": wrong, "save": ""})
        assert refused.status_code == 422
        assert sentence in unescape(refused.content.decode())
    assert pages.get("prompt", "poem").status_code == 404


def test_annotators_work_in_generations_but_do_not_start_them(team, generation):
    annotator, outsider = Pages(team, team.annotators[0]), Pages(team, team.outsider)
    assert annotator.get("generation-list").status_code == 200
    assert annotator.get("generation", generation.public_id).status_code == 200
    for name in ("generation-start", "generation-figures", "prompt-list"):
        assert annotator.get(name).status_code == 403
        assert outsider.get(name).status_code == 404
    assert annotator.get("generation-records", generation.public_id).status_code == 403
    annotator.act(generation, "continue", 403)
    assert outsider.get("generation", generation.public_id).status_code == 404
