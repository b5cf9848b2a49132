"""The parameters of a ready form as fields to fill in, and back. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.validators.library import Form

#: Before the name of every field: a parameter may be called as something else of the page is.
PREFIX = "p-"

_LABELS = {
    "keys": "Keys it must have",
    "texts": "Texts",
    "ignore_case": "Capitals do not matter",
    "at_least": "At least",
    "at_most": "At most",
    "columns": "Columns it must have",
    "rows_at_least": "Rows at least",
    "elements": "Elements it must use",
    "language": "Language",
    "form": "Written like",
    "case": "Case",
}
_HINTS = {
    "keys": "One a line; empty: any object will do.",
    "columns": "One a line; empty: any table will do.",
    "at_most": "Empty: no bound.",
}
#: What several texts mean, by form.
_TEXTS = {
    "starts_with": "One a line; one of them is enough.",
    "ends_with": "One a line; one of them is enough.",
    "contains": "One a line; all of them must be there.",
    "lacks": "One a line; none of them may be there.",
}
_WORDS = {"en": "English", "zh": "Chinese", "upper": "capitals", "lower": "small letters"}


@dataclass(frozen=True, slots=True)
class FormField:
    """One parameter; ``name`` is that of its input.

    ``type``: number, checkbox, select, textarea (one text a line) or choices (any of them).
    """

    name: str
    label: str
    type: str
    value: str
    hint: str = ""
    required: bool = False
    checked: bool = False
    #: (value, words, whether it is chosen)
    options: tuple[tuple[str, str, bool], ...] = ()


def form_fields(form: Form, parameters: Mapping[str, Any] | None) -> list[FormField]:
    """The fields of a form, in the order of its parameters; ``parameters`` are what they hold now."""
    held = parameters or {}
    schema = form.model.model_json_schema()
    required = set(schema.get("required", ()))
    return [
        _field(form, name, part, held.get(name, part.get("default")), required=name in required)
        for name, part in schema["properties"].items()
    ]


def read_form_fields(form: Form, posted: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Parameters as they were filled in (name of an input → texts).

    Raises nothing: ``Form.read`` says what is wrong with them.
    """
    out: dict[str, Any] = {}
    for name, part in form.model.model_json_schema()["properties"].items():
        given = posted.get(PREFIX + name, ())
        text = given[-1] if given else ""
        match _type(part):
            case "checkbox":
                out[name] = bool(text)
            case "textarea":
                out[name] = [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()]
            case "choices":
                out[name] = list(given)
            case "number":
                out[name] = _number(text, part)
            case _:
                out[name] = text
    return out


def _field(form: Form, name: str, part: Mapping[str, Any], value: Any, *, required: bool) -> FormField:
    type_ = _type(part)
    label = _LABELS.get(name, name.replace("_", " ").capitalize())
    hint = _TEXTS.get(form.key, "") if name == "texts" else _HINTS.get(name, "")
    name = PREFIX + name
    match type_:
        case "checkbox":
            return FormField(name, label, type_, "yes", hint, checked=bool(value))
        case "textarea":
            return FormField(name, label, type_, "\n".join(value or ()), hint, required)
        case "choices" | "select":
            choices = part["items"]["enum"] if type_ == "choices" else part["enum"]
            chosen = set(value or ()) if type_ == "choices" else {value}
            options = tuple((one, _WORDS.get(one, one), one in chosen) for one in choices)
            return FormField(name, label, type_, "" if type_ == "choices" else str(value or ""), hint, options=options)
        case _:
            return FormField(name, label, "number", "" if value is None else str(value), hint)


def _type(part: Mapping[str, Any]) -> str:
    if part.get("type") == "boolean":
        return "checkbox"
    if part.get("type") == "array":
        return "choices" if "enum" in part["items"] else "textarea"
    return "select" if "enum" in part else "number"


def _number(text: str, part: Mapping[str, Any]) -> Any:
    text = text.strip()
    if not text:
        return part.get("default")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text
