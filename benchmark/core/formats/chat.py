"""Formats that spell the messages of a chat in another way than the OpenAI chat API.

Reading converts a record to messages of that API, and ``openai`` reads these; writing goes the other way. So these
formats share one meaning of tasks, calls, results and answers, and everything that an edit removes. What the way back
does not reproduce of a record is kept with the document, under ``source``, and restored while the place is unchanged.
"""

from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from annotator.core.schema import Problem, SchemaProblem, canonical, content_hash, value_hash
from benchmark.core.formats.format_guess import refuse_other_format
from benchmark.core.formats.interface import (
    CANARY,
    Format,
    Problems,
    ReadDialogue,
    check_id,
    describe,
    only_one,
    read_json_text,
    refuse_own_field,
    require_object,
    settle_document,
)
from benchmark.core.formats.native_remainder import compare, native, note, restore, unknown
from benchmark.core.formats.openai import OpenAIFormat
from benchmark.core.formats.openai_reading import BEFORE_REFUSAL, dump, text_of_parts

_OPENAI = OpenAIFormat()
_FIELDS = ("id", "messages", "tools")


@dataclass(slots=True)
class Chat:
    """One dialogue as messages of the OpenAI chat API. Its methods append messages.

    ``places``: the pointer of each message into the record. ``beside``: fields that are kept with the document, next
    to those of the record that are not read. Calls without an id get the id that a writer would give them; a result
    without an id belongs to the first call that has none yet.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    tools: list[Any] = field(default_factory=list)
    beside: dict[str, Any] = field(default_factory=dict)
    _tasks: int = 0
    _calls: int = 0
    _waiting: deque[str] = field(default_factory=deque)

    def add(self, role: str, text: str | None, place: str, **more: Any) -> None:
        """Append a message of the user, the system or the assistant. ``more``: further fields of the message."""
        if role == "user":
            self._tasks += 1
            self._calls = 0
            self._waiting.clear()
        self.add_message({"role": role, "content": text, **more}, place)

    def add_calls(
        self, calls: Sequence[tuple[str | None, Any, Any]], text: str | None, place: str, **more: Any
    ) -> None:
        """Append one message of the assistant with calls: the id (or None), the name and the arguments of each."""
        written = []
        for call_id, name, arguments in calls:
            if call_id is None:
                call_id = f"call_t{self._tasks}_s{self._calls}"
            self._calls += 1
            self._waiting.append(call_id)
            written.append({"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}})
        self.add_message({"role": "assistant", "content": text, "tool_calls": written, **more}, place)

    def add_result(self, text: str, place: str, call_id: Any = None, **more: Any) -> None:
        """Append the result of a call."""
        if call_id is None:
            call_id = self._waiting.popleft() if self._waiting else None
        elif call_id in self._waiting:
            self._waiting.remove(call_id)
        self.add_message({"role": "tool", "tool_call_id": call_id, "content": text, **more}, place)

    def add_message(self, message: dict[str, Any], place: str) -> None:
        """Append any message."""
        self.messages.append(message)
        self.places.append(place)


class ChatFormat(Format):
    """Reads and writes one spelling of chats. ``known``: the fields of a record that ``to_chat`` reads."""

    known: ClassVar[frozenset[str]]
    #: The field that a record must have, and what it is, for a sentence.
    needs: ClassVar[tuple[str, str]]

    @abstractmethod
    def to_chat(self, record: dict[str, Any], problems: Problems, warnings: list[Problem]) -> Chat:
        """Return the messages and tools of a record; their places point into the record."""

    @abstractmethod
    def from_chat(self, chat: dict[str, Any]) -> dict[str, Any]:
        """Return a record of this format for a record of the OpenAI chat API (``id``, ``messages``, ``tools``).

        Every message has a ``role`` and a ``content``: text, null, or parts with a ``type``. ``tool_calls``, if any,
        have an ``id`` and a ``function`` with ``name`` and ``arguments``, all of them text; ``tool_call_id`` and
        ``refusal`` are text. Other fields may be anything.
        """

    def read(self, record: Any) -> list[ReadDialogue]:
        """See ``interface.Format``."""
        require_object(record)
        name, what = self.needs
        if name not in record:
            refuse_other_format(record, self.name)
            raise SchemaProblem([Problem(f"/{name}", f"The record has no {name} ({what}).")])
        problems, warnings = Problems(), list[Problem]()
        refuse_own_field(record, problems)
        external_id = self.id_of(record, problems)
        chat = self.to_chat(record, problems, warnings)
        problems.raise_if_any()
        beside = {key: record[key] for key in record.keys() - self.known - {*_FIELDS, CANARY}}
        as_read = {"id": external_id, "messages": chat.messages, "tools": chat.tools}
        try:
            (dialogue,) = _OPENAI.read(beside | chat.beside | as_read)
        except SchemaProblem as problem:
            raise SchemaProblem([_placed(one, chat) for one in problem.problems]) from None
        dialogue.warnings = warnings + [_placed(one, chat) for one in dialogue.warnings]
        if not self.writes:
            return [dialogue]
        known = {key: value for key, value in record.items() if key not in beside and key != CANARY}
        residue = compare(known, self.from_chat(_as_chat(as_read)))
        if residue:
            note(dialogue.document, source={"format": self.name, **residue})
            settle_document(dialogue, record)
        return [dialogue]

    def id_of(self, record: dict[str, Any], problems: Problems) -> str:
        """Return the id of the record's dialogue; one from its content if it has none."""
        if record.get("id") is not None:
            return check_id(record["id"], problems)
        raw = canonical({key: value for key, value in record.items() if key != CANARY})
        return f"{self.name}-{content_hash(raw)[:16]}"

    def write(self, items: Sequence[ReadDialogue], *, full: bool = False, canary: str | None = None) -> dict[str, Any]:
        """See ``interface.Format``. A record of these formats has one dialogue of one language."""
        item = only_one(items, self.name)
        record = self.from_chat(_as_chat(_OPENAI.write([item], full=full)))
        for key, value in unknown(item.document).items():
            record.setdefault(key, value)
        source = native(item.document).get("source")
        if isinstance(source, dict) and source.get("format") == self.name:
            restore(record, {"kept": source.get("kept")} if full else source)
        if canary is not None:
            record[CANARY] = canary
        return record

    def problems(self, items: Sequence[ReadDialogue]) -> list[Problem]:
        """See ``interface.Format``."""
        return _OPENAI.problems(items)

    def forget_outdated(self, document: dict[str, Any]) -> None:
        """Remove the originals, kept with a document, of fields that are written differently after an edit."""
        source = native(document)["source"]
        kept = source.get("kept")
        if isinstance(kept, dict):
            item = ReadDialogue("", document.get("language") or "", "", document, [])
            plain = self.from_chat(_as_chat(_OPENAI.write([item])))
            source["kept"] = {
                key: entry
                for key, entry in kept.items()
                if key in ("id", "tools")
                or (isinstance(entry, list) and key in plain and value_hash(plain[key]) == entry[-1])
            }


class LogFormat(ChatFormat):
    """Reads the logs of programs as chats. They record what happened, so nothing else is written as one."""

    writes = False

    def from_chat(self, chat: dict[str, Any]) -> dict[str, Any]:
        """See ``chat.ChatFormat``. Raises ValueError."""
        raise ValueError(f"Assay reads {self.name}, but does not write it. Choose another format.")


def listed(record: dict[str, Any], name: str, what: str, problems: Problems) -> list[Any]:
    """Return the list in a field of a record, also if the field has it as a JSON text; reports anything else."""
    value = record.get(name)
    if type(value) is str:
        value = read_json_text(value, f"/{name}", problems)
    if type(value) is list:
        return value
    problems.add(f"/{name}", f"The field {name} must be {what}, not {describe(value)}.")
    return []


def said_in(message: dict[str, Any]) -> str:
    """Return the text of a message of the OpenAI chat API, with its refusal; parts without text become ``[type]``."""
    content = message.get("content")
    if type(content) is list:
        content = text_of_parts(content)
    return BEFORE_REFUSAL.join(filter(None, (content, message.get("refusal"))))


def _as_chat(record: dict[str, Any]) -> dict[str, Any]:
    """Return a written record as ``from_chat`` expects it: the notes of a document may come from anywhere."""
    return record | {"messages": [_checked(message) for message in record["messages"]]}


def _checked(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if type(content) is list and text_of_parts(content) is None:
        content = None
    out = message | {"content": content if type(content) in (str, list) else None}
    for name in ("refusal", "tool_call_id"):
        if type(out.get(name)) is not str:
            out.pop(name, None)
    calls = message.get("tool_calls")
    if calls is not None:
        out["tool_calls"] = [_checked_call(call, n) for n, call in enumerate(calls)]
    return out


def _checked_call(call: dict[str, Any], number: int) -> dict[str, Any]:
    name, arguments = (call["function"].get(key) for key in ("name", "arguments"))
    function = {"name": name if type(name) is str else "", "arguments": as_json_text(arguments)}
    return call | {"id": call.get("id") if type(call.get("id")) is str else f"call_{number}", "function": function}


def as_json_text(value: Any) -> str:
    """Return a text as it is, and any other value as JSON."""
    return value if type(value) is str else dump(value)


def _placed(problem: Problem, chat: Chat) -> Problem:
    """Return a problem of the messages with its place in the record."""
    begin, _, _ = problem.pointer.removeprefix("/messages/").partition("/")
    if problem.pointer.startswith("/messages/") and begin.isdecimal() and int(begin) < len(chat.places):
        return Problem(chat.places[int(begin)], problem.message)
    return problem
