"""Scores of dialogues with delayed results: by hand, the figures of the paper, and all expected ones."""

from collections import defaultdict

import pytest

from annotator.core.composites.delays import read_delay
from annotator.core.composites.dialogue import Dialogue, play, recorded
from annotator.core.composites.messages import COMPLETED, write_call_message, write_content
from annotator.core.composites.running import running
from annotator.core.execution.async_rows import read_single, read_toolset
from annotator.core.sandbox import Sandbox, ToolCall
from annotator.management.single_tasks import read_rows
from benchmark.core.scoring.async_runs import gold_of
from benchmark.core.scoring.delayed import Agreement, GoldTask, Label, macro_f1, score_dialogue, summarise

SCHEMAS = {
    "read": {"properties": {"key": {}, "unit": {"default": 1}}, "required": ["key"]},
    "write": {"properties": {"key": {}}, "required": ["key"]},
}
OTHER = {"send": {"properties": {"to": {}}}}
GOLD = {
    "a": GoldTask([ToolCall("read", {"key": "x"}), ToolCall("write", {"key": "y"})], [1, 2], "a0", "a2", SCHEMAS),
    "b": GoldTask([ToolCall("send", {"to": "me"})], [None], "b0", "b1", OTHER),
}


def said(task, name, changed=False, result=None, status="ok", **arguments):
    """A call with its outcome."""
    return task, name, arguments, status, changed, result


READ, WRITE = said("a", "read", result=1, key="x"), said("a", "write", changed=True, result=2, key="y")
SEND = said("b", "send", changed=True, to="me")


def scored(*moves, delay="0", finals=None, end=True):
    """The score of a dialogue; a move is a call, or a text."""
    calls = [move for move in moves if isinstance(move, tuple) and move[0] in GOLD]
    outcomes = [[0, task, status, 0, changed, result] for task, _, _, status, changed, result in calls]
    texts = [move if isinstance(move, str) else write_call_message(*move[:3]) for move in moves]
    found = Dialogue(tuple(GOLD), read_delay(delay), 12, recorded(outcomes))
    play(found, [*texts, *([write_content(COMPLETED)] if end else [])])
    return score_dialogue(found, GOLD, {"a": "a2", "b": "b1"} if finals is None else finals)


def kinds(score):
    return [(error["kind"], error["task"], error["round"]) for error in score.errors]


def test_a_right_dialogue_is_right_in_every_way():
    score = scored(READ, SEND, WRITE)
    assert all(score.all_of(reading) for reading in ("char", "results", "env", "acc", "acc_results"))
    assert all(task.in_order and task.exact for task in score.tasks.values())
    assert (score.function.f1, score.parameter.f1, score.rounds, score.passes, kinds(score)) == (1, 1, 4, 0, [])


def test_a_default_and_a_whole_float_make_no_other_call():
    score = scored(said("a", "read", result=1, key="x", unit=1.0), SEND, WRITE)
    assert score.all_of("char")
    # The parameters are compared as given.
    assert score.parameter == Agreement(tp=3, fp=1, fn=0)


ERRORS = {
    "unfinished": ([READ, SEND], [("unfinished", "a", 1)]),
    "neglected": ([READ, WRITE], [("neglected", "b", 0)]),
    "order": ([WRITE, READ, SEND], [("order", "a", 2)]),
    "format": (["prose", READ, WRITE, SEND], [("format", None, 1)]),
    "unknown task": ([said("c", "read"), READ, WRITE, SEND], [("unknown_task", None, 1)]),
    "unknown function": ([READ, WRITE, said("a", "erase"), SEND], [("unknown_function", "a", 3)]),
    "a function of another task": ([READ, WRITE, SEND, said("a", "send", to="me")], [("tool_confusion", "a", 4)]),
    "another argument uses the gold call up": ([READ, said("a", "write", key="z"), SEND], [("parameter", "a", 2)]),
    "repeated": ([READ, WRITE, WRITE, SEND], [("repeated", "a", 3)]),
    "extra read": ([READ, WRITE, said("a", "read", key="z"), SEND], [("extra_read", "a", 3)]),
    "extra write": ([READ, WRITE, said("a", "write", True, key="z"), SEND], [("extra_write", "a", 3)]),
}


@pytest.mark.parametrize(("moves", "expected"), ERRORS.values(), ids=ERRORS)
def test_each_error_has_its_kind_task_and_round(moves, expected):
    assert kinds(scored(*moves)) == expected


def test_a_wrong_call_before_the_result_that_it_needs_is_premature():
    wrong = said("a", "write", key="guess")
    assert kinds(scored(READ, wrong, SEND, delay="1")) == [("premature", "a", 2)]
    assert kinds(scored(READ, SEND, wrong, delay="1")) == [("parameter", "a", 3)]
    # A result that comes with the reply to this very message is not known yet either.
    assert kinds(scored(READ, wrong, SEND, delay="0")) == [("parameter", "a", 2)]


def test_results_count_by_themselves_and_one_that_did_not_return_counts_for_none():
    other_words = said("a", "read", result=1, key="x", extra=1, status="bad_arguments")
    assert not scored(other_words, WRITE, SEND).tasks["a"].results
    same_result = said("a", "read", result=1, key="z")
    task = scored(same_result, WRITE, SEND).tasks["a"]
    assert (task.char, task.results, task.acc, task.acc_results) == (False, True, False, True)


def test_a_task_without_calls_is_in_its_initial_state():
    assert not scored(SEND, finals={"b": "b1"}).tasks["a"].env
    unchanged = {"a": GoldTask([ToolCall("read", {"key": "x"})], [1], "a0", "a0", SCHEMAS)}
    found = play(Dialogue(("a",), read_delay("0"), 9, recorded([])), [write_content(COMPLETED)])
    assert score_dialogue(found, unchanged).tasks["a"].env


def test_the_macro_average_is_over_labels_of_gold():
    rows = [
        Label(frozenset({"f", "g"}), frozenset({"f", "h"})),
        Label(frozenset({"f"}), frozenset({"f"})),
    ]
    # f: 2·2 / (2 + 2) = 1; g: 0; h is only predicted.
    assert macro_f1(rows) == 0.5
    assert macro_f1([]) == 0


def test_a_summary_of_nothing_has_no_rounds():
    assert summarise([])["rounds_of_solved"] is None


# --- figures of the paper --------------------------------------------------------------------------------------------

TRADING = {
    name: {"properties": {key: {} for key in arguments}, "required": list(arguments)}
    for name, arguments in {
        "get_symbol_by_name": ("name",), "get_stock_info": ("symbol",),
        "place_order": ("order_type", "symbol", "price", "amount"),
    }.items()
}  # fmt: skip
FILES = {name: {"properties": {argument: {}}} for name, argument in (("cd", "folder"), ("mkdir", "dir_name"))}
PAPER = {
    "trading_0": GoldTask(
        [
            ToolCall("get_symbol_by_name", {"name": "Alpha Tech"}),
            ToolCall("get_stock_info", {"symbol": "ALPH"}),
            ToolCall("place_order", {"order_type": "Buy", "symbol": "ALPH", "price": 1320.5, "amount": 20}),
        ],
        [{"symbol": "ALPH"}, {"price": 1320.45}, {"order_id": 1}], "t0", "t1", TRADING,
    ),
    "file_11": GoldTask(
        [ToolCall("cd", {"folder": "workspace"}), ToolCall("mkdir", {"dir_name": "Projects"})],
        [{"current_working_directory": "workspace"}, None], "f0", "f1", FILES,
    ),
}  # fmt: skip


def of_paper(*moves):
    outcomes = [[0, task, "ok", 0, name in ("mkdir", "place_order"), None] for task, name, _ in moves]
    found = Dialogue(tuple(PAPER), read_delay("1"), 30, recorded(outcomes))
    play(found, [*(write_call_message(*move) for move in moves), write_content(COMPLETED)])
    return score_dialogue(found, PAPER, {"trading_0": "t1", "file_11": "f1"})


def gold_move(task, index):
    one = PAPER[task].calls[index]
    return task, one.name, one.arguments


def test_figure_11_ending_while_results_are_pending_is_no_error():
    order = [("trading_0", 0), ("file_11", 0), ("trading_0", 1), ("file_11", 1), ("trading_0", 2)]
    score = of_paper(*(gold_move(*one) for one in order))
    assert (kinds(score), score.pending_at_end, score.rounds) == ([], 1, 6)
    assert score.all_of("char")


def test_figure_12_a_guessed_symbol_is_premature():
    score = of_paper(gold_move("trading_0", 0), ("trading_0", "get_stock_info", {"symbol": "ATGL"}))
    assert ("premature", "trading_0", 2) in kinds(score)


def test_figure_13_the_tool_of_another_task_is_tool_confusion():
    score = of_paper(gold_move("file_11", 0), ("trading_0", "mkdir", {"dir_name": "Projects"}))
    assert ("tool_confusion", "trading_0", 2) in kinds(score)


# --- real data -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(shared_data):
    """Rows of the folder, its single tasks, and their gold from recorded executions."""
    folder = shared_data / "async"
    rows = {name: [row for _, row in read_rows(folder / f"{name}.jsonl")] for name in FILES_OF_DATA}
    toolsets = dict(read_toolset(row, folder) for row in rows["toolsets"])
    singles = {row["id"]: read_single(row, toolsets) for row in rows["single_tasks"]}
    gold = {
        row["id"]: GoldTask(
            singles[row["id"]].calls, [call["result"] for call in row["calls"]], row["initial_state_sha256"],
            row["final_state_sha256"], singles[row["id"]].toolset.schemas,
        )
        for row in rows["executions"]
    }  # fmt: skip
    return rows, singles, gold


FILES_OF_DATA = (
    "toolsets", "single_tasks", "executions", "composites", "predictions", "expected_scores", "expected_summary",
)  # fmt: skip


def test_all_scores_and_summaries_agree_from_recorded_outcomes(real):
    rows, _, gold = real
    composites = {row["id"]: row for row in rows["composites"]}
    expected = {row["id"]: row for row in rows["expected_scores"]}
    over = defaultdict(list)
    for row in rows["predictions"]:
        composite = composites[row["composite"]]
        delay = read_delay(row["delay"], row["seed"])
        found = Dialogue(tuple(composite["tasks"]), delay, composite["max_rounds"], recorded(row["outcomes"]))
        play(found, [turn["assistant"] for turn in row["turns"]])
        score = score_dialogue(found, {task: gold[task] for task in composite["tasks"]}, row["finals"])
        assert {"id": row["id"], **score.as_json()} == expected[row["id"]]
        for model in (row["model"], "all"):
            for slice_ in (row["delay"], f"{composite['kind']}#{composite['size']}", "all"):
                over[model, slice_].append(score)
    assert len(expected) == 1050
    assert len(rows["expected_summary"]) == 150
    for row in rows["expected_summary"]:
        found = {"model": row["model"], "over": row["over"], **summarise(over[row["model"], row["over"]])}
        assert found == row


def test_running_the_tools_gives_the_same_scores(real):
    """A dialogue of every player and delay on the tools at hand; the others repeat them."""
    rows, singles, _ = real
    composites = {row["id"]: row for row in rows["composites"]}
    expected = {row["id"]: row for row in rows["expected_scores"]}
    tried = set()
    with Sandbox() as sandbox:

        def runner(trajectory, twice):
            return sandbox.run_trajectory(trajectory, twice=twice)

        gold = {}
        for row in rows["predictions"]:
            composite = composites[row["composite"]]
            members = {task: singles[task] for task in composite["tasks"]}
            if (row["model"], row["delay"]) in tried or any(not one.toolset.implementation for one in members.values()):
                continue
            tried.add((row["model"], row["delay"]))
            for name, single in members.items():
                if name not in gold:
                    gold[name] = gold_of(single, runner)
            tools = {name: (single.tool, single.start) for name, single in members.items()}
            delay = read_delay(row["delay"], row["seed"])
            found = Dialogue(tuple(members), delay, composite["max_rounds"], running(runner, tools))
            play(found, [turn["assistant"] for turn in row["turns"]])
            assert [[one.round, one.task, one.outcome.status, one.due, one.outcome.state_changed, one.outcome.result]
                    for one in found.calls] == row["outcomes"], row["id"]  # fmt: skip
            score = score_dialogue(found, {name: gold[name] for name in members})
            assert {"id": row["id"], **score.as_json()} == expected[row["id"]]
    assert len(tried) == 23 * 5
