"""Check the archive of a release offline, without a database and without trusting it."""

import hashlib
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

from annotator.core.schema import SchemaProblem, canonical, content_hash
from benchmark.core.archives.consistency import (
    Due,
    Follower,
    Lines,
    answer_rows,
    hold_against,
    message_records,
    native_records,
    old_rows,
    rows,
)
from benchmark.core.archives.entry_files import PATHS as ENTRY_PATHS
from benchmark.core.archives.entry_files import EntryCheck
from benchmark.core.archives.manifest import (
    ITEMS,
    MANIFEST,
    SUMS,
    Manifest,
    ManifestFile,
    read_item,
    read_manifest,
    sum_lines,
)
from benchmark.core.archives.message_copies import COPY, MESSAGES
from benchmark.core.archives.row_lines import parsed_lines, row_lines
from benchmark.core.archives.table import DEFAULT, LABELS, LABELS_SINCE, OLD_TABLE, read_table, table_path
from benchmark.core.files.cctu_check_files import MAX_FILE, CheckFiles, is_check_file
from benchmark.core.files.limits import Budget, Limits, SourceError
from benchmark.core.files.packing import Readable
from benchmark.core.files.record_lines import LineError, parse_record, split_lines, too_long
from benchmark.core.files.safe_paths import is_safe_path
from benchmark.core.files.zips import MemberStream, open_member, open_zip, refusal, shown_name
from benchmark.core.formats import CANARY, FORMATS, guess_format

MAX_PROBLEMS = 200
_MAX_MANIFEST = 64 << 20
_PIECE = 1 << 18


@dataclass
class VerifyReport:
    """The result of checking an archive. ``files`` and ``items`` count the entries of the manifest and of the list."""

    ok: bool = False
    files: int = 0
    items: int = 0
    problems: list[str] = field(default_factory=list)


def verify_archive(path: str | Path, *, limits: Limits | None = None) -> VerifyReport:
    """Check that an archive is a release of Assay, complete and unchanged.

    Every file must exist with the size and hash in the manifest, and no other file; every record must have the canary
    and be readable; every document must have the hash of the verified revision; native records, their files,
    messages, entries and tables must agree with the documents. All errors become problems in the report: nothing is
    raised, not even for a missing file.
    """
    report = VerifyReport()
    try:
        bounds = limits or Limits()
        with Path(path).open("rb") as stream, open_zip(stream, bounds, is_beside=is_check_file) as archive:
            _Verification(archive, bounds, report).run()
    except SourceError as error:
        report.problems.append(str(error))
    except OSError as error:
        report.problems.append(f"Can't read {shown_name(str(path))}: {error.strerror or error}.")
    report.ok = not report.problems
    return report


class _Known(NamedTuple):
    """An entry of the list of items: its language and variant group, the hashes of its document and tools."""

    language: str
    variant_group: str
    document: str
    tools: str


class _Verification:
    """One check of one archive."""

    def __init__(self, archive: zipfile.ZipFile, limits: Limits, report: VerifyReport) -> None:
        self.archive = archive
        self.limits = limits
        self.report = report
        self.budget = Budget(limits)
        self.members: dict[str, zipfile.ZipInfo] = {}
        self.items: dict[str, _Known] = {}
        self.found: set[str] = set()
        #: Files of dialogues, each with its format.
        self.dialogues: dict[str, str] = {}
        self.beside: CheckFiles | None = None
        #: Files next to records that do not belong to a checked document yet.
        self.unclaimed: set[str] = set()
        #: The number of problems that are not listed.
        self.unsaid = 0

    def run(self) -> None:
        manifest = self._manifest()
        if manifest is None:
            return
        listed = Counter(file.path for file in manifest.files)
        for name, count in listed.items():
            if count > 1:
                self._say(f"The manifest lists {shown_name(name)} {count} times.")
        for name in self.members:
            if name not in listed and name != MANIFEST:
                self._say(f"{shown_name(name)} is in the archive but not in the manifest.")
        if any(file.format == "cctu" for file in manifest.files):
            self.beside = CheckFiles(self.archive, self.archive.infolist(), self.limits)
            self.unclaimed = {name for name in self.members if is_check_file(name)}
        files = {file.path: file for file in manifest.files}
        self.report.files = len(files)
        # The list of items comes first: documents are checked against it.
        for file in sorted(files.values(), key=lambda file: file.path != ITEMS):
            info = self.members.get(file.path)
            if info is None:
                self._say(f"{shown_name(file.path)} is in the manifest but not in the archive.")
            else:
                self._file(file, info, manifest)
        for folder in self.beside.left if self.beside else ():
            self._say(f"check_code/{shown_name(folder)} belongs to no record of the release.")
        self.report.items = len(self.items)
        if ITEMS not in files:
            self._say(f"The release has no {ITEMS}.")
        elif "neutral" not in self.dialogues.values():
            self._say("The release has no file of neutral documents, so no revision can be checked.")
        else:
            for name in sorted(self.items.keys() - self.found):
                self._say(f"{ITEMS} lists {shown_name(name)}, but no file has its document.")
            self._compare(manifest)
        expected = manifest.counts.get("items")
        if expected is not None and expected != len(self.items):
            self._say(f"The manifest counts {expected} items, but {ITEMS} lists {len(self.items)}.")
        if manifest.format in FORMATS and manifest.format not in self.dialogues.values():
            self._say(f"The manifest names the format {manifest.format}, but no file has records of it.")
        self._sums(manifest)

    def _manifest(self) -> Manifest | None:
        infos = [info for info in self.archive.infolist() if not info.is_dir()]
        doubled = [name for name, count in Counter(info.filename for info in infos).items() if count > 1]
        unsafe = [info.filename for info in infos if not is_safe_path(info.filename)]
        for name in doubled:
            self._say(f"{shown_name(name)} is in the archive more than once.")
        for name in unsafe:
            self._say(f"{shown_name(name)} is not a plain relative path.")
        if doubled or unsafe:
            return None
        roots = [
            info.filename.removesuffix(MANIFEST)
            for info in infos
            if info.filename == MANIFEST or (info.filename.endswith(f"/{MANIFEST}") and info.filename.count("/") == 1)
        ]
        if len(roots) != 1:
            self._say(f"The archive has {len(roots) or 'no'} {MANIFEST} files, so it is not a release of Assay.")
            return None
        (root,) = roots
        for info in infos:
            if info.filename.startswith(root):
                self.members[info.filename.removeprefix(root)] = info
            else:
                self._say(f"{shown_name(info.filename)} is outside the release's folder.")
        try:
            with open_member(self.archive, self.members[MANIFEST], self.budget) as source:
                content = _read_whole(source)
            return read_manifest(parse_record(content))
        except (SourceError, LineError) as error:
            self._say(f"{MANIFEST}: {error}")
        except SchemaProblem as problem:
            for each in problem.problems:
                self._say(f"{MANIFEST} at {each.pointer or '/'}: {each.message}")
        return None

    def _file(self, file: ManifestFile, info: zipfile.ZipInfo, manifest: Manifest) -> None:
        shown = shown_name(file.path)
        reason = refusal(info)
        if reason:
            self._say(f"{shown}: {reason}")
            return
        try:
            with open_member(self.archive, info, self.budget) as source:
                hashed = _Hashed(source, manifest.canary)
                count = None
                if file.path.endswith(".jsonl"):
                    count = self._records(file, hashed, manifest)
                else:
                    while hashed.read(_PIECE):
                        pass
        except SourceError as error:
            self._say(f"{shown}: {error}")
            return
        if hashed.bytes != file.bytes:
            self._say(f"{shown} has {hashed.bytes} bytes, but the manifest says {file.bytes}.")
        if hashed.digest.hexdigest() != file.sha256:
            self._say(f"{shown} was changed: its SHA-256 differs from the manifest.")
        if count is not None and file.records is not None and count != file.records:
            self._say(f"{shown} has {count} records, but the manifest says {file.records}.")
        marked = file.path.endswith((".md", ".json")) or is_check_file(file.path)
        if marked and not hashed.marked:
            self._say(f"{shown} does not contain the canary.")

    def _records(self, file: ManifestFile, source: "_Hashed", manifest: Manifest) -> int:
        count = 0
        kind = file.format
        beside = self.beside if kind == "cctu" else None
        for number, record in self._lines(file.path, source, beside):
            count += 1
            if record is None:
                continue
            where = f"{shown_name(file.path)}, line {number}"
            if file.path == ITEMS:
                self._item(record, where)
                continue
            if record.get(CANARY) != manifest.canary:
                self._say(f"{where}: the record does not contain the release's canary.")
            kind = kind or ("" if file.path in ENTRY_PATHS else guess_format(record))
            if kind in FORMATS:
                self.dialogues[file.path] = kind
                self._dialogue(record, where, kind)
        return count

    def _lines(
        self, path: str, source: Readable, beside: CheckFiles | None = None, *, again: bool = False
    ) -> Iterator[tuple[int, dict[str, Any] | None]]:
        """Yield line number and record of every line that is not blank; None for an invalid record.

        ``again``: errors have been reported before.
        """
        for number, (line, length, _) in enumerate(split_lines(source, self.limits.line), 1):
            if line is not None and not line.strip():
                continue
            try:
                if line is None:
                    raise LineError(too_long(length, self.limits.line))
                record = parse_record(beside.join(line) if beside else line)
            except LineError as error:
                if not again:
                    self._say(f"{shown_name(path)}, line {number}: {error}")
                yield number, None
            else:
                yield number, record

    def _item(self, record: dict[str, Any], where: str) -> None:
        try:
            item = read_item(record)
        except SchemaProblem as problem:
            for error in problem.problems:
                self._say(f"{where} at {error.pointer or '/'}: {error.message}")
            return
        if item.id in self.items:
            self._say(f"{where}: the item {shown_name(item.id)} is listed twice.")
        self.items[item.id] = _Known(item.language, item.variant_group, item.revision_sha256, item.toolset_sha256)

    def _dialogue(self, record: dict[str, Any], where: str, kind: str) -> None:
        if kind == "neutral":
            self._document(record, where)
        try:
            FORMATS[kind].read(record)
        except SchemaProblem as problem:
            error = problem.problems[0]
            self._say(f"{where} cannot be read as {kind}, at {error.pointer or '/'}: {error.message}")

    def _document(self, record: dict[str, Any], where: str) -> None:
        """Check that the document as stored, not as a reader would complete it, has the revision's hash."""
        name, document = record.get("id"), record.get("document")
        if not isinstance(name, str) or not isinstance(document, dict):
            return  # The reader reports it.
        if name in self.found:
            self._say(f"{where}: the item {shown_name(name)} appears twice.")
        self.found.add(name)
        item = self.items.get(name)
        if item is None:
            self._say(f"{where}: {ITEMS} does not list {shown_name(name)}.")
            return
        for key, known in (("language", item.language), ("variant_group", item.variant_group)):
            if record.get(key, "") != known:
                self._say(f"{where}: the {key} of {shown_name(name)} differs from {ITEMS}.")
        try:
            actual = content_hash(canonical(document))
            content = {key: record[key] for key in ("tools", "implementation") if key in record}
            tools = content_hash(canonical(content))
        except SchemaProblem:
            return  # The reader reports it.
        if actual != item.document:
            self._say(f"{where}: the document of {shown_name(name)} differs from the verified revision.")
        if tools != item.tools:
            self._say(f"{where}: the tools of {shown_name(name)} differ from those used for verification.")
        if document.get("kind") == "composite":
            self._composite(document, where)

    def _composite(self, document: dict[str, Any], where: str) -> None:
        """Check that the release has the single tasks of a composite, in the revisions that it refers to."""
        tasks = document.get("tasks")
        for task in tasks if isinstance(tasks, list) else ():
            if not isinstance(task, dict) or not isinstance(task.get("single"), str):
                continue  # The reader reports it.
            single = self.items.get(task["single"])
            if single is None or (single.document, single.tools) != (task.get("sha256"), task.get("toolset_sha256")):
                name = shown_name(task["single"])
                self._say(f"{where}: the release does not have {name} in the revision that this composite refers to.")

    def _compare(self, manifest: Manifest) -> None:
        """Check that native records, their files, messages and tables agree with the documents."""
        documents = [path for path, kind in self.dialogues.items() if kind == "neutral"]
        with ExitStack() as stack:

            def opened(path: str) -> MemberStream:
                # They are read in parallel, so each is counted separately.
                return stack.enter_context(open_member(self.archive, self.members[path], Budget(self.limits)))

            def lines(path: str) -> Lines:
                return self._lines(path, opened(path), again=True)

            def table(path: str, config: str) -> Lines:
                file = stack.enter_context(TemporaryFile())
                source = opened(path)
                while piece := source.read(_PIECE):
                    file.write(piece)
                return row_lines(
                    config, read_table(config, file, self.limits), shown_name(path), manifest.canary, self._say
                )

            files = {file.path for file in manifest.files if self._is_whole(file.path)}
            held: list[Follower] = []
            try:
                for path, kind in self.dialogues.items():
                    if kind != "neutral":
                        held.append(Follower(shown_name(path), lines(path), self._due(path, kind, manifest)))
                    if kind == manifest.format and (of_records := table_path(kind)) in files:
                        due = native_records(kind, manifest.canary, lambda files: None)
                        held.append(Follower(of_records, table(of_records, kind), due, "row"))
                if OLD_TABLE in files:
                    held.append(Follower(OLD_TABLE, parsed_lines(lines(OLD_TABLE)), old_rows))
                if table_path(DEFAULT) in files:
                    held.append(Follower(table_path(DEFAULT), table(table_path(DEFAULT), DEFAULT), rows, "row"))
                if table_path(LABELS) in files:
                    held.append(Follower(table_path(LABELS), table(table_path(LABELS), LABELS), answer_rows, "row"))
                elif type(layout := manifest.schema_versions.get("release")) is int and layout >= LABELS_SINCE:
                    held.append(Follower(table_path(LABELS), iter(()), answer_rows, "row", missing=True))
                entries = EntryCheck(manifest, lambda name: self.items[name].tools if name in self.items else "")
                held += entries.followers(files, lines, lambda one: table(one.path, one.config))
                records = (record for path in documents for _, record in lines(path) if record is not None)
                hold_against(records, held, self._say)
                entries.finish(self._say)
            except (SourceError, SchemaProblem):
                return  # Already reported, and the following records cannot be compared.
        for path in sorted(self.unclaimed):
            self._say(f"No document has the file {shown_name(path)}.")

    def _is_whole(self, path: str) -> bool:
        return path in self.members and refusal(self.members[path]) is None

    def _due(self, path: str, kind: str, manifest: Manifest) -> Due:
        if path == COPY and kind == MESSAGES != manifest.format:
            return message_records
        return native_records(kind, manifest.canary, self._files)

    def _files(self, files: dict[str, bytes]) -> None:
        """Check that the files next to a record are those of its document."""
        for path, content in files.items():
            info = self.members.get(path)
            if info is None:
                self._say(f"{shown_name(path)} is missing, but its document has such a file.")
                continue
            self.unclaimed.discard(path)
            with open_member(self.archive, info, Budget(self.limits)) as source:
                if source.read(MAX_FILE + 1) != content:
                    self._say(f"{shown_name(path)} differs from the file of its document.")

    def _sums(self, manifest: Manifest) -> None:
        """Check that the list for ``sha256sum`` agrees with the manifest."""
        info = self.members.get(SUMS)
        if info is None:
            return
        due = sum_lines((file.path, file.sha256) for file in manifest.files if file.path != SUMS)
        try:
            with open_member(self.archive, info, Budget(self.limits)) as source:
                if _read_whole(source) != due:
                    self._say(f"{SUMS} and the manifest differ for at least one file.")
        except SourceError:
            pass  # Already reported.

    def _say(self, problem: str) -> None:
        problems = self.report.problems
        if len(problems) < MAX_PROBLEMS:
            problems.append(problem)
        else:
            self.unsaid += 1
            problems[MAX_PROBLEMS:] = [f"And {self.unsaid} more."]


class _Hashed:
    """Passes on a stream, and hashes it and searches for the canary at the same time."""

    def __init__(self, source: Readable, canary: str) -> None:
        self._source = source
        self._canary = canary.encode(errors="replace")
        self._tail = b""
        self.digest = hashlib.sha256()
        self.bytes = 0
        self.marked = False

    def read(self, size: int, /) -> bytes:
        data = self._source.read(size)
        self.digest.update(data)
        self.bytes += len(data)
        if not self.marked:
            seen = self._tail + data
            self.marked = self._canary in seen
            self._tail = seen[-len(self._canary) :]
        return data


def _read_whole(source: MemberStream) -> bytes:
    content = source.read(_MAX_MANIFEST + 1)
    if len(content) > _MAX_MANIFEST:
        raise SourceError("It is too large for a manifest.")
    return content
