"""Read JSON into a validated document. Every problem has a pointer and a sentence."""

from collections.abc import Callable, Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from annotator.core.schema.canonical import encode_faithful, normalise
from annotator.core.schema.constrained import MAX_CODES, Constrained
from annotator.core.schema.documents import Composite, MultiTurn, SingleTask
from annotator.core.schema.errors import Problem, SchemaProblem, in_words
from annotator.core.schema.exact_json import load_stored, pointer
from annotator.core.schema.labels import without_empty_labels
from annotator.core.schema.toolset_documents import ToolsetDocument
from annotator.core.schema.toolsets import read_implementation, read_tools

KINDS: dict[str, type[BaseModel]] = {
    "multi_turn": MultiTurn,
    "single_task": SingleTask,
    "composite": Composite,
    "constrained": Constrained,
    "toolset": ToolsetDocument,
}

_STEP_TYPES = ("call", "clarification", "answer")
_SENTENCES = {
    "extra_forbidden": "Unknown field. Put unknown fields under “extra”.",
    "union_tag_not_found": "The field “type” is required: call, clarification or answer.",
}


def read_document(data: Any) -> dict[str, Any]:
    """Validate ``data`` and return it complete (defaults filled in, empty labels left out) as plain JSON values.

    Raises SchemaProblem listing every problem found.
    """
    # Valid content needs no copy, because validation makes one.
    if encode_faithful(data) is None:
        data = normalise(data)
    if not isinstance(data, dict):
        raise SchemaProblem([Problem("", "A document must be a JSON object.")])
    kind = data.get("kind")
    model = KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise SchemaProblem([Problem("/kind", f"Must be one of: {', '.join(KINDS)}.")])
    try:
        document = without_empty_labels(model.model_validate(data).model_dump(mode="json"))
    except ValidationError as error:
        raise SchemaProblem([_problem(item) for item in error.errors(include_url=False)]) from None
    problems = list(_BEYOND_TYPES[document["kind"]](document))
    if problems:
        raise SchemaProblem(problems)
    return document


def load_text(text: str) -> dict[str, Any]:
    """Return a document from its stored canonical text."""
    document: dict[str, Any] = load_stored(text)
    return document


def json_schema(kind: str = "multi_turn") -> dict[str, Any]:
    """Return the JSON Schema of one kind of document."""
    return KINDS[kind].model_json_schema()


def _problem(item: Any) -> Problem:
    loc = item["loc"]
    # After the position of a step, pydantic names its type.
    steps = [step for i, step in enumerate(loc) if i < 2 or loc[i - 2] != "steps" or step not in _STEP_TYPES]
    if steps[-2:-1] == ["arguments"] and steps[-1] in ("dict[str,any]", "str"):
        # For an object or a text, pydantic names the branch it tried.
        steps.pop()
    return Problem(pointer(steps), in_words(item, _SENTENCES))


def _of_tasks(document: dict[str, Any]) -> Iterator[Problem]:
    seen_tasks: set[str] = set()
    for t, task in enumerate(document["tasks"]):
        if task["id"] in seen_tasks:
            yield Problem(f"/tasks/{t}/id", f"The task id {task['id']} is used twice.")
        seen_tasks.add(task["id"])
        seen: set[str] = set()
        for s, step in enumerate(task["steps"]):
            if step["id"] in seen:
                yield Problem(f"/tasks/{t}/steps/{s}/id", f"The step id {step['id']} is used twice in this task.")
            seen.add(step["id"])


def _of_single(document: dict[str, Any]) -> Iterator[Problem]:
    yield from _of_tasks(document)
    for s, step in enumerate(document["tasks"][0]["steps"]):
        if step["type"] != "call":
            yield Problem(f"/tasks/0/steps/{s}/type", "The steps of a single task are calls. Remove this one.")


def _of_composite(document: dict[str, Any]) -> Iterator[Problem]:
    yield from _of_tasks(document)
    seen: set[str] = set()
    for t, task in enumerate(document["tasks"]):
        if task["single"] in seen:
            yield Problem(f"/tasks/{t}/single", f"The single task {task['single']} is used twice. Choose another one.")
        seen.add(task["single"])
        if task["steps"]:
            message = "The calls of a composite are those of its single tasks. Leave out the steps."
            yield Problem(f"/tasks/{t}/steps", message)
        if (task["sha256"] is None) != (task["toolset_sha256"] is None):
            yield Problem(f"/tasks/{t}/sha256", "Give both hashes of the revision, sha256 and toolset_sha256, or none.")


def _of_case(document: dict[str, Any]) -> Iterator[Problem]:
    seen: set[str] = set()
    codes = set(document["tool_codes"].values())
    for c, constraint in enumerate(document["constraints"]):
        if constraint["id"] in seen:
            yield Problem(f"/constraints/{c}/id", f"The constraint id {constraint['id']} is used twice.")
        seen.add(constraint["id"])
        validator = constraint["validator"]
        if validator and (validator["code"] is None) == (validator["form"] is None):
            message = "A validator is either Python code or a built-in validator. Keep one of “code” and “form”."
            yield Problem(f"/constraints/{c}/validator", message)
        if validator and validator["code"] is not None:
            codes.add(validator["code"])
    length = sum(map(len, codes))
    if length > MAX_CODES:
        yield Problem("", f"The code of a case may have {MAX_CODES:,} characters in total; this has {length:,}.")
    rounds: set[str] = set()
    calls: set[str] = set()
    for r, round_ in enumerate(document["reference_trajectory"] or ()):
        here = f"/reference_trajectory/{r}"
        if round_["id"] in rounds:
            yield Problem(f"{here}/id", f"The round id {round_['id']} is used twice.")
        rounds.add(round_["id"])
        if round_["calls"] and round_["final"] is not None:
            yield Problem(here, "A round either calls tools or gives the final response. Split it into two rounds.")
        for c, call in enumerate(round_["calls"]):
            if call["id"] in calls:
                yield Problem(f"{here}/calls/{c}/id", f"The call id {call['id']} is used twice in the trajectory.")
            calls.add(call["id"])


def _of_toolset(document: dict[str, Any]) -> Iterator[Problem]:
    """Yield the problems of a toolset, and complete its implementation."""
    seen: set[str] = set()
    for t, one in enumerate(document["tools"]):
        if one["id"] in seen:
            yield Problem(f"/tools/{t}/id", f"The tool id {one['id']} is used twice.")
        seen.add(one["id"])
    try:
        read_tools([one["tool"] for one in document["tools"]])
    except SchemaProblem as found:
        for problem in found.problems:
            _, index, *rest = problem.pointer.split("/")
            yield Problem("/".join(["/tools", index, "tool", *rest]), problem.message)
    try:
        document["implementation"] = read_implementation(document["implementation"])
    except SchemaProblem as found:
        yield from found.problems


#: Rules that the types do not express, by kind.
_BEYOND_TYPES: dict[str, Callable[[dict[str, Any]], Iterator[Problem]]] = {
    "multi_turn": _of_tasks,
    "single_task": _of_single,
    "composite": _of_composite,
    "constrained": _of_case,
    "toolset": _of_toolset,
}
