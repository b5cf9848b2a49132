"""JSON typed by a person."""

import json
from typing import Any, NoReturn

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
        return json.loads(text, parse_constant=_constant, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        hint = _hint(text, error)
        raise JsonProblem(f"This is not JSON ({place}: {error.msg}).{hint}") from None
    except RecursionError:
        raise JsonProblem("The value is nested too deeply.") from None
    except JsonProblem:
        raise
    except ValueError:
        # The library reads no integer of more than some thousand digits.
        raise JsonProblem("The text holds a number with too many digits; write it as a string.") from None


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
    raise JsonProblem(f"{name} is no JSON value; write a number or null.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise JsonProblem(f"The key “{twice[:80]}” stands twice in one object; keep one.")
    return out
