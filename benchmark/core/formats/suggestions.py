"""The suggestions of a record: ``"suggestions": [{"place", "value", "source" [, "score"]}, …]``.

They are taken out of the record before it is read, so that they are neither content nor an extra field.
"""

from collections.abc import Sequence
from typing import Any

from annotator.core.fields import CustomField
from annotator.core.schema import Problem
from annotator.core.suggestion_content import take_dependencies
from annotator.core.suggestion_shape import Suggested, SuggestionProblem, read_suggestion
from annotator.core.suggestions import fitted
from benchmark.core.formats.interface import ReadDialogue

FIELD = "suggestions"
#: Suggestions of one record.
MAX_OF_RECORD = 500
#: Formats with a field of their own by this name.
_OWN_FIELD = ("argilla",)


def taken_suggestions(record: dict[str, Any], native_format: str) -> Any:
    """Remove the suggestions from a record and return them; None if it has none.

    In the neutral format, the field has no other meaning. In others, it is taken only if each entry is a suggestion:
    anything else stays in the record as a field that Assay does not know.
    """
    if FIELD not in record or native_format in _OWN_FIELD:
        return None
    given = record[FIELD]
    ours = type(given) is list and bool(given) and all(type(one) is dict and "place" in one for one in given)
    if native_format != "neutral" and not ours:
        return None
    return record.pop(FIELD)


def read_suggestions(
    given: Any, dialogues: Sequence[ReadDialogue], fields: Sequence[CustomField] = ()
) -> tuple[list[list[Suggested]], list[Problem]]:
    """Return the suggestions of each dialogue of a record, and a problem for each that fits none of them.

    ``fields``: the project's custom fields.

    A record with a dialogue in several languages has them for each that has the place.
    """
    found: list[list[Suggested]] = [[] for _ in dialogues]
    if given is None:
        return found, []
    if type(given) is not list:
        return found, [Problem(f"/{FIELD}", "The suggestions must be a list. They were left out.")]
    problems = []
    if len(given) > MAX_OF_RECORD:
        sentence = f"The record has {len(given):,} suggestions. Those after the first {MAX_OF_RECORD} were left out."
        problems.append(Problem(f"/{FIELD}/{MAX_OF_RECORD}", sentence))
    tools = [_tools(dialogue) for dialogue in dialogues]
    seen = set()
    for index, raw in enumerate(given[:MAX_OF_RECORD]):
        where = f"/{FIELD}/{index}"
        try:
            one = read_suggestion(raw)
        except SuggestionProblem as problem:
            field = f"/{problem.field}" if problem.field else ""
            problems.append(Problem(where + field, f"{problem.message} The suggestion was left out."))
            continue
        fitting, refused = _fitting(dialogues, tools, one, fields)
        if refused is not None and not any(fitting):
            problems.append(Problem(f"{where}/{refused.field}", f"{refused.message} The suggestion was left out."))
        elif (one.place, one.source) in seen:
            sentence = f"{one.source} suggests two values for {one.place[:80]}. The second one was left out."
            problems.append(Problem(where, sentence))
        else:
            seen.add((one.place, one.source))
            for fit, own in zip(fitting, found, strict=True):
                if fit is not None:
                    own.append(fit)
    return found, problems


def _fitting(
    dialogues: Sequence[ReadDialogue], tools: Sequence[set[str] | None], one: Suggested, fields: Sequence[CustomField]
) -> tuple[list[Suggested | None], SuggestionProblem | None]:
    """Return a suggestion as each dialogue has it, None where it does not fit, and the last reason."""
    fitting: list[Suggested | None] = []
    refused = None
    for dialogue, names in zip(dialogues, tools, strict=True):
        try:
            fitting.append(fitted(dialogue.document, one, names, fields))
        except SuggestionProblem as problem:
            fitting.append(None)
            refused = problem
    return fitting, refused


def suggest_dependencies(dialogue: ReadDialogue) -> list[Suggested]:
    """Take the dependencies out of a dialogue that was read, and return them as suggestions."""
    document, found = take_dependencies(dialogue.document)
    if found:
        dialogue.document, dialogue.text = document, ""
    return found


def merged_suggestions(own: Sequence[Suggested], dependencies: Sequence[Suggested]) -> list[Suggested]:
    """Return both, without dependencies that the record itself suggests in the name of the import."""
    named = {(one.place, one.source) for one in own}
    return [*own, *(one for one in dependencies if (one.place, one.source) not in named)]


def _tools(dialogue: ReadDialogue) -> set[str] | None:
    names = {tool.get("function", tool).get("name") for tool in dialogue.tools if type(tool) is dict}
    return {name for name in names if type(name) is str} or None
