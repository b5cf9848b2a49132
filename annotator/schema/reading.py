"""From JSON to a validated document, with every fault named by pointer and sentence."""

from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from annotator.schema.canonical import encode_faithful, escape, normalise
from annotator.schema.documents import MultiTurn
from annotator.schema.errors import Problem, SchemaProblem

KINDS: dict[str, type[BaseModel]] = {"multi_turn": MultiTurn}

_SENTENCES = {
    "missing": "The field is missing.",
    "extra_forbidden": "There is no such field here; keep unknown fields under “extra”.",
    "string_type": "A text is expected.",
    "dict_type": "An object is expected.",
    "list_type": "A list is expected.",
    "union_tag_not_found": "The field “type” is missing: call, clarification or answer.",
}


def read_document(data: Any) -> dict[str, Any]:
    """Validate ``data`` and return it complete (defaults filled in) as plain JSON values.

    Raises SchemaProblem listing every fault found.
    """
    # What is faithful already needs no copy: validation makes one.
    if encode_faithful(data) is None:
        data = normalise(data)
    if not isinstance(data, dict):
        raise SchemaProblem([Problem("", "A document is a JSON object.")])
    kind = data.get("kind")
    model = KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise SchemaProblem([Problem("/kind", f"The kind must be one of: {', '.join(KINDS)}.")])
    try:
        document = model.model_validate(data).model_dump(mode="json")
    except ValidationError as error:
        raise SchemaProblem([_problem(item) for item in error.errors(include_url=False)]) from None
    problems = list(_duplicate_ids(document))
    if problems:
        raise SchemaProblem(problems)
    return document


def load_text(text: str) -> dict[str, Any]:
    """A document from its stored canonical text."""
    document: dict[str, Any] = orjson.loads(text)
    return document


def json_schema(kind: str = "multi_turn") -> dict[str, Any]:
    """JSON Schema of one kind of document."""
    return KINDS[kind].model_json_schema()


def _problem(item: Any) -> Problem:
    steps = [step for step in item["loc"] if step not in ("call", "clarification", "answer") or isinstance(step, int)]
    pointer = "".join(f"/{escape(str(step))}" for step in steps)
    message = _SENTENCES.get(item["type"]) or f"{item['msg']}."
    return Problem(pointer, message)


def _duplicate_ids(document: dict[str, Any]) -> Any:
    seen_tasks: set[str] = set()
    for t, task in enumerate(document.get("tasks", [])):
        if task["id"] in seen_tasks:
            yield Problem(f"/tasks/{t}/id", f"The task id {task['id']} is used twice.")
        seen_tasks.add(task["id"])
        seen: set[str] = set()
        for s, step in enumerate(task["steps"]):
            if step["id"] in seen:
                yield Problem(f"/tasks/{t}/steps/{s}/id", f"The step id {step['id']} is used twice in this task.")
            seen.add(step["id"])
