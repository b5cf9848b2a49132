"""JSON typed by a person."""

import json
from typing import Any, NoReturn

from annotator.core.schema.exact_json import JsonError, loads

#: The longest text that is read as JSON, in characters.
MAX_JSON = 200_000


class JsonProblem(ValueError):
    """A text that is not JSON; the message says where and why."""


def read_json(text: str) -> Any:
    """Return the value of ``text``. Raises JsonProblem with line and column.

    Stricter than the standard library: no NaN, no repeated key in an object.
    """
    if len(text) > MAX_JSON:
        raise JsonProblem(f"The text has {len(text):,} characters. The limit for JSON is {MAX_JSON:,}.")
    try:
        return loads(text)
    except JsonError as error:
        raise JsonProblem(str(error)) from None
    except ValueError:
        raise _explained(text) from None


def _explained(text: str) -> JsonProblem:
    """Return what is wrong with a text that is not JSON, as the parser says it."""
    try:
        json.loads(text, parse_constant=_constant)
    except json.JSONDecodeError as error:
        position = f"line {error.lineno}, column {error.colno}"
        return JsonProblem(f"This is not JSON ({position}: {error.msg}).{_hint(text, error)}")
    except JsonProblem as problem:
        return problem
    except (ValueError, RecursionError):
        return JsonProblem("The value is nested too deeply, or has a number with too many digits.")
    return JsonProblem("The text is not JSON: it contains invalid characters.")


def _hint(text: str, error: json.JSONDecodeError) -> str:
    rest = text[error.pos : error.pos + 5]
    if rest[:1] in ("'", "“", "”", "‘", "’"):
        return " Texts and keys need straight double quotes."
    if rest[:4] in ("True", "None") or rest == "False":
        return " JSON writes true, false and null in lower case."
    if rest[:1] in ("}", "]") or (rest[:1] == "," and text[: error.pos].rstrip().endswith(",")):
        return " There may be an extra comma."
    return ""


def _constant(name: str) -> NoReturn:
    raise JsonProblem(f"{name} is not a JSON value. Write a number or null.")
