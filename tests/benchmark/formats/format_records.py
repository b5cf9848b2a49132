"""Small native records the format tests start from, and hypothesis strategies for many more."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from hypothesis import strategies as st

from annotator.core.schema import SchemaProblem, canonical
from benchmark.core.files.reading import RawLine, RawRecord, RecordError, parse_line, read_lines
from benchmark.core.formats import FORMATS, ReadDialogue


def read_records(stream: BinaryIO, filename: str, **options: Any) -> Iterator[RawRecord | RecordError]:
    """The records of a file, and what is wrong with it, as an import meets them."""
    for item in read_lines(stream, filename, **options):
        parsed = parse_line(item) if isinstance(item, RawLine) else item
        yield parsed
        if isinstance(parsed, RecordError) and parsed.fatal:
            return


WEATHER = {
    "type": "function",
    "function": {
        "name": "getWeather",
        "description": "Weather of a city on a day.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "hours": {"type": "float"}},
            "required": ["city"],
        },
    },
}


def node(idx: int, name: str, arguments: Any, observation: Any, needs: list[int], **more: Any) -> dict[str, Any]:
    return {
        "action": {"name": name, "arguments": arguments},
        "observation": observation,
        "dependency_list": needs,
        "idx": idx,
        **more,
    }


def answer(idx: int, text: str, needs: list[int], kind: str = "tool") -> dict[str, Any]:
    return node(idx, "prepare_to_answer", {"answer_type": kind}, text, needs)


def ask(idx: int, question: str, reply: str, needs: list[int]) -> dict[str, Any]:
    return node(idx, "ask_user_for_required_parameters", {}, question, needs, user_input=reply)


ANSWERS = [
    [node(0, "getWeather", {"city": "Kyoto"}, {"sky": "clear"}, []), answer(1, "It is clear.", [0])],
    [
        node(0, "getWeather", {"city": "Oslo"}, {"sky": "rain"}, []),
        node(1, "getWeather", {"city": "Bergen"}, {"sky": "rain"}, []),
        node(2, "getWeather", {"city": "Narvik"}, {"sky": "snow"}, [0, 1]),
        answer(3, "Rain, rain and snow.", [2]),
    ],
    [
        ask(0, "For which city?", "Lima", []),
        node(1, "getWeather", {"city": "Lima"}, {"sky": "fog"}, [0]),
        answer(2, "Fog in Lima.", [1]),
    ],
    [answer(0, "You are welcome.", [], "chat")],
]
MESSAGES = ["Weather in Kyoto?", "And in Oslo, Bergen and then Narvik?", "And there?", "Thanks!"]
CHINESE = ["京都天气怎么样？", "奥斯陆、卑尔根呢？", "那里呢？", "谢谢！"]


def wild_record() -> dict[str, Any]:
    """A complete English dialogue of four tasks, one of every policy."""
    return copy.deepcopy(
        {
            "id": "wild_tool_bench_7",
            "english_env_info": "2024-07-12",
            "english_tools": [WEATHER],
            "english_tasks": MESSAGES,
            "english_answer_list": ANSWERS,
            "english_task_types": ["Single-Tool", "Mixed Multi-Tool", "Clarify", "Chat"],
            "english_turn_subtypes": ["Partial Information", "Coreferential Reference", "Long-Range Dependency"],
        }
    )


def bilingual_wild_record() -> dict[str, Any]:
    """The same with its Chinese variant."""
    record = wild_record()
    for key in list(record):
        if key.startswith("english_"):
            record[key.removeprefix("english_")] = copy.deepcopy(record[key])
    record["tasks"] = list(CHINESE)
    return record


def flat_messages(tasks: list[str], separator: str = "=====", user: str = "", assistant: str = "") -> list[Any]:
    """Messages as published files have them: texts of user and assistant, separated by task."""
    texts = [
        [(user, tasks[0]), (assistant, "It is clear.")],
        [(user, tasks[1]), (assistant, "Rain, rain and snow.")],
        [(user, tasks[2]), (assistant, "For which city?"), (user, "Lima"), (assistant, "Fog in Lima.")],
        [(user, tasks[3]), (assistant, "You are welcome.")],
    ]
    out: list[Any] = []
    for position, block in enumerate(texts):
        if position:
            out.append(separator)
        for turn, (prefix, text) in enumerate(block):
            out.append({"role": "assistant" if turn % 2 else "user", "content": prefix + text})
    return out


def c3_record() -> dict[str, Any]:
    """A complete record in the spelling of c3 and mmtb, in both languages."""
    return copy.deepcopy(
        {
            "id": "c3_7",
            "task_ids": [0, 0, 0, 0],
            "english_task": MESSAGES,
            "english_answer_list": ANSWERS,
            "english_messages": flat_messages(MESSAGES),
            "english_tools": [WEATHER],
            "task": CHINESE,
            "answer_list": ANSWERS,
            "messages": flat_messages(CHINESE),
            "tools": [WEATHER],
            "env_info": "当前时间：2024-07-12 10:30:00 星期五",
            "type": ["单", "多", "反", "拒"],
            "turn_type": [False, True, True, False],
            "turn_subtypes": ["省略成分", "指代理解"],
        }
    )


def openai_record() -> dict[str, Any]:
    """Two requests: two calls in one message and a third after them, then a question without tools."""
    calls = [
        {"id": "call_a", "type": "function", "function": {"name": "getWeather", "arguments": '{"city":"Oslo"}'}},
        {"id": "call_b", "type": "function", "function": {"name": "getWeather", "arguments": '{"city":"Bergen"}'}},
    ]
    third = {"id": "call_c", "type": "function", "function": {"name": "getWeather", "arguments": '{"city":"Narvik"}'}}
    return {
        "id": "trace-1",
        "messages": [
            {"role": "system", "content": "Today is 2024-07-12."},
            {"role": "user", "content": "Weather in Oslo and Bergen, then Narvik, please."},
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": "call_a", "content": '{"sky":"rain"}'},
            {"role": "tool", "tool_call_id": "call_b", "content": "rain"},
            {"role": "assistant", "content": None, "tool_calls": [third]},
            {"role": "tool", "tool_call_id": "call_c", "content": '["snow"]'},
            {"role": "assistant", "content": "Rain, rain and snow."},
            {"role": "user", "content": "Thanks!"},
            {"role": "assistant", "content": "You are welcome."},
        ],
        "tools": [WEATHER],
    }


def single_record() -> dict[str, Any]:
    """A single task over a counter, with a call by position and a field that Assay does not know."""
    schema = {"type": "object", "properties": {"by": {"type": "integer"}}, "required": ["by"]}
    source = "class Counter:\n    def load(self, state):\n        self.n = state['n']\n    def add(self, by):\n"
    return {
        "id": "count_0",
        "category": "number",
        "question": "Add two and then three.",
        "initial_config": {"n": 1.5},
        "ground_truth": ["add(2)", "add(by = 3)"],
        "tools": [{"name": "add", "description": "Adds.", "parameters": schema}],
        "implementation": {"source": f"{source}        self.n += by\n", "class": "Counter", "load": "load"},
        "seed": 7,
        "source": {"dataset": "own"},
    }


def bfcl_record() -> dict[str, Any]:
    """A task of two turns over one class, with a call by position."""
    schema = {"type": "dict", "properties": {"folder": {"type": "string"}}, "required": ["folder"]}
    return {
        "id": "multi_turn_7",
        "question": [
            [{"role": "user", "content": "Go to the folder papers."}],
            [{"role": "user", "content": "And back."}],
        ],
        "initial_config": {"GorillaFileSystem": {"root": {}}},
        "path": ["GorillaFileSystem.cd"],
        "involved_classes": ["GorillaFileSystem"],
        "ground_truth": [["cd('papers')"], ["cd(folder='..')"]],
        "tools": [{"name": "cd", "description": "Go to a folder.", "parameters": schema}],
    }


def nestful_record() -> dict[str, Any]:
    """Two calls, the second with a value of the first, and what the answer consists of."""
    return {
        "input": "How warm is it in the capital of Norway?",
        "output": [
            {"name": "findCapital", "arguments": {"country": "Norway"}, "label": "var1"},
            {"name": "getWeather", "arguments": {"city": "$var1.name$", "days": [1, "2 * $var1$"]}, "label": "var2"},
            {"name": "var_result", "arguments": {"answer": "$var2.warm$"}},
        ],
        "tools": [WEATHER],
    }


def read(name: str, record: Any) -> list[ReadDialogue]:
    return FORMATS[name].read(copy.deepcopy(record))


def rewrite(name: str, record: Any) -> dict[str, Any]:
    """A record read and written again untouched."""
    return FORMATS[name].write(read(name, record))


def same(left: Any, right: Any) -> bool:
    """Equal as JSON: canonical text tells true from 1, and 40.0 from 40."""
    return canonical(left) == canonical(right)


def problems_of(name: str, record: Any) -> dict[str, str]:
    """Pointer → sentence of everything the reader refuses."""
    try:
        FORMATS[name].read(record)
    except SchemaProblem as problem:
        return {error.pointer: error.message for error in problem.problems}
    return {}


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


_WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
_KEYS = st.text("abcdeéß_/~", min_size=1, max_size=4).map(lambda key: f"x_{key}")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3),
    max_leaves=6,
)
_UNKNOWN = st.dictionaries(_KEYS, JSON, max_size=2)


@st.composite
def _maybe(draw: st.DrawFn, record: dict[str, Any], key: str, value: st.SearchStrategy[Any]) -> None:
    """Set a field to a value, to null, or not at all."""
    choice = draw(st.integers(0, 3))
    if choice >= 2:
        record[key] = draw(value)
    elif choice == 1:
        record[key] = None


@st.composite
def nodes(draw: st.DrawFn) -> list[dict[str, Any]]:
    """An answer list in every state between a bare candidate and a complete reference, unknown fields included."""
    count = draw(st.integers(0, 4))
    numbering = draw(st.sampled_from(["none", "positions", "foreign", "some"]))
    numbers = draw(st.lists(st.integers(-2, 9), min_size=count, max_size=count, unique=True))
    out = []
    for position in range(count):
        kind = draw(st.sampled_from(["call", "call", "ask", "answer"]))
        action: dict[str, Any] = dict(draw(_UNKNOWN))
        item: dict[str, Any] = {"action": action, **draw(_UNKNOWN)}
        if kind == "call":
            action["name"] = draw(st.sampled_from(["getWeather", "search"]))
            texts = st.sampled_from(['{"city": "Oslo"}', '{"city":"Oslo"}', "city=Oslo", "[1]"])
            draw(_maybe(action, "arguments", st.dictionaries(_WORDS, JSON, max_size=2) | texts))
            draw(_maybe(item, "observation", JSON))
        elif kind == "ask":
            action["name"] = "ask_user_for_required_parameters"
            draw(_maybe(action, "arguments", st.dictionaries(_WORDS, JSON, max_size=2)))
            draw(_maybe(item, "observation", _WORDS))
            draw(_maybe(item, "user_input", _WORDS))
        else:
            action["name"] = "prepare_to_answer"
            action["arguments"] = draw(st.dictionaries(_KEYS, JSON, max_size=1))
            draw(_maybe(action["arguments"], "answer_type", st.sampled_from(["tool", "chat"])))
            draw(_maybe(item, "observation", _WORDS))
        draw(_maybe(item, "dependency_list", st.lists(st.integers(-3, 9), max_size=3)))
        if numbering == "positions":
            item["idx"] = position
        elif numbering == "foreign" or (numbering == "some" and draw(st.booleans())):
            item["idx"] = numbers[position]
        out.append(item)
    return out


def _labels(words: list[Any], count: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from([*words, None]), min_size=count, max_size=count)


@st.composite
def wild_records(draw: st.DrawFn) -> dict[str, Any]:
    """Any lawful record in the spelling of wild."""
    count = draw(st.integers(1, 3))
    record: dict[str, Any] = {"id": draw(st.sampled_from(["a", "wild_1"]) | st.integers(0, 9)), **draw(_UNKNOWN)}
    policies = ["Single-Tool", "Parallel Multi-Tool", "Sequential Multi-Tool", "Mixed Multi-Tool", "Clarify", "Chat"]
    information = ["Partial Information", "Coreferential Reference", "Long-Range Dependency", "First Turn", "Explicit"]
    for prefix in draw(st.sampled_from([["english_"], [""], ["english_", ""]])):
        record[f"{prefix}tasks"] = draw(st.lists(_WORDS, min_size=count, max_size=count))
        answers = st.lists(nodes() | st.none(), min_size=count, max_size=count)
        draw(_maybe(record, f"{prefix}answer_list", answers))
        draw(_maybe(record, f"{prefix}env_info", _WORDS))
        draw(_maybe(record, f"{prefix}tools", st.just([WEATHER]) | st.just([])))
        draw(_maybe(record, f"{prefix}task_types", _labels(policies, count)))
        draw(_maybe(record, f"{prefix}turn_subtypes", _labels(information, count - 1)))
    message = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": _WORDS | st.none()})
    draw(_maybe(record, "context", st.lists(message, max_size=3)))
    draw(_maybe(record, "first_task_turn_subtype", st.sampled_from(information)))
    return record


@st.composite
def c3_records(draw: st.DrawFn) -> dict[str, Any]:
    """Any lawful record in the spelling of c3."""
    count = draw(st.integers(1, 3))
    ids = st.sampled_from(["a", "c3_1"]) | st.lists(st.sampled_from(["x", "y"]), min_size=1, max_size=2)
    record: dict[str, Any] = {"id": draw(ids), **draw(_UNKNOWN)}
    for prefix in draw(st.sampled_from([["english_"], [""], ["english_", ""]])):
        tasks = draw(st.lists(_WORDS, min_size=count, max_size=count))
        record[f"{prefix}task"] = tasks
        answers = st.lists(nodes() | st.none(), min_size=count, max_size=count)
        draw(_maybe(record, f"{prefix}answer_list", answers))
        draw(_maybe(record, f"{prefix}tools", st.just([WEATHER])))
        blocks = [[{"role": "user", "content": f"User: {task}"}] for task in tasks]
        messages: list[Any] = [item for block in blocks for item in ["=====8=====", *block]][1:]
        draw(_maybe(record, f"{prefix}messages", st.just(messages) | st.just([*messages, "======"])))
    draw(_maybe(record, "task_ids", st.lists(st.integers(0, 2), min_size=count, max_size=count)))
    envs = st.sampled_from(["2024-07-12 星期五", "2024-07-12", "当前时间：2024-07-13 10:00:00 星期六", ""])
    draw(_maybe(record, "env_info", envs | st.lists(envs | st.none(), min_size=count, max_size=count)))
    draw(_maybe(record, "type", _labels(["单", "多", "拒", "反"], count)))
    turn_type = draw(_labels([True, False, "真", "假"], count))
    choice = draw(st.integers(0, 2))
    words = ["省略成分", "指代理解", "长期记忆", "ellipsis", "Omit", "Partial Information"]
    if choice:
        record["turn_type"] = turn_type
        follow_ups = sum(value in (True, "真") for value in turn_type)
        draw(_maybe(record, "turn_subtypes", _labels(words, draw(st.sampled_from([follow_ups, count])))))
    else:
        draw(_maybe(record, "turn_subtypes", _labels(words, draw(st.sampled_from([count, count - 1])))))
    return record


@st.composite
def openai_records(draw: st.DrawFn) -> dict[str, Any]:
    """Any lawful trace."""
    record: dict[str, Any] = dict(draw(_UNKNOWN))
    if draw(st.booleans()):
        record["id"] = "trace"
    draw(_maybe(record, "tools", st.just([WEATHER])))
    messages: list[dict[str, Any]] = []
    texts = _WORDS | st.none() | _WORDS.map(lambda text: [{"type": "text", "text": text}])
    for role in draw(st.lists(st.sampled_from(["system", "developer", "assistant"]), max_size=2)):
        messages.append({"role": role, "content": draw(texts), **draw(_UNKNOWN)})
    number = 0
    for _ in range(draw(st.integers(1, 3))):
        messages.append({"role": "user", "content": draw(texts)})
        for _ in range(draw(st.integers(0, 2))):
            calls = []
            for _ in range(draw(st.integers(1, 2))):
                number += 1
                arguments = st.sampled_from(['{"city": "Oslo"}', '{"city":"Oslo"}', "Oslo", "", "{}"]) | st.just(
                    {"a": 1}
                )
                function: dict[str, Any] = {"name": "getWeather", "arguments": draw(arguments)}
                calls.append({"id": f"call_{number}", "type": "function", "function": function})
            messages.append({"role": "assistant", "content": draw(texts), "tool_calls": calls})
            for call in calls:
                if draw(st.booleans()):
                    contents = st.sampled_from(['{"sky": "rain"}', '{"sky":"rain"}', "rain", "[1, 2]", ""])
                    messages.append({"role": "tool", "tool_call_id": call["id"], "content": draw(contents)})
        if draw(st.booleans()):
            messages.append({"role": "assistant", "content": draw(texts)})
    record["messages"] = messages
    return record
