"""A small native cctu record of our own, with the files that belong to it."""

import json
from typing import Any

from tests.annotator.case_documents import CODE, END, LENGTH, LIMIT, ORDER, PROMPT, ROUNDS, TOOL_CODE, TOOLS

Record = dict[str, Any]

TIMES_CODE = "def read_timetable(ferry):\n    return '21:40'\n"
QUERY = "When does the last boat leave Norhavn today?"


def record(name: str = "7", **fields: Any) -> Record:
    """A line of ``input_data.jsonl``; published ones spell things this way."""
    return {
        "id": name,
        "messages": [{"role": "system", "content": PROMPT}, {"role": "user", "content": QUERY}],
        "tools": json.dumps(TOOLS, ensure_ascii=False, indent=2),
        "codes": json.dumps({"read_timetable": TIMES_CODE, "find_ferry": TOOL_CODE}),
        "constraints_list": [
            ["Interact", "Call Times", LIMIT],
            ["Tool", "Tool Order", ORDER],
            ["Interact", "Round", ROUNDS],
            ["Response", "Length", LENGTH],
            ["Response", "Punctuation", END],
        ],
        "data_source": "Multi-Hop",
        "answer": "The Gull leaves Norhavn at 21:40.",
        "unsolved_set": json.dumps({"read_timetable": ["21:40"], "find_ferry": ["Gull"]}),
    } | fields  # fmt: skip


def files() -> dict[str, str]:
    """The record's files by name."""
    return {
        "check_constraint_0.json": '{\n    "min_callTimes": 0,\n    "max_callTimes": 4\n}',
        "check_constraint_1.json": '{"order_constraints": [["find_ferry", "read_timetable"]]}\n',
        "check_constraint_2.json": '{"min_round": 0, "max_round": 6}',
        "check_constraint_3.json": '{"min_responseLength": 0, "max_responseLength": 30, "unit": "words"}',
        "check_constraint_4.py": CODE,
    }


def whole(name: str = "7", **fields: Any) -> Record:
    """The record with its files in it, as a reader gets it."""
    return record(name, **fields) | {"check_code": files()}


def members(*records: Record, root: str = "") -> dict[str, bytes]:
    """An archive of such records: the lines, and the files beside them."""
    out = {}
    for one in records:
        for name, text in one.get("check_code", {}).items():
            out[f"{root}check_code/{one['id']}/{name}"] = text.encode()
    lines = [{key: value for key, value in one.items() if key != "check_code"} for one in records]
    return {f"{root}input_data.jsonl": b"".join(json.dumps(line).encode() + b"\n" for line in lines)} | out
