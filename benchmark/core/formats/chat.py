"""Formats that spell the messages of a chat in another way than the OpenAI chat API.

Reading converts a record to messages of that API, and ``openai`` reads these; writing goes the other way. So these
formats share one meaning of tasks, calls, results and answers, and everything that an edit removes. What the way back
does not reproduce of a record is kept with the document, under ``source``, and restored while the place is unchanged.
"""

import contextlib
import json
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from annotator.core.schema import Problem, SchemaProblem, canonical, content_hash, value_hash
from annotator.core.schema.exact_json import loads
from benchmark.core.formats.format_guess import refuse_other_format
from benchmark.core.formats.interface import (
    CANARY,
    Format,
    Problems,
    ReadDialogue,
    check_id,
    describe,
    from_json_text,
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

    ``places``: the pointer of each message into the record. Calls without an id get the id that a writer would give
    them; a result without an id belongs to the first call that has none yet. ``beside``: fields of the record without
    the chat that was in them. ``shape``: how the record spells the chat, for ``from_chat``. Both are kept with the
    document.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    tools: list[Any] = field(default_factory=list)
    beside: dict[str, Any] = field(default_factory=dict)
    shape: dict[str, Any] = field(default_factory=dict)
    _tasks: int = 0
    _calls: int = 0
    _waiting: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def add(self, role: str, text: Any, place: str, **more: Any) -> None:
        """Append a message of the user, the system or the assistant. ``text``: text, null, or parts with a type.
        ``more``: further fields of the message.
        """
        if role == "user":
            self._tasks += 1
            self._calls = 0
            self._waiting.clear()
        self.add_message({"role": role, "content": text, **more}, place)

    def add_calls(self, calls: Sequence[tuple[Any, Any, Any]], text: Any, place: str, **more: Any) -> None:
        """Append one message of the assistant with calls: the id (or None), the name and the arguments of each."""
        written = []
        for call_id, name, arguments in calls:
            if call_id is None:
                call_id = f"call_t{self._tasks}_s{self._calls}"
            self._calls += 1
            if type(call_id) is str:
                self._waiting[call_id] = None
            written.append({"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}})
        self.add_message({"role": "assistant", "content": text, "tool_calls": written, **more}, place)

    def add_result(self, text: Any, place: str, call_id: Any = None, **more: Any) -> None:
        """Append the result of a call. ``text``: as for ``add``."""
        if call_id is None:
            call_id = self._waiting.popitem(last=False)[0] if self._waiting else None
        elif type(call_id) is str:
            self._waiting.pop(call_id, None)
        self.add_message({"role": "tool", "tool_call_id": call_id, "content": text, **more}, place)

    def add_message(self, message: dict[str, Any], place: str) -> None:
        """Append any message."""
        self.messages.append(message)
        self.places.append(place)


class ChatFormat(Format):
    """Reads and writes one spelling of chats. ``known``: the fields of a record that ``to_chat`` reads."""

    known: ClassVar[frozenset[str]]
    #: The fields of which a record must have one, and what they are, for a sentence.
    needs: ClassVar[tuple[tuple[str, ...], str]]

    @abstractmethod
    def to_chat(self, record: dict[str, Any], problems: Problems, warnings: list[Problem]) -> Chat:
        """Return the messages and tools of a record; their places point into the record."""

    @abstractmethod
    def from_chat(self, chat: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
        """Return a record of this format for a record of the OpenAI chat API (``id``, ``messages``, ``tools``).

        Every message has a ``role`` and a ``content``: text, null, or parts with a ``type``. ``tool_calls``, if any,
        are a list of calls with an ``id`` and a ``function`` with ``name`` and ``arguments``, all of them text;
        ``tool_call_id`` and ``refusal`` are text. Other fields may be anything, and so may ``shape``, which is empty
        for a record of another format.
        """

    def read(self, record: Any) -> list[ReadDialogue]:
        """See ``interface.Format``."""
        require_object(record)
        names, what = self.needs
        if not record.keys() & set(names):
            refuse_other_format(record, self.name)
            raise SchemaProblem([Problem(f"/{names[0]}", f"The record has no {' or '.join(names)} ({what}).")])
        problems, warnings = Problems(), list[Problem]()
        refuse_own_field(record, problems)
        external_id = self.id_of(record, problems)
        chat = self.to_chat(record, problems, warnings)
        problems.raise_if_any()
        beside = {key: record[key] for key in record.keys() - self.known - {*_FIELDS, CANARY}} | chat.beside
        as_read = beside | {"id": external_id, "messages": chat.messages, "tools": chat.tools}
        try:
            dialogue = _OPENAI.read_messages(as_read, chat.messages, Problems())
        except SchemaProblem as problem:
            where = f"/{next(name for name in names if name in record)}"
            raise SchemaProblem([_placed(one, chat, where) for one in problem.problems]) from None
        dialogue.warnings = warnings + [_placed(one, chat) for one in dialogue.warnings]
        if not self.writes:
            return [dialogue]
        own = {key: value for key, value in record.items() if key in self.known | chat.beside.keys() | {*_FIELDS}}
        plain = self.from_chat(_as_chat(as_read), chat.shape)
        residue = compare(own, plain)
        if residue or chat.shape:
            shape = {"shape": chat.shape} if chat.shape else {}
            note(dialogue.document, source={"format": self.name, **shape, **residue, "plain": _fingerprint(plain)})
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
        source = self._source(item.document)
        # The messages of the record's own format are as it had them.
        chat = _as_chat(_OPENAI.write([item], full=source is None))
        record = self.from_chat(chat, _shape(source))
        if source is not None:
            _restore(record, source, with_id=full)
        for key, value in unknown(item.document).items():
            record.setdefault(key, value)
        if canary is not None:
            record[CANARY] = canary
        return record

    def _source(self, document: dict[str, Any]) -> dict[str, Any] | None:
        """Return what is kept of the record that a document comes from; None if it was of another format."""
        source = native(document).get("source")
        return source if isinstance(source, dict) and source.get("format") == self.name else None

    def problems(self, items: Sequence[ReadDialogue]) -> list[Problem]:
        """See ``interface.Format``."""
        return _OPENAI.problems(items)

    def forget_outdated(self, document: dict[str, Any]) -> None:
        """Remove the originals, kept with a document, of fields that are written differently after an edit."""
        source = native(document)["source"]
        item = ReadDialogue("", document.get("language") or "", "", document, [])
        changed = True
        # Edited content that the format cannot represent is not as it was in the record.
        with contextlib.suppress(ValueError):
            plain = self.from_chat(_as_chat(_OPENAI.write([item])), _shape(source))
            changed = source.get("plain") != _fingerprint(plain)
        if changed:
            for name in ("kept", "absent"):
                entries = source.get(name)
                source[name] = {key: entries[key] for key in _APART & entries.keys()} if type(entries) is dict else {}


#: The fields that do not depend on what is said.
_APART = frozenset(("id", "tools"))


def _fingerprint(plain: dict[str, Any]) -> str:
    """Return the hash of everything that an edit of a document can change in its record."""
    return value_hash({key: value for key, value in plain.items() if key not in _APART})


def _restore(record: dict[str, Any], source: dict[str, Any], *, with_id: bool) -> None:
    """Restore what was kept of a record. ``with_id``: leave an id in it that it did not have.

    A text may be in one field of the original and in another one of the plain form, so either all of the fields that
    depend on what is said are restored, or none of them.
    """
    unchanged = source.get("plain") == _fingerprint(record)
    residue = {}
    for name in ("kept", "absent"):
        entries = source.get(name)
        if type(entries) is dict:
            residue[name] = {
                key: entry
                for key, entry in entries.items()
                if (unchanged or key in _APART) and not (with_id and name == "absent" and key == "id")
            }
    restore(record, residue)


def _shape(source: dict[str, Any] | None) -> dict[str, Any]:
    shape = source.get("shape") if source is not None else None
    return shape if type(shape) is dict else {}


class LogFormat(ChatFormat):
    """Reads the logs of programs as chats. They record what happened, so nothing else is written as one."""

    writes = False
    roles = {}

    def from_chat(self, chat: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
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


def read_tools(
    record: dict[str, Any],
    as_function: Callable[[dict[str, Any]], dict[str, Any]],
    problems: Problems,
    warnings: list[Problem],
) -> list[Any]:
    """Return the tools of a record as ``as_function`` converts each of them. Leaves out those without a name."""
    tools = from_json_text(record, "tools", problems)
    if tools is None:
        return []
    if type(tools) is not list or not all(type(tool) is dict for tool in tools):
        problems.add("/tools", "The tools must be a list of functions.")
        return []
    out = []
    for n, tool in enumerate(map(as_function, tools)):
        if function_of(tool).get("name") is None:
            warnings.append(Problem(f"/tools/{n}", "The tool has no name, so it is not shown. It is kept."))
        else:
            out.append(tool)
    return out


def function_of(tool: dict[str, Any]) -> dict[str, Any]:
    """Return the function of a tool, whether or not it is wrapped as the OpenAI chat API expects it."""
    function = tool.get("function")
    return function if type(function) is dict else tool


def arguments_of(function: dict[str, Any]) -> Any:
    """Return the arguments of a call as JSON, or their text if they are no JSON."""
    arguments = function["arguments"]
    # A call that cannot be run is written as it was made.
    with contextlib.suppress(ValueError):
        arguments = loads(arguments)
    return arguments


def spaced(value: Any) -> str:
    """Return JSON as Python writes it, the way most of these files are written."""
    return json.dumps(value, ensure_ascii=False)


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
    calls = out.pop("tool_calls", None)
    if type(calls) is list and all(type(one) is dict and type(one.get("function")) is dict for one in calls) and calls:
        out["tool_calls"] = [_checked_call(call, n) for n, call in enumerate(calls)]
    return out


def _checked_call(call: dict[str, Any], number: int) -> dict[str, Any]:
    name, arguments = (call["function"].get(key) for key in ("name", "arguments"))
    function = {"name": name if type(name) is str else "", "arguments": as_json_text(arguments)}
    return call | {"id": call.get("id") if type(call.get("id")) is str else f"call_{number}", "function": function}


def as_json_text(value: Any) -> str:
    """Return a text as it is, and any other value as JSON."""
    return value if type(value) is str else dump(value)


def _placed(problem: Problem, chat: Chat, where: str = "/messages") -> Problem:
    """Return a problem of the messages with its place in the record. ``where``: the field that has them."""
    if problem.pointer == "/messages":
        return Problem(where, problem.message)
    begin, _, _ = problem.pointer.removeprefix("/messages/").partition("/")
    if problem.pointer.startswith("/messages/") and begin.isdecimal() and int(begin) < len(chat.places):
        return Problem(chat.places[int(begin)], problem.message)
    return problem
