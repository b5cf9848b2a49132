"""What a model is asked and told, by hand: tasks, constrained cases and composites."""

import json

import pytest

from annotator.core.constraints.execution import Returned
from benchmark.core.formats import FORMATS
from benchmark.core.inference import cases, tasks
from benchmark.core.inference.asking import Reply, as_tools, read_message
from benchmark.core.scoring.cctu import score_transcript
from benchmark.core.scoring.cctu_cases import ReferenceCase
from benchmark.core.scoring.predictions import read_rounds
from benchmark.core.scoring.references import ReferenceDialogue
from benchmark.core.scoring.transcripts import read_transcript
from benchmark.core.scoring.verdicts import Verdicts
from benchmark.core.scoring.wild import score_task
from tests.benchmark.scoring.scoring_cases import TOOLS, node, wild_record


def said(text):
    return {"role": "assistant", "content": text}


def called(*calls):
    """A message with calls, each a tool or (tool, arguments)."""
    pairs = [one if isinstance(one, tuple) else (one, {"q": one}) for one in calls]
    return {
        "role": "assistant", "content": None,
        "tool_calls": [
            {"id": "", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for name, arguments in pairs
        ],
    }  # fmt: skip


def talk(conversation, *messages):
    """Say messages until the conversation ends; return what was asked, and the record (None if it goes on)."""
    asked, taken = [next(conversation)], set()
    for number, message in enumerate(messages):
        reply = Reply(None if message is None else read_message(message, number=number, taken=taken))
        try:
            asked.append(conversation.send(reply))
        except StopIteration as end:
            assert number == len(messages) - 1, "it ended too early"
            return asked, end.value
    return asked, None


def of_task(index, history="calls", nodes=None):
    record = wild_record("d_0", nodes)
    del record["answer_list"]
    (dialogue,) = FORMATS["wild"].read(record)
    return tasks.converse(dialogue, ReferenceDialogue(dialogue), index, history), ReferenceDialogue(dialogue)


def contents(ask):
    return [(one["role"], one["content"]) for one in ask.messages]


def test_a_task_begins_with_the_reference_of_the_earlier_ones():
    asked, _ = talk(of_task(1)[0])
    first = asked[0].messages
    assert contents(asked[0])[:2] == [
        ("system", "Current date: 2026-02-03 09:00:00 Tuesday"), ("user", "Task 0 of d_0")
    ]  # fmt: skip
    assert first[2]["tool_calls"][0]["function"] == {"name": "find", "arguments": '{"q":"find"}'}
    assert first[3] == {"role": "tool", "tool_call_id": first[2]["tool_calls"][0]["id"], "content": '{"ok":true}'}
    assert contents(asked[0])[4:] == [("assistant", "Done."), ("user", "Task 1 of d_0")]
    without, _ = talk(of_task(1, "answers")[0])
    assert contents(without[0])[1:] == [("user", "Task 0 of d_0"), ("assistant", "Done."), ("user", "Task 1 of d_0")]
    assert [tool["function"]["name"] for tool in asked[0].tools] == ["find", "read", "send"]


def test_a_task_goes_on_while_a_path_does_and_ends_with_the_answer():
    conversation, reference = of_task(1)
    asked, record = talk(conversation, called(("find", {"q": "b"})), called(("find", {"q": "a"})), called("send"),
                         said("All done."))  # fmt: skip
    assert [one["role"] for one in asked[-1].messages[-2:]] == ["assistant", "tool"]
    assert (record["dialogue"], record["task"], len(record["rounds"])) == ("d_0", 1, 4)
    assert score_task("m", reference, 1, read_rounds(record["rounds"])).legal.right


def test_each_call_gets_the_observation_of_its_reference_call():
    first = {**node("find", q="a"), "observation": "of a"}
    second = {**node("find", q="b"), "observation": "of b"}
    nodes = [("Mixed Multi-Tool", [first, second, node("answer", 0, 1)])]
    asked, _ = talk(of_task(0, nodes=nodes)[0], called(("find", {"q": "b"}), ("find", {"q": "other"})))
    assert contents(asked[-1])[-2:] == [("tool", "of b"), ("tool", "of a")]


def test_a_question_gets_the_reply_of_the_user():
    asked, _ = talk(of_task(2)[0], said("Which one?"))
    assert contents(asked[-1])[-2:] == [("assistant", "Which one?"), ("user", "This.")]


@pytest.mark.parametrize(
    ("message", "error"), [(called("read"), None), (said("I can’t."), None), (said(""), None), (None, "request_failed")]
)
def test_a_task_ends_with_the_first_reply_that_no_path_has(message, error):
    asked, record = talk(of_task(1)[0], message)
    assert len(asked) == 1
    assert record["rounds"][-1]["error"] == error


def test_a_reference_that_can_t_be_followed_ends_its_conversation():
    # So many questions in any order have too many paths.
    nodes = [("Clarify", [*[node("ask") for _ in range(20)], node("answer", *range(20))])]
    asked, record = talk(of_task(0, nodes=nodes)[0], said("Which?"))
    assert len(asked) == len(record["rounds"]) == 1


def test_ids_of_calls_are_unique_and_thoughts_are_left_out():
    taken = {"a"}
    message = called("find", "find", "find", "find")
    for call, key in zip(message["tool_calls"], ("a", "b", "b", ""), strict=True):
        call["id"] = key
    message = read_message(message, number=3, taken=taken)
    assert [one["id"] for one in message["tool_calls"]] == ["call_3_0", "b", "call_3_2", "call_3_3"]
    assert taken == {"a", "b", "call_3_0", "call_3_2", "call_3_3"}
    thinking = read_message(said("<think>so</think> Yes."), number=0, taken=taken, strip_thinking=True)
    assert thinking["content"] == "Yes."
    assert read_message({"role": "assistant", "content": None, "tool_calls": "?"}, number=0, taken=taken) == said("")


def test_tools_are_sent_as_functions_with_numbers():
    parameters = {"type": "object", "properties": {"type": {"type": "float"}}}
    (tool,) = as_tools([{"name": "f", "parameters": parameters, "response": {"type": "object"}}])
    # What the tool returns is not sent.
    assert set(tool["function"]) == {"name", "description", "parameters"}
    assert tool["function"]["parameters"]["properties"] == {"type": {"type": "number"}}


# --- constrained cases -----------------------------------------------------------------------------------------------


def constrained(*constraints, attempt=0):
    """A case with constraints (dimension, category, parameters or code) whose tools return their names."""
    check_code = {}
    for number, (_, _, content) in enumerate(constraints):
        name = f"check_constraint_{number}.{'py' if isinstance(content, str) else 'json'}"
        check_code[name] = content if isinstance(content, str) else json.dumps(content)
    record = {
        "id": "7", "tools": json.dumps(TOOLS), "codes": json.dumps({"find": "x", "read": "x"}),
        "messages": [{"role": "system", "content": "Rules."}, {"role": "user", "content": "Find it."}], "answer": "x",
        "unsolved_set": '{"find": ["place"]}', "data_source": "Single-Hop", "check_code": check_code,
        "constraints_list": [[first, second, "A rule."] for first, second, _ in constraints],
    }  # fmt: skip
    (dialogue,) = FORMATS["cctu"].read(record)
    case = ReferenceCase(dialogue)
    verdicts = Verdicts(lambda *_: [])

    def call_tool(case, name, arguments):
        return Returned("ok", {"place": arguments}) if name == "find" else Returned("exception", message="It broke.")

    conversation = cases.converse(dialogue, case, attempt, verdicts=verdicts, call_tool=call_tool)
    return conversation, lambda record: score_transcript(case, read_transcript(record | {"run": "m"}), verdicts)


def test_a_case_runs_its_tools_and_ends_with_an_accepted_response():
    conversation, score = constrained()
    asked, record = talk(conversation, called("find", "read"), said("It is there."))
    assert contents(asked[0]) == [("system", "Rules."), ("user", "Find it.")]
    assert contents(asked[1])[-2:] == [
        ("tool", '{"place": {"q": "find"}}'), ("tool", "The call of read failed. It broke.")
    ]  # fmt: skip
    assert (record["case"], record["attempt"]) == ("7", 0)
    episode = score(record)
    assert (episode.sr, episode.psr, episode.strict_psr) == (True, True, True)


def test_a_refused_call_and_a_refused_response_get_feedback():
    rule = ("Interact", "Call Times", {"min_callTimes": 1, "max_callTimes": 1})
    conversation, score = constrained(rule)
    asked, record = talk(conversation, said("At once."), called("find"), called("find"), said("It is there."))
    role, told = contents(asked[1])[-1]
    assert role == "user"
    assert told.startswith("INSTRUCTION FOLLOWING ERROR: MIN CALL TIMES NOT FOLLOWED! ")
    assert contents(asked[3])[-1][1].startswith("INSTRUCTION FOLLOWING ERROR: MAX CALL TIMES NOT FOLLOWED! ")
    episode = score(record)
    assert (episode.solved, episode.sr, episode.psr, episode.strict_sr) == (True, True, False, False)


@pytest.mark.parametrize("call", [("nothing", {"q": "x"}), ("find", {"z": 1}), ("find", [])])
def test_feedback_to_a_bad_call_is_not_lost(call):
    asked, _ = talk(constrained()[0], called(call))
    assert contents(asked[1])[-1][1].startswith("INSTRUCTION FOLLOWING ERROR: TOOL ARGUMENTS NOT FOLLOWED! ")


def test_a_case_ends_at_the_ceiling_or_where_the_service_refuses():
    rule = ("Interact", "Round", {"max_round": 2})
    asked, record = talk(constrained(rule)[0], called("find"), called("find"))
    assert len(asked) == 2
    assert record["messages"][-1]["role"] == "tool"
    _, record = talk(constrained()[0], called("find"), None)
    assert [one["role"] for one in record["messages"]] == ["system", "user", "assistant", "tool"]
