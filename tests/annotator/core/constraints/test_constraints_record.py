"""The record of a run, as it is stored: byte for byte, because pages and the API read records of earlier versions."""

import json
from typing import Any

from annotator.core.constraints.execution import Returned, run_trajectory
from tests.annotator.case_documents import TOOLSET, call, with_constraint


class Code:
    """Code of which one tool fails, and a validator that wants a full stop."""

    def call_tool(self, name: str, arguments: Any) -> Returned:
        if name == "find_ferry":
            return Returned("ok", {"ferry": "Gull"})
        return Returned("memory", message="Too much.")

    def judge(self, position: int, responses: Any) -> list[Returned]:
        return [Returned("ok", response.endswith("."), "End it with a full stop.") for response in responses]


def test_a_record_stays_as_it_is_stored() -> None:
    ferry, times = call("s1", "find_ferry", harbour="Norhavn"), call("s2", "read_timetable", ferry="Gull")
    trajectory = [
        {"id": "r1", "calls": [call("s1", "read_timetable", "21:40", ferry="Gull")]},
        {"calls": [call("", "find_ferry", '{"ferry": "Gull"}', harbour="é" * 3_000)], "final": None},
        {"calls": [times]},
        {"id": "", "calls": [], "final": "At 21:40"},
        {"final": "<think>Which?</think>The Gull leaves Norhavn at 21:40."},
        {"calls": [ferry]},
    ]
    document = with_constraint("c0", parameters={"max_callTimes": "many"})
    record = run_trajectory(document, trajectory, toolset=TOOLSET, runner=Code())
    assert json.dumps(record, ensure_ascii=False) == json.dumps(RECORD, ensure_ascii=False)


#: Longer texts are stored with their beginning and their length.
_LONG = '{"harbour": "' + "é" * 1_987 + "… (3,015 characters in total)"
# fmt: off
RECORD = {
    "constraints": [
        {
            "dimension": "resource", "category": None, "text": "Call tools at most four times in all.",
            "implied": False, "why_unjudged": "Must be a whole number.", "status": "unjudged",
        },
        {
            "dimension": "behavior", "category": "sequential dependencies",
            "text": "Look up the ferry before you look up its timetable.", "implied": False, "why_unjudged": "",
            "status": "soft_satisfied",
        },
        {
            "dimension": "resource", "category": "interaction rounds", "text": "Take no more than six rounds.",
            "implied": False, "why_unjudged": "", "status": "satisfied",
        },
        {
            "dimension": "response", "category": "length", "text": "Answer in at most 30 words.", "implied": False,
            "why_unjudged": "", "status": "satisfied",
        },
        {
            "dimension": "response", "category": "content", "text": "End the answer with a full stop.",
            "implied": False, "why_unjudged": "", "status": "soft_satisfied",
        },
        {
            "dimension": "toolset", "category": "available tools and parameters",
            "text": "Call only the given tools, with the arguments and values that their descriptions allow.",
            "implied": True, "why_unjudged": "", "status": "satisfied",
        },
        {
            "dimension": "toolset", "category": "required parameters",
            "text": "Give every argument that a tool requires.", "implied": True, "why_unjudged": "",
            "status": "satisfied",
        },
        {
            "dimension": "toolset", "category": "parameter types",
            "text": "Give every argument the type that its tool's description requires.", "implied": True,
            "why_unjudged": "", "status": "satisfied",
        },
    ],
    "rounds": [
        {
            "id": "r1",
            "calls": [
                {
                    "id": "s1", "name": "read_timetable", "arguments": {"ferry": "Gull"}, "came": "refused",
                    "status": "",
                    "received": "read_timetable was rejected: first call find_ferry, in an earlier round.",
                    "consequence": "rejected", "recorded": "21:40", "differs": True, "ticked": None,
                },
            ],
            "final": None, "accepted": False, "over": False, "feedback": [],
            "constraint_states": {
                "0": ["unjudged", ""], "1": ["unsatisfied", ""], "2": ["satisfied", ""],
                "3": ["satisfied", "No final response was given."], "4": ["satisfied", "No final response was given."],
                "5": ["satisfied", ""], "6": ["satisfied", ""], "7": ["satisfied", ""],
            },
            "fresh": [1], "limits": {"rounds": 5, "awaited": {"read_timetable": ["find_ferry"]}},
        },
        {
            "id": "2",
            "calls": [
                {
                    "id": "", "name": "find_ferry", "arguments": _LONG, "came": "ran", "status": "ok",
                    "received": '{"ferry": "Gull"}', "consequence": "", "recorded": '{"ferry": "Gull"}',
                    "differs": False, "ticked": 0,
                },
            ],
            "final": None, "accepted": False, "over": False, "feedback": [], "constraint_states": {}, "fresh": [],
            "limits": {"rounds": 4},
        },
        {
            "id": "3",
            "calls": [
                {
                    "id": "s2", "name": "read_timetable", "arguments": {"ferry": "Gull"}, "came": "failed",
                    "status": "memory", "received": "Too much.", "consequence": "", "recorded": None,
                    "differs": False, "ticked": None,
                },
            ],
            "final": None, "accepted": False, "over": False, "feedback": [],
            "constraint_states": {"1": ["soft_satisfied", ""]}, "fresh": [1], "limits": {"rounds": 3},
        },
        {
            "id": "4",
            "calls": [],
            "final": "At 21:40", "accepted": False, "over": False, "feedback": ["End it with a full stop."],
            "constraint_states": {"3": ["satisfied", ""], "4": ["unsatisfied", ""]}, "fresh": [4],
            "limits": {"rounds": 2},
        },
        {
            "id": "5",
            "calls": [],
            "final": "<think>Which?</think>The Gull leaves Norhavn at 21:40.", "accepted": True, "over": False,
            "feedback": [], "constraint_states": {"4": ["soft_satisfied", ""]}, "fresh": [4],
            "limits": {"rounds": 1},
        },
        {
            "id": "6",
            "calls": [
                {
                    "id": "s1", "name": "find_ferry", "arguments": {"harbour": "Norhavn"}, "came": "over",
                    "status": "", "received": "", "consequence": "", "recorded": None, "differs": False,
                    "ticked": None,
                },
            ],
            "final": None, "accepted": False, "over": True, "feedback": [], "constraint_states": {}, "fresh": [],
            "limits": {"rounds": 1},
        },
    ],
    "unsolved": [
        {"tool": "find_ferry", "text": "Gull", "round": 1, "call": 0},
        {"tool": "read_timetable", "text": "21:40", "round": None, "call": None},
    ],
    "ending": "answered", "solved": "no", "found": False, "answer_held": True,
}
# fmt: on
