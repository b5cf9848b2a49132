"""Recorded answers: a file with one JSON object a line, from which generations run again without a model.

{"generation": "…", "number": 1, "request": "SHA-256", "answer": "…", "purpose": "…", "model": "…", …}

An answer is found by the hash of its request, else by the name of its generation and its number there.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from annotator.core.schema.canonical import canonical, content_hash
from annotator.core.schema.exact_json import dumps, loads

#: Characters of a line; answers themselves are shorter.
MAX_LINE = 1_000_000
#: What columns of the database can have.
MAX_NUMBER = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Recorded:
    """One answer. ``request``: see ``request_hash``; empty if it isn't known."""

    generation: str
    number: int
    request: str
    answer: str
    purpose: str = ""
    model: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    milliseconds: int = 0

    def to_line(self) -> bytes:
        return dumps(asdict(self)) + b"\n"


class Records:
    """Recorded answers by request and by place. Of several for one request, each generation gets its own first."""

    def __init__(self, records: Iterable[Recorded]) -> None:
        self._by_place: dict[tuple[str, int], Recorded] = {}
        self._by_request: dict[str, Recorded] = {}
        for one in records:
            self._by_place.setdefault((one.generation, one.number), one)
            if one.request:
                self._by_request.setdefault(one.request, one)

    def find(self, *, generation: str, number: int, request: str) -> Recorded | None:
        """Return the answer to a request; None if there is none."""
        own = self._by_place.get((generation, number))
        if own is not None and own.request in ("", request):
            return own
        return self._by_request.get(request)


def read_records(lines: Iterable[bytes]) -> Iterator[Recorded]:
    """Yield the answers of a file. Raises ValueError with the line and what is wrong with it."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _read(number, line)


def _read(number: int, line: bytes) -> Recorded:
    try:
        if len(line) > MAX_LINE:
            raise ValueError(f"it has more than {MAX_LINE:,} bytes")
        found = _json(line)
        if not isinstance(found, dict):
            raise ValueError("expected an object")
        return Recorded(**{name: _value(found, name, default) for name, default in _FIELDS.items()})
    except ValueError as error:
        raise ValueError(f"Line {number} of the recorded answers: {str(error).rstrip('.')}.") from None


def _json(line: bytes) -> Any:
    try:
        return loads(line)
    except ValueError:
        raise ValueError("it is not JSON. Write one object a line") from None


_FIELDS: dict[str, Any] = {
    "generation": "", "number": 0, "request": "", "answer": None, "purpose": "", "model": "", "parameters": {},
    "input_tokens": 0, "output_tokens": 0, "milliseconds": 0,
}  # fmt: skip
_PARAMETERS: dict[str, tuple[type, ...]] = {"temperature": (int, float), "seed": (int,), "max_tokens": (int,)}
_KINDS: dict[type, str] = {str: "a text", int: "a whole number", dict: "an object"}


def _value(found: dict[str, Any], name: str, default: Any) -> Any:
    value: Any = found.get(name, default)
    kind = str if default is None else type(default)
    if type(found.get(name, default)) is not kind:
        raise ValueError(f"“{name}” must be {_KINDS[kind]}")
    if kind is int and not 0 <= value <= MAX_NUMBER:
        raise ValueError(f"“{name}” must be from 0 to {MAX_NUMBER:,}")
    for parameter, kinds in _PARAMETERS.items() if kind is dict else ():
        if type(value.get(parameter)) not in (*kinds, type(None)):
            raise ValueError(f"“{parameter}” must be a number")
    return value


def request_hash(model: str, prompt: str, parameters: dict[str, Any]) -> str:
    """Return what names a request: the hash of its model, prompt and parameters."""
    return content_hash(canonical({"model": model, "prompt": prompt, "parameters": parameters}))
