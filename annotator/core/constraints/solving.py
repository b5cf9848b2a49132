"""The unsolved set: the texts that the tools' results must contain, and those already returned. Like the published
code.

A result is read as text (``text_of``); it matches an expected text if it contains each of its items, separated by ", ",
ignoring the case of letters and commas. One result ticks off one expected text of its tool: the first that is still
open.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Expected:
    """A text that a call of ``tool`` must return; ``round`` and ``call`` (positions) say which one did, if any."""

    tool: str
    text: str
    round: int | None = None
    call: int | None = None


def text_of(value: Any) -> str:
    """Return a result as the model gets it: a text unchanged, objects and lists as JSON, the rest as Python's text."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)


def yields(result: str, expected: str) -> bool:
    """Return whether a result contains every item of an expected text."""
    held = _plain(result)
    return all(_plain(item) in held for item in expected.split(", "))


class UnsolvedSet:
    """The expected texts, and which of them were found. ``texts`` are in the order of the case."""

    def __init__(self, unsolved_set: Mapping[str, Sequence[Any]] | None) -> None:
        #: Whether the case says what must be found.
        self.known = unsolved_set is not None
        self.texts = [
            Expected(tool, text_of(each)) for tool, each_of in (unsolved_set or {}).items() for each in each_of
        ]

    def tick(self, tool: str, result: str, *, round_: int, call: int) -> int | None:
        """Tick off the first open text of ``tool`` that the result contains; return its position, or None."""
        for position, expected in enumerate(self.texts):
            if expected.tool == tool and expected.round is None and yields(result, expected.text):
                expected.round, expected.call = round_, call
                return position
        return None

    @property
    def solved(self) -> bool | None:
        """Whether everything was found; None if the case does not say what must be found."""
        return all(expected.round is not None for expected in self.texts) if self.known else None


def _plain(text: str) -> str:
    return text.lower().replace(",", "").strip()
