"""Filters in query strings. Unknown filters and values are refused with a list of the known ones, never ignored: a
list that ignores a filter shows too much without saying so.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Any

from django.utils.translation import gettext as _

from annotator.errors import DomainError

#: Prefix of parameters that mail programs and chats add to links.
HARMLESS = "utm_"
#: Names listed in a sentence.
_MAX_NAMED = 40
#: RFC 3339, in ASCII digits.
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})")


class UnknownFilter(DomainError):
    """A query string has an unknown filter or value; ``names`` are the parameters."""

    status = 400
    code = "unknown_filter"

    def __init__(self, sentence: str, names: Collection[str]) -> None:
        super().__init__(sentence, parameters=sorted(names))
        self.names = names


def refuse_unknown_names(query: Iterable[str], known: Collection[str]) -> None:
    """Raise UnknownFilter if a query string has unknown names."""
    unknown = [name for name in query if name not in known and not name.startswith(HARMLESS)]
    if unknown:
        names = _listed([name[:40] for name in unknown])
        if known:
            sentence = _("Unknown filter: %(names)s. Use one of: %(known)s.")
            raise UnknownFilter(sentence % {"names": names, "known": _listed(sorted(known))}, unknown)
        raise UnknownFilter(_("Unknown filter: %(names)s. This page has no filters.") % {"names": names}, unknown)


def one_of(
    query: Mapping[str, Any],
    name: str,
    known: Iterable[str] | Callable[[], Iterable[str]],
    otherwise: str = "",
    *,
    required: bool = False,
) -> str:
    """Return the value of a filter, or ``otherwise`` if it is not set. Raises UnknownFilter for an unknown value.

    ``known`` is only used, or called, if the filter is set or ``required``.
    """
    value = str(query.get(name, "")).strip()
    if not value and not required:
        return otherwise
    there = list(known() if callable(known) else known)
    if value not in there:
        values = {"name": name, "value": value[:40], "known": _listed(there)}
        if not value:
            sentence = _("“%(name)s” is missing. Use one of: %(known)s.")
        elif there:
            sentence = _("“%(name)s” can’t be “%(value)s”. Use one of: %(known)s.")
        else:
            sentence = _("“%(name)s” can’t be “%(value)s”. There are no values to choose from yet.")
        raise UnknownFilter(sentence % values, [name])
    return value


def day_of(query: Mapping[str, Any], name: str) -> date | None:
    """Return the day of a filter, or None if it is not set. Raises UnknownFilter if it is not a date."""
    raw = str(query.get(name, "")).strip()
    try:
        return date.fromisoformat(raw) if raw else None
    except ValueError:
        sentence = _("“%(name)s” can’t be “%(value)s”. Use a date like 2026-05-31.")
        raise UnknownFilter(sentence % {"name": name, "value": raw[:40]}, [name]) from None


def moment_of(query: Mapping[str, Any], name: str) -> datetime | None:
    """Return the moment of a filter in UTC, or None if it is not set; digits after microseconds are cut off.

    Raises UnknownFilter unless it is a time of RFC 3339, which has a zone.
    """
    raw = str(query.get(name, ""))
    if not raw:
        return None
    try:
        if _MOMENT.fullmatch(raw) is None:
            raise ValueError(raw)
        return datetime.fromisoformat(raw).astimezone(UTC)
    except (ValueError, OverflowError):
        sentence = _(
            "“%(name)s” can’t be “%(value)s”. Use a time with a zone, like 2026-05-31T08:00:00Z or "
            "2026-05-31T10:00:00%%2B02:00."
        )
        raise UnknownFilter(sentence % {"name": name, "value": raw[:40]}, [name]) from None


def no_place(name: str) -> UnknownFilter:
    """Return the error for an invalid page cursor in a query string."""
    sentence = _("“%(name)s” isn’t a valid page of this list. Leave it out to go to the first page.")
    return UnknownFilter(sentence % {"name": name}, [name])


def _listed(names: Collection[str]) -> str:
    shown = ", ".join(f"“{name}”" for name in list(names)[:_MAX_NAMED])
    if len(names) <= _MAX_NAMED:
        return shown
    return _("%(names)s and %(count)d more") % {"names": shown, "count": len(names) - _MAX_NAMED}
