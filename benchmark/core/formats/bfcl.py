"""BFCL's tasks; multi-turn: ``{"id", "question", "initial_config", "involved_classes", "ground_truth", "tools"}``.

``question`` has the messages of each turn, ``ground_truth`` the calls of each turn as Python text; they are read, and
never run. ``bfcl`` keeps the turns as the tasks of a dialogue, ``bfcl_single`` joins them into a single task over the
tools' initial state. Calls and functions are in files of their own, which an archive puts into the records.
``bfcl`` also has the single-turn tasks: see ``bfcl_single_turn``.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from annotator.core.schema import Problem, SchemaProblem
from benchmark.core.formats.bfcl_single_turn import KNOWN, is_single_turn, plain_single_turn, read_single_turn
from benchmark.core.formats.format_guess import refuse_other_format
from benchmark.core.formats.interface import (
    CANARY,
    Format,
    Problems,
    ReadDialogue,
    check_id,
    empty_task,
    guess_language,
    only_one,
    read_functions,
    refuse_own_field,
    require_object,
    settle_document,
)
from benchmark.core.formats.native_remainder import compare, complete, keep, native, note, unknown
from benchmark.core.formats.python_calls import names_of, numbered, read_calls, write_calls

_MAX_TURNS = 64


class BfclFormat(Format):
    name = "bfcl"
    #: The fields that the document has; the others are kept as they are.
    known: ClassVar[frozenset[str]] = frozenset(("id", "question", "ground_truth", "tools"))
    reads_single_turn: ClassVar[bool] = True

    def read(self, record: Any) -> list[ReadDialogue]:
        """See ``interface.Format``."""
        require_object(record)
        if self.reads_single_turn and is_single_turn(record):
            return [self._read_single_turn(record)]
        question = record.get("question")
        if type(question) is not list or "involved_classes" not in record:
            refuse_other_format(record, self.name)
            message = "A task of BFCL has a question (a list of turns) and involved_classes."
            if is_single_turn(record):
                message += " Choose the format bfcl for single-turn tasks."
            raise SchemaProblem([Problem("/question", message)])
        problems, warnings = Problems(), list[Problem]()
        refuse_own_field(record, problems)
        external_id = check_id(record.get("id"), problems)
        tools = read_functions(record, problems, warnings)
        messages = _read_turns(question, problems)
        calls = _read_calls(record.get("ground_truth"), len(messages), tools, problems, warnings)
        problems.raise_if_any()
        document = self._document(record, messages, calls)
        document["extra"] = {key: record[key] for key in record.keys() - self.known if key != CANARY}
        dialogue = ReadDialogue(external_id, document["language"] or "", "", document, tools, warnings)
        raw = {key: record[key] for key in record.keys() & self.known}
        keep(document, self.name, raw, self._plain(dialogue))
        settle_document(dialogue, record)
        return [dialogue]

    def _read_single_turn(self, record: dict[str, Any]) -> ReadDialogue:
        problems = Problems()
        refuse_own_field(record, problems)
        dialogue = read_single_turn(record, problems, [])
        problems.raise_if_any()
        document = dialogue.document
        document["extra"] = {key: record[key] for key in record.keys() - KNOWN if key != CANARY}
        raw = {key: record[key] for key in record.keys() & KNOWN}
        note(document, format=self.name, single_turn=True, **compare(raw, plain_single_turn(dialogue)))
        settle_document(dialogue, record)
        return dialogue

    def _document(
        self, record: dict[str, Any], messages: list[str], calls: list[list[dict[str, Any]]]
    ) -> dict[str, Any]:
        tasks = []
        for number, (message, steps) in enumerate(zip(messages, calls, strict=True), 1):
            tasks.append(empty_task(number, message) | {"steps": numbered(steps)})
        language = guess_language(messages) or None
        return {"kind": "multi_turn", "language": language, "env_info": None, "context": [], "tasks": tasks}

    def write(self, items: Sequence[ReadDialogue], *, full: bool = False, canary: str | None = None) -> dict[str, Any]:
        """See ``interface.Format``. A record of this format has one dialogue of one language."""
        item = only_one(items, self.name)
        single_turn = self._is_single_turn(item.document)
        record = plain_single_turn(item) if single_turn else self._plain(item)
        complete(record, item.document, self.name)
        for key, empty in (("initial_config", {}), ("involved_classes", [])) if not single_turn else ():
            record.setdefault(key, empty)
        if canary is not None:
            record[CANARY] = canary
        return record

    def _is_single_turn(self, document: dict[str, Any]) -> bool:
        """Return whether a document is of a single-turn task, and an edit added no other task."""
        notes = native(document)
        named = notes.get("format") == self.name and notes.get("single_turn") is True
        return self.reads_single_turn and named and len(document["tasks"]) == 1

    def _plain(self, item: ReadDialogue) -> dict[str, Any]:
        return _fields(item)

    def problems(self, items: Sequence[ReadDialogue]) -> list[Problem]:
        """See ``interface.Format``: the published file has only calls with readable arguments."""
        return [
            Problem(f"/tasks/{task['id']}/steps/{step['id']}", "BFCL has only calls, whose arguments are an object.")
            for item in items
            for task in item.document["tasks"]
            for step in task["steps"]
            if step["type"] != "call" or not isinstance(step["arguments"], dict)
        ]


class BfclSingleFormat(BfclFormat):
    name = "bfcl_single"
    kinds = frozenset({"single_task"})
    known = BfclFormat.known | {"initial_config"}
    reads_single_turn = False

    def _document(
        self, record: dict[str, Any], messages: list[str], calls: list[list[dict[str, Any]]]
    ) -> dict[str, Any]:
        state, classes = record.get("initial_config"), record["involved_classes"]
        if type(state) is dict and type(classes) is list and len(classes) == 1:
            # A tool of one class gets its own part.
            state = state.get(classes[0], state)
        task = empty_task(1, "\n".join(messages)) | {"steps": numbered([step for turn in calls for step in turn])}
        return {
            "kind": "single_task",
            "language": guess_language(messages) or None,
            "env_info": None,
            "context": [],
            "tasks": [task],
            "category": None,
            "initial_state": state,
            "now": None,
            "seed": None,
        }

    def _plain(self, item: ReadDialogue) -> dict[str, Any]:
        state, classes = item.document["initial_state"], unknown(item.document).get("involved_classes")
        if type(classes) is list and len(classes) == 1 and isinstance(classes[0], str):
            state = {classes[0]: state}
        return super()._plain(item) | {"initial_config": state}


def _fields(item: ReadDialogue) -> dict[str, Any]:
    tasks = item.document["tasks"]
    return {
        "id": item.external_id,
        "question": [[{"role": "user", "content": task["user_message"]}] for task in tasks],
        "ground_truth": [write_calls(task) for task in tasks],
        "tools": item.tools,
    }


def _read_turns(question: list[Any], problems: Problems) -> list[str]:
    """Return what the user says in each turn."""
    if not 1 <= len(question) <= _MAX_TURNS:
        problems.add("/question", f"There are {len(question):,} turns. A task has 1 to {_MAX_TURNS}.")
    messages = []
    for index, turn in enumerate(question[:_MAX_TURNS]):
        said = turn if type(turn) is list else [turn]
        texts = []
        for place, one in enumerate(said):
            content = one.get("content") if type(one) is dict else None
            if type(one) is not dict or one.get("role") != "user" or type(content) is not str:
                problems.add(f"/question/{index}/{place}", "A turn has messages of the user, with role and content.")
            else:
                texts.append(content)
        messages.append("\n".join(texts))
    return messages


def _read_calls(
    turns: Any, count: int, tools: Sequence[Any], problems: Problems, warnings: list[Problem]
) -> list[list[dict[str, Any]]]:
    """Return the calls of each turn."""
    if turns is None:
        warnings.append(Problem("/ground_truth", "The record has no possible answer, so the tasks have no calls."))
        return [[] for _ in range(count)]
    if type(turns) is not list or len(turns) != count or any(type(turn) is not list for turn in turns):
        problems.add("/ground_truth", f"The ground_truth must have a list of calls for each of the {count} turns.")
        return [[] for _ in range(count)]
    names = names_of(tools)
    return [read_calls(turn, f"/ground_truth/{index}", names, problems) for index, turn in enumerate(turns)]
