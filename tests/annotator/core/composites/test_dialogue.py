"""Dialogues with delayed results: messages, delays, replies, and the figures of the paper."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.composites.delays import NAMES, Delay, read_delay
from annotator.core.composites.dialogue import IDLE, WAIT, CallOutcome, Dialogue, most_rounds, play, recorded
from annotator.core.composites.messages import (
    COMPLETED,
    MAX_LENGTH,
    MessageKind,
    read_message,
    write_call_message,
    write_content,
)
from annotator.core.composites.prompt import first_message, system_prompt
from annotator.core.composites.reference import play_reference
from annotator.core.composites.running import running
from annotator.core.execution.running import Start, StatefulTool
from annotator.core.sandbox import Implementation, Sandbox, ToolCall
from annotator.management.single_tasks import read_rows

WAITS = {"role": "tool", "content": WAIT}


def environment(task, calls):
    """Every call returns how many calls of the task there were."""
    return CallOutcome("ok", len(calls), str(len(calls)), True, f"{task}{len(calls)}")


def dialogue(delay="1", *, tasks=("a", "b"), rounds=50, seed=0):
    return Dialogue(tasks, read_delay(delay, seed), rounds, environment)


def call(task, name="f", /, **arguments):
    return write_call_message(task, name, arguments)


def result(task, text, response):
    return {"role": "tool", "id": task, "function name": text, "response": response}


MESSAGES = {
    '{"id": "a", "func_name": "f", "params": {"x": 1}}': MessageKind.CALL,
    '```json\n{"id": "a", "func_name": "f", "params": {}}\n```': MessageKind.CALL,
    '  ```\n{"content": "ALL COMPLETED"}\n```  ': MessageKind.COMPLETED,
    '{"content": "ALL COMPLETED"}': MessageKind.COMPLETED,
    '{"content": "Waiting."}': MessageKind.PASS,
    '{"content": ""}': MessageKind.PASS,
    '{"content": 1}': MessageKind.FORMAT,
    "": MessageKind.FORMAT,
    "Let me think.": MessageKind.FORMAT,
    'Here: {"content": "ALL COMPLETED"}': MessageKind.FORMAT,
    '{"content": "a"} {"content": "b"}': MessageKind.FORMAT,
    '[{"content": "a"}]': MessageKind.FORMAT,
    '{"id": "a", "func_name": "f"}': MessageKind.FORMAT,
    '{"id": "a", "func_name": "f", "params": {}, "why": ""}': MessageKind.FORMAT,
    '{"id": 1, "func_name": "f", "params": {}}': MessageKind.FORMAT,
    '{"id": "a", "func_name": "f", "params": []}': MessageKind.FORMAT,
    '{"id": "a", "id": "b", "func_name": "f", "params": {}}': MessageKind.FORMAT,
    "[" * 100_000: MessageKind.FORMAT,
    " " * (MAX_LENGTH + 1): MessageKind.FORMAT,
}


@pytest.mark.parametrize(("text", "kind"), MESSAGES.items(), ids=[text[:40] for text in MESSAGES])
def test_a_message_is_one_json_object_and_nothing_else(text, kind):
    found = read_message(text)
    assert found.kind is kind
    assert bool(found.problem) == (kind is MessageKind.FORMAT)


def test_the_reply_tells_to_wait_and_brings_the_result_one_round_later():
    found = dialogue("1")
    assert found.say(call("a")).reply == (WAITS,)
    assert found.say(call("b", x="y")).reply == (WAITS, result("a", "f()", "1"))
    assert found.say(write_content("Waiting.")).reply == (result("b", "f(x='y')", "1"),)
    assert found.say(write_content("Waiting.")).reply == ({"role": "tool", "content": IDLE},)
    assert found.say(write_content(COMPLETED)).reply == ()
    assert (found.ended, found.pending, found.finals()) == ("completed", [], {"a": "a1", "b": "b1"})
    with pytest.raises(ValueError, match="has ended"):
        found.say("")


def test_without_delay_the_reply_is_the_result_and_with_a_long_one_a_pass_waits():
    assert dialogue("0").say(call("a")).reply == (result("a", "f()", "1"),)
    found = play(dialogue("2"), [call("a"), write_content(""), write_content("")])
    assert [one.reply for one in found.rounds] == [(WAITS,), (WAITS,), (result("a", "f()", "1"),)]


def test_what_is_no_call_of_a_task_runs_nothing_but_results_still_come():
    found = play(dialogue("1"), [call("a"), "prose", call("c"), call("c")])
    first, due = found.rounds[1].reply
    assert "error" in json.loads(first["content"])
    assert due == result("a", "f()", "1")
    assert json.loads(found.rounds[2].reply[0]["content"]) == {"error": "There is no task c."}
    assert [one.call for one in found.rounds] == [0, None, None, None]
    assert [one.pending for one in found.rounds] == [(0,), (), (), ()]


def test_the_ceiling_ends_a_dialogue_after_its_reply():
    found = play(dialogue("0", rounds=3), [write_content("")] * 9)
    assert (found.ended, len(found.rounds)) == ("ceiling", 3)
    assert found.rounds[-1].reply
    assert most_rounds(5) == 30


def test_delays_are_drawn_from_the_seed():
    # SHA-256 of "100038/0" begins with an odd byte, that of "100038/2" with an even one.
    drawn = [read_delay("1-2", 100_038).of(number) for number in range(4)]
    assert drawn == [2, 2, 1, 2]
    assert {Delay(0, 1, seed).of(0) for seed in range(20)} == {0, 1}
    assert [read_delay(name).high for name in NAMES] == [0, 1, 2, 1, 2]


@pytest.mark.parametrize("name", ["", "-", "1-0", "x", "1-", "-1", "0-1-2", "²", "101", "99999999999"])
def test_what_is_no_delay_is_refused(name):
    with pytest.raises(ValueError, match="is no delay"):
        read_delay(name)


@given(
    st.sampled_from(NAMES),
    st.integers(0, 99),
    st.lists(st.sampled_from(["a", "b", "c", "wait", "prose"]), max_size=30),
)
def test_every_result_comes_once_in_its_round_and_in_the_order_of_calls(delay, seed, moves):
    texts = {"wait": write_content("…"), "prose": "…"}
    found = play(dialogue(delay, seed=seed), [texts.get(move) or call(move) for move in moves])
    shown = [(one.number, reply["id"]) for one in found.rounds for reply in one.reply if "id" in reply]
    assert (
        shown
        == [(one.due, one.task) for one in sorted(found.calls, key=lambda one: (one.due, one.number))][: len(shown)]
    )
    assert all(one.due > len(found.rounds) for one in found.pending)
    assert all(one.reply for one in found.rounds)


@given(st.sampled_from(NAMES), st.integers(0, 99), st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_the_reference_makes_all_gold_calls_in_order_and_uses_no_result_too_early(delay, seed, counts):
    gold = {f"t{n}": [ToolCall("f", {"step": step}) for step in range(count)] for n, count in enumerate(counts)}
    found = play_reference(dialogue(delay, tasks=tuple(gold), rounds=most_rounds(sum(counts)), seed=seed), gold)
    assert (found.ended, found.pending) == ("completed", [])
    for name, calls in gold.items():
        made = [one for one in found.calls if one.task == name]
        assert [one.arguments for one in made] == [one.arguments for one in calls]
        assert all(one.shown < other.round or one.due == one.round for one, other in pairwise(made))
        assert all(one.shown <= other.round for one, other in pairwise(made))


def test_each_task_has_its_own_instance_of_its_tool():
    source = (
        "class Tool:\n    def __init__(self):\n        self.n = 0\n"
        "    def add(self, by):\n        self.n += by\n        return self.n\n"
    )
    tool = StatefulTool(Implementation(source, "Tool"), frozenset({"add"}))
    with Sandbox() as sandbox:
        own = running(
            lambda one, twice: sandbox.run_trajectory(one, twice=twice), {"a": (tool, Start()), "b": (tool, Start())}
        )
        found = Dialogue(("a", "b"), read_delay("0"), 9, own)
        play(found, [call("a", "add", by=1.0), call("b", "add", by=5), call("a", "add", by=2), call("a", "sub")])
    assert [one.outcome.result for one in found.calls] == [1, 5, 3, None]
    assert found.rounds[0].reply == (result("a", "add(by=1)", "1"),)
    assert "error" in json.loads(found.rounds[3].reply[0]["response"])


def test_a_recorded_environment_refuses_what_was_not_recorded():
    own = recorded([[1, "a", "ok", 1, False, None]])
    assert own("a", [ToolCall("f")]).response == "None"
    with pytest.raises(ValueError, match="No outcome is recorded"):
        own("a", [ToolCall("f")])


def test_all_recorded_dialogues_get_the_same_replies(shared_data):
    folder = shared_data / "async"
    composites = {row["id"]: row for _, row in read_rows(folder / "composites.jsonl")}
    count = 0
    for _, row in read_rows(folder / "predictions.jsonl"):
        composite = composites[row["composite"]]
        delay = read_delay(row["delay"], row["seed"])
        found = Dialogue(tuple(composite["tasks"]), delay, composite["max_rounds"], recorded(row["outcomes"]))
        play(found, [turn["assistant"] for turn in row["turns"]])
        assert (found.ended, len(found.rounds)) == (row["ended"], len(row["turns"])), row["id"]
        assert [one.due for one in found.calls] == [outcome[3] for outcome in row["outcomes"]], row["id"]
        for one, turn in zip(found.rounds, row["turns"], strict=True):
            assert list(map(_without_words, one.reply)) == list(map(_without_words, turn["environment"])), row["id"]
        count += 1
    assert count == 1050


def _without_words(reply):
    """A reply without the words of an error, which are not compared."""
    return {key: "error" if str(value).startswith('{"error"') else value for key, value in reply.items()}


# --- figures of the paper --------------------------------------------------------------------------------------------


def test_figure_7_the_prompt_states_the_protocol_and_lists_functions_and_tasks():
    functions = [{"name": "diff", "description": "Compare.", "parameters": {"type": "object", "properties": {}}}]
    prompt = system_prompt(functions)
    assert '{"content": "ALL COMPLETED"}' in prompt
    assert '"func_name"' in prompt
    assert '"name": "diff"' in prompt
    questions = {"file_13": "Compare 'a' with 'b'.", "SM_11": "Join [1, 2]."}
    listed = first_message(questions).partition("```\n")[2].removesuffix("\n```")
    assert json.loads(listed) == [{"id": name, "question": text} for name, text in questions.items()]


def test_figure_11_the_results_come_while_the_other_task_goes_on():
    outcomes = [
        [1, "trading_0", "ok", 2, False, {"symbol": "ALPH"}],
        [2, "file_11", "ok", 3, False, {"current_working_directory": "workspace"}],
        [3, "trading_0", "ok", 4, False, {"price": 1320.45, "volume": 1.567}],
        [4, "file_11", "ok", 5, True, None],
        [5, "trading_0", "ok", 6, True, {"order_id": 12446}],
    ]
    found = Dialogue(("trading_0", "file_11"), read_delay("1"), 30, recorded(outcomes))
    said = [
        call("trading_0", "get_symbol_by_name", name="Alpha Tech"),
        call("file_11", "cd", folder="workspace"),
        call("trading_0", "get_stock_info", symbol="ALPH"),
        call("file_11", "mkdir", dir_name="Projects"),
        call("trading_0", "place_order", order_type="Buy", symbol="ALPH", price=1320.5, amount=20),
        write_content(COMPLETED),
    ]
    play(found, said)
    assert [one.reply for one in found.rounds] == [
        (WAITS,),
        (WAITS, result("trading_0", "get_symbol_by_name(name='Alpha Tech')", '{"symbol": "ALPH"}')),
        (WAITS, result("file_11", "cd(folder='workspace')", '{"current_working_directory": "workspace"}')),
        (WAITS, result("trading_0", "get_stock_info(symbol='ALPH')", '{"price": 1320.45, "volume": 1.567}')),
        (WAITS, result("file_11", "mkdir(dir_name='Projects')", "None")),
        (),
    ]
    assert (found.ended, [one.name for one in found.pending]) == ("completed", ["place_order"])
