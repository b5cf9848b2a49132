"""NESTFUL's nested calls: ``{"input", "output": [{"name", "arguments", "label"}, …]}``.

A task becomes a dialogue with one task. A reference such as ``$var1.skyId$`` in an argument is a dependency on the call
with that label, and stays in the argument as it is. The last entry, ``var_result``, is no call: it says what the answer
consists of, and is kept for the record. An archive puts the functions of its specification into the records.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from annotator.core.schema import Problem, SchemaProblem, canonical, content_hash
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
    only_one,
    read_functions,
    refuse_own_field,
    require_object,
    settle_document,
)
from benchmark.core.formats.native_remainder import complete, keep, native, note
from benchmark.core.formats.python_calls import call_step

_KNOWN = frozenset(("id", "input", "output", "tools"))
_RESULT = "var_result"
#: A reference to the call with a label, or to something in its result.
_REFERENCE = re.compile(r"\$([A-Za-z0-9_]{1,60})(?:[.\[][^$]{0,200})?\$")
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")
_MAX_CALLS = 256


class NestfulFormat(Format):
    name = "nestful"

    def read(self, record: Any) -> list[ReadDialogue]:
        """See ``interface.Format``."""
        require_object(record)
        question, output = record.get("input"), record.get("output")
        if not isinstance(question, str) or type(output) is not list:
            refuse_other_format(record, self.name)
            raise SchemaProblem([Problem("/input", "A task of NESTFUL has an input (text) and an output (calls).")])
        problems, warnings = Problems(), list[Problem]()
        refuse_own_field(record, problems)
        if "id" in record:
            external_id = check_id(record["id"], problems)
        else:
            raw_text = canonical({"input": question, "output": output})
            external_id = f"nestful-{content_hash(raw_text)[:16]}"
        tools = read_functions(record, problems, warnings)
        task = empty_task(1, question)
        task["steps"], result = _read_steps(output, problems)
        problems.raise_if_any()
        document: dict[str, Any] = {
            "kind": "multi_turn",
            "language": guess_language([question]) or None,
            "env_info": None,
            "context": [],
            "tasks": [task],
            "extra": {key: record[key] for key in record.keys() - _KNOWN if key != CANARY},
        }
        if result is not None:
            note(document, result=result)
        dialogue = ReadDialogue(external_id, document["language"] or "", "", document, tools, warnings)
        raw = {key: record[key] for key in record.keys() & _KNOWN}
        keep(document, self.name, raw, _plain(dialogue))
        settle_document(dialogue, record)
        return [dialogue]

    def write(self, items: Sequence[ReadDialogue], *, full: bool = False, canary: str | None = None) -> dict[str, Any]:
        """See ``interface.Format``. A record of this format has one dialogue of one language."""
        item = only_one(items, self.name)
        record = _plain(item)
        complete(record, item.document, self.name)
        if canary is not None:
            record[CANARY] = canary
        return record

    def problems(self, items: Sequence[ReadDialogue]) -> list[Problem]:
        """See ``interface.Format``: a record has one request, and only calls with readable arguments."""
        found = []
        for item in items:
            tasks = item.document["tasks"]
            found += [Problem(f"/tasks/{task['id']}", "NESTFUL has one request in a record.") for task in tasks[1:]]
            found += [
                Problem(f"/tasks/{task['id']}/steps/{step['id']}", "NESTFUL has only calls with readable arguments.")
                for task in tasks
                for step in task["steps"]
                if step["type"] != "call" or not isinstance(step["arguments"], dict)
            ]
        return found


def _plain(item: ReadDialogue) -> dict[str, Any]:
    task = item.document["tasks"][0]
    output = [
        {"name": step["name"], "arguments": step["arguments"], "label": step["id"]}
        for step in task["steps"]
        if step["type"] == "call"
    ]
    result = native(item.document).get("result")
    return {
        "id": item.external_id,
        "input": task["user_message"],
        "output": output if result is None else [*output, result],
        "tools": item.tools,
    }


def _read_steps(output: list[Any], problems: Problems) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Return the calls with their dependencies, and the last entry if it is the result."""
    if len(output) > _MAX_CALLS:
        problems.add("/output", f"There are {len(output):,} calls. The limit is {_MAX_CALLS}.")
        return [], None
    steps: list[dict[str, Any]] = []
    result = None
    known: set[str] = set()
    for index, entry in enumerate(output):
        place = f"/output/{index}"
        if type(entry) is not dict or not isinstance(entry.get("name"), str):
            problems.add(place, f"A call must be an object with a name, not {describe(entry)}.")
            continue
        arguments = entry.get("arguments")
        if entry["name"] == _RESULT and index == len(output) - 1:
            result = entry
            continue
        if type(arguments) is not dict:
            problems.add(f"{place}/arguments", f"The arguments must be an object, not {describe(arguments)}.")
            continue
        label = entry.get("label")
        if not isinstance(label, str) or not _LABEL.fullmatch(label) or label in known:
            label = f"s{index + 1}"
        needs = dict.fromkeys(one for text in _texts(arguments) for one in _REFERENCE.findall(text) if one in known)
        edges = [{"id": one, "kind": "parameter"} for one in needs]
        steps.append(call_step(entry["name"], arguments, id=label, depends_on=edges))
        known.add(label)
    return steps, result


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
