"""How a JSON text is laid out: its order of keys, spelling of numbers and of signs, and white space.

None of it is part of a value, so canonical text has none of it; but whoever hands in ``{"b": 1.50, "a": 1E2}`` gets it
back so. A value is written by the text it came from: what is unchanged is copied from it sign for sign, and only what
is not in it is written anew, in its style. An old text can do no harm: what it says is never taken over, only how.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from annotator.schema.exact_json import dumps, same

_BLANK = re.compile(r"[ \t\r\n]*")
# From the first of several blanks alone: from each of them, a row of them is quadratic.
_BREAK = re.compile(r'("(?:[^"\\]|\\.)*+")|(?<![ \t])[ \t]*+[\r\n]\s*')
_DECODER = json.JSONDecoder()


def lay_out(value: Any, original: str) -> str:
    """JSON of ``value``, laid out as ``original`` is.

    ``lay_out(loads(text), text) == text``, and ``loads(lay_out(value, text))`` is ``value`` whatever ``text`` says.
    Raises ValueError when ``original`` is no JSON.
    """
    at = _skip(original, 0)
    layout = _Layout(original)
    return original[:at] + layout.write(value, at) + original[layout.end(at) :]


def on_one_line(text: str) -> str:
    """A JSON text without its line breaks, and the indents behind them."""
    return _BREAK.sub(lambda found: found[1] or "", text) if "\n" in text else text


class _Member(NamedTuple):
    """A member of an object, or an item of a list: where it begins (its key, if it has one), its value, and its end."""

    start: int
    key: str
    at: int
    end: int


class _Layout:
    def __init__(self, text: str) -> None:
        self.text = text
        # How new parts are written.
        spaced = re.search(r'"\s*:(\s)', text) is not None
        self.comma, self.colon = (", ", ": ") if spaced else (",", ":")
        self.ascii = text.isascii() and "\\u" in text

    def end(self, at: int) -> int:
        return _DECODER.raw_decode(self.text, at)[1]

    def write(self, value: Any, at: int) -> str:
        """The value, where the one that begins at ``at`` stands."""
        old, end = _DECODER.raw_decode(self.text, at)
        if same(value, old):
            return self.text[at:end]
        if isinstance(value, dict) and isinstance(old, dict) and old:
            return self._object(value, at)
        if isinstance(value, list) and isinstance(old, list) and old:
            return self._list(value, at, old)
        return self._new(value)

    def _object(self, value: dict[str, Any], at: int) -> str:
        members = list(self._members(at))
        known = {member.key for member in members}
        pieces = [(member, self.write(value[member.key], member.at)) for member in members if member.key in value]
        out = [self.text[at : members[0].start]]
        for n, (member, written) in enumerate(pieces):
            if n:
                out.append(self._between(members, member))
            out += [self.text[member.start : member.at], written]
        for n, key in enumerate(key for key in value if key not in known):
            if n or pieces:
                out.append(self.comma)
            out += [self._new(key), self.colon, self._new(value[key])]
        out.append(self.text[members[-1].end : self.end(at)])
        return "".join(out)

    def _list(self, value: list[Any], at: int, old: list[Any]) -> str:
        members = list(self._members(at))
        # An item that has moved is written as it was.
        places = {dumps(item, option=orjson.OPT_SORT_KEYS): n for n, item in reversed(list(enumerate(old)))}
        out = [self.text[at : members[0].start]]
        for n, item in enumerate(value):
            if n:
                out.append(self._between(members, members[n]) if n < len(members) else self.comma)
            if n < len(old) and same(item, old[n]):
                found = n
            else:
                found = places.get(dumps(item, option=orjson.OPT_SORT_KEYS), n)
            out.append(self.write(item, members[found].at) if found < len(members) else self._new(item))
        out.append(self.text[members[-1].end : self.end(at)])
        return "".join(out)

    def _between(self, members: list[_Member], member: _Member) -> str:
        """What stands before a member that is not the first; the style's comma before one that was."""
        n = members.index(member)
        return self.text[members[n - 1].end : member.start] if n else self.comma

    def _new(self, value: Any) -> str:
        return json.dumps(value, ensure_ascii=self.ascii, separators=(self.comma, self.colon))

    def _members(self, at: int) -> Iterator[_Member]:
        text, is_object = self.text, self.text[at] == "{"
        at = _skip(text, at + 1)
        while text[at] not in "]}":
            start, key = at, ""
            if is_object:
                key, at = _DECODER.raw_decode(text, at)
                at = _skip(text, _skip(text, at) + 1)
            end = self.end(at)
            yield _Member(start, key, at, end)
            at = _skip(text, end)
            if text[at] == ",":
                at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at
