"""Composites of single tasks (AsyncTool): ``{"id", "kind", "size", "stratum", "tasks", "seed", "max_rounds"}``.

``tasks`` are the ids of single tasks. ``revisions`` is Assay's own: the revision of each task, and what readers see of
it. Without it, people choose the revisions in the application.
"""

import re
from typing import Any

from annotator.core.schema import Problem, SchemaProblem, read_document
from benchmark.core.formats.interface import (
    CANARY,
    Problems,
    ReadDialogue,
    check_id,
    describe,
    empty_task,
    guess_language,
    refuse_own_field,
    settle_document,
)
from benchmark.core.formats.native_remainder import keep

_KNOWN = frozenset(("id", "kind", "size", "stratum", "tasks", "seed", "max_rounds", "revisions"))
_ID = re.compile(r"[A-Za-z0-9_.:\-]{1,80}")
#: What ``revisions`` says of each task.
_OF_TASK = ("sha256", "toolset_sha256", "category", "calls", "replaced")


def fits_id(name: str) -> bool:
    """Return whether a text can be the id of a task or call."""
    return _ID.fullmatch(name) is not None


def is_composite(record: dict[str, Any]) -> bool:
    """Return whether a record of single tasks is a composite."""
    return "ground_truth" not in record and type(record.get("tasks")) is list and "kind" in record


def read_composite(record: dict[str, Any]) -> ReadDialogue:
    """Read a composite. Raises SchemaProblem."""
    problems = Problems()
    refuse_own_field(record, problems)
    external_id = check_id(record.get("id"), problems)
    names = [name for name in record["tasks"] if isinstance(name, str) and name]
    if len(names) < len(record["tasks"]):
        problems.add("/tasks", "The tasks must be the ids of single tasks, as texts.")
    revisions = record.get("revisions", [])
    known = type(revisions) is list and all(isinstance(one, dict) for one in revisions)
    if not known or len(revisions) not in (0, len(names)):
        problems.add("/revisions", "There must be one object for each task, in the same order.")
        revisions = []
    stratum = record.get("stratum")
    # The stratum of a similar composite names the category of each task; that of a cross one does not say whose it is.
    named = {one for one in stratum if isinstance(one, str)} if isinstance(stratum, list) else set()
    category = named.pop()[:80] or None if len(named) == 1 and record["kind"] == "similar" else None
    tasks = []
    for number, name in enumerate(names, 1):
        said = revisions[number - 1] if revisions else {}
        question = said.get("question", "")
        if not isinstance(question, str):
            problems.add(f"/revisions/{number - 1}/question", f"The question must be text, not {describe(question)}.")
            question = ""
        task = empty_task(number, question)
        # The ids of a dialogue are those of the single tasks, if these can be ids.
        task["id"] = name if fits_id(name) else task["id"]
        task["single"] = name
        task.update({key: said[key] for key in _OF_TASK if key in said})
        task.setdefault("category", category)
        tasks.append(task)
    problems.raise_if_any()
    document = {
        "kind": "composite",
        "language": guess_language([task["user_message"] for task in tasks if task["user_message"]]) or None,
        "composition": record["kind"],
        "tasks": tasks,
        "max_rounds": record.get("max_rounds"),
        "seed": record.get("seed"),
        "extra": {key: record[key] for key in record.keys() - _KNOWN if key != CANARY},
    }
    try:
        document = read_document(document)
    except SchemaProblem as problem:
        raise SchemaProblem([Problem(_place(p.pointer), p.message) for p in problem.problems]) from None
    dialogue = ReadDialogue(external_id, document["language"] or "", "", document, [], [])
    raw = {key: record[key] for key in record.keys() & _KNOWN}
    keep(document, "async", raw, write_composite(dialogue))
    settle_document(dialogue, record)
    return dialogue


def _place(pointer: str) -> str:
    """Return where a problem of the document is in the record."""
    if pointer.startswith("/composition"):
        return "/kind"
    found = re.fullmatch(r"/tasks/(\d+)/(\w+)(.*)", pointer)
    if found and found[2] in (*_OF_TASK, "user_message"):
        return f"/revisions/{found[1]}/{found[2]}{found[3]}"
    return f"/tasks/{found[1]}" if found else pointer


def write_composite(item: ReadDialogue) -> dict[str, Any]:
    """Return the record of a composite, without what its own record had beside."""
    document = item.document
    tasks = document["tasks"]
    record = {
        "id": item.external_id,
        "kind": document["composition"],
        "size": len(tasks),
        "tasks": [task["single"] for task in tasks],
        "max_rounds": document["max_rounds"],
    }
    categories = [task["category"] for task in tasks]
    if None not in categories:
        record["stratum"] = sorted(categories)
    if document["seed"] is not None:
        record["seed"] = document["seed"]
    if any(task["sha256"] for task in tasks):
        record["revisions"] = [
            {"question": task["user_message"]} | {key: task[key] for key in _OF_TASK if task[key] is not None}
            for task in tasks
        ]
        for one in record["revisions"]:
            if "replaced" in one:
                one["replaced"] = {key: value for key, value in one["replaced"].items() if key != "extra"}
    return record
