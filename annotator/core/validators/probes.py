"""Responses that show what is wrong with a validator: too strict, or judging what another constraint judges.

Pure: whoever runs the code passes a function that says whether it accepts a response.
"""

from collections.abc import Callable, Iterator

from annotator.core.constraints.case import Case, title
from annotator.core.constraints.claims import named_units
from annotator.core.constraints.demands import only_examples, read_demands
from annotator.core.findings import Finding
from annotator.core.validators.mutations import resized

Accepts = Callable[[str], bool]

#: One Markdown element each; prose around it keeps the response a response.
_MARKDOWN = {
    "a heading": "# Answer\n\n{text}",
    "a list": "The answer:\n\n- {text}\n- Nothing else",
    "emphasis": "The answer is **{text}**",
}


def probe_validator(case: Case, position: int, accepts: Accepts, reference: str) -> list[Finding]:
    """What probes show of the validator of one format or content constraint.

    ``reference`` is a response that is right. Finds a validator that wants every element a sentence names as examples
    (``validator.too_strict``), and one that counts words or characters although its sentence does not
    (``validator.redundant``: the length has a constraint of its own).
    """
    return [*_strictness(case, position, accepts, reference), *_redundancy(case, position, accepts, reference)]


def single_elements(text: str, reference: str) -> dict[str, str]:
    """Element → the reference with that Markdown element alone, where the sentence ``text`` names several as examples.

    Empty where it does not: each of these responses is as right as the reference.
    """
    if read_demands(text).form != "markdown" or not only_examples(text):
        return {}
    # A sign that begins a line or a word is Markdown; one within a word is not.
    plain = " ".join(word.lstrip("#>-") for word in reference.replace("*", "").split()).strip() or "Answer"
    return {name: probe.replace("{text}", plain) for name, probe in _MARKDOWN.items()}


def _strictness(case: Case, position: int, accepts: Accepts, reference: str) -> Iterator[Finding]:
    text = case.constraints[position].text or ""
    refused = [name for name, probe in single_elements(text, reference).items() if not accepts(probe)]
    if refused:
        told = (
            f"The validator of {title(case, position)} rejects a response whose only Markdown is "
            f"{' or '.join(refused)}, but the sentence names these as examples: one is enough."
        )
        yield case.finding("validator.too_strict", position, told)


def _redundancy(case: Case, position: int, accepts: Accepts, reference: str) -> Iterator[Finding]:
    text = case.constraints[position].text or ""
    if named_units(text) or not accepts(reference):
        return
    refused = [name for name, probe in resized(reference) if not accepts(probe)]
    if refused:
        lengths = [title(case, i) for i, each in enumerate(case.constraints) if each.category == "length"]
        whose = f" That is for {lengths[0]}." if lengths else ""
        told = (
            f"The validator of {title(case, position)} rejects the reference once it is made {' or '.join(refused)}, "
            f"but its sentence says nothing about length.{whose} Take that part out."
        )
        yield case.finding("validator.redundant", position, told)
