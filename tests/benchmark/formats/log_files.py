"""What the tests of logs share: records of a file as an import reads them, and records with something wrong in them."""

import contextlib
import copy
import io
import json
from typing import Any

from hypothesis import strategies as st

from annotator.core.schema import SchemaProblem
from benchmark.core.files.reading import RawRecord
from benchmark.core.formats import FORMATS, ReadDialogue
from tests.benchmark.formats.format_records import JSON, read_records


def dialogues(content: bytes, name: str, filename: str = "log.jsonl", **options: Any) -> dict[str, ReadDialogue]:
    """The dialogues of a file without errors, by id."""
    found = {}
    for item in read_records(io.BytesIO(content), filename, format_name=name, **options):
        assert isinstance(item, RawRecord), item
        (one,) = FORMATS[name].read(item.data)
        found[one.external_id] = one
    return found


def said(dialogue: ReadDialogue) -> list[Any]:
    """What the tasks of a dialogue say: requests, calls with their results, answers."""
    out: list[Any] = []
    for task in dialogue.document["tasks"]:
        out.append(task["user_message"])
        for step in task["steps"]:
            is_call = step["type"] == "call"
            out.append((step["name"], step["arguments"], step["observation"]) if is_call else step["text"])
    return out


@st.composite
def spoilt(draw: st.DrawFn, record: Any) -> Any:
    """The record with other values in a few places, however deep, also in JSON texts."""
    record = copy.deepcopy(record)
    for _ in range(draw(st.integers(1, 4))):
        part = record
        while True:
            key = draw(st.sampled_from(list(part) if isinstance(part, dict) else range(len(part))))
            inner = part[key]
            if isinstance(inner, str) and inner[:2] in ("[{", '{"'):
                with contextlib.suppress(ValueError):
                    part[key] = json.dumps(draw(spoilt(json.loads(inner))))
                break
            if not isinstance(inner, dict | list) or not inner or draw(st.integers(0, 9)) == 0:
                part[key] = draw(JSON | st.just(nested(200)) | st.sampled_from(["", "a", "tool", -1, 2**70]))
                break
            part = inner
    return record


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def is_refused_properly(name: str, record: Any) -> bool:
    """Whether a record is read, or refused with sentences."""
    try:
        (dialogue,) = FORMATS[name].read(record)
    except SchemaProblem as problem:
        return all(one.message.endswith(".") for one in problem.problems) and bool(problem.problems)
    return bool(dialogue.text)
