"""Metadata of a document: the fields of its record that Assay does not know, such as its source or model. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from annotator.core.schema.exact_json import dumps
from annotator.core.schema.native_notes import NATIVE, native_notes

#: Different entries of one dialogue by which it is found; characters of a key, and of a value.
MAX_ENTRIES = 32
MAX_KEY = 80
MAX_VALUE = 200
#: Keys that have an entry whatever else a record has: the source of a constructed case, because people who review the
#: case know the answer of its source.
FIRST = frozenset({"constructed.source"})
#: Objects in objects are read down to this depth.
MAX_DEPTH = 3
#: Characters of a dialogue's metadata in the search index.
MAX_SEARCHED = 500
#: Fields on the page of a dialogue, and characters of each.
_MAX_FIELDS = 100
_MAX_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Field:
    """A field for a page. ``filter``: its entry as “key=value”; blank if lists cannot be filtered by it."""

    key: str
    text: str
    filter: str


def metadata_entries(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (key, value) of the metadata by which lists can be filtered, each once, at most MAX_ENTRIES.

    Keys of objects in objects are joined by dots; a list has an entry for each of its texts and numbers. Values are
    single lines: texts as they are, numbers and booleans as JSON. Those in FIRST come before others.
    """
    found: dict[tuple[str, str], None] = {}
    for key, value in sorted(_leaves(_kept(document)), key=lambda leaf: leaf[0] not in FIRST):
        for one in value if isinstance(value, list) else [value]:
            text = _entry_text(key, one)
            if text:
                found[key, text] = None
                if len(found) == MAX_ENTRIES:
                    return list(found)
    return list(found)


def metadata_fields(document: Mapping[str, Any]) -> list[Field]:
    """Return the metadata for a page, also what lists cannot be filtered by; long values are cut."""
    known = set(metadata_entries(document))
    fields = []
    for key, value in _leaves(_kept(document)):
        for one in value if isinstance(value, list) and value else [value]:
            text = one if isinstance(one, str) else dumps(one).decode()
            shown = text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"
            fields.append(Field(key, shown, f"{key}={text}" if (key, text) in known else ""))
            if len(fields) == _MAX_FIELDS:
                return fields
    return fields


def searched_metadata(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values for the search index, together at most MAX_SEARCHED characters."""
    room = MAX_SEARCHED
    for _, value in metadata_entries(document):
        room -= len(value)
        if room < 0:
            return
        yield value


def _kept(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a document's record that Assay does not know."""
    extra = document.get("extra") or {}
    beside = native_notes(dict(document)).get("envelope")
    return {key: extra[key] for key in extra if key != NATIVE} | (beside if isinstance(beside, dict) else {})


def _leaves(value: dict[str, Any], prefix: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    """Yield the values that are no objects, with their keys in order; deeper ones as a whole."""
    for name in sorted(value):
        key, one = f"{prefix}{name}", value[name]
        if isinstance(one, dict) and one and depth < MAX_DEPTH:
            yield from _leaves(one, f"{key}.", depth + 1)
        else:
            yield key, one


def _entry_text(key: str, value: Any) -> str:
    """Return a value as text; blank if lists cannot be filtered by it."""
    if isinstance(value, dict | list) or value is None or not 0 < len(key) <= MAX_KEY or "=" in key:
        return ""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 4 * MAX_VALUE:
        return ""
    text = value if isinstance(value, str) else dumps(value).decode()
    return text if len(text) <= MAX_VALUE and (key + text).isprintable() else ""
