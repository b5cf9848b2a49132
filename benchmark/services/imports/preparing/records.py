"""One record at a time: parse it, read it, check it, describe it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from annotator.core.checks import CheckSettings, CleanMarks, run_checks
from annotator.core.schema import SchemaProblem, canonical, content_hash
from annotator.core.schema.exact_json import dumps
from annotator.core.schema.layout import lay_out, on_one_line
from annotator.core.schema.toolsets import CompiledToolset, read_tools
from annotator.core.search import describe_document
from benchmark.core.formats import CANARY, READERS, ReadDialogue, guess_format
from benchmark.core.formats.check_files import CHECK_CODE
from benchmark.core.formats.files import RawLine, RecordFault, parse_line
from benchmark.services.imports.preparing.patience import MOST_SECONDS, TookTooLong, patience

#: Toolsets by their raw text, so that a toolset which many records share is read once.
_KEPT_TOOLSETS = 1024
_TOO_LONG = (
    "Reading and checking this record takes more than {:g} seconds of computing, a thousand times what others take. "
    "Split it, or leave out what is so long."
)


@dataclass(frozen=True)
class Setup:
    """How the records of one file are to be read and checked."""

    native_format: str
    #: The fields of ``CheckSettings``.
    checks: dict[str, Any] = field(default_factory=dict)


class Preparer:
    """Prepares records, remembering the toolsets it has met."""

    def __init__(self, setup: Setup, *, seconds: float = MOST_SECONDS) -> None:
        """``seconds``: of computing, for each record."""
        self._setup = setup
        self._seconds = seconds
        self._reader = READERS[setup.native_format]
        self._settings = CheckSettings(**setup.checks)
        self._marks = CleanMarks(self._settings)
        self._forget()

    def _forget(self) -> None:
        self._hashes: dict[bytes, str] = {}
        self._texts: dict[str, str] = {}
        self._told: set[str] = set()

    def prepare(self, lines: Sequence[RawLine]) -> dict[str, Any]:
        """What an import has to know of these lines, as JSON values.

            {"records": [{"line", "member", "id", "problems": [[pointer, sentence]], "guess", "dialogues": […],
                          "released": whether it comes from a release} or
                         {"line", "member", "fault", "fatal", "pointer"}],
             "toolsets": {hash: {"content", "names"}}}

        ``fault`` is why a line is no record, ``problems`` are why a record cannot be read; it has no dialogues then.
        A toolset's content is told once.
        """
        toolsets: dict[str, dict[str, Any]] = {}
        return {"records": [self._prepare(line, toolsets) for line in lines], "toolsets": toolsets}

    def _prepare(self, line: RawLine, toolsets: dict[str, dict[str, Any]]) -> dict[str, Any]:
        item = parse_line(line)
        if isinstance(item, RecordFault):
            about = {"line": item.line, "member": item.member, "fatal": item.fatal}
            return about | {"fault": item.message, "pointer": item.pointer}
        record: dict[str, Any] = {"line": item.line, "member": item.member, "id": "", "problems": [], "dialogues": []}
        try:
            with patience(self._seconds):
                dialogues = self._reader.read(item.data)
                described = [self._describe(dialogue, toolsets) for dialogue in dialogues]
                # One record may hold a dialogue in several languages; it is laid out once.
                described[0]["native_line"] = _laid_out(item.data, line.content)
            record["dialogues"], record["id"] = described, dialogues[0].external_id
            record["released"] = CANARY in item.data
        except TookTooLong:
            # It may have been stopped anywhere: what it had begun to remember is remembered anew.
            self._forget()
            record["id"] = _id_of(item.data)
            record["problems"] = [["", _TOO_LONG.format(self._seconds)]]
        except SchemaProblem as problem:
            record["id"] = _id_of(item.data)
            record["problems"] = [[p.pointer, p.message] for p in problem.problems]
            record["guess"] = guess_format(item.data)
        return record

    def _describe(self, dialogue: ReadDialogue, toolsets: dict[str, dict[str, Any]]) -> dict[str, Any]:
        toolset_hash = self._toolset(dialogue.tools, toolsets)
        text = dialogue.text or canonical(dialogue.document)
        findings = run_checks(
            dialogue.document, CompiledToolset.of(self._texts[toolset_hash]), stage="import", settings=self._settings
        )
        labels = describe_document(dialogue.document)
        digest = content_hash(text)
        return {
            "external_id": dialogue.external_id,
            "kind": dialogue.document["kind"],
            "variant_group": dialogue.variant_group,
            "content": text,
            "content_hash": digest,
            "toolset": toolset_hash,
            "language": labels.language or "",
            "title": labels.title[:160],
            "policies": _listed(labels.policies),
            "topologies": _listed(labels.topologies),
            "information": _listed(labels.information),
            "task_count": labels.task_count,
            "call_count": labels.call_count,
            "switches": labels.switches,
            "search_text": labels.search_text,
            "findings": [[f.check, f.severity, f.anchor, f.value_hash, f.message] for f in findings],
            "clean_mark": self._marks.earned(dialogue.document, findings, digest, toolset_hash),
            "warnings": [[w.pointer, w.message] for w in dialogue.warnings],
        }

    def _toolset(self, tools: list[Any], toolsets: dict[str, dict[str, Any]]) -> str:
        raw = dumps(tools)
        found = self._hashes.get(raw)
        if found is None:
            read = read_tools(tools)
            text = canonical({"tools": read})
            found = content_hash(text)
            if len(self._hashes) >= _KEPT_TOOLSETS:
                self._hashes.clear()
                self._texts.clear()
            self._hashes[raw], self._texts[found] = found, text
            if found not in self._told:
                self._told.add(found)
                toolsets[found] = {"content": text, "names": [t.get("function", t)["name"] for t in read]}
        return found


def _laid_out(data: dict[str, Any], content: bytes) -> str:
    """The line of a record, without the files that stood beside it."""
    text = on_one_line(content.decode().strip())
    if CHECK_CODE not in data:
        return text
    return lay_out({key: value for key, value in data.items() if key != CHECK_CODE}, text)


def _id_of(data: dict[str, Any]) -> str:
    """The id of a record that could not be read, as far as it has one."""
    value = data.get("id")
    return str(value)[:200] if isinstance(value, str | int) else ""


def _listed(values: Any) -> str:
    values = list(values)
    return "," + ",".join(value or "" for value in values) + "," if values else ""
