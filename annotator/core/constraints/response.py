"""Response constraints: the length, format and content of the final response (paper, 3.1)."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from annotator.core.constraints.model import Ceiling, Count, Dimension, NoParameters, Parameters
from annotator.core.constraints.rounds import UNTOUCHED, Breach, Consequence, Judgement, Past, Round
from annotator.core.constraints.taxonomy import Category, register
from annotator.core.constraints.wording import above, ranged
from annotator.core.wording import counted

_NO_ANSWER = "No final response was given."


class LengthBounds(Parameters):
    min_responseLength: Count = Field(0, title="At least")
    max_responseLength: Ceiling = Field("inf", title="At most")
    unit: Literal["words", "characters"] = Field("characters", title="Unit")

    def measure(self, text: str) -> int:
        """Count words separated by white space, or characters, like the published checker."""
        return len(text.split()) if self.unit == "words" else len(text)


@register
class Length(Category[LengthBounds]):
    """How long the final response may be."""

    id = "length"
    dimension = Dimension.RESPONSE
    labels = (("Response", "Length"),)
    model = LengthBounds

    def usual(self, tools: Sequence[str]) -> dict[str, Any]:
        return {"min_responseLength": 0, "max_responseLength": 100, "unit": "words"}

    def sentence(self, parameters: LengthBounds) -> str:
        length = ranged(parameters.min_responseLength, parameters.max_responseLength, parameters.unit[:-1])
        return f"Answer in {length}."

    def judge(self, parameters: LengthBounds, past: Past, round_: Round) -> Judgement:
        if round_.response is None:
            return UNTOUCHED
        length = parameters.measure(round_.response)
        found = f"The final response has {counted(length, parameters.unit[:-1])}"
        if length < parameters.min_responseLength:
            told = f"{found}, but at least {parameters.min_responseLength} are required. Write it again, longer."
            return Judgement(breaches=(Breach("MIN LENGTH", None, told, Consequence.RETURNED),))
        if above(length, parameters.max_responseLength):
            told = f"{found}, but at most {parameters.max_responseLength} are allowed. Write it again, shorter."
            return Judgement(breaches=(Breach("MAX LENGTH", None, told, Consequence.RETURNED),))
        return Judgement()

    def open(self, parameters: LengthBounds, past: Past) -> str:
        return "" if past.answered else _NO_ANSWER


class _Validated(Category[NoParameters]):
    """Judged by validator code, which runs elsewhere; ``Past`` has its verdict."""

    dimension = Dimension.RESPONSE
    needs = "validator"
    model = NoParameters

    def judge(self, parameters: NoParameters, past: Past, round_: Round) -> Judgement:
        if round_.final is None or past.verdict is None:
            return UNTOUCHED
        accepted, message = past.verdict
        if accepted:
            return Judgement()
        told = message or f"The final response violates the constraint on its {self.id}. Write it again."
        return Judgement(breaches=(Breach(self.id.upper(), None, told, Consequence.RETURNED),))

    def open(self, parameters: NoParameters, past: Past) -> str:
        return "" if past.answered else _NO_ANSWER


@register
class Format(_Validated):
    """The format of the final response: plain text, JSON, a table, Markdown."""

    id = "format"
    labels = (("Response", "Format"),)

    def sentence(self, parameters: NoParameters) -> str:
        return "Answer in the required format."


@register
class Content(_Validated):
    """What the final response must contain: identifiers, punctuation, keywords, a language."""

    id = "content"
    #: The last two are the published registry's own, for identifiers and for punctuation.
    labels = (
        ("Response", "Content"),
        ("Response", "Identifiers"),
        ("Response", "Punctuation"),
        ("Response", "Content_1"),
        ("Response", "Content_2"),
    )

    def sentence(self, parameters: NoParameters) -> str:
        return "Answer with the required content."
