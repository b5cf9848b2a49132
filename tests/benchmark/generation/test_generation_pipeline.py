"""The steps of one dialogue: all cells, retries, people in every place, and the same bytes for the same answers."""

import json
from collections import Counter

import pytest

from annotator.core.checks import run_checks
from annotator.core.schema import canonical
from benchmark.core.generation.cells import POLICIES, all_cells, draw_relations
from benchmark.core.generation.pipeline import (
    advance,
    back_to,
    begin,
    choose,
    finished_document,
    reject,
    replay,
    retry,
)
from benchmark.core.generation.state import Setup, Source, State, Unusable
from benchmark.core.generation.turns import draw_focus, waits_for
from benchmark.demo.generation_script import TOOLS, scripted_records
from tests.benchmark.generation.conftest import make_setup, play

MODEL, PERSON = Source("model", "m", "hash", 1), Source("person", who="ada")


def plan(*calls, **more):
    return json.dumps({"action": "call", "calls": [{"name": name, "arguments": a, **more} for name, a in calls]})


FORECAST = ("get_forecast", {"city": "Ghent", "day": "Monday"})


def test_the_cells_are_all_sequences_of_up_to_four_policies():
    cells = all_cells()
    assert Counter(map(len, cells)) == {1: 4, 2: 16, 3: 64, 4: 256}
    assert len(set(cells)) == 340
    for seed in range(20):
        relations = draw_relations(("chat",) * 4, seed)
        assert relations[0] == ("explicit",)
        assert "long_range_dependency" not in relations[1]
    assert {one[0] for seed in range(50) for one in draw_relations(("chat",) * 4, seed)[2:]} == {
        "partial_information", "coreferential_reference", "long_range_dependency"
    }  # fmt: skip


def test_scripted_roles_fill_all_cells_twice_with_the_same_bytes():
    for cell in all_cells():
        setup = make_setup(*cell)
        first, second = play(begin(setup)), play(begin(setup))
        document = finished_document(first)
        assert [task["policy"] for task in document["tasks"]] == list(cell)
        assert [task["information"] for task in document["tasks"]] == [one[0] for one in setup.relations]
        assert not [one for one in run_checks(document, setup.toolset, stage="submit") if one.severity != "info"]
        assert canonical(document) == canonical(finished_document(second))
        assert canonical(first.to_json()) == canonical(second.to_json())


def test_a_state_goes_on_from_its_json_and_from_its_events():
    setup = make_setup("multi_tool", "clarify")
    whole = play(begin(setup))
    assert canonical(replay(setup, whole.events).to_json()) == canonical(whole.to_json())
    for events in range(len(whole.events)):
        part = replay(setup, whole.events[:events])
        stored = State.from_json(json.loads(canonical(part.to_json())), setup)
        assert canonical(play(stored).to_json()) == canonical(whole.to_json())
    again = back_to(whole, 3)
    assert (len(again.events), again.answers) == (3, whole.answers)


def test_each_part_says_where_it_is_from():
    state = play(begin(make_setup("multi_tool")))
    assert [(one["place"], one["role"]) for one in state.provenance] == [
        ("/tasks/t1/candidate_messages", "user"), ("/tasks/t1/user_message", "user"),
        ("/tasks/t1/steps/s1", "planner"), ("/tasks/t1/steps/s1", "checker"),
        ("/tasks/t1/steps/s1/observation", "tool"),
        ("/tasks/t1/steps/s2", "planner"), ("/tasks/t1/steps/s2", "checker"),
        ("/tasks/t1/steps/s2/observation", "tool"),
        ("/tasks/t1/steps/s3", "planner"), ("/tasks/t1/steps/s3", "checker"),
        ("/tasks/t1/steps/s3/text", "assistant"),
    ]  # fmt: skip
    # Calls 1 to 10: the candidates are one answer, which the message is from, too.
    assert [one["call"] for one in state.provenance] == [1, 1, *range(2, 11)]
    assert {(one["by"], one["model"], one["prompt"]) for one in state.provenance} == {
        ("model", "scripted-roles", "prompt")
    }


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("I'd look it up.", "no JSON"),
        (plan(("getForecast", {})), "Is it get_forecast?"),
        (plan(("get_forecast", {"city": "Ghent"})), "day"),
        (plan(("get_forecast", {"city": "Atlantis", "day": "Monday"})), "does not appear earlier"),
        (plan(FORECAST, FORECAST), "exactly one call"),
        (plan(FORECAST, uses=["s7"]), "no finished step “s7”"),
        ('{"action": "finish"}', "exactly one call"),
        ('{"action": "ask", "missing": "the city"}', "exactly one call"),
    ],
)
def test_a_plan_is_refused_with_its_reasons_until_no_retry_is_left(planning, answer, says):
    state = planning
    for refused in range(1, state.setup.retries + 1):
        state = advance(state, answer, MODEL)
        values = waits_for(state).values
        assert (state.stage, state.tried, state.stuck) == ("plan", refused, False)
        assert any(says in one for one in values["problems"])
        assert values["refused"] == answer
    if "Atlantis" in answer:
        # Only a warning: the last retry lets it pass, and reviewers see it.
        assert advance(state, answer, MODEL).stage == "judge"
        return
    state = advance(state, answer, MODEL)
    assert state.stuck
    assert waits_for(state).purpose is None
    assert says in state.problems[0].english
    assert not retry(state, PERSON).stuck


def test_the_checker_sends_a_plan_back(planning):
    good = play(planning, lambda state: state.stage == "judge")
    again = advance(good, '{"correct": false, "reason": "The wrong day."}', MODEL)
    assert (again.stage, again.tried) == ("plan", 1)
    assert [one.english for one in again.problems] == ["The checker says: The wrong day."]
    unread = advance(good, "Fine by me!", MODEL)
    assert (unread.stage, unread.tried, unread.stuck) == ("judge", 1, False)
    assert play(unread).stage == play(again).stage == "done"
    # A person approves with an empty text, and says what is wrong otherwise.
    assert advance(good, "", PERSON).stage == "observe"
    assert advance(good, "Another day.", PERSON).problems[0].english == "The checker says: Another day."


def test_people_choose_edit_and_reject():
    state = play(begin(make_setup()), lambda state: state.stage == "choose")
    assert len(state.candidates) == 3
    with pytest.raises(Unusable, match="no candidate “c9”"):
        choose(state, "c9", PERSON)
    other = reject(state, "All of them are dull.", PERSON)
    assert other.stage == "propose"
    assert "All of them are dull." in waits_for(other).values["problems"][0]
    edited = choose(state, "c2", PERSON, "What will Ghent be like on Monday?")
    task = edited.tasks[0]
    assert (task["user_message"], task["chosen"]) == ("What will Ghent be like on Monday?", "c2")
    assert edited.provenance[-1] == {
        "place": "/tasks/t1/user_message", "role": "user", "by": "person", "who": "ada"
    }  # fmt: skip
    own = advance(state, "Tell me about Monday in Ghent.", PERSON)
    assert (own.stage, own.tasks[0]["chosen"]) == ("plan", None)
    with pytest.raises(Unusable, match="Write in English"):
        advance(state, "请告诉我根特星期一的天气情况。", PERSON)


def test_people_write_any_answer():
    state = advance(begin(make_setup("clarify")), "What will the weather be in Ghent?", PERSON)
    with pytest.raises(Unusable, match="question back"):
        advance(state, plan(("get_forecast", {"city": "Ghent", "day": "Monday"})), PERSON)
    texts = [
        '{"action": "ask", "missing": "the day"}', "On which day?", "On Monday.",
        plan(("get_forecast", {"city": "Ghent", "day": "Monday"}), uses=["s1"]),
        '{"results": [{"sky": "clear", "degrees": 20}]}', '{"action": "finish"}', "Clear, 20 degrees.",
    ]  # fmt: skip
    for text in texts:
        state = advance(state, text, PERSON)
    assert state.stage == "done"
    assert state.answers == 0
    assert {one["by"] for one in state.provenance} == {"person"}
    steps = finished_document(state)["tasks"][0]["steps"]
    assert [step["type"] for step in steps] == ["clarification", "call", "answer"]
    assert steps[1]["depends_on"] == [{"id": "s1", "kind": "parameter"}]


def test_another_language_and_what_cannot_be_generated():
    setup = make_setup(language="zh")
    assert waits_for(begin(setup)).values["language"] == "Chinese"
    assert draw_focus(setup, 0) == draw_focus(setup, 0)
    for wrong, says in (
        ({"policies": ()}, "1 to 4 policies"),
        ({"policies": ("dance",)}, "The policies are"),
        ({"relations": ()}, "information types"),
        ({"relations": (("partial_information",),)}, "first task is explicit"),
        ({"language": "fr"}, "en or zh"),
        ({"retries": 99}, "0 to 10 retries"),
        ({"tools": []}, "no functions"),
    ):
        with pytest.raises(ValueError, match=says):
            Setup(**{"name": "x", "policies": ("chat",), "relations": (("explicit",),), "tools": TOOLS} | wrong)
    assert set(POLICIES) == {"single_tool", "multi_tool", "clarify", "chat"}


def test_recorded_answers_have_the_requests_of_the_shipped_templates():
    records = list(scripted_records(make_setup("chat", "single_tool")))
    assert [one.number for one in records] == list(range(1, len(records) + 1))
    assert len({one.request for one in records}) == len(records)
