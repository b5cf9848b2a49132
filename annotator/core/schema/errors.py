"""Problems of a document as data: a place and a sentence."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from annotator.core.schema.exact_json import pointer


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: a JSON pointer (RFC 6901; empty for the whole document) and a sentence a person can act on."""

    pointer: str
    message: str


class SchemaProblem(ValueError):
    """A document that cannot be read; ``problems`` lists every problem found."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("; ".join(f"{p.pointer or '/'}: {p.message}" for p in problems[:5]))


#: Sentences for malformed values, by error type; pydantic's own messages contain class names.
_WORDS = {
    "missing": "This field is required.",
    "extra_forbidden": "Unknown field.",
    "string_type": "Must be text.",
    "int_type": "Must be a whole number.",
    "int_from_float": "Must be a whole number.",
    "int_parsing": "Must be a whole number.",
    "float_type": "Must be a number.",
    "float_parsing": "Must be a number.",
    "bool_type": "Must be true or false.",
    "bool_parsing": "Must be true or false.",
    "none_required": "Must be null.",
    "dict_type": "Must be an object.",
    "model_type": "Must be an object.",
    "model_attributes_type": "Must be an object.",
    "list_type": "Must be a list.",
    "string_too_short": "Must have at least {min_length} characters.",
    "string_too_long": "Must have at most {max_length} characters.",
    "string_pattern_mismatch": "Must match the pattern {pattern}.",
    "too_short": "Must have at least {min_length} items.",
    "too_long": "Must have at most {max_length} items.",
    "greater_than_equal": "Must be {ge} or more.",
    "less_than_equal": "Must be {le} or less.",
    "greater_than": "Must be more than {gt}.",
    "less_than": "Must be less than {lt}.",
    "finite_number": "Must be a finite number.",
    "literal_error": "Must be one of {expected}.",
    "enum": "Must be one of {expected}.",
    "union_tag_invalid": "Must be one of {expected_tags}.",
    "value_error": "{error}.",
}


def in_words(item: Any, own: Mapping[str, str] | None = None) -> str:
    """Return a sentence for one of the errors that a ValidationError lists. ``own``: sentences that have priority, by
    type.
    """
    words = (own or {}).get(item["type"]) or _WORDS.get(item["type"])
    return f"{item['msg']}." if words is None else words.format(**item.get("ctx", {}))


def problems_of(error: ValidationError) -> SchemaProblem:
    """Return what a model reports, each problem with its pointer and a sentence."""
    return SchemaProblem([Problem(pointer(item["loc"]), in_words(item)) for item in error.errors(include_url=False)])
