"""A trajectory run through code: what runs, what the model gets, what ticks off, the result at the end."""

import json
from typing import Any

import pytest

from annotator.core.constraints.execution import MAX_LENGTH, Came, Returned, Solved, run_trajectory
from annotator.core.constraints.replay import Ending, Status
from annotator.core.constraints.solving import UnsolvedSet, text_of, yields
from annotator.core.constraints.trajectory_parser import MAX_CALLS, read_trajectory
from annotator.core.schema import SchemaProblem
from annotator.presentation.replay import present_run
from tests.annotator.case_documents import TOOLSET, call, case, constraint, with_constraint

FINAL = "The Gull leaves Norhavn at 21:40."


class Code:
    """Code that answers as it is told to, and what it was asked."""

    def __init__(self, **results: Any) -> None:
        self.results = {"find_ferry": {"ferry": "Gull"}, "read_timetable": {"last": "21:40"}} | results
        self.asked: list[tuple[str, Any]] = []

    def call_tool(self, name: str, arguments: Any) -> Returned:
        self.asked.append((name, arguments))
        result = self.results[name]
        return result if isinstance(result, Returned) else Returned("ok", result)

    def judge(self, position: int, responses: Any) -> list[Returned]:
        if "judge" in self.results:
            return [self.results["judge"] for _ in responses]
        return [Returned("ok", response.endswith("."), "End it with a full stop.") for response in responses]


def run(document: Any, *rounds: Any, **results: Any) -> tuple[dict[str, Any], Code]:
    code = Code(**results)
    trajectory = list(rounds) or document["reference_trajectory"]
    return run_trajectory(document, trajectory, toolset=TOOLSET, runner=code), code


def statuses(done: dict[str, Any]) -> list[Status]:
    return [one["status"] for one in done["constraints"]]


def statuses_by_round(done: dict[str, Any], position: int) -> list[Status]:
    """Return a constraint's status after each round; the record has only those that changed."""
    out: list[Status] = []
    for each in done["rounds"]:
        changed = each["constraint_states"].get(str(position))
        out.append(changed[0] if changed else out[-1])
    return out


def calls(*made: Any) -> dict[str, Any]:
    return {"calls": list(made), "final": None}


def final(text: str) -> dict[str, Any]:
    return {"calls": [], "final": text}


FERRY = call("s1", "find_ferry", harbour="Norhavn")
TIMES = call("s2", "read_timetable", ferry="Gull")


# --- results and the unsolved set -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [("Gull", "Gull"), ({"a": "é"}, '{"a": "é"}'), ([1, 2], "[1, 2]"), (True, "True"), (None, "None"), (4.5, "4.5")],
)
def test_a_result_is_read_as_the_published_code_reads_it(value: Any, text: str) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("result", "expected", "holds"),
    [
        ("The GULL, of 1,200 tons", "gull", True),
        ("The GULL, of 1,200 tons", "1200", True),
        ("The GULL, of 1200 tons", "gull, 1,200 tons", True),
        ("The Gull", "Gull, Tern", False),
        ("", "Gull", False),
    ],
)
def test_a_result_yields_a_text_whatever_the_case_and_commas(result: str, expected: str, holds: bool) -> None:
    assert yields(result, expected) is holds


def test_one_result_ticks_off_one_text_of_its_tool() -> None:
    unsolved = UnsolvedSet({"find": ["a", "b"], "other": ["a"]})
    assert unsolved.tick("find", "a and b", round_=0, call=0) == 0
    assert (unsolved.solved, unsolved.tick("find", "a", round_=1, call=0)) == (False, None)
    assert unsolved.tick("find", "b", round_=1, call=1) == 1
    assert unsolved.tick("other", "a", round_=2, call=0) == 2
    assert unsolved.solved is True
    assert [(one.round, one.call) for one in unsolved.texts] == [(0, 0), (1, 1), (2, 0)]
    assert (UnsolvedSet(None).solved, UnsolvedSet({}).solved) == (None, True)


# --- runs -------------------------------------------------------------------------------------------------------------


def test_the_reference_runs_and_everything_is_kept() -> None:
    done, code = run(case())
    assert code.asked == [("find_ferry", {"harbour": "Norhavn"}), ("read_timetable", {"ferry": "Gull"})]
    assert [(one["came"], one["ticked"], one["differs"]) for each in done["rounds"] for one in each["calls"]] == [
        (Came.RAN, 0, False),
        (Came.RAN, 1, False),
    ]
    assert (done["solved"], done["ending"]) == (Solved.PERFECTLY, Ending.ANSWERED)
    assert (done["found"], done["answer_held"]) == (True, True)
    # The validator ran, and the tools' own three constraints are listed next to the case's five.
    assert statuses(done) == [Status.SATISFIED] * 8
    assert done["rounds"][-1]["accepted"]
    assert done["rounds"][0]["limits"]["calls"] == 3


def test_what_a_constraint_refuses_does_not_run_and_its_feedback_is_what_the_model_gets() -> None:
    done, code = run(case(), calls(TIMES), calls(FERRY), calls(TIMES), final(FINAL))
    refused = done["rounds"][0]["calls"][0]
    assert [name for name, _ in code.asked] == ["find_ferry", "read_timetable"]
    assert (refused["came"], refused["consequence"], refused["ticked"]) == (Came.REFUSED, "rejected", None)
    assert "find_ferry" in refused["received"]
    assert done["rounds"][0]["fresh"] == [1]
    assert statuses_by_round(done, 1) == [
        Status.UNSATISFIED,
        Status.UNSATISFIED,
        Status.SOFT_SATISFIED,
        Status.SOFT_SATISFIED,
    ]
    assert done["solved"] is Solved.REPAIRED


def test_calls_past_a_count_are_ignored_and_a_tool_without_calls_left_is_disabled() -> None:
    done, code = run(case(), calls(*[FERRY] * 6), final(FINAL))
    assert [one["came"] for one in done["rounds"][0]["calls"]] == [Came.RAN] * 4 + [Came.REFUSED] * 2
    assert done["rounds"][0]["calls"][4]["consequence"] == "ignored"
    assert len(code.asked) == 4
    once = {"max_calls_per_tool": {"find_ferry": 1}}
    per_tool = [*case()["constraints"], constraint("c9", "resource", "specific tool call count", None, parameters=once)]
    done, _ = run(case(constraints=per_tool), calls(FERRY), calls(FERRY))
    assert done["rounds"][1]["calls"][0]["consequence"] == "disabled"
    assert done["rounds"][0]["limits"]["per_tool"] == {"find_ferry": 0}


def test_a_call_that_breaks_the_tools_schemas_fails_without_running() -> None:
    done, code = run(case(), calls(call("s1", "find_ferry"), call("s2", "sail")), final(FINAL))
    assert code.asked == []
    assert [one["consequence"] for one in done["rounds"][0]["calls"]] == ["failed", "failed"]
    assert statuses(done)[5:] == [Status.UNSATISFIED, Status.UNSATISFIED, Status.SATISFIED]
    assert done["solved"] is Solved.NO


def test_a_case_that_states_one_toolset_constraint_is_judged_by_the_other_two() -> None:
    stated = [*case()["constraints"], constraint("c9", "toolset", "parameter types", "Types.", parameters={})]
    done, code = run(case(constraints=stated), calls(call("s1", "find_ferry"), call("s2", "sail")), final(FINAL))
    assert code.asked == []
    assert [(one["category"], one["status"]) for one in done["constraints"]][-3:] == [
        ("parameter types", Status.SATISFIED),
        ("available tools and parameters", Status.UNSATISFIED),
        ("required parameters", Status.UNSATISFIED),
    ]


def test_a_response_that_is_returned_is_repaired_by_the_next() -> None:
    done, _ = run(case(), calls(FERRY), calls(TIMES), final("At 21:40"), final(FINAL))
    assert done["rounds"][2]["feedback"] == ["End it with a full stop."]
    assert (done["rounds"][2]["accepted"], done["rounds"][3]["accepted"]) == (False, True)
    assert done["constraints"][4]["status"] is Status.SOFT_SATISFIED
    assert done["solved"] is Solved.REPAIRED
    assert done["rounds"][3]["fresh"] == [4]


def test_rounds_used_up_end_the_task_and_nothing_runs_any_more() -> None:
    done, code = run(with_constraint("c2", parameters={"min_round": 0, "max_round": 1}), calls(FERRY), calls(TIMES))
    assert [each["over"] for each in done["rounds"]] == [False, True]
    assert (done["ending"], len(code.asked), done["solved"]) == (Ending.ENDED, 1, Solved.NO)
    assert done["rounds"][1]["calls"][0]["came"] is Came.OVER


def test_an_answer_that_nothing_found_is_no_solution() -> None:
    done, _ = run(case(), calls(FERRY), calls(TIMES), final(FINAL), read_timetable={"last": "20:00"})
    assert (done["found"], done["solved"], done["answer_held"]) == (False, Solved.NO, True)
    done, _ = run(case(), calls(FERRY), calls(TIMES))
    assert (done["found"], done["ending"], done["solved"], done["answer_held"]) == (True, Ending.OPEN, Solved.NO, None)
    assert run(case(unsolved_set=None))[0]["solved"] is Solved.UNKNOWN


def test_failures_of_code_are_told_and_tick_nothing_off() -> None:
    broken = Returned("exception", message="KeyError: 'Gull'")
    done, _ = run(case(), find_ferry=broken)
    failed = done["rounds"][0]["calls"][0]
    assert (failed["came"], failed["status"], failed["received"], failed["ticked"]) == (
        Came.FAILED,
        "exception",
        broken.message,
        None,
    )
    assert failed["differs"]
    done, code = run(case(), calls({"id": "s1", "name": "find_ferry", "arguments": "{harbour"}))
    assert (done["rounds"][0]["calls"][0]["came"], code.asked) == (Came.REFUSED, [])


def test_a_validator_that_does_not_answer_judges_nothing_and_says_why() -> None:
    done, _ = run(case(), judge=Returned("timeout_cpu", message="It used more than 2 seconds of CPU time."))
    judged = done["constraints"][4]
    assert judged["status"] is Status.UNJUDGED
    assert judged["why_unjudged"] == "Its validator returned no verdict. It used more than 2 seconds of CPU time."
    assert done["solved"] is Solved.UNKNOWN
    done, _ = run(with_constraint("c4", validator=None))
    assert done["constraints"][4]["why_unjudged"] == "The constraint has no validator."


def test_a_constraint_that_cannot_be_read_is_left_unjudged() -> None:
    done, _ = run(with_constraint("c0", parameters={"max_callTimes": "many"}))
    assert done["constraints"][0]["status"] is Status.UNJUDGED
    assert done["constraints"][0]["why_unjudged"]


@pytest.mark.parametrize(
    ("recorded", "differs"),
    [
        ({"ferry": "Gull"}, False),
        ('{ "ferry" : "Gull" }', False),
        ({"ferry": "Tern"}, True),
        ("Gull", True),
        (None, False),
    ],
)
def test_recorded_observations_are_compared_as_values(recorded: Any, differs: bool) -> None:
    done, _ = run(case(), calls(call("s1", "find_ferry", recorded, harbour="Norhavn")))
    assert done["rounds"][0]["calls"][0]["differs"] is differs


# --- what is stored and shown -----------------------------------------------------------------------------------------


def stored(done: dict[str, Any]) -> Any:
    return json.loads(json.dumps(done))


def test_a_record_is_bounded_and_shows_the_same() -> None:
    done, _ = run(case(), find_ferry={"ferry": "Gull" * 2_000})
    record = stored(done)
    assert len(record["rounds"][0]["calls"][0]["received"]) < MAX_LENGTH + 50
    assert record["rounds"][0]["calls"][0]["received"].endswith("(8,013 characters in total)")
    view = present_run(record)
    assert [one.round for one in view.rounds[0].unsolved] == [1, 0]
    assert [one.round for one in view.unsolved] == [1, 2]
    assert view.rounds[0].allowed == ["5 rounds left.", "3 calls left."]
    assert view.notes == [(1, "the result of find_ferry differs from the trajectory.")]
    assert len(view.rounds[1].constraint_states) == 8


def test_the_page_names_what_a_person_should_look_at() -> None:
    times = call("s2", "read_timetable", {"last": "21:40"}, ferry="Gull")
    view = present_run(stored(run(case(), calls(times), find_ferry=Returned("memory", message="Too much."))[0]))
    assert view.notes == [(1, "the trajectory has an observation from read_timetable, but the call was refused.")]
    assert view.rounds[0].calls[0].why == "Rejected, doesn’t run"
    view = present_run(stored(run(case(), calls(FERRY), find_ferry=Returned("memory", message="Too much."))[0]))
    assert view.notes == [(1, "the call to find_ferry failed: exceeded the memory limit.")]


# --- custom trajectories ----------------------------------------------------------------------------------------------


def test_rounds_are_read_with_and_without_ids() -> None:
    text = json.dumps([{"calls": [{"name": "find_ferry", "arguments": {"harbour": "Norhavn"}}]}, {"final": "Done."}])
    assert read_trajectory(text) == [
        {
            "id": "r1",
            "calls": [{"id": "", "name": "find_ferry", "arguments": {"harbour": "Norhavn"}, "observation": None}],
            "final": None,
        },
        {"id": "r2", "calls": [], "final": "Done."},
    ]
    assert read_trajectory(json.dumps({"rounds": [{"final": "Done."}]}))[0]["final"] == "Done."


def test_messages_of_the_openai_format_are_read() -> None:
    messages = [
        {"role": "system", "content": "Keep to the rules."},
        {"role": "user", "content": "When?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "x1", "type": "function", "function": {"name": "find_ferry", "arguments": '{"harbour": "N"}'}},
                {"id": "x2", "type": "function", "function": {"name": "find_ferry", "arguments": "{harbour"}},
            ],
        },
        {"role": "tool", "tool_call_id": "x1", "content": '{"ferry": "Gull"}'},
        {"role": "tool", "tool_call_id": "x2", "content": "an error"},
        {"role": "assistant", "content": [{"type": "text", "text": "At "}, {"type": "text", "text": "21:40."}]},
        {"role": "user", "content": "Say it again."},
        {"role": "assistant", "content": "At 21:40."},
    ]
    first, second, third = read_trajectory(json.dumps({"messages": messages}))
    assert [one["arguments"] for one in first["calls"]] == [{"harbour": "N"}, "{harbour"]
    assert [one["observation"] for one in first["calls"]] == ['{"ferry": "Gull"}', "an error"]
    assert (second["final"], third["final"]) == ("At 21:40.", "At 21:40.")


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", "", "There is no trajectory"),
        ("[{]", "", "line 1, column 3"),
        ("3", "", "must be a list"),
        ('{"a": 1}', "", "under “rounds” or “messages”"),
        ("[]", "", "The trajectory has no calls and no final response"),
        ("[1]", "/0", "Round 1 must be an object"),
        ("[{}]", "/0", "no calls and no final response"),
        ('[{"calls": [{"arguments": {}}]}]', "/0/calls/0/name", "Call 1 of round 1 has no tool name"),
        ('{"rounds": [{"calls": [{"name": "a", "arguments": 3}]}]}', "/rounds/0/calls/0/arguments", "must be an"),
        (
            json.dumps([{"calls": [{"name": "a", "arguments": '{"id": 1, "id": 2}'}]}]),
            "/0/calls/0/arguments",
            "arguments of call 1 of round 1: At /id: The key “id” appears twice",
        ),
        ('[{"final": 3}]', "/0/final", "must be text"),
        ('[{"role": "tool", "tool_call_id": "x", "content": ""}]', "/0/tool_call_id", "answers no earlier call"),
        ('[{"role": "assistant"}]', "/0", "no tool_calls and no content"),
        ('[{"role": "assistant", "tool_calls": [{}]}]', "/0/tool_calls/0", "no “function”"),
        ('[{"final": "\\u0000"}]', "/0/final", "NUL"),
        ('[{"final": "\\ud800"}]', "/0/final", "surrogate"),
        ("[" * 100_000, "", "60 levels"),
        (json.dumps([{"calls": [{"name": "a"}] * (MAX_CALLS + 1)}]), "", "The limit is 200 rounds with 500 calls"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_a_sentence_at_its_place(text: str, place: str, words: str) -> None:
    with pytest.raises(SchemaProblem) as caught:
        read_trajectory(text)
    assert caught.value.problems[0].pointer == place
    assert words in caught.value.problems[0].message
