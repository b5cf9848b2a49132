"""Values and states of stateful tools as JSON.

================================  =======================================================
Python                            JSON
================================  =======================================================
whole float, int of 64 bits       integer
dict                              object; other keys than texts as their canonical JSON
list, tuple, deque                array
set, frozenset                    ``{"$set": [...]}``, sorted by canonical JSON
Decimal                           ``{"$decimal": "2.50"}``
date, datetime, time              ``{"$datetime": ISO text}``
object of a class of the source   ``{"$object": class name, "state": public attributes}``
something that contains it        ``{"$cycle": n}``, n containers up
================================  =======================================================

Everything else cannot be written.
"""

import contextlib
import datetime
import decimal
import enum
import json
import math
import random
from collections import deque
from collections.abc import Callable
from typing import Any

from .source import name_of  # noqa: TID252 - nothing above this package can be imported here

#: Levels of nesting, as for every stored document, and values in one result or state.
MAX_DEPTH = 50
MAX_VALUES = 200_000

_DATES = (datetime.date, datetime.time)


class NotJson(Exception):
    """The value cannot be written as JSON; the text says why."""


class TooLarge(Exception):
    """The value is larger than allowed; the text says so."""


def canonical(value: Any) -> str:
    """Return JSON text with sorted keys and no white space."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def public_attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of an object without those whose name begins with an underscore."""
    return {name: item for name, item in all_attributes(value).items() if not name.startswith("_")}


def all_attributes(value: Any) -> dict[str, Any]:
    """Return all attributes of an object, those in slots too."""
    found = {}
    for kind in reversed(type.mro(type(value))):
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            if name not in ("__dict__", "__weakref__"):
                try:
                    found[name] = object.__getattribute__(value, name)
                except AttributeError:
                    continue
    with contextlib.suppress(AttributeError):
        found.update(object.__getattribute__(value, "__dict__"))
    return {name: item for name, item in found.items() if isinstance(name, str)}


class Writer:
    """Writes values as JSON values. ``module``: the module whose classes are the source's own.

    ``lenient`` writes anything, to see whether something changed; such text means nothing else.
    """

    def __init__(self, module: str, *, lenient: bool = False) -> None:
        self.module, self.lenient = module, lenient
        self.values = 0
        #: The ids of the containers around the place, outermost first, with their depth.
        self.open: dict[int, int] = {}

    def result(self, value: Any) -> Any:
        """Return the JSON value of what a tool returned. Raises NotJson or TooLarge."""
        self.values, self.open = 0, {}
        return self._write(value)

    def state(self, tool: Any) -> Any:
        """Return the public attributes of a tool as a JSON value. Raises NotJson or TooLarge."""
        self.values, self.open = 0, {}
        return self._inside(tool, lambda: self._attributes(public_attributes(tool)))

    def hidden(self, tool: Any) -> Any:
        """Return a value that differs if a hidden attribute of the tool does."""
        self.values, self.open = 0, {}
        hidden = {name: item for name, item in all_attributes(tool).items() if name.startswith("_")}
        return self._inside(tool, lambda: self._attributes(hidden))

    def _attributes(self, found: dict[str, Any]) -> dict[str, Any]:
        return {_text(name): self._write(item) for name, item in found.items()}

    def _write(self, value: Any) -> Any:
        self.values += 1
        if self.values > MAX_VALUES:
            raise TooLarge(f"It has more than {MAX_VALUES:,} values.")
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):
            return _text(value)
        if isinstance(value, int):
            return self._number(int(value))
        if isinstance(value, float):
            return self._float(float(value))
        if isinstance(value, decimal.Decimal):
            return {"$decimal": str(value)}
        if isinstance(value, _DATES):
            return {"$datetime": value.isoformat()}
        above = self.open.get(id(value))
        if above is not None:
            return {"$cycle": len(self.open) - above}
        return self._container(value)

    def _container(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._inside(value, lambda: self._pairs(value))
        if isinstance(value, list | tuple | deque):
            return self._inside(value, lambda: [self._write(item) for item in value])
        if isinstance(value, set | frozenset):
            items = self._inside(value, lambda: [self._write(item) for item in value])
            return {"$set": sorted(items, key=canonical)}
        kind = type(value)
        if isinstance(value, enum.Enum):
            state = {"name": value.name, "value": value.value}
            return self._inside(value, lambda: {"$object": name_of(kind), "state": self._pairs(state)})
        if kind.__module__ == self.module and not isinstance(value, type | BaseException):
            found = all_attributes(value) if self.lenient else public_attributes(value)
            state = self._inside(value, lambda: self._attributes(found))
            return {"$object": name_of(kind), "state": state}
        if self.lenient:
            return self._anything(value)
        raise NotJson(f"It contains {_article(name_of(kind))}, which cannot be written as JSON.")

    def _inside(self, value: Any, write: Callable[[], Any]) -> Any:
        if len(self.open) >= MAX_DEPTH:
            raise NotJson(f"It is nested more than {MAX_DEPTH} levels deep.")
        self.open[id(value)] = len(self.open)
        try:
            return write()
        finally:
            del self.open[id(value)]

    def _pairs(self, value: dict[Any, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, item in value.items():
            name = _text(key) if isinstance(key, str) else canonical(self._write(key))
            if name in out:
                raise NotJson(f"Two keys of an object are both written {name[:80]!r}.")
            out[name] = self._write(item)
        return out

    def _number(self, value: int) -> Any:
        if -(2**63) <= value < 2**64:
            return value
        if self.lenient:
            return f"{value:x}"
        raise NotJson("It contains a whole number of more than 64 bits.")

    def _float(self, value: float) -> Any:
        if math.isfinite(value):
            return self._number(int(value)) if value.is_integer() else value
        if self.lenient:
            return repr(value)
        raise NotJson(f"It contains {value}, which is no JSON number.")

    def _anything(self, value: Any) -> Any:
        if isinstance(value, random.Random) and not isinstance(value, random.SystemRandom):
            return str(value.getstate())
        return [name_of(type(value)), id(value)]


def _text(value: str) -> str:
    """Return a text as it is. Raises NotJson if it cannot be stored."""
    text = str.__str__(value)
    if "\x00" in text:
        raise NotJson("It contains a NUL character.")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise NotJson("It contains half of a surrogate pair.") from None
    return text


def _article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
