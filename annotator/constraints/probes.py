"""Responses that show what is wrong with a validator: too strict, or judging what another constraint judges.

Pure: whoever runs the code passes a function that says whether it accepts a response.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from annotator.checks.findings import Finding
from annotator.constraints.case import Case, title
from annotator.constraints.claims import named_units
from annotator.constraints.demands import only_examples, read_demands

Accepts = Callable[[str], bool]

_LONG = 200
#: One Markdown element each; prose around it keeps the response a response.
_MARKDOWN = {
    "heading": "# Answer\n\n{text}",
    "list": "The answer:\n\n- {text}\n- Nothing else",
    "emphasis": "The answer is **{text}**",
}


def probe_validator(case: Case, position: int, accepts: Accepts, reference: str) -> list[Finding]:
    """What probes show of the validator of one format or content constraint.

    ``reference`` is a response that is right. Finds a validator that wants every element a sentence names as examples
    (``validator.too_strict``), and one that counts words or characters although its sentence does not
    (``validator.redundant``: the length has a constraint of its own).
    """
    return [*_strictness(case, position, accepts, reference), *_redundancy(case, position, accepts, reference)]


def _strictness(case: Case, position: int, accepts: Accepts, reference: str) -> Iterator[Finding]:
    text = case.constraints[position].text or ""
    if read_demands(text).form != "markdown" or not only_examples(text):
        return
    plain = " ".join(reference.replace("*", "").replace("#", "").split()) or "Answer"
    refused = [name for name, probe in _MARKDOWN.items() if not accepts(probe.format(text=plain))]
    if refused:
        told = (
            f"The validator of {title(case, position)} rejects a response whose only Markdown is a "
            f"{' or a '.join(refused)}, but the sentence names these as examples: one is enough."
        )
        yield case.finding("validator.too_strict", position, told)


def _redundancy(case: Case, position: int, accepts: Accepts, reference: str) -> Iterator[Finding]:
    text = case.constraints[position].text or ""
    if named_units(text) or not accepts(reference):
        return
    refused = [name for name, probe in _resized(reference) if not accepts(probe)]
    if refused:
        lengths = [title(case, i) for i, each in enumerate(case.constraints) if each.category == "length"]
        whose = f" That is for {lengths[0]}." if lengths else ""
        told = (
            f"The validator of {title(case, position)} rejects the reference once it is made {' or '.join(refused)}, "
            f"but its sentence says nothing about length.{whose} Take that part out."
        )
        yield case.finding("validator.redundant", position, told)


def _resized(reference: str) -> Iterator[tuple[str, str]]:
    """The reference with longer and with shorter texts in its form; of other forms than JSON none is known."""
    try:
        data = json.loads(reference)
    except ValueError:
        return
    if isinstance(data, dict | list):
        for name, text in (("longer", " ".join(["word"] * _LONG)), ("shorter", "word")):
            resized = _replaced(data, text)
            if resized != data:
                yield name, json.dumps(resized, ensure_ascii=False)


def _replaced(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(part, text) for key, part in value.items()}
    if isinstance(value, list):
        return [_replaced(part, text) for part in value]
    return text if isinstance(value, str) else value
