"""What a custom field is: its key, its type, what it is about, and when it is asked."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from annotator.core.schema.errors import Problem, SchemaProblem, problems_of
from annotator.core.schema.labels import MAX_LABELS, MAX_VALUE, MAX_VALUES, Key

MAX_FIELDS = MAX_LABELS
#: The most steps of a scale, since each is a button.
MAX_STEPS = 11
#: The most bytes of all values of a set together, so that agreement can count every combination.
MAX_SET = 300


class FieldType(StrEnum):
    CHOICE = "choice"
    MULTI = "multi"
    SCALE = "scale"
    TEXT = "text"
    SPAN = "span"


class Scope(StrEnum):
    DIALOGUE = "dialogue"
    TASK = "task"
    CALL = "call"
    ANSWER = "answer"


#: Scope → the scopes whose fields can decide whether a field is asked: its own, and those around it.
SCOPES_OF: dict[Scope, tuple[Scope, ...]] = {
    Scope.DIALOGUE: (Scope.DIALOGUE,),
    Scope.TASK: (Scope.DIALOGUE, Scope.TASK),
    Scope.CALL: (Scope.DIALOGUE, Scope.TASK, Scope.CALL),
    Scope.ANSWER: (Scope.DIALOGUE, Scope.TASK, Scope.ANSWER),
}
#: Scope → the texts in which spans can be marked.
TEXTS: dict[Scope, tuple[str, ...]] = {
    Scope.DIALOGUE: ("system_prompt", "user_query", "answer", "env_info"),
    Scope.TASK: ("user_message",),
    Scope.CALL: (),
    Scope.ANSWER: ("text",),
}
_DECIDING = (FieldType.CHOICE, FieldType.MULTI, FieldType.SCALE)

Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)]
OptionValue = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_VALUE)]


class _Definition(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Option(_Definition):
    """A possible value of a choice or of a set. The first nine have the keys 1 to 9."""

    value: OptionValue
    title: Title


class Condition(_Definition):
    """A field is only asked if the field ``key`` has one of these values; numbers are written as text."""

    key: Key
    values: tuple[OptionValue, ...] = Field(min_length=1, max_length=MAX_VALUES)


class CustomField(_Definition):
    """One question. ``low`` and ``high`` are the ends of a scale, ``of`` is the text in which spans are marked."""

    key: Key
    title: Title
    help: Annotated[str, StringConstraints(max_length=1_000)] = ""
    type: FieldType
    scope: Scope
    required: bool = False
    options: tuple[Option, ...] = Field(default=(), max_length=MAX_VALUES)
    low: int | None = Field(default=None, ge=-1_000, le=1_000)
    high: int | None = Field(default=None, ge=-1_000, le=1_000)
    of: str | None = None
    shown_if: Condition | None = None

    @property
    def choices(self) -> list[tuple[str, str]]:
        """The pairs (value as text, title) to choose from; empty for texts and spans."""
        if self.low is not None and self.high is not None:
            return [(str(number), str(number)) for number in range(self.low, self.high + 1)]
        return [(option.value, option.title) for option in self.options]

    @property
    def lead(self) -> str:
        """The title as it comes before an answer: with a colon, if it is no sentence."""
        return self.title if self.title.endswith(("?", ".", "!", ":")) else f"{self.title}:"


_LIST = TypeAdapter(Annotated[tuple[CustomField, ...], Field(max_length=MAX_FIELDS)])


def read_fields(data: Any) -> tuple[CustomField, ...]:
    """Return the custom fields that ``data``, a list of JSON objects, defines. Raises SchemaProblem."""
    try:
        fields = _LIST.validate_python(data)
    except ValidationError as error:
        raise problems_of(error) from None
    problems = list(_problems(fields))
    if problems:
        raise SchemaProblem(problems)
    return fields


def stored_fields(fields: Sequence[CustomField]) -> list[dict[str, Any]]:
    """Return the fields as JSON values; ``read_fields`` reads them back."""
    return [field.model_dump(mode="json", exclude_defaults=True) for field in fields]


def _problems(fields: Sequence[CustomField]) -> Iterator[Problem]:
    before: dict[str, CustomField] = {}
    for index, field in enumerate(fields):
        here = f"/{index}"
        if field.key in before:
            yield Problem(f"{here}/key", f"There are two fields with the key {field.key}. Choose another key.")
        yield from _type_problems(here, field)
        if field.shown_if is not None:
            yield from _condition_problems(f"{here}/shown_if", field, before.get(field.shown_if.key))
        before[field.key] = field


def _type_problems(here: str, field: CustomField) -> Iterator[Problem]:
    values = [option.value for option in field.options]
    if any("|" in value or "=" in value for value in values):
        yield Problem(f"{here}/options", "The value of an option may not contain “|” or “=”. Choose another sign.")
    if not all(text.isprintable() for option in field.options for text in (option.value, option.title)):
        yield Problem(f"{here}/options", "An option is one line of printable characters. Remove other characters.")
    if field.type is FieldType.MULTI and sum(len(value.encode()) + 1 for value in values) > MAX_SET:
        sentence = f"Together, the values of a set may have {MAX_SET} bytes. Shorten them; titles may be longer."
        yield Problem(f"{here}/options", sentence)
    if field.type in (FieldType.CHOICE, FieldType.MULTI):
        if not values:
            yield Problem(f"{here}/options", "Give at least one option.")
        elif len(set(values)) < len(values):
            yield Problem(f"{here}/options", "Two options have the same value. Give each a value of its own.")
    elif values:
        yield Problem(f"{here}/options", "Only a choice or a set has options. Remove them, or change the type.")
    if field.type is FieldType.SCALE:
        if field.low is None or field.high is None or not 0 < field.high - field.low < MAX_STEPS:
            yield Problem(f"{here}/low", f"A scale needs a lowest and a highest number, with 2 to {MAX_STEPS} steps.")
    elif field.low is not None or field.high is not None:
        yield Problem(f"{here}/low", "Only a scale has a lowest and a highest number. Remove them.")
    if field.type is FieldType.SPAN:
        texts = TEXTS[field.scope]
        if not texts:
            yield Problem(f"{here}/scope", "A call has no text to mark. Choose another scope.")
        elif field.of not in texts:
            yield Problem(f"{here}/of", f"Choose the text in which spans are marked: {' or '.join(texts)}.")
    elif field.of is not None:
        yield Problem(f"{here}/of", "Only a field for spans names a text. Remove it.")


def _condition_problems(here: str, field: CustomField, deciding: CustomField | None) -> Iterator[Problem]:
    condition = field.shown_if
    if condition is None:
        return
    if deciding is None:
        yield Problem(f"{here}/key", f"No field with the key {condition.key} comes before this one. Move it up.")
    elif deciding.scope not in SCOPES_OF[field.scope]:
        sentence = f"A field about the {field.scope} cannot depend on one about the {deciding.scope}."
        yield Problem(f"{here}/key", sentence)
    elif deciding.type not in _DECIDING:
        yield Problem(f"{here}/key", "A field can only depend on a choice, a set or a scale.")
    else:
        known = {value for value, _ in deciding.choices}
        for value in condition.values:
            if value not in known:
                sentence = f"The field {deciding.key} has no value {value}. Use one of its values."
                yield Problem(f"{here}/values", sentence)
