"""Read the items and documents of a release's archive, without trusting it."""

import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from annotator.core.schema import SchemaProblem, canonical, content_hash
from annotator.core.schema.toolsets import toolset_content
from benchmark.core.archives.dialogue_changes import Content
from benchmark.core.archives.difference import Hashes
from benchmark.core.archives.manifest import ITEMS, MANIFEST, Manifest, read_item, read_manifest
from benchmark.core.files.cctu_check_files import is_check_file
from benchmark.core.files.limits import Budget, Limits, SourceError
from benchmark.core.files.record_lines import LineError, parse_record, split_lines, too_long
from benchmark.core.files.safe_paths import is_safe_path
from benchmark.core.files.zips import open_member, open_zip, refusal, shown_name
from benchmark.core.formats import FORMATS

DIALOGUES = "dialogues.jsonl"
#: The manifest lists the results of every validator.
_MAX_MANIFEST = 64 << 20
_PIECE = 1 << 20


class ReleaseFile:
    """An archive open for reading. Every method raises SourceError with the archive's name and the place."""

    def __init__(self, path: Path, limits: Limits, stack: ExitStack) -> None:
        self.name = shown_name(str(path))
        self._limits = limits
        try:
            stream = stack.enter_context(path.open("rb"))
            self._archive = stack.enter_context(open_zip(stream, limits, is_beside=is_check_file))
            self._members = self._find_members()
        except SourceError as error:
            raise SourceError(f"{self.name}: {error}") from None
        except OSError as error:
            raise SourceError(f"Can't read {self.name}: {error.strerror or error}.") from None
        self.manifest = self._read_manifest()

    def items(self) -> Iterator[tuple[str, Hashes, dict[str, Any]]]:
        """Yield the id, the hashes and the whole line of each item."""
        for where, line in self._lines(ITEMS):
            try:
                record = parse_record(line)
                item = read_item(record)
            except LineError as error:
                raise self._error(f"{where}: {error}") from None
            except SchemaProblem as problem:
                raise self._error(f"{where} at {problem}") from None
            yield item.id, Hashes(item.revision_sha256, item.toolset_sha256), record

    def documents(self) -> Iterator[tuple[str, str, bytes]]:
        """Yield the place, the id and the unread line of each document."""
        for where, line in self._lines(DIALOGUES):
            try:
                name = parse_record(line).get("id")
            except LineError as error:
                raise self._error(f"{where}: {error}") from None
            if not isinstance(name, str):
                raise self._error(f"{where}: the record has no id.")
            yield where, name, line

    def content(self, where: str, line: bytes, due: Hashes) -> Content:
        """Return the content of a line of documents, after comparing it with the hashes of its item."""
        try:
            record = parse_record(line)
            (dialogue,) = FORMATS["neutral"].read(record)
            stored = {key: record[key] for key in ("tools", "implementation") if key in record}
            found = Hashes(content_hash(canonical(record["document"])), content_hash(canonical(stored)))
        except LineError as error:
            raise self._error(f"{where}: {error}") from None
        except SchemaProblem as problem:
            raise self._error(f"{where} at {problem}") from None
        if found != due:
            raise self._error(f"{where}: the content differs from its hash in {ITEMS}.")
        return Content(dialogue.document, toolset_content(dialogue.tools, dialogue.implementation))

    def unpack(self, folder: Path) -> None:
        """Write the files that the manifest lists, and the manifest, into an empty folder."""
        budget = Budget(self._limits)
        for path in (*(file.path for file in self.manifest.files), MANIFEST):
            info = self._members.get(path)
            reason = f"It has no {path}, so it is not a complete release." if info is None else refusal(info)
            if info is None or reason:
                raise self._error(str(reason))
            place = folder / path
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                with open_member(self._archive, info, budget) as source, place.open("xb") as copy:
                    while piece := source.read(_PIECE):
                        copy.write(piece)
            except SourceError as error:
                raise self._error(f"{path}: {error}") from None
            except (FileExistsError, NotADirectoryError):
                raise self._error(f"{path}: A part of this path is both a file and a folder.") from None

    def _find_members(self) -> dict[str, zipfile.ZipInfo]:
        infos = [info for info in self._archive.infolist() if not info.is_dir()]
        if max(Counter(info.filename for info in infos).values(), default=0) > 1 or not all(
            is_safe_path(info.filename) for info in infos
        ):
            raise SourceError("A file is there twice, or its path is not a plain relative one.")
        roots = [
            name.removesuffix(MANIFEST)
            for name in (info.filename for info in infos)
            if name == MANIFEST or (name.endswith(f"/{MANIFEST}") and name.count("/") == 1)
        ]
        if len(roots) != 1:
            raise SourceError(
                f"It has {len(roots) or 'no'} {MANIFEST} files, so it is not a release of Assay. "
                "Give the archive of a release."
            )
        (root,) = roots
        return {info.filename.removeprefix(root): info for info in infos if info.filename.startswith(root)}

    def _read_manifest(self) -> Manifest:
        info = self._members[MANIFEST]
        try:
            if reason := refusal(info):
                raise SourceError(reason)
            with open_member(self._archive, info, Budget(self._limits)) as source:
                content = source.read(_MAX_MANIFEST + 1)
            if len(content) > _MAX_MANIFEST:
                raise SourceError("It is too large for a manifest.")
            return read_manifest(parse_record(content))
        except (SourceError, LineError) as error:
            raise self._error(f"{MANIFEST}: {error}") from None
        except SchemaProblem as problem:
            raise self._error(f"{MANIFEST} at {problem}") from None

    def _lines(self, path: str) -> Iterator[tuple[str, bytes]]:
        """Yield the place and the content of each line that is not blank."""
        info = self._members.get(path)
        reason = f"It has no {path}, so it is not a complete release." if info is None else refusal(info)
        if info is None or reason:
            raise self._error(str(reason))
        try:
            with open_member(self._archive, info, Budget(self._limits)) as source:
                for number, (line, length, _) in enumerate(split_lines(source, self._limits.line), 1):
                    if line is None:
                        raise SourceError(f"line {number}: {too_long(length, self._limits.line)}")
                    if line.strip():
                        yield f"{path}, line {number}", line
        except SourceError as error:
            raise self._error(f"{path}: {error}") from None

    def _error(self, sentence: str) -> SourceError:
        return SourceError(f"{self.name}: {sentence} Check it with manage.py verify_release.")
