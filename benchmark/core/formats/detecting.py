"""Recognise what a file has: its format, which field is what, and how its first records become dialogues."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, BinaryIO

from annotator.core.checks.similarity import dialogue_text
from annotator.core.fields import CustomField
from annotator.core.schema import SchemaProblem
from annotator.core.schema.exact_json import dumps
from benchmark.core.files.reading import RawRecord, RecordError, parse_line, read_lines
from benchmark.core.formats import FORMATS, ReadDialogue, guess_format
from benchmark.core.formats.format_guess import guess_messages
from benchmark.core.formats.mapping import EXCHANGE, apply_mapping, pointer_in_file
from benchmark.core.formats.native_remainder import unknown
from benchmark.core.formats.suggestions import read_suggestions, taken_suggestions

#: Records that are looked at, and fields of these.
PROBED = 200
#: Bytes of the records that are looked at.
_BYTES = 16 << 20
#: Records shown as dialogues.
SHOWN = 3
#: Problems that are listed.
LISTED = 20
#: Characters of a value shown as an example, and of a field's name.
_EXAMPLE, _NAME = 80, 200

#: Usual names of fields, by role. A field with messages is recognised by its values.
_NAMES = {
    "id": ("_id", "uuid", "uid", "conversation_id", "dialogue_id", "dialog_id", "session_id", "task_id", "prompt_id"),
    "tools": ("functions", "available_tools", "tool_definitions"),
    "system": ("system", "system_prompt"),
    "user": ("prompt", "question", "instruction", "query", "user", "input", "user_message"),
    "assistant": ("completion", "response", "answer", "output", "assistant", "reply"),
}


@dataclass(slots=True)
class Detection:
    """What a file seems to have.

    ``format``: empty if nothing known was found; ``mapping``: role → field, only for fields with other names;
    ``columns``: the fields of the records, in order, with an example of each.
    """

    format: str = ""
    #: The format as it was recognised, whatever somebody chooses.
    guess: str = ""
    mapping: dict[str, str] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    #: (line, member, pointer, sentence) of what is no record.
    problems: list[tuple[int, str, str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Sample:
    """The first records as dialogues, and the report on these and the records after them.

    ``problems``: (line, member, pointer, sentence) of records that cannot be read; ``warnings``: sentence → number of
    records.
    """

    dialogues: list[ReadDialogue] = field(default_factory=list)
    #: Fields of the records that are kept with the dialogue, and not read.
    kept: set[str] = field(default_factory=set)
    records: int = 0
    refused: int = 0
    problems: list[tuple[int, str, str, str]] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)
    #: Suggestions of models and scripts that the records have.
    suggestions: int = 0
    #: (id, what the user says) of all dialogues.
    texts: list[tuple[str, str]] = field(default_factory=list)


def detect(stream: BinaryIO, filename: str) -> Detection:
    """Recognise the format of a file from its first records, and which of their fields is what."""
    found, seen, left = Detection(), _Seen(), _BYTES
    for item in _items(stream, filename):
        if isinstance(item, RawRecord):
            seen.add(item.data, found)
            left -= item.bytes
            if left < 0:
                break
        elif item.fatal or item.line:
            found.problems.append((item.line, item.member, item.pointer, item.message))
    del found.problems[LISTED:]
    if seen.guesses:
        # A release of Assay has its dialogues in several formats, of which this one is complete.
        found.format = "neutral" if "neutral" in seen.guesses else seen.guesses.most_common(1)[0][0]
    else:
        _find_messages(found, seen)
    found.guess = found.format
    if found.format:
        _find_others(found, seen)
    return found


def sample(
    stream: BinaryIO,
    filename: str,
    format_name: str,
    mapping: Mapping[str, str],
    *,
    fields: Sequence[CustomField] = (),
    patience: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Sample:
    """Read the first records of a file. ``fields``: the project's custom fields. ``patience``: limits the time for
    each record.
    """
    out, left = Sample(), _BYTES
    reader = FORMATS[format_name]
    for found in _items(stream, filename, format_name):
        if isinstance(found, RecordError):
            if found.fatal or found.line:
                out.refused += found.line > 0
                out.records += found.line > 0
                out.problems.append((found.line, found.member, found.pointer, found.message))
            continue
        out.records += 1
        left -= found.bytes
        if left < 0 and out.records > 1:
            break
        given = taken_suggestions(found.data, format_name)
        try:
            with patience():
                read = reader.read(apply_mapping(found.data, mapping, format_name))
                suggested, left_out = read_suggestions(given, read, fields)
        except SchemaProblem as problem:
            out.refused += 1
            first = problem.problems[0]
            pointer = found.place + pointer_in_file(first.pointer, found.data, mapping, format_name)
            out.problems.append((found.line, found.member, pointer, first.message))
            continue
        if len(out.dialogues) < SHOWN:
            out.dialogues.append(read[0])
        out.texts += [(dialogue.external_id, dialogue_text(dialogue.document)) for dialogue in read]
        kept = {name for dialogue in read for name in unknown(dialogue.document) if len(name) <= _NAME}
        out.kept |= set(sorted(kept - out.kept)[: PROBED - len(out.kept)])
        out.suggestions += sum(map(len, suggested))
        out.warnings.update({one.message for dialogue in read for one in dialogue.warnings})
        out.warnings.update({one.message for one in left_out})
    del out.problems[LISTED:]
    return out


def _items(stream: BinaryIO, filename: str, format_name: str = "") -> Iterator[RawRecord | RecordError]:
    stream.seek(0)
    for item in islice(read_lines(stream, filename, format_name=format_name), PROBED):
        yield item if isinstance(item, RecordError) else parse_line(item)


class _Seen:
    """What the first records have: one record at a time is in memory."""

    def __init__(self) -> None:
        self.records = 0
        self.guesses: Counter[str] = Counter()
        #: By field, the formats whose messages its values look like.
        self.messages: dict[str, Counter[str]] = {}
        self.texts: set[str] = set()

    def add(self, record: dict[str, Any], found: Detection) -> None:
        """Look at a record, and at its fields for ``found``."""
        self.records += 1
        guess = guess_format(record)
        if guess:
            self.guesses[guess] += 1
        for name, value in record.items():
            if name not in found.columns and (len(found.columns) >= PROBED or len(name) > _NAME):
                continue
            found.columns[name] = found.columns.get(name) or _shown(value)
            if type(value) is str:
                self.texts.add(name)
            looks_like = guess_messages(value)
            if looks_like:
                self.messages.setdefault(name, Counter())[looks_like] += 1


def _find_messages(found: Detection, seen: _Seen) -> None:
    """Look for messages under another name, or for a prompt and an answer."""
    for column in found.columns:
        formats: Counter[str] = seen.messages.get(column, Counter())
        if formats.total() * 2 > seen.records:
            found.format = formats.most_common(1)[0][0]
            if FORMATS[found.format].roles["messages"] != column:
                found.mapping["messages"] = column
            return
    prompt = _column("user", found, seen)
    if prompt is not None:
        found.format = "openai"
        found.mapping["user"] = prompt


def _find_others(found: Detection, seen: _Seen) -> None:
    roles = FORMATS[found.format].roles
    for role in [*roles, *(EXCHANGE if "user" in found.mapping else ())]:
        if role in found.mapping or role == "messages" or roles.get(role) in found.columns:
            continue
        column = _column(role, found, seen)
        if column is not None:
            found.mapping[role] = column


def _column(role: str, found: Detection, seen: _Seen) -> str | None:
    """Return the field with a usual name for a role; for a message, it must have text."""
    for name in _NAMES.get(role, ()):
        if name in found.columns and (role not in EXCHANGE or name in seen.texts):
            return name
    return None


def _shown(value: Any) -> str:
    if value in (None, "", [], {}):
        return ""
    text = value if type(value) is str else dumps(value).decode()
    text = " ".join(text[: 4 * _EXAMPLE].split())
    return text if len(text) <= _EXAMPLE else f"{text[: _EXAMPLE - 1]}…"
