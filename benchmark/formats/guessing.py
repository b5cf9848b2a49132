"""Which format a record is probably of, to say so when the wrong one was chosen."""

from typing import Any

from annotator.schema import Problem, SchemaProblem


def guess_format(record: Any) -> str | None:
    """The name of the format a record looks like, from its field names; None when it looks like none.

    c3 and mmtb share all their fields, so either comes out as c3. ``async`` is named although it cannot be imported
    yet.
    """
    return _guess(record)[0]


def refuse_other_format(record: dict[str, Any], chosen: str) -> None:
    """Raise SchemaProblem, naming the probable format, when a record is clearly not of the chosen one."""
    guess, why = _guess(record)
    if guess is not None and guess != chosen and {guess, chosen} != {"c3", "mmtb"}:
        message = f"The record looks like {guess}, not {chosen}: {why}. Choose the format {guess}."
        raise SchemaProblem([Problem("", message)])


def _guess(record: Any) -> tuple[str | None, str]:
    if type(record) is not dict:
        return None, ""
    if type(record.get("document")) is dict:
        return "neutral", "it has a document"
    if "constraints_list" in record or "unsolved_set" in record:
        return "cctu", "it has constraints_list"
    if "ground_truth" in record or "involved_classes" in record:
        return "async", "it has ground_truth"
    for prefix in ("english_", ""):
        if f"{prefix}answer_list" in record or f"{prefix}turn_subtypes" in record:
            if f"{prefix}tasks" in record:
                return "wild", f"it has {prefix}tasks"
            if f"{prefix}task" in record:
                return "c3", f"it has {prefix}task"
    for field, name in (("english_tasks", "wild"), ("task_ids", "c3"), ("english_task", "c3")):
        if field in record:
            return name, f"it has {field}"
    messages = record.get("messages")
    if type(messages) is list and any(type(message) is dict and "role" in message for message in messages):
        return "openai", "it has messages with roles"
    return None, ""
