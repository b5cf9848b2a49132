"""YAML as JSON: the core schema of YAML 1.2, so that a key ``on`` or a value ``no`` stays a text."""

import re
from typing import Any

import yaml

#: The parser reads about 2 MB a second.
MAX_BYTES = 4 << 20
#: Values, each counted as often as aliases repeat it.
MAX_VALUES = 1_000_000


class _Loader(yaml.CSafeLoader):
    """YAML's safe loader without the types that JSON does not have: dates, and words such as yes and off."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?[0-9]+(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), [*_first, ""])


def load_yaml(text: str) -> Any:
    """Return the value of a YAML text. Raises ValueError with a sentence."""
    if len(text.encode(errors="replace")) > MAX_BYTES:
        raise ValueError(f"The YAML text is larger than {MAX_BYTES >> 20} MB. Convert it to JSON.")
    try:
        value = yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" (line {mark.line + 1})" if mark is not None else ""
        reason = getattr(error, "problem", None) or "it is not YAML"
        raise ValueError(f"The YAML text cannot be read: {reason}{place}.") from None
    except (RecursionError, ValueError, TypeError):
        raise ValueError("The YAML text cannot be read: a value in it is not possible in JSON.") from None
    if not _is_bounded(value):
        raise ValueError(f"The YAML text has more than {MAX_VALUES:,} values. Its aliases repeat them too often.")
    return value


def _is_bounded(value: Any) -> bool:
    """Return whether a value, written without aliases, has at most ``MAX_VALUES`` values."""
    left, waiting = MAX_VALUES, [value]
    while waiting and left >= 0:
        one = waiting.pop()
        inside = list(one.values()) if isinstance(one, dict) else one if isinstance(one, list) else []
        left -= 1 + len(inside)
        waiting += (part for part in inside if isinstance(part, dict | list))
    return left >= 0
