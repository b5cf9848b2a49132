"""Answer lists of wild, c3 and mmtb: nodes to steps, and steps to nodes.

A node is ``{"idx", "action": {"name", "arguments"}, "observation", "dependency_list"}``. Two names are special:
``ask_user_for_required_parameters`` (observation = the question, ``user_input`` = the reply) and ``prepare_to_answer``
(``arguments.answer_type``; observation = the answer). ``idx`` is the node's position in its list, and the published
evaluators use the numbers of ``dependency_list`` as positions.
"""

import re
from typing import Any

from annotator.core.schema.exact_json import same
from benchmark.core.formats.interface import Problems, describe, read_json_text
from benchmark.core.formats.native_remainder import NATIVE, compare, native, note, restore

ASK = "ask_user_for_required_parameters"
ANSWER = "prepare_to_answer"
ANSWER_TYPES = ("tool", "chat")
#: Steps of one task. Tasks for review have less than a tenth; the limit keeps a hostile record from taking hours.
MAX_STEPS = 500

_KNOWN = frozenset(("action", "observation", "dependency_list", "idx"))
_ACTION = frozenset(("name", "arguments"))
_STEP_NUMBER = re.compile(r"^s(-?\d{1,18})$")
_MAX_NUMBER = 10**15


def read_steps(nodes: list[Any], pointer: str, problems: Problems) -> tuple[list[dict[str, Any]], list[int] | None]:
    """Return the steps of one task, and the nodes' own numbers if they differ from their positions."""
    if len(nodes) > MAX_STEPS:
        problems.add(pointer, f"The task has {len(nodes)} nodes. The limit is {MAX_STEPS}.")
        return [], None
    numbers = _numbers(nodes, pointer, problems)
    steps: list[dict[str, Any]] = []
    plain = True
    with_idx = with_dependencies = 0
    for position, node in enumerate(nodes):
        if type(node) is not dict:
            problems.add(f"{pointer}/{position}", f"A node must be an object, not {describe(node)}.")
            continue
        before = len(problems.found)
        step = _read_step(node, f"s{numbers[position]}", pointer, position, problems)
        if len(problems.found) > before:
            continue
        steps.append(step)
        plain = plain and _is_plain(node, step)
        with_idx += "idx" in node
        with_dependencies += step["depends_on"] is not None
    if len(steps) < len(nodes):
        return steps, None
    if not plain or with_idx != (len(nodes) if with_dependencies else 0):
        for node, written, step in zip(nodes, _plain_nodes(steps, numbers, full=False), steps, strict=True):
            if not same(written, node):
                note(step, node=compare(node, written))
    return steps, numbers if numbers != list(range(len(nodes))) else None


def _is_plain(node: dict[str, Any], step: dict[str, Any]) -> bool:
    """Return quickly whether the step, written in plain form, gives the node back (idx aside)."""
    annotated = step["depends_on"] is not None
    arguments = node["action"].get("arguments")
    return (
        type(arguments) is dict
        and ("dependency_list" in node) == annotated
        and ("observation" in node) == (annotated or node.get("observation") is not None)
        and ("user_input" not in node or node["user_input"] is not None)
        and ("answer_type" not in arguments or arguments["answer_type"] is not None)
        and type(node.get("idx", 0)) is int
        and all(type(number) is int for number in node.get("dependency_list") or ())
    )


def write_nodes(task: dict[str, Any], *, full: bool = False) -> list[dict[str, Any]]:
    """Return the nodes of one task. ``full`` writes every field of every node, null if nothing is known."""
    steps = task["steps"]
    numbers = native(task).get("idx")
    if full or type(numbers) is not list or [step["id"] for step in steps] != [f"s{number}" for number in numbers]:
        numbers = list(range(len(steps)))
    nodes = _plain_nodes(steps, numbers, full=full)
    if not full:
        for node, step in zip(nodes, steps, strict=True):
            restore(node, native(step).get("node"))
    return nodes


def _numbers(nodes: list[Any], pointer: str, problems: Problems) -> list[int]:
    """Return a number for every node: its own ``idx``, else its position, else the next free one."""
    for position, node in enumerate(nodes):
        number = node.get("idx", position) if type(node) is dict else None
        if type(number) is not int or number != position:
            break
    else:
        return list(range(len(nodes)))
    numbers: list[int | None] = []
    for position, node in enumerate(nodes):
        number = node.get("idx") if type(node) is dict else None
        if number is not None and not _is_number(number):
            problems.add(f"{pointer}/{position}/idx", f"The idx must be a whole number, not {describe(number)}.")
            number = None
        numbers.append(None if number is None else int(number))
    taken = {number for number in numbers if number is not None}
    if len(taken) < len(numbers) - numbers.count(None):
        seen: set[int] = set()
        for position, number in enumerate(numbers):
            if number is not None and number in seen:
                message = f"The idx {number} is used twice in this task, so dependencies on it are ambiguous."
                problems.add(f"{pointer}/{position}/idx", message)
            elif number is not None:
                seen.add(number)
    out: list[int] = []
    free = max(taken, default=0)
    for position, number in enumerate(numbers):
        if number is None:
            number = position if position not in taken else max(free, len(nodes)) + 1
            free = max(free, number)
            taken.add(number)
        out.append(number)
    return out


def _is_number(value: Any) -> bool:
    if type(value) is float:
        return value.is_integer() and abs(value) <= _MAX_NUMBER
    return type(value) is int and abs(value) <= _MAX_NUMBER


def _read_step(node: dict[str, Any], step_id: str, pointer: str, position: int, problems: Problems) -> dict[str, Any]:
    here = f"{pointer}/{position}"
    action = node.get("action")
    if type(action) is not dict:
        problems.add(f"{here}/action", f"The action must be an object with name and arguments, not {describe(action)}.")
        return {}
    name = action.get("name")
    if type(name) is not str or not name:
        problems.add(f"{here}/action/name", f"The name of the call must be text, not {describe(name or None)}.")
        return {}
    arguments = action.get("arguments", {})
    if type(arguments) is str:
        arguments = read_arguments(arguments, f"{here}/action/arguments", problems)
    elif arguments is None:
        arguments = {}
    elif type(arguments) is not dict:
        problems.add(f"{here}/action/arguments", f"The arguments must be an object, not {describe(arguments)}.")
        return {}

    extra: dict[str, Any] = {}
    if NATIVE in node or NATIVE in action:
        problems.add(here, f"The field name {NATIVE} is reserved for Assay. Rename the field.")
    if not _ACTION.issuperset(action):
        extra["action"] = {key: value for key, value in action.items() if key not in _ACTION}
    depends_on = _read_dependencies(node.get("dependency_list"), here, problems)
    observation = node.get("observation")
    step: dict[str, Any] = {"id": step_id, "depends_on": depends_on, "extra": extra}
    if name == ANSWER:
        _read_answer(step, arguments, observation, here, problems)
    elif name == ASK:
        _read_clarification(step, arguments, observation, node.get("user_input"), here, problems)
    else:
        step |= {"type": "call", "name": name, "arguments": arguments, "observation": observation, "inferable": {}}
    if not _KNOWN.issuperset(node):
        for key in node.keys() - _KNOWN:
            if key != "user_input" or name != ASK:
                extra[key] = node[key]
    return step


def _read_answer(step: dict[str, Any], arguments: Any, observation: Any, here: str, problems: Problems) -> None:
    if observation is not None and type(observation) is not str:
        problems.add(f"{here}/observation", f"The text of an answer must be text, not {describe(observation)}.")
    if type(arguments) is not dict:
        problems.add(f"{here}/action/arguments", "The arguments of an answer must be an object with answer_type.")
        arguments = {}
    answer_type = arguments.get("answer_type")
    if answer_type is not None and answer_type not in ANSWER_TYPES:
        problems.add(f"{here}/action/arguments/answer_type", f"The answer_type must be {_either(ANSWER_TYPES)}.")
    others = {key: value for key, value in arguments.items() if key != "answer_type"}
    if others:
        step["extra"].setdefault("action", {})["arguments"] = others
    step |= {"type": "answer", "text": observation, "answer_type": answer_type}


def _read_clarification(
    step: dict[str, Any], arguments: Any, observation: Any, reply: Any, here: str, problems: Problems
) -> None:
    if observation is not None and type(observation) is not str:
        problems.add(f"{here}/observation", f"The question must be text, not {describe(observation)}.")
    if reply is not None and type(reply) is not str:
        problems.add(f"{here}/user_input", f"The user's reply must be text, not {describe(reply)}.")
    if type(arguments) is not dict:
        problems.add(f"{here}/action/arguments", "The arguments of a clarification must be an object.")
    elif arguments:
        step["extra"].setdefault("action", {})["arguments"] = arguments
    step |= {"type": "clarification", "question": observation, "user_reply": reply}


def _read_dependencies(value: Any, here: str, problems: Problems) -> list[dict[str, str]] | None:
    if value is None:
        return None
    if type(value) is not list:
        problems.add(
            f"{here}/dependency_list", f"The dependency_list must be a list of numbers, not {describe(value)}."
        )
        return None
    for index, number in enumerate(value):
        if not _is_number(number):
            problems.add(
                f"{here}/dependency_list/{index}", f"A dependency must be a node's idx, not {describe(number)}."
            )
            return None
    return [{"id": f"s{int(number)}", "kind": "parameter"} for number in value]


def read_arguments(text: str, pointer: str, problems: Problems) -> dict[str, Any] | str:
    """Return the arguments that a text contains as a JSON object, else the text itself (a check reports it)."""
    value = read_json_text(text, pointer, problems)
    return value if type(value) is dict else text


def _plain_nodes(steps: list[dict[str, Any]], numbers: list[int], *, full: bool) -> list[dict[str, Any]]:
    """Return nodes in plain form: a node with dependencies is complete, one without has only its own fields."""
    by_id = {step["id"]: number for step, number in zip(steps, numbers, strict=True)}
    numbered = full or any(step["depends_on"] is not None for step in steps)
    nodes = []
    for step, number in zip(steps, numbers, strict=True):
        kind = step["type"]
        depends_on = step["depends_on"]
        if kind == "call":
            observation = step["observation"]
        elif kind == "answer":
            observation = step["text"]
        else:
            observation = step["question"]
        node: dict[str, Any] = {"action": _action(step)}
        if observation is not None or depends_on is not None or full:
            node["observation"] = observation
        if kind == "clarification" and (full or step["user_reply"] is not None):
            node["user_input"] = step["user_reply"]
        if depends_on is not None:
            node["dependency_list"] = [_dependency(item["id"], by_id, numbers) for item in depends_on]
        elif full:
            node["dependency_list"] = None
        if numbered:
            node["idx"] = number
        for key, value in step["extra"].items():
            if key not in node and key != NATIVE:
                node[key] = value
        nodes.append(node)
    return nodes


def _action(step: dict[str, Any]) -> dict[str, Any]:
    beside = step["extra"].get("action")
    if step["type"] == "call":
        action = {"name": step["name"], "arguments": step["arguments"]}
        return {**beside, **action} if type(beside) is dict else action
    arguments: dict[str, Any] = {}
    name = ASK
    if step["type"] == "answer":
        name = ANSWER
        if step["answer_type"] is not None:
            arguments["answer_type"] = step["answer_type"]
    if type(beside) is dict:
        others = beside.get("arguments")
        if type(others) is dict:
            arguments = {**others, **arguments}
        return {**beside, "name": name, "arguments": arguments}
    return {"name": name, "arguments": arguments}


def _dependency(step_id: str, by_id: dict[str, int], numbers: list[int]) -> int:
    """Return the number to write for a dependency. A missing one must not come to mean an existing node."""
    number = by_id.get(step_id)
    if number is not None:
        return number
    match = _STEP_NUMBER.match(step_id)
    dangling = int(match[1]) if match else len(numbers)
    while dangling in numbers:
        dangling += len(numbers)
    return dangling


def _either(words: tuple[str, ...]) -> str:
    return " or ".join(words)
