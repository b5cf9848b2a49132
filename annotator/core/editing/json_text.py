"""JSON typed by a person."""

import json
from typing import Any, NoReturn

from annotator.core.schema.exact_json import JsonError, loads

#: Longest text that is read as JSON, in characters.
MAX_JSON = 200_000


class JsonProblem(ValueError):
    """A text that is no JSON; says where and why."""


def read_json(text: str) -> Any:
    """The value that ``text`` spells. Raises JsonProblem with line and column.

    Stricter than the standard library: no NaN, no key twice in one object.
    """
    if len(text) > MAX_JSON:
        raise JsonProblem(f"The text has {len(text):,} characters; {MAX_JSON:,} are the most that is read as JSON.")
    try:
        return loads(text)
    except JsonError as error:
        raise JsonProblem(str(error)) from None
    except ValueError:
        raise _explained(text) from None


def _explained(text: str) -> JsonProblem:
    """What is wrong with a text that is no JSON, in the words of the parser that says where."""
    try:
        json.loads(text, parse_constant=_constant)
    except json.JSONDecodeError as error:
        position = f"line {error.lineno}, column {error.colno}"
        return JsonProblem(f"This is not JSON ({position}: {error.msg}).{_hint(text, error)}")
    except JsonProblem as problem:
        return problem
    except (ValueError, RecursionError):
        return JsonProblem("The value is nested too deeply, or holds a number with too many digits.")
    return JsonProblem("The text is not JSON; some of its characters are none.")


def _hint(text: str, error: json.JSONDecodeError) -> str:
    rest = text[error.pos : error.pos + 5]
    if rest[:1] in ("'", "“", "”", "‘", "’"):
        return " Texts and keys stand in straight double quotes."
    if rest[:4] in ("True", "None") or rest == "False":
        return " JSON spells it true, false and null."
    if rest[:1] in ("}", "]") or (rest[:1] == "," and text[: error.pos].rstrip().endswith(",")):
        return " There may be a comma too many."
    return ""


def _constant(name: str) -> NoReturn:
    raise JsonProblem(f"{name} is not a JSON value. Write a number or null.")
