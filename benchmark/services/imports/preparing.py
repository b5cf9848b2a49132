"""From a line of a file to what an import writes: parsed, read, validated, checked, described.

Pure, and the expensive half of an import; ``processes.Preparers`` runs it on several cores.
"""

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from annotator.core.checks import CheckSettings, CleanMarks, run_checks
from annotator.core.dialogue_rows import DialogueRow, listed_columns
from annotator.core.metadata import metadata_entries
from annotator.core.schema import Problem, SchemaProblem, canonical, content_hash
from annotator.core.schema.exact_json import dumps
from annotator.core.schema.layout import lay_out, on_one_line
from annotator.core.schema.toolsets import CompiledToolset, toolset_content
from annotator.core.suggestion_shape import Suggested
from annotator.core.tools.facts import Facts, facts_of
from benchmark.core.files.cctu_check_files import CHECK_CODE
from benchmark.core.files.reading import RawLine, RecordError, parse_line
from benchmark.core.formats import CANARY, FORMATS, ReadDialogue, guess_format
from benchmark.core.formats.mapping import apply_mapping, pointer_in_file
from benchmark.core.formats.suggestions import (
    merged_suggestions,
    read_suggestions,
    suggest_dependencies,
    taken_suggestions,
)

#: Seconds of computing time allowed for one record. Published records take a hundredth of a second.
MAX_SECONDS = 5.0
#: Toolsets by their raw text, so that a toolset of many records is read once.
_KEPT_TOOLSETS = 1024
TOO_LONG = "This record takes more than {:g} seconds to read and check. Split it, or leave out the long part."


@dataclass(slots=True, frozen=True)
class Setup:
    """How the records of one file are read and checked."""

    native_format: str
    checks: CheckSettings = field(default_factory=CheckSettings)
    #: Role → field of the file.
    mapping: Mapping[str, str] = field(default_factory=dict)
    #: Whether the dependencies of the records become suggestions.
    suggest_dependencies: bool = False


@dataclass(slots=True, kw_only=True)
class PreparedDialogue(DialogueRow):
    """A dialogue of a record, ready to be written when the key of its toolset is known."""

    #: The hash of its tools.
    toolset: str
    #: Problems that the reader reports.
    warnings: list[Problem]
    #: The record's line; if a record has several languages, one dialogue has it.
    native_line: str | None = None
    #: Suggestions for its places, of the record.
    suggestions: list[Suggested] = field(default_factory=list)
    #: If it is a merge: the text of the record, whose parts have the dialogue's ids, and the record as it was read.
    merged: "tuple[str, PreparedDialogue] | None" = None

    @property
    def hashes(self) -> tuple[str, str]:
        """The hashes of its content and its tools; two records are the same if these are equal."""
        return self.content_hash, self.toolset


@dataclass(slots=True)
class PreparedRecord:
    """A record for the import: its dialogues, or the problems for which it cannot be read."""

    line: int
    member: str
    external_id: str = ""
    dialogues: list[PreparedDialogue] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    #: Problems of its suggestions, which do not stop it.
    suggestion_problems: list[Problem] = field(default_factory=list)
    #: The format it looks like, if it cannot be read.
    guess: str | None = None
    #: Whether it comes from a release.
    released: bool = False


@dataclass(slots=True, frozen=True)
class NewToolset:
    """A new toolset: its canonical text, the names of its tools, and its facts."""

    content: str
    names: list[str]
    facts: Facts


@dataclass(slots=True)
class Chunk:
    """Part of a file: its items in order, and the position in the file after them."""

    items: list[RawLine | RecordError] = field(default_factory=list)
    position: int = 0


@dataclass(slots=True)
class Prepared:
    """The result for a chunk: a record for each item, or an error; and new toolsets by hash."""

    position: int
    records: list[PreparedRecord | RecordError] = field(default_factory=list)
    toolsets: dict[str, NewToolset] = field(default_factory=dict)


class Preparer:
    """Prepares records, and remembers the toolsets that it has read."""

    def __init__(self, setup: Setup, *, seconds: float = MAX_SECONDS) -> None:
        """``seconds``: the computing time allowed for each record."""
        self._seconds = seconds
        self._reader = FORMATS[setup.native_format]
        self._format, self._mapping = setup.native_format, setup.mapping
        self._suggests = setup.suggest_dependencies
        self._settings = setup.checks
        self._marks = CleanMarks(self._settings)
        self._forget()

    def _forget(self) -> None:
        self._hashes: dict[bytes, str] = {}
        self._texts: dict[str, str] = {}
        self._told: set[str] = set()

    def prepare(self, chunk: Chunk) -> Prepared:
        """Prepare a chunk. A toolset's content is returned once."""
        prepared = Prepared(chunk.position)
        for item in chunk.items:
            prepared.records.append(item if isinstance(item, RecordError) else self._prepare(item, prepared.toolsets))
        return prepared

    def _prepare(self, line: RawLine, toolsets: dict[str, NewToolset]) -> PreparedRecord | RecordError:
        item = parse_line(line)
        if isinstance(item, RecordError):
            return item
        record = PreparedRecord(item.line, item.member, released=CANARY in item.data)
        given = taken_suggestions(item.data, self._format)
        try:
            with patience(self._seconds):
                read = self._reader.read(apply_mapping(item.data, self._mapping, self._format))
                dependencies = [suggest_dependencies(one) if self._suggests else [] for one in read]
                dialogues = [self.describe(dialogue, toolsets) for dialogue in read]
                found, record.suggestion_problems = read_suggestions(given, read, self._settings.fields)
                for dialogue, own, edges in zip(dialogues, found, dependencies, strict=True):
                    dialogue.suggestions = merged_suggestions(own, edges)
                # One record may have a dialogue in several languages; its layout is kept once.
                dialogues[0].native_line = _laid_out(item.data, line.content, less=given is not None)
            record.dialogues, record.external_id = dialogues, dialogues[0].external_id
        except TookTooLong:
            # It may have been stopped at any point, so its cache is emptied.
            self._forget()
            record.external_id = self._id_of(item.data)
            record.problems = [Problem("", TOO_LONG.format(self._seconds))]
        except SchemaProblem as problem:
            record.external_id = self._id_of(item.data)
            record.problems = [
                Problem(item.place + pointer_in_file(one.pointer, item.data, self._mapping, self._format), one.message)
                for one in problem.problems
            ]
            record.guess = guess_format(item.data)
        return record

    def _id_of(self, data: dict[str, Any]) -> str:
        """Return the id of a record that could not be read, if it has one."""
        value = data.get(self._mapping.get("id", "id"))
        return str(value)[:200] if isinstance(value, str | int) else ""

    def describe(self, dialogue: ReadDialogue, toolsets: dict[str, NewToolset]) -> PreparedDialogue:
        """Return a dialogue checked, with the values that lists read. A new toolset is added to ``toolsets``."""
        toolset = self._toolset(dialogue, toolsets)
        text = dialogue.text or canonical(dialogue.document)
        digest = content_hash(text)
        findings = run_checks(
            dialogue.document, CompiledToolset.of(self._texts[toolset]), stage="import", settings=self._settings
        )
        return PreparedDialogue(
            external_id=dialogue.external_id,
            variant_group=dialogue.variant_group,
            content=text,
            content_hash=digest,
            toolset=toolset,
            findings=findings,
            clean_mark=self._marks.mark_if_clean(dialogue.document, findings, digest, toolset),
            warnings=dialogue.warnings,
            metadata=metadata_entries(dialogue.document),
            **listed_columns(dialogue.document),
        )

    def _toolset(self, dialogue: ReadDialogue, toolsets: dict[str, NewToolset]) -> str:
        raw = dumps([dialogue.tools, dialogue.implementation])
        found = self._hashes.get(raw)
        if found is None:
            content = toolset_content(dialogue.tools, dialogue.implementation)
            text = canonical(content)
            found = content_hash(text)
            if len(self._hashes) >= _KEPT_TOOLSETS:
                self._hashes.clear()
                self._texts.clear()
            self._hashes[raw], self._texts[found] = found, text
            if found not in self._told:
                self._told.add(found)
                names = [tool.get("function", tool)["name"] for tool in content["tools"]]
                toolsets[found] = NewToolset(text, names, facts_of(content["tools"]))
        return found


class TookTooLong(BaseException):
    """The time is up. Not an Exception, so that no code on the way catches it."""


@contextmanager
def patience(seconds: float = MAX_SECONDS) -> Iterator[None]:
    """Raise TookTooLong when the block has computed for this long, so that only the hostile or huge record fails.

    Counts this process's own time, so a busy machine rejects nothing. Regular expressions are interrupted, too. Works
    in the main thread only: in another thread the block has no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _stop(number: int, frame: FrameType | None) -> None:
    raise TookTooLong


def _laid_out(data: dict[str, Any], content: bytes, *, less: bool = False) -> str:
    """Return the line of a record, without the files next to it. ``less``: suggestions were taken out of ``data``."""
    text = on_one_line(content.decode().strip())
    if CHECK_CODE not in data and not less:
        return text
    return lay_out({key: value for key, value in data.items() if key != CHECK_CODE}, text)
