"""Collect the spans of each dialogue from the lines of a file, in a temporary database on disk.

Spans of one dialogue may be on any lines and in any order. Each dialogue becomes one record: ``{"id", "parent",
"resourceSpans"}``, where ``parent`` is the dialogue that called its agent, if any.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from annotator.core.schema.exact_json import dumps
from annotator.core.wording import counted
from benchmark.core.files.items import RawLine, RecordError
from benchmark.core.files.limits import Limits, shown_size
from benchmark.core.files.record_lines import LineError, parse_record
from benchmark.core.files.spans import Found, Node, SpanError, id_of, node_of, place_spans, spans_of

#: Spans of one trace, whose parents are looked up in memory.
_MAX_TRACE = 100_000
#: Steps of the database between two heartbeats: about a tenth of a second.
_STEPS = 1_000_000
#: The longest id of a dialogue.
_MAX_NAME = 1_000

_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -32000;
CREATE TABLE owner (id INTEGER PRIMARY KEY, hash BLOB UNIQUE, resource BLOB, scope BLOB);
CREATE TABLE span (
    id INTEGER PRIMARY KEY, trace TEXT, span TEXT, parent TEXT, start INTEGER, operation TEXT, conversation TEXT,
    agent TEXT, genai INTEGER, given TEXT, caller TEXT, line INTEGER, member TEXT
);
CREATE INDEX span_of_trace ON span (trace, span);
CREATE TABLE content (id INTEGER PRIMARY KEY, owner INTEGER, json BLOB);
CREATE TABLE dialogue (id INTEGER PRIMARY KEY, name TEXT UNIQUE, caller TEXT);
CREATE TABLE placed (dialogue INTEGER, span INTEGER, PRIMARY KEY (dialogue, span)) WITHOUT ROWID;
"""


def group_spans(
    lines: Iterator[RawLine | RecordError], limits: Limits, *, beat: Callable[[], object] = lambda: None
) -> Iterator[RawLine | RecordError]:
    """Yield errors and lines without spans as they come, and then a line for each dialogue, in the order of their first
    spans. Its number and member are those of its first span. ``beat`` is called again and again while nothing is read;
    whatever it raises ends the work.
    """
    pulse = _Pulse(beat)
    try:
        # Without a name, it is a file that only this connection can read, and that ends with it.
        with closing(sqlite3.connect("", isolation_level=None, check_same_thread=False)) as database:
            database.executescript(_TABLES)
            database.set_progress_handler(pulse, _STEPS)
            # One transaction for everything: each of its own would take longer than its statement.
            database.execute("BEGIN")
            groups = _Groups(database, limits)
            for item in lines:
                if isinstance(item, RecordError):
                    yield item
                    if item.fatal:
                        return
                else:
                    yield from groups.add(item)
            yield from groups.place()
            yield from groups.records()
    except sqlite3.Error as error:
        if pulse.raised is not None:
            raise pulse.raised from None
        message = f"The spans could not be collected in a temporary file ({error}). Check the free disk space."
        yield RecordError(0, "", message, True)


class _Pulse:
    """Calls a function while the database works; the database ends its statement if the function raises."""

    def __init__(self, beat: Callable[[], object]) -> None:
        self._beat = beat
        self.raised: BaseException | None = None

    def __call__(self) -> bool:
        try:
            self._beat()
        except BaseException as error:
            self.raised = error
        return self.raised is not None


#: Beginnings of attributes that may have passwords, tokens and cookies.
_HEADERS = ("http.request.header.", "http.response.header.")


def _without_headers(span: dict[str, Any]) -> dict[str, Any]:
    """Return a span without the headers of its requests and responses."""
    attributes = span.get("attributes")
    if type(attributes) is not list:
        return span
    kept = [one for one in attributes if type(one) is not dict or not str(one.get("key")).startswith(_HEADERS)]
    return span if len(kept) == len(attributes) else span | {"attributes": kept}


class _Groups:
    def __init__(self, database: sqlite3.Connection, limits: Limits) -> None:
        self._run = database.execute
        self._limits = limits
        self._count = 0
        self._last: tuple[bytes, int] = (b"", 0)

    def add(self, raw: RawLine) -> Iterator[RawLine | RecordError]:
        """Store the spans of a line."""
        try:
            batch = parse_record(raw.content)
        except LineError:
            yield raw
            return
        if "resourceSpans" not in batch:
            yield raw
            return
        given, caller = (value if type(value) is str else "" for value in (batch.get("id"), batch.get("parent")))
        wrong: list[SpanError] = []
        for found in spans_of(batch):
            try:
                if isinstance(found, SpanError):
                    raise found
                self._store(found, raw, given[:_MAX_NAME], caller[:_MAX_NAME])
            except SpanError as error:
                wrong.append(error)
            if self._count > self._limits.records:
                message = f"The file has more than {self._limits.records:,} spans. Split it."
                yield RecordError(raw.line, raw.member, message, True)
                return
        if wrong:
            more = f" The line has {len(wrong) - 1:,} more errors." if len(wrong) > 1 else ""
            message = f"A span was left out: {wrong[0]}{more}"
            yield RecordError(raw.line, raw.member, message, False, wrong[0].pointer)

    def _store(self, found: Found, raw: RawLine, given: str, caller: str) -> None:
        trace = id_of(found.span, "traceId", found.pointer)
        if not trace:
            raise SpanError(f"{found.pointer}/traceId", "The span has no traceId. Export it again.")
        node = node_of(found.span, found.pointer)
        content = dumps(_without_headers(found.span))
        if node.span:
            query = "SELECT json FROM span JOIN content USING (id) WHERE trace = ? AND span = ?"
            before = self._run(query, (trace, node.span)).fetchone()
            if before is not None and before[0] != content:
                message = f"The trace {trace} has another span {node.span}. Keep one of them."
                raise SpanError(f"{found.pointer}/spanId", message)
            if before is not None:
                return
        self._count += 1
        values = (
            trace, node.span, node.parent, node.start, node.operation[:_MAX_NAME], node.conversation[:_MAX_NAME],
            node.agent[:_MAX_NAME], node.is_genai, given, caller, raw.line, raw.member,
        )  # fmt: skip
        self._run("INSERT INTO span VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (self._count, *values))
        self._run("INSERT INTO content VALUES (?, ?, ?)", (self._count, self._owner(found), content))

    def _owner(self, found: Found) -> int:
        resource, scope = dumps(found.resource), dumps(found.scope)
        digest = hashlib.sha256(b"%d %b%b" % (len(resource), resource, scope)).digest()
        if digest != self._last[0]:
            self._run("INSERT OR IGNORE INTO owner (hash, resource, scope) VALUES (?, ?, ?)", (digest, resource, scope))
            self._last = digest, self._run("SELECT id FROM owner WHERE hash = ?", (digest,)).fetchone()[0]
        return self._last[1]

    def place(self) -> Iterator[RecordError]:
        """Decide to which dialogue each span belongs. Traces without generative AI are left out."""
        traces = left_out = 0
        # Next to MIN, other columns are those of its row.
        for _, trace, given, line, member, count, is_genai in self._run(
            "SELECT MIN(id), trace, given, line, member, COUNT(*), SUM(genai) FROM span "
            "GROUP BY trace, given ORDER BY 1"
        ):
            if not is_genai:
                traces, left_out = traces + 1, left_out + count
            elif count > _MAX_TRACE:
                message = f"The trace {trace} has {count:,} spans. The limit is {_MAX_TRACE:,}, so it was left out."
                yield RecordError(line, member, message, False)
            else:
                self._place_trace(trace, given)
        if left_out:
            which = f"{counted(left_out, 'span')} of {counted(traces, 'trace')}"
            message = f"Ignored. {which} without an attribute of generative AI (gen_ai.…) have no dialogue."
            yield RecordError(0, "", message, False)

    def _place_trace(self, trace: str, given: str) -> None:
        rows = self._run(
            "SELECT id, caller, span, parent, start, operation, conversation, agent, genai FROM span "
            "WHERE trace = ? AND given = ? ORDER BY id",
            (trace, given),
        ).fetchall()
        names = [(given, row[1]) for row in rows] if given else place_spans([Node(*row[2:]) for row in rows], trace)
        for row, (name, caller) in zip(rows, names, strict=True):
            self._run("INSERT OR IGNORE INTO dialogue (name, caller) VALUES (?, ?)", (name, caller))
            query = "INSERT INTO placed SELECT id, ? FROM dialogue WHERE name = ?"
            self._run(query, (row[0], name))

    def records(self) -> Iterator[RawLine | RecordError]:
        """Yield the record of each dialogue."""
        query = (
            "SELECT dialogue, name, dialogue.caller, MIN(placed.span), line, member FROM placed "
            "JOIN dialogue ON dialogue.id = dialogue JOIN span ON span.id = placed.span GROUP BY dialogue ORDER BY 4"
        )
        for key, name, caller, _, line, member in self._run(query):
            content = self._record(key, {"id": name} | ({"parent": caller} if caller else {}))
            if content is None:
                limit = shown_size(self._limits.line)
                message = f"The spans of the dialogue {name[:200]} have more than {limit}, the limit of a record."
                yield RecordError(line, member, message, False)
            else:
                yield RawLine(line, member, content, len(content), True)

    def _record(self, key: int, about: dict[str, Any]) -> bytes | None:
        """Return the record of a dialogue; None if it is too long."""
        parts, size, last = [dumps(about)[:-1] + b',"resourceSpans":['], 0, None
        query = (
            "SELECT owner, resource, scope, json FROM placed JOIN content ON content.id = placed.span "
            "JOIN owner ON owner.id = owner WHERE dialogue = ? ORDER BY placed.span"
        )
        for owner, resource, scope, span in self._run(query, (key,)):
            if owner == last:
                before = b","
            else:
                begin, within = (b"{" if one == b"{}" else one[:-1] + b"," for one in (resource, scope))
                before = (b"" if last is None else b"]}]},") + begin + b'"scopeSpans":[' + within + b'"spans":['
            last = owner
            parts.append(before + span)
            size += len(parts[-1])
            if size > self._limits.line:
                return None
        return b"".join(parts) + b"]}]}]}"
