"""The ``messages`` of c3 and mmtb records, made from a document so that they are never outdated.

A flat list in which strings of ``=====`` separate the tasks. The published evaluators split it there, find a task's own
message in its block by ``task_ids`` (an index into the block), send everything up to it, and cut a role word and a
colon off the front of each content.
"""

import json
from typing import Any

from annotator.core.graph import read_graph

SEPARATOR = "====="
ENGLISH_ROLES = ("ai agent assistant", "ai agent", "ai", "user")
CHINESE_ROLES = ("AI Agent助手", "AI Agent", "用户")

#: How a file writes its messages, if not in the plain way: kept with the document, used on export.
Style = dict[str, Any]


def build_messages(document: dict[str, Any], style: Style | None = None, *, with_calls: bool = False) -> list[Any]:
    """Return the flat list for all tasks. ``with_calls`` includes each task's calls and observations."""
    style = style or {}
    separator = style.get("separator", SEPARATOR)
    out: list[Any] = []
    blocks = task_blocks(document, with_calls=with_calls)
    for position, block in enumerate(blocks):
        if position:
            out.append(separator)
        for message in block:
            prefix = style.get(message["role"], "")
            out.append({**message, "content": f"{prefix}{message['content']}"} if prefix else message)
    if style.get("trailing"):
        out.append(separator)
    return out


def task_blocks(document: dict[str, Any], *, with_calls: bool = False) -> list[list[dict[str, Any]]]:
    """Return one list of messages for each task; the first begins with the dialogue so far."""
    blocks = []
    for position, task in enumerate(document["tasks"]):
        block: list[dict[str, Any]] = []
        if position == 0:
            block += [{"role": message["role"], "content": message["content"]} for message in document["context"]]
        block.append({"role": "user", "content": task["user_message"]})
        if with_calls:
            for batch in batches_of(task["steps"]):
                block += _call_messages(batch) + _text_messages(batch)
        else:
            block += _text_messages(task["steps"])
        blocks.append(block)
    return blocks


def batches_of(steps: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the steps in fewest batches, answers in the last; one by one if dependencies are not fully known."""
    reading = read_graph(steps)
    if reading.graph is None or reading.unannotated:
        return [[step] for step in steps]
    columns = reading.graph.columns
    batches: list[list[dict[str, Any]]] = [[] for _ in range(reading.graph.fewest_batches)]
    for step in steps:
        batches[-1 if step["type"] == "answer" else columns[step["id"]]].append(step)
    return batches


def read_style(raw: list[Any], document: dict[str, Any]) -> Style | None:
    """Return how ``raw`` writes the document's messages; None if no style gives exactly that."""
    if build_messages(document) == raw:
        return {}
    separators = [item for item in raw if type(item) is str]
    style: Style = {}
    if separators and separators[0] != SEPARATOR:
        style["separator"] = separators[0]
    if raw and type(raw[-1]) is str:
        style["trailing"] = True
    plain = [message for block in task_blocks(document) for message in block]
    found = [item for item in raw if type(item) is dict]
    for role in ("user", "assistant"):
        for message, item in zip(plain, found, strict=False):
            content = item.get("content")
            if message["role"] == role and message["content"] and type(content) is str:
                prefix = content[: len(content) - len(message["content"])]
                if prefix and content.endswith(message["content"]) and without_role(prefix) == "":
                    style[role] = prefix
                break
    return style if build_messages(document, style) == raw else None


def check_style(value: Any) -> Style | None:
    """Return a style as ``read_style`` makes it, else None: the notes of a document may come from anywhere."""
    if type(value) is not dict:
        return None
    lawful = all(
        (key == "trailing" and content is True)
        or (key == "separator" and type(content) is str and SEPARATOR in content)
        or (key in ("user", "assistant") and type(content) is str and without_role(content) == "")
        for key, content in value.items()
    )
    return value if lawful else None


def split_blocks(raw: list[Any]) -> list[list[dict[str, Any]]]:
    """Return the blocks of a flat list, cut where the published evaluators cut it."""
    blocks: list[list[dict[str, Any]]] = []
    block: list[dict[str, Any]] = []
    for item in raw:
        if type(item) is str and SEPARATOR in item:
            blocks.append(block)
            block = []
        else:
            block.append(item)
    if block:
        blocks.append(block)
    return blocks


def without_role(content: str) -> str:
    """Return a content without the role word and colon that may precede it."""
    for colon, roles in ((":", ENGLISH_ROLES), ("：", CHINESE_ROLES)):
        word, found, rest = content.partition(colon)
        if found and (word.lower() if colon == ":" else word) in roles:
            return rest.lstrip()
    return content


def _call_messages(batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the calls of a batch in one message, and all their observations in another."""
    calls = [step for step in batch if step["type"] == "call"]
    if not calls:
        return []
    functions = [{"name": call["name"], "arguments": call["arguments"]} for call in calls]
    observations = json.dumps([call["observation"] for call in calls], ensure_ascii=False, sort_keys=True)
    return [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"type": "function", "function": function} for function in functions],
        },
        {"role": "tool", "content": observations},
    ]


def _text_messages(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for step in steps:
        if step["type"] == "clarification":
            out.append({"role": "assistant", "content": step["question"] or ""})
            out.append({"role": "user", "content": step["user_reply"] or ""})
        elif step["type"] == "answer":
            out.append({"role": "assistant", "content": step["text"] or ""})
    return out
