"""Executions of single tasks, what each call depends on, and findings."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.execution import dependencies
from annotator.core.execution.async_rows import RowToolset, execute_row, read_toolset
from annotator.core.execution.call_text import read_call
from annotator.core.execution.dependencies import explain, run_again
from annotator.core.execution.findings import findings
from annotator.core.execution.numbers import whole_numbers
from annotator.core.execution.running import Start, StatefulTool, execute, response_to
from annotator.core.execution.signatures import compare_signatures
from annotator.core.execution.static_findings import static_findings
from annotator.core.execution.subjects import Record, Subject, run_subject, subject_of
from annotator.core.sandbox import Implementation, Sandbox, ToolCall
from annotator.core.schema.toolsets import CompiledToolset

SHELF = """
import random

class Shelf:
    def __init__(self):
        self.books = []
        self.open = False
        self._at = 0

    def load(self, state):
        self.books = state['books']

    def unlock(self):
        if self.open:
            return {'error': 'it is open'}
        self.open = True

    def look(self):
        return {'books': list(self.books)}

    def take(self, title: str):
        if not self.open:
            return {'error': 'it is locked'}
        self.books.remove(title)
        return {'taken': title}

    def turn(self):
        self._at += 1

    def page(self):
        return self._at

    def draw(self):
        return random.SystemRandom().random()
"""
FUNCTIONS = ("draw", "look", "page", "take", "turn", "unlock")
TOOL = StatefulTool(Implementation(SHELF, "Shelf", "load"), frozenset(FUNCTIONS))
START = Start({"books": ["Emma", "Ulysses"]})
TAKE = ToolCall("take", {"title": "Emma"})


@pytest.fixture(scope="module")
def runner():
    with Sandbox() as sandbox:
        yield lambda trajectory, twice: sandbox.run_trajectory(trajectory, twice=twice)


def found(runner, question, *calls):
    """The findings about a trajectory on the shelf."""
    calls = [ToolCall(call) if isinstance(call, str) else call for call in calls]
    execution = execute(runner, TOOL, START, calls)
    reruns = run_again(runner, TOOL, START, calls, execution)
    return findings(static_findings(question, calls, FUNCTIONS), execution, explain(execution, reruns, question))


def test_a_call_needs_those_without_which_it_comes_to_something_else(runner):
    calls = [ToolCall("look"), ToolCall("unlock"), TAKE, ToolCall("look")]
    execution = execute(runner, TOOL, START, calls)
    assert [outcome.state_changed for outcome in execution.outcomes] == [False, True, True, False]
    assert execution.final_state == {"books": ["Ulysses"], "open": True}
    found = explain(execution, run_again(runner, TOOL, START, calls, execution), "Take the first book.")
    assert found.needs == ((), (), (1,), (1, 2))
    assert found.value_from == ((), (), (0,), ())
    assert found.leaves_trace == (False, True, True, False)
    assert found.order_forced == (False, True, True)
    # The question names the value, so it has no other source.
    assert explain(execution, run_again(runner, TOOL, START, calls, execution), "Take Emma.").value_from[2] == ()


def test_hidden_attributes_count_for_what_a_call_needs_but_not_for_the_state(runner):
    calls = [ToolCall("turn"), ToolCall("page")]
    execution = execute(runner, TOOL, START, calls)
    assert [(one.state_changed, one.hidden_changed) for one in execution.outcomes] == [(False, True), (False, False)]
    assert run_again(runner, TOOL, START, calls, execution).needs == ((), (0,))


def test_each_fault_has_its_finding_at_its_place(runner):
    assert found(runner, "Unlock it and take Emma.", "unlock", TAKE) == []
    assert found(runner, "", TAKE) == [("too_short", None), ("error_result", 0)]
    assert found(runner, "", "unlock", TAKE, TAKE) == [("exception", 2), ("repeated_call", 2)]
    assert found(runner, "", "look", "unlock", ToolCall("take", {"name": "x"})) == [
        ("bad_arguments", 2), ("first_call_unused", 0), ("order_free", 1), ("order_free", 2),
    ]  # fmt: skip
    assert found(runner, "", "unlock", ToolCall("_at")) == [("unknown_function", 1), ("order_free", 1)]
    assert ("nondeterministic", 1) in found(runner, "", "unlock", "draw")


def test_only_a_distinctive_name_in_the_question_is_a_functions():
    calls = [TAKE, ToolCall("look")]
    names = ("take", "copy_note", "readPage")
    assert static_findings("Take a look.", calls, names) == []
    assert static_findings("Use copy_note.", calls, names) == [("function_named", None)]
    assert static_findings("Use readPage().", calls, names) == [("function_named", None)]
    assert static_findings("my_copy_note", calls, names) == []


def test_long_and_slow_trajectories_run_but_are_not_explained(runner, monkeypatch):
    calls = [ToolCall("turn")] * (dependencies.MAX_EXPLAINED + 1)
    execution = execute(runner, TOOL, START, calls)
    assert len(execution.outcomes) == len(calls)
    assert run_again(runner, TOOL, START, calls, execution) is None
    monkeypatch.setattr(dependencies, "MAX_SECONDS", -1)
    assert run_again(runner, TOOL, START, calls[:2], execution) is None


def test_what_a_model_reads():
    assert [response_to(value) for value in ("a b", None, True, 2.5, [1], {"ä": None})] == [
        "a b", "None", "true", "2.5", "[1]", '{"ä": null}',
    ]  # fmt: skip


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_whole_floats_become_integers_and_nothing_else_changes(value):
    again = whole_numbers(value)
    assert again == value
    assert whole_numbers(again) == again
    assert ".0" not in json.dumps(again) or isinstance(value, str | list | dict)


# --- stored by content -----------------------------------------------------------------------------------------------


STEPS = [{"name": "unlock", "arguments": {}}, {"name": "take", "arguments": {"title": "Emma"}}]


def document(**changes):
    return {"initial_state": START.initial_state, "now": None, "seed": None, "tasks": [{"steps": STEPS}], **changes}


def compiled(implementation=True):
    tools = [{"name": name, "parameters": {"type": "object", "properties": {}}} for name in FUNCTIONS]
    return CompiledToolset("", tools, {"source": SHELF, "class": "Shelf", "load": "load"} if implementation else None)


def test_a_subject_is_known_by_everything_that_decides_its_result(runner):
    subject = subject_of(document(), compiled())
    assert Subject.from_json(json.loads(json.dumps(subject.as_json()))) == subject
    record = run_subject(runner, subject)
    assert Record.from_json(json.loads(json.dumps(record.as_json()))) == record
    execution = record.execution(subject)
    assert execution == execute(runner, TOOL, START, [ToolCall("unlock"), TAKE])
    changed = [
        document(seed=1), document(now="2026-01-02T03:04:05"), document(initial_state={"books": []}),
        document(tasks=[{"steps": STEPS[::-1]}]),
    ]  # fmt: skip
    keys = {subject.key, *(subject_of(one, compiled()).key for one in changed)}
    assert len(keys) == 5
    # What nothing in the run depends on does not count.
    assert subject_of(document(category="other"), compiled()).key == subject.key


def test_what_cannot_be_run_says_why():
    assert "no implementation" in subject_of(document(), compiled(implementation=False))
    assert "no calls yet" in subject_of(document(tasks=[{"steps": []}]), compiled())
    unreadable = [{"name": "take", "arguments": "title=Emma"}]
    assert "arguments of call 1" in subject_of(document(tasks=[{"steps": unreadable}]), compiled())
    assert "more than 1,000 calls" in subject_of(document(tasks=[{"steps": STEPS * 501}]), compiled())
    assert "not a date and time" in subject_of(document(now="tomorrow"), compiled())


# --- signatures ------------------------------------------------------------------------------------------------------

SIGNATURES = {
    "fits": ("def f(self, a, b=2): pass", {}),
    "missing function": ("def g(self): pass", {"f": "The toolset has the function f, but the class Tool does not."}),
    "unknown parameter": ("def f(self, a): pass", {"f.b": "f does not take b, which its schema names."}),
    "takes anything": ("def f(self, a, **rest): pass", {}),
    "parameter without a schema": (
        "def f(self, a, c, b=2): pass",
        {"f.c": "f needs c, which its schema does not name."},
    ),
    "default that differs": (
        "def f(self, a, b=3): pass",
        {"f.b": "The default of b is 2 in its schema, but 3 in the code."},
    ),
    "whole float": ("def f(self, a, b=2.0): pass", {}),
    "required in the code": (
        "def f(self, a, b): pass",
        {"f.b": "The code needs b, but its schema does not require it."},
    ),
    "positional only": ("def f(self, a, /, b=2): pass", {"f.a": "f does not take a by name. Remove the slash."}),
    "static": ("@staticmethod\n    def f(a, b=2): pass", {}),
}


@pytest.mark.parametrize(("function", "expected"), SIGNATURES.values(), ids=SIGNATURES)
def test_functions_are_compared_with_their_schemas(function, expected):
    schemas = {"f": {"properties": {"a": {}, "b": {"default": 2}}, "required": ["a"]}}
    problems = compare_signatures(Implementation(f"class Tool:\n    {function}\n", "Tool"), schemas)
    assert {problem.place: problem.message for problem in problems} == expected


def test_bases_and_plain_functions_count_and_the_loader_must_take_the_state():
    source = "class Base:\n    def f(self): pass\nclass Tool(Base):\n    def load(self): pass\ndef g(x): pass\n"
    assert compare_signatures(Implementation(source, "Tool"), {"f": {}}) == []
    [problem] = compare_signatures(Implementation(source, "Tool", "load"), {"f": {}})
    assert problem.message == "load must take the initial state as its only argument."
    assert compare_signatures(Implementation(source, None), {"g": {"properties": {"x": {}}, "required": ["x"]}}) == []
    [problem] = compare_signatures(Implementation(source, "Other"), {})
    assert problem.message == "The code does not define the class Other."
    [problem] = compare_signatures(Implementation("class Tool(:", "Tool"), {})
    assert problem.message.startswith("The code cannot be read: ")


# --- real data -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(shared_data):
    """The folder, and its toolsets by id."""
    folder = shared_data / "async"
    lines = (folder / "toolsets.jsonl").read_text().splitlines()
    return folder, dict(read_toolset(json.loads(line), folder) for line in lines)


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_implementations_fit_their_schemas(real):
    checked = [compare_signatures(one.implementation, one.schemas) for one in real[1].values() if one.implementation]
    assert checked == [[]] * 12


@pytest.mark.slow(seconds=20)
def test_every_single_task_comes_to_what_it_must(real, runner):
    folder, toolsets = real
    expected = {row["id"]: row for row in rows(folder / "executions.jsonl")}
    executed = 0
    for row in rows(folder / "single_tasks.jsonl"):
        toolset: RowToolset = toolsets[row["toolset"]]
        if toolset.implementation is None:
            continue
        executed += 1
        due = expected[row["id"]]
        answer = execute_row(row, toolsets, runner)
        assert answer["findings"] == due["findings"], row["id"]
        assert answer["final_state_sha256"] == due["final_state_sha256"], row["id"]
        steps = [{"name": call["name"], "arguments": call["arguments"]} for call in due["calls"]]
        task = document(initial_state=row["initial_config"], tasks=[{"steps": steps}])
        tools = [{"name": name, "parameters": schema} for name, schema in toolset.schemas.items()]
        code = toolset.implementation
        content = {"source": code.source, "class": code.class_name, "load": code.load}
        subject = subject_of(task, CompiledToolset("", tools, content))
        record = run_subject(runner, subject)
        execution = record.execution(subject)
        why = explain(execution, record.reruns, row["question"])
        assert execution.initial_sha256 == due["initial_state_sha256"], row["id"]
        assert execution.final_state == due["final_state"], row["id"]
        assert list(why.order_forced) == due["order_forced"], row["id"]
        for index, (outcome, call) in enumerate(zip(execution.outcomes, due["calls"], strict=True)):
            same = {
                "status": outcome.status.value, "result": outcome.result, "response": outcome.response,
                "state_changed": outcome.state_changed, "hidden_changed": outcome.hidden_changed,
                "state_sha256": outcome.state_sha256, "needs": list(why.needs[index]),
                "value_from": list(why.value_from[index]), "leaves_trace": why.leaves_trace[index],
            }  # fmt: skip
            assert {key: call[key] for key in same} == same, (row["id"], index)
    assert executed == 60


def test_every_planted_fault_that_can_be_run_is_found_and_nothing_else(real, runner):
    folder, toolsets = real
    expected = {row["id"]: row["findings"] for row in rows(folder / "faulty_findings.jsonl")}
    faulty = [row for row in rows(folder / "faulty_singles.jsonl") if toolsets[row["toolset"]].implementation]
    assert len(faulty) == 103
    for row in faulty:
        assert execute_row(row, toolsets, runner)["findings"] == expected[row["id"]], row["id"]


def test_faults_that_need_no_run_are_found_in_all_real_tasks(real):
    folder, toolsets = real
    kinds = ("too_short", "function_named", "repeated_call")
    expected = {row["id"]: row["findings"] for row in rows(folder / "faulty_findings.jsonl")}
    for row in rows(folder / "single_tasks.jsonl") + rows(folder / "faulty_singles.jsonl"):
        toolset = toolsets[row["toolset"]]
        calls = [read_call(text, toolset.names) for text in row["ground_truth"]]
        static = [list(one) for one in static_findings(row["question"], calls, toolset.schemas)]
        assert static == [one for one in expected.get(row["id"], []) if one[0] in kinds], row["id"]


# --- figure 9 of the paper -------------------------------------------------------------------------------------------

FILES = """
class Files:
    def __init__(self):
        self.root = {}
        self._at = []

    def load(self, config):
        (self.root,) = config['root'].values()

    def _here(self):
        folder = self.root
        for name in self._at:
            folder = folder['contents'][name]
        return folder['contents']

    def cd(self, folder):
        if self._here().get(folder, {}).get('type') != 'directory':
            return {'error': f'{folder}: no such directory'}
        self._at.append(folder)
        return {'current_working_directory': folder}

    def find(self, path='.', name=None):
        return {'matches': [f'./{one}' for one in self._here() if name is None or name in one]}

    def cat(self, file_name):
        if file_name not in self._here():
            return {'error': f'{file_name}: no such file'}
        return {'file_content': self._here()[file_name]['content']}

    def cp(self, source, destination):
        if source not in self._here():
            return {'error': f'{source}: no such file'}
        self._here()[destination] = dict(self._here()[source])
"""


def test_figure_9_a_reconstructed_task_runs_as_its_trajectory_says(runner):
    words = "Collaboration leads to success. Innovation ignites growth."
    folder = {
        "ideas.txt": {"type": "file", "content": words},
        "Archived": {"type": "directory", "contents": {}},
        "past_projects": {"type": "directory", "contents": {}},
    }
    home = {"type": "directory", "contents": {"documents": {"type": "directory", "contents": folder}}}
    schemas = {
        "cd": {"properties": {"folder": {}}, "required": ["folder"]},
        "find": {"properties": {"path": {"default": "."}, "name": {"default": "None"}}},
        "cat": {"properties": {"file_name": {}}, "required": ["file_name"]},
        "cp": {"properties": {"source": {}, "destination": {}}, "required": ["source", "destination"]},
    }
    question = "Find what is called “ideas” in 'documents', show it, and copy it to 'ideas_backup.txt' beside it."
    row = {
        "id": "file_1", "question": question, "toolset": "files", "initial_config": {"root": {"simona": home}},
        "ground_truth": [
            "cd(folder='documents')", "find(name='ideas')", "cat(file_name='ideas.txt')",
            "cp(source='ideas.txt', destination='ideas_backup.txt')",
        ],
    }  # fmt: skip
    toolset = RowToolset(schemas, Implementation(FILES, "Files", "load"))
    assert compare_signatures(toolset.implementation, schemas) == []
    answer = execute_row(row, {"files": toolset}, runner)
    assert [call["result"] for call in answer["calls"]] == [
        {"current_working_directory": "documents"}, {"matches": ["./ideas.txt"]}, {"file_content": words}, None,
    ]  # fmt: skip
    assert [call["state_changed"] for call in answer["calls"]] == [False, False, False, True]
    # Nothing is wrong with it; showing and copying could be exchanged, which the question decides.
    assert answer["findings"] == [["order_free", 3]]
