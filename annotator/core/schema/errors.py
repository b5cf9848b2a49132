"""What is wrong with a document, as data: a place and a sentence."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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


#: What people are told of a malformed value, by its type; the reader's own words name classes of the program.
_WORDS = {
    "missing": "The field is missing.",
    "extra_forbidden": "There is no such field here.",
    "string_type": "A text is expected.",
    "int_type": "A whole number is expected.",
    "int_from_float": "A whole number is expected.",
    "int_parsing": "A whole number is expected.",
    "float_type": "A number is expected.",
    "float_parsing": "A number is expected.",
    "bool_type": "true or false is expected.",
    "bool_parsing": "true or false is expected.",
    "none_required": "null is expected.",
    "dict_type": "An object is expected.",
    "model_type": "An object is expected.",
    "model_attributes_type": "An object is expected.",
    "list_type": "A list is expected.",
    "string_too_short": "There must be at least {min_length} characters.",
    "string_too_long": "There may be at most {max_length} characters.",
    "string_pattern_mismatch": "The text does not fit the pattern {pattern}.",
    "too_short": "There must be at least {min_length}.",
    "too_long": "There may be at most {max_length}.",
    "greater_than_equal": "{ge} or more is expected.",
    "less_than_equal": "{le} or less is expected.",
    "greater_than": "More than {gt} is expected.",
    "less_than": "Less than {lt} is expected.",
    "finite_number": "A number that is not infinite is expected.",
    "literal_error": "One of these is expected: {expected}.",
    "enum": "One of these is expected: {expected}.",
    "union_tag_invalid": "One of these is expected: {expected_tags}.",
    "value_error": "{error}.",
}


def in_words(item: Any, own: Mapping[str, str] | None = None) -> str:
    """A sentence for one of the errors that a ValidationError lists. ``own``: sentences that go first, by type."""
    words = (own or {}).get(item["type"]) or _WORDS.get(item["type"])
    return f"{item['msg']}." if words is None else words.format(**item.get("ctx", {}))
