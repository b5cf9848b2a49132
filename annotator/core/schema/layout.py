"""The layout of a JSON text: its order of keys, spelling of numbers and characters, and white space.

The layout is not part of a value, so canonical text has none. But if you import ``{"b": 1.50, "a": 1E2}``, you get the
same text back: unchanged parts of a value are copied from its original text character by character, and new parts are
written in the same style. Only the layout of the original text is used, never its content.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from annotator.core.schema.exact_json import dumps, same, with_kept_decimals

_BLANKS = " \t\r\n"
_BLANK = re.compile(f"[{_BLANKS}]*")
# Match only from the first of several blanks: starting at each of them would be quadratic.
_BREAK = re.compile(r'("(?:[^"\\]|\\.)*+")|(?<![ \t])[ \t]*+[\r\n]\s*')
_DECODER = json.JSONDecoder()


def lay_out(value: Any, original: str) -> str:
    """Return the JSON of ``value``, laid out like ``original``.

    ``lay_out(loads(text), text) == text``, and ``loads(lay_out(value, text))`` is ``value`` for every ``text``. Raises
    ValueError if ``original`` is not JSON. (Lines imported before inexact decimals were refused may have some.)
    """
    original = with_kept_decimals(original)
    at = _skip(original, 0)
    layout = _Layout(original)
    whole = layout.read(at)
    return original[:at] + layout.write(value, whole) + original[whole.end :]


def on_one_line(text: str) -> str:
    """Return a JSON text without its line breaks and the indentation after them."""
    return _BREAK.sub(lambda found: found[1] or "", text) if "\n" in text else text


class _Part(NamedTuple):
    """A value in the text, with its beginning and end. A member of an object begins with its key, at ``start``."""

    value: Any
    at: int
    end: int
    start: int
    key: str = ""


class _Layout:
    def __init__(self, text: str) -> None:
        self.text = text
        # The style of new parts.
        spaced = re.search(r'"\s*:(\s)', text) is not None
        self.comma, self.colon = (", ", ": ") if spaced else (",", ":")
        self.ascii = text.isascii() and "\\u" in text

    def read(self, at: int) -> _Part:
        value, end = _DECODER.raw_decode(self.text, at)
        return _Part(value, at, end, at)

    def write(self, value: Any, old: _Part) -> str:
        """Write the value in place of the old one."""
        if same(value, old.value):
            return self.text[old.at : old.end]
        if isinstance(value, dict) and isinstance(old.value, dict) and old.value:
            return self._object(value, old)
        if isinstance(value, list) and isinstance(old.value, list) and old.value:
            return self._list(value, old)
        return self._new(value)

    def _object(self, value: dict[str, Any], old: _Part) -> str:
        if same({key: value[key] for key in old.value if key in value}, old.value):
            # Parts were only added, so the existing parts need no matching.
            out = [self.text[old.at : old.end - 1].rstrip(_BLANKS)]
            rest = self.text[old.at + len(out[0]) : old.end]
            any_kept = True
        else:
            members = list(self._members(old.at))
            kept = [n for n, member in enumerate(members) if member.key in value]
            out = [self.text[old.at : members[0].start]]
            for n in kept:
                member = members[n]
                if n != kept[0]:
                    out.append(self._between(members, n))
                out += [self.text[member.start : member.at], self.write(value[member.key], member)]
            rest = self.text[members[-1].end : old.end]
            any_kept = bool(kept)
        for n, key in enumerate(key for key in value if key not in old.value):
            if n or any_kept:
                out.append(self.comma)
            out += [self._new(key), self.colon, self._new(value[key])]
        return "".join([*out, rest])

    def _list(self, value: list[Any], old: _Part) -> str:
        members = list(self._members(old.at))
        # An item that moved keeps its text.
        places = {dumps(part.value, option=orjson.OPT_SORT_KEYS): n for n, part in reversed(list(enumerate(members)))}
        out = [self.text[old.at : members[0].start]]
        for n, item in enumerate(value):
            if n:
                out.append(self._between(members, n) if n < len(members) else self.comma)
            if n < len(members) and same(item, members[n].value):
                found = n
            else:
                found = places.get(dumps(item, option=orjson.OPT_SORT_KEYS), n)
            out.append(self.write(item, members[found]) if found < len(members) else self._new(item))
        out.append(self.text[members[-1].end : old.end])
        return "".join(out)

    def _between(self, members: list[_Part], n: int) -> str:
        """Return the text before member ``n``; for the former first member, the comma in the text's style."""
        return self.text[members[n - 1].end : members[n].start] if n else self.comma

    def _new(self, value: Any) -> str:
        return json.dumps(value, ensure_ascii=self.ascii, separators=(self.comma, self.colon))

    def _members(self, at: int) -> Iterator[_Part]:
        text, is_object = self.text, self.text[at] == "{"
        at = _skip(text, at + 1)
        while text[at] not in "]}":
            start, key = at, ""
            if is_object:
                key, at = _DECODER.raw_decode(text, at)
                at = _skip(text, _skip(text, at) + 1)
            part = self.read(at)._replace(start=start, key=key)
            yield part
            at = _skip(text, part.end)
            if text[at] == ",":
                at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at
