"""The built-in validators: their names, their parameters, and how they become code."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from annotator.core.schema.errors import Problem, SchemaProblem, problems_of
from annotator.core.schema.formats import LINES
from annotator.core.validators import checking
from annotator.core.validators.aspects import Aspect

Text = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Texts = Annotated[list[Text], Field(min_length=1, max_length=20, json_schema_extra={"format": LINES})]
Names = Annotated[list[Text], Field(max_length=50, json_schema_extra={"format": LINES})]
Count = Annotated[int, Field(ge=0, le=1_000_000)]


class _Parameters(BaseModel):
    """Pages build their fields from it: a field's ``title`` is the label, its ``description`` the hint."""

    model_config = ConfigDict(extra="forbid")


class Keys(_Parameters):
    keys: Names = Field([], title="Required keys", description="One per line. If empty, any object is accepted.")


class SomeTexts(_Parameters):
    texts: Texts = Field(description="One per line. One of them is enough.")


class AllTexts(_Parameters):
    texts: Texts = Field(description="One per line. All of them are required.")
    ignore_case: bool = Field(False, title="Ignore case")


class NoTexts(AllTexts):
    texts: Texts = Field(description="One per line. None of them may appear.")


class Bounds(_Parameters):
    at_least: Count = 0
    at_most: Count | None = None

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        if self.at_most is not None and self.at_most < self.at_least:
            raise ValueError(f"At least {self.at_least} and at most {self.at_most} contradict each other")
        return self


class Items(Bounds):
    at_least: Count = 1


class TableShape(_Parameters):
    columns: Names = Field([], title="Required columns", description="One per line. If empty, any table is accepted.")
    rows_at_least: Count = 1


class Elements(_Parameters):
    elements: list[Literal["heading", "list", "bold", "italic", "link", "code", "table", "quote"]] = Field(
        [], title="Required elements"
    )


class Language(_Parameters):
    language: Literal["en", "zh"] = Field(json_schema_extra={"words": {"en": "English", "zh": "Chinese"}})


class DateForm(_Parameters):
    form: Literal["2026-03-31", "March 31, 2026", "31 March 2026", "March 2026", "03/31/2026"] = Field(
        title="Date format"
    )


class Case(_Parameters):
    case: Literal["upper", "lower"] = Field(json_schema_extra={"words": {"upper": "upper case", "lower": "lower case"}})


@dataclass(frozen=True)
class Form:
    """A kind of validator that needs no code. ``aspects``: the aspects of a response that it checks."""

    key: str
    title: str
    model: type[BaseModel]
    check: Callable[..., tuple[bool, str]]
    aspects: frozenset[Aspect]

    def read(self, parameters: Any) -> dict[str, Any]:
        """Return the parameters, complete. Raises SchemaProblem with the pointer and a sentence for each problem."""
        try:
            return self.model.model_validate(parameters).model_dump()
        except ValidationError as error:
            raise problems_of(error) from None

    def accepts(self, response: str, parameters: Mapping[str, Any]) -> tuple[bool, str]:
        """Return the verdict on a response and the reason. The parameters are as returned by ``read``."""
        return self.check(response, **parameters)

    def source(self, parameters: Mapping[str, Any], function: str = "validate") -> str:
        """Return Python code of a validator that does the same and imports nothing from here."""
        body = inspect.getsource(self.check).strip().replace(": Any =", " =")
        call = f"{self.check.__name__}(response, **{dict(parameters)!r})"
        return f"{body}\n\n\ndef {function}(response):\n    return {call}\n"


FORMS: dict[str, Form] = {
    form.key: form
    for form in (
        Form("json_object", "One JSON object", Keys, checking.json_object, frozenset({Aspect.JSON})),
        Form("starts_with", "Begins with", SomeTexts, checking.starts_with, frozenset({Aspect.START})),
        Form("ends_with", "Ends with", SomeTexts, checking.ends_with, frozenset({Aspect.END})),
        Form("contains", "Contains", AllTexts, checking.contains, frozenset({Aspect.KEYWORDS})),
        Form("lacks", "Does not contain", NoTexts, checking.lacks, frozenset()),
        Form("bullets", "List items", Items, checking.bullets, frozenset({Aspect.BULLETS})),
        Form("table", "Markdown table", TableShape, checking.table, frozenset({Aspect.TABLE})),
        Form("markdown", "Markdown elements", Elements, checking.markdown, frozenset({Aspect.MARKDOWN})),
        Form("language", "Language", Language, checking.language, frozenset({Aspect.LANGUAGE})),
        Form("words", "Number of words", Bounds, checking.words, frozenset({Aspect.LENGTH})),
        Form("characters", "Number of characters", Bounds, checking.characters, frozenset({Aspect.LENGTH})),
        Form("date", "A date in the format", DateForm, checking.date, frozenset({Aspect.DATE})),
        Form("case", "Letter case", Case, checking.case, frozenset({Aspect.CASE})),
    )
}


def read_form(key: str, parameters: Any) -> tuple[Form, dict[str, Any]]:
    """Return the built-in validator and its complete parameters. Raises SchemaProblem if either is wrong."""
    form = FORMS.get(key)
    if form is None:
        raise SchemaProblem(
            [Problem("/form", f"There is no built-in validator “{key}”. Choose one of: {', '.join(FORMS)}.")]
        )
    return form, form.read(parameters)
