"""Numbers of calls: a whole float is passed and compared as an integer; true is not 1."""

from typing import Any


def whole_numbers(value: Any) -> Any:
    """Return a copy of a JSON value in which whole floats are integers."""
    if isinstance(value, dict):
        return {key: whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole_numbers(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
