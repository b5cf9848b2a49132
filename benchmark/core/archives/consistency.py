"""Check that the other files of a release agree with its neutral documents, which were verified.

The documents are written again in the release's format, as messages and as tables, and compared with the stored
records in parallel: of all these files, only the variants of one dialogue are in memory at a time (of a table, one row
group).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from annotator.core.schema.canonical import escape
from annotator.core.schema.exact_json import dumps, load_stored, same
from benchmark.core.archives.message_copies import as_messages
from benchmark.core.archives.table import answers_of, label_columns
from benchmark.core.formats import FORMATS
from benchmark.core.formats.interface import CANARY, ReadDialogue

#: Line number and record; None for an invalid record, which the reader of the lines has reported.
Lines = Iterator[tuple[int, dict[str, Any] | None]]
Say = Callable[[str], None]

#: No format has more languages in one record.
_LANGUAGES = 8
#: Limits on the places reported for one record, and on the characters shown of a value.
_PLACES = 10
_SHOWN = 60


#: Returns the expected records of the variants of one dialogue. Raises the errors of writers.
Due = Callable[[Sequence[ReadDialogue]], Iterator[dict[str, Any]]]


@dataclass(slots=True)
class Follower:
    """A file to compare with the documents. ``shown``: its name; ``due``: what it should have; ``unit``: what is
    counted; ``missing``: whether the release does not have the file.
    """

    shown: str
    lines: Lines
    due: Due
    unit: str = "line"
    missing: bool = False
    ended: bool = False

    def compare(self, variants: Sequence[ReadDialogue], say: Say) -> None:
        """Compare the next lines with the expected records."""
        try:
            for record in self.due(variants):
                self._compare(record, say)
                if self.ended:
                    return
        except (ValueError, KeyError) as problem:
            self.ended = True
            name = _quoted(variants[0].external_id)
            say(
                f"{self.shown} was not compared from {name} on, because its document cannot be "
                f"written in this format ({problem})."
            )

    def finish(self, say: Say) -> None:
        """Report lines after the last expected one."""
        if not self.ended and next(self.lines, None) is not None:
            say(f"{self.shown} has more records than there are documents.")

    def _compare(self, due: dict[str, Any], say: Say) -> None:
        name = due["id"]
        found = next(self.lines, None)
        if found is None:
            self.ended = True
            say(
                f"{self.shown} is missing, but the documents have rows for it."
                if self.missing
                else f"{self.shown} ends before the record of {_quoted(name)}."
            )
            return
        number, record = found
        if record is None:
            return
        where = f"{self.shown}, {self.unit} {number}"
        if not same(record.get("id"), name):
            self.ended = True
            say(f"{where}: the record of {_quoted(name)} is expected here. What follows was not compared.")
            return
        due, record = ({key: value for key, value in one.items() if key != CANARY} for one in (due, record))
        for told, (pointer, words) in enumerate(_differences(due, record, "")):
            if told == _PLACES:
                say(f"{where} differs from the document of {_quoted(name)} in more places.")
                break
            say(f"{where} at {pointer[:200] or '/'} differs from the document of {_quoted(name)}: {words}.")


def hold_against(documents: Iterable[dict[str, Any]], followers: Sequence[Follower], say: Say) -> None:
    """Report differences between the followers and the documents, given as neutral records. Stops at an invalid one."""
    for variants in _variants(documents):
        for follower in followers:
            if not follower.ended:
                follower.compare(variants, say)
    for follower in followers:
        follower.finish(say)


def _variants(records: Iterable[dict[str, Any]]) -> Iterator[list[ReadDialogue]]:
    """Yield the languages of each dialogue together; one each if a language appears twice."""
    held: list[ReadDialogue] = []
    group, apart = None, False
    for one in map(_read_dialogue, records):
        name = one.variant_group or one.external_id
        if name != group:
            if held:
                yield held
            held, group, apart = [], name, False
        apart = apart or one.language in {other.language for other in held} or len(held) == _LANGUAGES
        if apart:
            yield from ([item] for item in (*held, one))
            held = []
        else:
            held.append(one)
    if held:
        yield held


def _read_dialogue(record: dict[str, Any]) -> ReadDialogue:
    (one,) = FORMATS["neutral"].read(record)
    # Compare it as it is stored: writers repeat some values as texts, with their order of keys.
    one.document = load_stored(one.text)
    return one


def native_records(native_format: str, canary: str, files: Callable[[dict[str, bytes]], None]) -> Due:
    """Expect records of a format. ``files`` receives the expected files next to a record, by path."""

    def due(variants: Sequence[ReadDialogue]) -> Iterator[dict[str, Any]]:
        writer = FORMATS[native_format]
        for items in writer.by_record(variants):
            record = writer.write(items, full=True, canary=canary)
            files(writer.take_files(record))
            yield record

    return due


def message_records(variants: Sequence[ReadDialogue]) -> Iterator[dict[str, Any]]:
    """Expect the messages of the dialogues that can be written so."""
    yield from (record for one in variants if (record := as_messages(one)) is not None)


def old_rows(variants: Sequence[ReadDialogue]) -> Iterator[dict[str, Any]]:
    """Expect the rows of ``table.jsonl``, with the values of JSON texts."""
    for one in variants:
        yield {
            "id": one.external_id,
            "language": one.language,
            "variant_group": one.variant_group,
            "kind": one.document["kind"],
            "document": one.document,
            "tools": one.tools,
        }


def rows(variants: Sequence[ReadDialogue]) -> Iterator[dict[str, Any]]:
    """Expect the rows of the default table, with the values of JSON texts."""
    for row, one in zip(old_rows(variants), variants, strict=True):
        yield row | label_columns(one.document)


def answer_rows(variants: Sequence[ReadDialogue]) -> Iterator[dict[str, Any]]:
    """Expect the rows of the table of labels, with the values of JSON texts."""
    for one in variants:
        for answer in answers_of(one.document):
            yield {"id": one.external_id, "language": one.language} | answer


def _differences(due: Any, found: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """Yield the places where ``found`` differs from the expected value, with the value there in words."""
    if same(due, found):
        return
    if isinstance(due, dict) and isinstance(found, dict):
        for key in chain(due, (key for key in found if key not in due)):
            here = f"{pointer}/{escape(key)}"
            if key not in found:
                yield here, "it is missing"
            elif key not in due:
                yield here, f"it has {_quoted(found[key])}"
            else:
                yield from _differences(due[key], found[key], here)
    elif isinstance(due, list) and isinstance(found, list) and len(due) == len(found):
        for index, (one, other) in enumerate(zip(due, found, strict=True)):
            yield from _differences(one, other, f"{pointer}/{index}")
    elif isinstance(due, list) and isinstance(found, list):
        yield pointer, f"it has {len(found)} items instead of {len(due)}"
    else:
        yield pointer, f"it has {_quoted(found)} instead of {_quoted(due)}"


def _quoted(value: Any) -> str:
    text = value if isinstance(value, str) else dumps(value).decode()
    text = "".join(sign if sign.isprintable() else "�" for sign in text[:_SHOWN])
    return f"“{text}…”" if len(text) == _SHOWN else f"“{text}”"
