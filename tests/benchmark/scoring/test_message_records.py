"""Predictions as messages of the chat API, and as logs of Inspect AI: the same scores as neutral predictions."""

import io
import json
import zipfile

import pytest

from benchmark.core.formats import FORMATS
from benchmark.core.scoring.records import Unreadable
from benchmark.core.scoring.references import ReferenceDialogue
from benchmark.core.scoring.scorers import MultiTurnScorer, Refused
from benchmark.core.scoring.sources import read_prediction_file
from tests.benchmark.scoring.scoring_cases import RIGHT, wild_record


def reply(one):
    """A round as an assistant's message."""
    if not one.calls:
        return {"role": "assistant", "content": one.content}
    calls = [
        {"id": f"c{number}", "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for number, call in enumerate(one.calls)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def conversation(task, rounds=None, *, name="d_0"):
    """The messages of one task: the user's, then each reply with its results."""
    messages = [{"role": "user", "content": f"Task {task} of {name}"}]
    for one in RIGHT[task] if rounds is None else rounds:
        message = reply(one)
        messages.append(message)
        for call in message.get("tool_calls", ()):
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "{}"})
        if message["content"] == "Which?":
            messages.append({"role": "user", "content": "This."})
    return messages


def whole():
    return [{"role": "system", "content": "Help."}, *(one for task in range(3) for one in conversation(task))]


def scorer(**more):
    record = wild_record()
    del record["answer_list"]
    (dialogue,) = FORMATS["wild"].read(record)
    return MultiTurnScorer("wild", [ReferenceDialogue(dialogue)], **more)


def scored(*records, run="m", **more):
    """Return {task: whether it is right}, and the sentences of what was refused."""
    found, refused, judge = {}, [], scorer(**more)
    for record in records:
        for one in judge.add(record, run):
            if isinstance(one, Refused):
                refused.append(str(one))
            else:
                found[one.entry["task"]] = one.entry["right"]
    return found, refused


@pytest.mark.parametrize(
    "named", [{"dialogue": "d_0", "task": 1}, {"id": "d_0#1"}, {"entry": "d_0#1"}], ids=["fields", "id", "entry"]
)
def test_a_conversation_about_one_task(named):
    # The reference of the earlier task is there too, and not part of the answer.
    assert scored({**named, "messages": conversation(0) + conversation(1)}) == ({1: True}, [])
    assert scored({**named, "messages": conversation(1)[1:2]}) == ({1: False}, [])


def test_a_whole_dialogue_is_divided_by_the_user_s_messages():
    assert scored({"id": "d_0", "messages": whole()}) == ({0: True, 1: True, 2: True}, [])
    assert scored({"dialogue": "d_0", "messages": whole()[:-2]}) == ({0: True, 1: True, 2: False}, [])


def test_replies_alone_need_no_message_of_the_user():
    replies = [one for one in conversation(0) if one["role"] == "assistant"]
    assert scored({"id": "d_0#0", "messages": replies}) == ({0: True}, [])


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ({"id": "d_0#1", "messages": conversation(0)}, "no message of the user with the text of task 1"),
        ({"id": "d_0", "messages": [{"role": "user", "content": "Hello"}]}, "the text of a task of d_0"),
        ({"id": "d_0#0", "messages": "hello"}, "must be a list of messages"),
        ({"id": "d_0#0", "messages": [7]}, "must be a list of messages"),
        ({"id": "d_0#0", "messages": [{}] * 1001}, "1,001 messages. The limit is 1,000."),
        ({"id": "d_0#0", "messages": [{"role": "assistant"}] * 201}, "201 replies. The limit is 200."),
        ({"id": "d_9#0", "messages": []}, "The references have no d_9 in en."),
        ({"id": "d_0#9", "messages": []}, "The references have no task 9 of d_0 in en."),
        ({"messages": []}, "/dialogue must be the id of a dialogue"),
        ({"dialogue": "d_0", "task": "1", "messages": []}, "/task must be a whole number"),
        ({"dialogue": "d_0", "run": 7, "messages": []}, "/run must be a text"),
    ],
)
def test_what_can_t_be_placed_is_refused_with_a_sentence(record, sentence):
    found, refused = scored(record)
    assert found == {}
    assert len(refused) == 1
    assert sentence in refused[0]


def test_thoughts_are_left_out_on_request():
    thinks = [{"role": "assistant", "content": "<think>Done, I think.</think>"}]
    messages = conversation(0)[:-1] + thinks
    assert scored({"id": "d_0#0", "messages": messages}) == ({0: True}, [])
    assert scored({"id": "d_0#0", "messages": messages}, strip_think=True) == ({0: False}, [])


def test_a_failed_conversation_ends_with_a_failed_request():
    record = {"id": "d_0#0", "messages": conversation(0)[:-1], "failed": True}
    (one,) = scorer().add(record, "m")
    assert [round_["error"] for round_ in one.prediction] == [None, "request_failed"]


# --- logs of Inspect AI ----------------------------------------------------------------------------------------------


def sample(task=0, *, epoch=1, **more):
    """A sample as Inspect writes it: arguments are objects, contents may be parts."""
    said = []
    for one in conversation(task):
        calls = one.get("tool_calls")
        if calls:
            one = one | {"content": [{"type": "reasoning", "reasoning": "Hm."}], "tool_calls": [
                {"id": call["id"], "type": "function", "function": call["function"]["name"],
                 "arguments": json.loads(call["function"]["arguments"])} for call in calls
            ]}  # fmt: skip
        said.append(one)
    return {"id": f"d_0#{task}", "epoch": epoch, "input": "", "target": "", "messages": said} | more


def header(model="lab/model-1"):
    return {"version": 2, "status": "success", "eval": {"task": "wild", "model": model}}


def archive(samples, *, compress=zipfile.ZIP_DEFLATED, head="header.json", more=()):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compress) as written:
        written.writestr("_journal/summaries/1.json", "[]")
        for one in samples:
            written.writestr(f"samples/{one['id'].replace('#', '_')}_epoch_{one['epoch']}.json", json.dumps(one))
        for name in more:
            written.writestr(name, "{}")
        if head:
            written.writestr(head, json.dumps(header()))
    return file.getvalue()


@pytest.fixture
def lines(tmp_path):
    def read(content, name="log.eval", family="wild"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return list(read_prediction_file(path, family, run="given"))

    return read


@pytest.mark.parametrize("form", ["eval", "json"])
def test_a_log_of_inspect_is_scored_like_a_neutral_file(lines, form):
    samples = [sample(task) for task in range(3)]
    found = lines(archive(samples)) if form == "eval" else lines(header() | {"samples": samples}, "log.json")
    assert [(one.run, one.model, one.problem) for one in found] == [("lab/model-1", "lab/model-1", "")] * 3
    assert scored(*(one.record for one in found)) == ({0: True, 1: True, 2: True}, [])


def test_metadata_names_the_entry_and_epochs_are_attempts(lines):
    given = sample(1, epoch=2, metadata={"dialogue": "d_0", "task": 1}) | {"id": "7"}
    (one,) = lines(archive([given]))
    assert (one.run, one.model) == ("lab/model-1#2", "lab/model-1")
    assert scored(one.record) == ({1: True}, [])
    (case,) = lines(archive([given]), family="cctu")
    assert (case.run, case.record["case"], case.record["attempt"]) == ("lab/model-1", "7", 1)


def test_a_call_that_inspect_could_not_read_is_malformed(lines):
    bad = {"role": "assistant", "content": "", "tool_calls": [
        {"id": "c0", "type": "function", "function": "find", "arguments": {}, "parse_error": "no JSON"}
    ]}  # fmt: skip
    (one,) = lines(archive([sample() | {"messages": [conversation(0)[0], bad]}]))
    (entry,) = scorer().add(one.record, "m")
    assert [round_["error"] for round_ in entry.prediction] == ["malformed_calls"]


def test_a_log_without_a_model_is_the_run_that_was_given(lines):
    found = lines({"eval": {}, "samples": [sample(), sample(epoch=2)]}, "log.json")
    assert [(one.run, one.model) for one in found] == [("given", "given"), ("given#2", "given")]


def test_parts_and_bad_samples_are_named(lines):
    found = lines(archive([sample()], more=["samples/9_epoch_1/sample.json", "samples/9_epoch_1/events/0.json"]))
    assert ["in parts" in one.problem for one in found] == [False, True]
    (bad,) = lines(header() | {"samples": [7]}, "log.json")
    assert "a sample must be an object" in bad.problem.lower()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (archive([], head=""), "not a log of Inspect AI"),
        (archive([sample()], compress=zipfile.ZIP_BZIP2), "unsupported compression"),
        (b"PK\x03\x04", "cut off"),
        (b"<html>", "not a zip archive"),
    ],
)
def test_a_bad_log_is_refused_with_a_sentence(lines, content, sentence):
    with pytest.raises(Unreadable, match=sentence):
        lines(content)


def test_another_json_file_is_read_as_before(lines):
    assert [one.record for one in lines([{"run": "a"}, {"run": "b"}], "list.json")] == [{"run": "a"}, {"run": "b"}]
