"""Guess the format of a record, to report that the wrong one was chosen."""

from typing import Any

from annotator.core.schema import Problem, SchemaProblem


def guess_format(record: Any) -> str | None:
    """Return the name of the format that a record looks like, from its field names; None if there is no such format.

    c3 and mmtb share all their fields, so either is reported as c3. Only formats that can be imported are named.
    """
    return _guess(record)[0]


def refuse_other_format(record: dict[str, Any], chosen: str) -> None:
    """Raise SchemaProblem, naming the probable format, if a record is clearly not of the chosen one."""
    guess, why = _guess(record)
    other = _unread(record) if guess is None else ""
    if other:
        raise SchemaProblem([Problem("", f"{other}, which Assay can’t read. {_INSTEAD}")])
    if guess is not None and guess != chosen and {guess, chosen} not in _ALIKE:
        message = f"The record looks like {guess}, not {chosen}: {why}. Choose the format {guess}."
        raise SchemaProblem([Problem("", message)])


#: Formats whose records look alike.
_ALIKE = ({"c3", "mmtb"}, {"bfcl", "bfcl_single"})
_INSTEAD = "Write each task as a record of async, with its question, initial_config and ground_truth."


def _unread(record: dict[str, Any]) -> str:
    """Return what a record of an unsupported benchmark looks like, as the beginning of a sentence."""
    if "ground_truth" in record:
        return "The record looks like a possible answer of BFCL (it has ground_truth)"
    if "question" in record and "function" in record:
        return "The record looks like a task of BFCL (it has question and function)"
    if {"name", "description", "parameters"} <= record.keys():
        return "The record looks like the description of a function, not a dialogue (it has name and parameters)"
    return ""


def _guess(record: Any) -> tuple[str | None, str]:
    if type(record) is not dict:
        return None, ""
    if type(record.get("document")) is dict:
        return "neutral", "it has a document"
    if "constraints_list" in record or "unsolved_set" in record:
        return "cctu", "it has constraints_list"
    for prefix in ("english_", ""):
        if f"{prefix}answer_list" in record or f"{prefix}turn_subtypes" in record:
            if f"{prefix}tasks" in record:
                return "wild", f"it has {prefix}tasks"
            if f"{prefix}task" in record:
                return "c3", f"it has {prefix}task"
    for field, name in (("english_tasks", "wild"), ("task_ids", "c3"), ("english_task", "c3")):
        if field in record:
            return name, f"it has {field}"
    if record.get("kind") in ("similar", "cross") and type(record.get("tasks")) is list:
        return "async", "it is a composite of single tasks"
    if type(record.get("question")) is list and "involved_classes" in record:
        return "bfcl", "it has involved_classes"
    if isinstance(record.get("input"), str) and type(record.get("output")) is list:
        return "nestful", "it has input and output"
    calls = record.get("ground_truth")
    if isinstance(record.get("question"), str) and type(calls) is list and all(type(call) is str for call in calls):
        return "async", "it has question and ground_truth"
    messages = record.get("messages")
    if type(messages) is list and any(type(message) is dict and "role" in message for message in messages):
        return "openai", "it has messages with roles"
    return None, ""
