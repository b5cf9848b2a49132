"""What a query string asks for. Whatever it names that does not exist is refused with what does, never passed over:
a list that ignores a filter shows everything, and looks as if it had not.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date
from typing import Any

from annotator.errors import DomainError

#: What mail programs and chats put behind a link; it asks for nothing.
HARMLESS = "utm_"
#: Names that a sentence lists.
_MAX_NAMED = 40


class UnknownFilter(DomainError):
    """A query string names a filter, or a value of one, that does not exist; ``names`` are the parameters."""

    status = 400
    code = "unknown_filter"

    def __init__(self, sentence: str, names: Collection[str]) -> None:
        super().__init__(sentence, parameters=sorted(names))
        self.names = names


def refuse_unknown_names(query: Iterable[str], known: Collection[str]) -> None:
    """Raise UnknownFilter where a query string has other names than those known."""
    unknown = [name for name in query if name not in known and not name.startswith(HARMLESS)]
    if unknown:
        there_is = f"there is {_listed(sorted(known))}" if known else "there is none"
        raise UnknownFilter(f"There is no filter {_listed([name[:40] for name in unknown])} here; {there_is}.", unknown)


def one_of(
    query: Mapping[str, Any],
    name: str,
    known: Iterable[str] | Callable[[], Iterable[str]],
    otherwise: str = "",
    *,
    required: bool = False,
) -> str:
    """The value of a filter, ``otherwise`` where it is not set. Raises UnknownFilter for a value that is not known.

    ``known`` is only looked at, or called, where the filter is set or ``required``.
    """
    value = str(query.get(name, "")).strip()
    if not value and not required:
        return otherwise
    there = list(known() if callable(known) else known)
    if value not in there:
        choice = f"it is one of {_listed(there)}" if there else "there is nothing to choose from yet"
        wrong = f"cannot be “{value[:40]}”" if value else "is missing"
        raise UnknownFilter(f"“{name}” {wrong}; {choice}.", [name])
    return value


def day_of(query: Mapping[str, Any], name: str) -> date | None:
    """The day of a filter; None where it is not set. Raises UnknownFilter for what is no day."""
    raw = str(query.get(name, "")).strip()
    try:
        return date.fromisoformat(raw) if raw else None
    except ValueError:
        raise UnknownFilter(f"“{raw[:40]}” is no day for “{name}”; write it as in 2026-05-31.", [name]) from None


def no_place(name: str) -> UnknownFilter:
    """What to raise where a query string asks for a page of a list at a place that no list has given out."""
    return UnknownFilter(f"“{name}” is no place in this list; leave it out to begin at the start.", [name])


def _listed(names: Collection[str]) -> str:
    shown = ", ".join(f"“{name}”" for name in list(names)[:_MAX_NAMED])
    return shown if len(names) <= _MAX_NAMED else f"{shown} and {len(names) - _MAX_NAMED} more"
