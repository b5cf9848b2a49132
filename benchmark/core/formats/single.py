"""Single tasks over stateful tools (AsyncTool): ``{"id", "question", "category", "initial_config", "ground_truth"}``.

``ground_truth`` is a list of calls written as Python text; they are read, and never run. ``tools`` are the functions,
as in the other formats (or ``functions``), ``implementation`` the code that runs them: ``{"source", "class", "load"}``.
``call_ids`` are Assay's own: the ids of calls that are not numbered in order. In an archive, a record may instead name
its ``toolset``, which the archive's ``toolsets.jsonl`` describes. ``now`` and ``seed`` fix the clock and randomness.
Composites of single tasks are records of their own: see ``composite_rows``.
"""

from collections.abc import Sequence
from typing import Any

from annotator.core.schema import Problem, SchemaProblem
from annotator.core.schema.toolsets import read_implementation
from benchmark.core.formats.composite_rows import fits_id, is_composite, read_composite, write_composite
from benchmark.core.formats.format_guess import refuse_other_format
from benchmark.core.formats.interface import (
    CANARY,
    Format,
    Problems,
    ReadDialogue,
    check_id,
    describe,
    empty_task,
    guess_language,
    number_of_cell,
    only_one,
    read_functions,
    refuse_own_field,
    require_object,
    settle_document,
)
from benchmark.core.formats.native_remainder import complete, keep
from benchmark.core.formats.python_calls import names_of, numbered, read_calls, write_calls

_KNOWN = frozenset(
    (
        "id", "question", "category", "initial_config", "ground_truth", "call_ids", "tools", "functions",
        "implementation", "now", "seed",
    )
)  # fmt: skip
_MAX_CATEGORY = 80


class SingleFormat(Format):
    name = "async"
    kinds = frozenset({"single_task", "composite"})

    def read(self, record: Any) -> list[ReadDialogue]:
        """See ``interface.Format``."""
        require_object(record)
        if is_composite(record):
            return [read_composite(record)]
        if not isinstance(record.get("question"), str) or type(record.get("ground_truth")) is not list:
            refuse_other_format(record, self.name)
        if "question" not in record and "ground_truth" not in record:
            raise SchemaProblem([Problem("/question", "The record has no question and no ground_truth.")])
        problems, warnings = Problems(), list[Problem]()
        refuse_own_field(record, problems)
        external_id = check_id(record.get("id"), problems)
        question = record.get("question")
        if not isinstance(question, str):
            problems.add("/question", f"The question must be text, not {describe(question)}.")
            question = ""
        if "tools" not in record and "functions" not in record and isinstance(record.get("toolset"), str):
            problems.add(
                "/toolset", "The tools are missing. Import an archive with toolsets.jsonl next to the records."
            )
            tools: list[Any] = []
        else:
            key = "tools" if "tools" in record else "functions"
            tools = read_functions({"tools": record.get(key)}, problems, warnings)
        implementation = None
        try:
            implementation = read_implementation(record.get("implementation"))
        except SchemaProblem as problem:
            problems.extend(problem.problems)
        task = empty_task(1, question)
        task["steps"] = _read_steps(record.get("ground_truth"), tools, problems)
        _name_steps(task["steps"], record.get("call_ids"), problems)
        document = {
            "kind": "single_task",
            "language": guess_language([question]) or None,
            "env_info": None,
            "context": [],
            "tasks": [task],
            "category": _read_category(record.get("category"), problems),
            "initial_state": record.get("initial_config"),
            "now": _read_time(record.get("now"), problems),
            "seed": _read_seed(number_of_cell(record.get("seed")), problems),
            "extra": {key: record[key] for key in record.keys() - _KNOWN if key != CANARY},
        }
        problems.raise_if_any()
        dialogue = ReadDialogue(external_id, document["language"] or "", "", document, tools, warnings)
        dialogue.implementation = implementation
        raw = {key: record[key] for key in record.keys() & _KNOWN}
        keep(document, self.name, raw, _plain(dialogue))
        settle_document(dialogue, record)
        return [dialogue]

    def write(self, items: Sequence[ReadDialogue], *, full: bool = False, canary: str | None = None) -> dict[str, Any]:
        """See ``interface.Format``. A record of this format has one single task, or one composite."""
        item = only_one(items, self.name)
        composite = item.document["kind"] == "composite"
        record = write_composite(item) if composite else _plain(item)
        complete(record, item.document, self.name)
        if full and not composite:
            record["tools"] = item.tools
        if canary is not None:
            record[CANARY] = canary
        return record

    def problems(self, items: Sequence[ReadDialogue]) -> list[Problem]:
        """See ``interface.Format``: calls without readable arguments have no text."""
        return [
            Problem(f"/tasks/{task['id']}/steps/{step['id']}/arguments", "The arguments are not an object.")
            for item in items
            for task in item.document["tasks"]
            for step in task["steps"]
            if not isinstance(step["arguments"], dict)
        ]


def _plain(item: ReadDialogue) -> dict[str, Any]:
    document = item.document
    task = document["tasks"][0]
    record = {
        "id": item.external_id,
        "category": document["category"],
        "question": task["user_message"],
        "initial_config": document["initial_state"],
        "ground_truth": write_calls(task),
        "tools": item.tools,
    }
    ids = [step["id"] for step in task["steps"]]
    if ids != [f"s{number}" for number in range(1, len(ids) + 1)]:
        record["call_ids"] = ids
    if item.implementation is not None:
        record["implementation"] = item.implementation
    for key in ("now", "seed"):
        if document[key] is not None:
            record[key] = document[key]
    return record


def _read_steps(texts: Any, tools: Sequence[Any], problems: Problems) -> list[dict[str, Any]]:
    if type(texts) is not list:
        problems.add("/ground_truth", f"The ground truth must be a list of calls, not {describe(texts)}.")
        return []
    return numbered(read_calls(texts, "/ground_truth", names_of(tools), problems))


def _name_steps(steps: list[dict[str, Any]], ids: Any, problems: Problems) -> None:
    """Give calls the ids that their record names, so that an edited task is read as it was written."""
    if ids is None:
        return
    known = type(ids) is list and all(isinstance(one, str) and fits_id(one) for one in ids)
    if not known or len(ids) != len(steps) or len(set(ids)) < len(ids):
        problems.add("/call_ids", "There must be one id for each call: different texts of letters, digits, “_” or “-”.")
        return
    for step, one in zip(steps, ids, strict=True):
        step["id"] = one


def _read_category(value: Any, problems: Problems) -> str | None:
    if value is None or (isinstance(value, str) and 0 < len(value) <= _MAX_CATEGORY):
        return value
    problems.add("/category", f"The category must be text of 1 to {_MAX_CATEGORY} characters.")
    return None


def _read_time(value: Any, problems: Problems) -> str | None:
    if value is None or isinstance(value, str):
        return value
    problems.add("/now", f"The time must be text such as 2026-02-03T09:30:00, not {describe(value)}.")
    return None


def _read_seed(value: Any, problems: Problems) -> int | None:
    if value is None or type(value) is int:
        return value
    problems.add("/seed", f"The seed must be a whole number, not {describe(value)}.")
    return None
