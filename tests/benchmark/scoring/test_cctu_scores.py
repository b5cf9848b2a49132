"""Scores of cctu by hand: the phrase of feedback, what repairs each kind of rule, transcripts of odd services."""

import json

import pytest

from benchmark.core.formats import FORMATS
from benchmark.core.scoring.cctu import flags, says_feedback, score_transcript
from benchmark.core.scoring.cctu_cases import ReferenceCase
from benchmark.core.scoring.cctu_steps import find_violations
from benchmark.core.scoring.references import UnusableReference
from benchmark.core.scoring.transcripts import NotATranscript, read_transcript
from tests.benchmark.scoring.scoring_cases import TOOLS


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("INSTRUCTION FOLLOWING ERROR: FORMAT NOT FOLLOWED! Write it.", True),
        ("so: instruction following error:\n max 3_calls\tNot Followed!", True),
        ("INSTRUCTION FOLLOWING ERROR: NOT FOLLOWED!", True),
        ("INSTRUCTION FOLLOWING ERROR:NOT FOLLOWED!", False),
        ("INSTRUCTION FOLLOWING ERROR: A-B NOT FOLLOWED!", False),
        ("INSTRUCTION FOLLOWING ERROR: A\nB NOT FOLLOWED!", False),
        ("INSTRUCTION FOLLOWING ERROR: NO! INSTRUCTION FOLLOWING ERROR: A NOT FOLLOWED!", True),
        ("INSTRUCTION FOLLOWING ERROR: A NOT FOLLOWED", False),
        ("INSTRUCTION FOLLOWING ERROR:" + " " * 1_000_000 + "x", False),
        ("INSTRUCTION FOLLOWING ERROR: NOT FOLLOWED " * 50_000, False),
    ],
)
def test_the_phrase_of_feedback(text, says):
    assert says_feedback(text) is says


def case(*constraints, unsolved='{"find": ["place"]}', **files):
    """A case with these constraints, each (dimension, category, parameters or validator code)."""
    check_code = {}
    for number, (_, _, content) in enumerate(constraints):
        name = f"check_constraint_{number}.{'py' if isinstance(content, str) else 'json'}"
        check_code[name] = content if isinstance(content, str) else json.dumps(content)
    record = {
        "id": "7", "tools": json.dumps(TOOLS), "codes": json.dumps({"find": "x", "read": "x"}),
        "messages": [{"role": "user", "content": "Find it."}], "answer": "x", "unsolved_set": unsolved,
        "constraints_list": [[first, second, "A rule."] for first, second, _ in constraints],
        "data_source": "Single-Hop", "check_code": check_code,
    }  # fmt: skip
    (dialogue,) = FORMATS["cctu"].read(record)
    return ReferenceCase(dialogue)


def made(*names, **more):
    """A round of calls; a name may have its arguments after a colon."""
    found = []
    for number, name in enumerate(names):
        tool, _, text = name.partition(":")
        arguments = text or '{"q": "x"}'
        found.append({"id": f"c{number}", "function": {"name": tool, "arguments": arguments}} | more)
    return {"role": "assistant", "content": None, "tool_calls": found}


def ended(text="Done."):
    return {"role": "assistant", "content": text}


def statuses(given, *messages, accepts=lambda response: True):
    """(released, strict) of each constraint, then of the three of the toolset."""
    transcript = read_transcript({"run": "m", "attempt": 0, "case": "7", "messages": [*messages]})
    found = score_transcript(given, transcript, lambda case_id, place, text: (accepts(text), "Again."))
    return [(one.released.value, one.strict.value) for one in found.constraints]


SATISFIED, REPAIRED, BROKEN = ("satisfied",) * 2, ("soft_satisfied",) * 2, ("unsatisfied",) * 2
GIVEN_UP = ("soft_satisfied", "unsatisfied")
PER_TOOL, ORDER = {"max_calls_per_tool": {"find": 1}}, {"order_constraints": [["find", "read"]]}
ONE_A_ROUND = {"max_parallelCallTypes": 1, "unit": "num"}
REPLY = {"role": "tool", "content": "a place", "tool_call_id": "c0"}


@pytest.mark.parametrize(
    ("constraint", "messages", "expected"),
    [
        (("Tool", "Max Calls Per Tool", PER_TOOL), [made("find", "find"), ended()], GIVEN_UP),
        (("Interact", "Call Times", {"max_callTimes": 1}), [made("find", "read"), ended()], GIVEN_UP),
        (("Interact", "Call Times", {"min_callTimes": 1}), [ended(), made("find"), ended()], REPAIRED),
        (("Tool", "Tool Order", ORDER), [made("read"), made("find"), ended()], GIVEN_UP),
        (("Tool", "Tool Order", ORDER), [made("read"), made("find"), made("read"), ended()], REPAIRED),
        (("Interact", "Parallel Calls", ONE_A_ROUND), [made("find", "read"), ended()], GIVEN_UP),
        (("Interact", "Parallel Calls", ONE_A_ROUND), [made("find", "read"), made("find"), ended()], REPAIRED),
        (("Response", "Length", {"max_responseLength": 3}), [made("find"), ended("too long"), ended("ok")], REPAIRED),
        (("Response", "Length", {"max_responseLength": 3}), [made("find"), ended("too long")], BROKEN),
        (("Interact", "Round", {"max_round": 2}), [made("find"), made("find")], BROKEN),
        (("Interact", "Round", {"max_round": 2}), [made("find"), ended()], SATISFIED),
    ],
)  # fmt: skip
def test_what_repairs_each_kind_of_rule(constraint, messages, expected):
    assert statuses(case(constraint), *messages)[0] == expected


def test_thoughts_are_judged_by_nobody_and_a_validator_without_verdict_judges_nothing():
    format_ = case(("Response", "Format", "def validate_format(r): ..."))
    assert statuses(format_, ended("<think>no</think> yes"), accepts=lambda text: text == "yes")[0] == SATISFIED
    transcript = read_transcript({"run": "m", "case": 7, "messages": [ended()]})
    found = score_transcript(format_, transcript, lambda *_: None)
    assert found.as_json()["unjudged"] == {"0": "Its validator returned no verdict."}
    assert found.constraints[0].strict.value == "unjudged"


def test_feedback_that_the_model_never_got_counts_strictly_only():
    # No such tool; a tool without code; arguments that are no JSON, and the same tool called again.
    for name, strict in (("nothing", "unsatisfied"), ("send:{}", "unsatisfied"), ("find:not json", "soft_satisfied")):
        found = statuses(case(), made(name), made("find"), ended())
        assert ("satisfied", strict) in found, name
    no_id = made("find:{}", id=None)
    assert ("satisfied", "unsatisfied") in statuses(case(), no_id, ended())


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], (False, False, "nothing")),
        ([{"role": "assistant", "content": None}], (False, False, "answered")),
        ([{"role": "assistant", "content": [{"type": "text", "text": "a"}]}], (False, False, "answered")),
        ([made("find"), REPLY], (False, False, "calls")),
        ([made("find"), REPLY | {"content": ["a place"]}, ended()], (False, False, "answered")),
        ([made("find"), REPLY, ended()], (True, True, "answered")),
        ([{"role": "assistant", "tool_calls": [{"function": None}, 3, {"id": 5}]}], (False, False, "calls")),
    ],
)  # fmt: skip
def test_odd_transcripts_are_scored(messages, expected):
    found = score_transcript(case(), read_transcript({"case": "7", "messages": messages}), lambda *_: None)
    assert (found.sr, found.psr, found.ending) == expected


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ([], "an object with messages"),
        ({"case": "7", "messages": "x"}, "/messages must be a list"),
        ({"messages": []}, "/case must be the id of a case"),
        ({"id": "7", "messages": []}, "/attempt must be a whole number"),
        ({"case": "7", "attempt": -1, "messages": []}, "/attempt must be a whole number"),
        ({"case": "7", "messages": [{}] * 1_001}, "The limit is 1,000."),
        ({"case": "7", "messages": [made(*["find"] * 10_001)]}, "more than 10,000 calls"),
        ({"case": "7", "run": 3, "messages": []}, "/run must be a text"),
    ],
)
def test_what_is_no_transcript_is_said(record, sentence):
    with pytest.raises(NotATranscript, match=sentence):
        read_transcript(record)


def test_a_case_that_does_not_say_what_to_find_cannot_be_scored():
    with pytest.raises(UnusableReference, match="Case 7 has no unsolved set"):
        case(unsolved="{")
    assert flags([{"role": "user", "content": None}]) == (False, False)
    assert find_violations(case(), [], lambda *_: None) == ([], {})
