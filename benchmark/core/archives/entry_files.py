"""The files with the entries of a release: written while its dialogues are, and compared with them later."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmark.core.archives.archive import DeterministicZip, MemberWriter, WrittenFile
from benchmark.core.archives.consistency import Due, Follower, Lines, Say
from benchmark.core.archives.entry_rows import EntryRows, Row, as_line, as_record, as_table_row
from benchmark.core.archives.manifest import Manifest
from benchmark.core.archives.table import CHALLENGES, ENTRIES, Table, TableMember
from benchmark.core.formats.interface import ReadDialogue
from benchmark.core.scoring.challenges import C3_CHALLENGES, WILD_HISTORIES

ENTRIES_FILE = "entries.jsonl"
#: The first layout with these files.
SINCE = 3


def lines_path(table: Table) -> str:
    """Return the path of the JSON lines with the rows of a table."""
    return ENTRIES_FILE if table.config == ENTRIES else f"{CHALLENGES}/{table.split}.jsonl"


#: Every file of JSON lines with entries; none of them has dialogues.
PATHS = frozenset(
    lines_path(one)
    for one in (Table(ENTRIES), *(Table(CHALLENGES, one.name) for one in (*C3_CHALLENGES, *WILD_HISTORIES)))
)


class EntryFiles:
    """Writes the entries of a release into its archive, under the folder ``root``. ``rows`` counts them."""

    def __init__(self, archive: DeterministicZip, root: str, rows: EntryRows, canary: str) -> None:
        self.rows = rows
        self._archive, self._root, self._canary = archive, root, canary
        self._begun: dict[str, tuple[MemberWriter, TableMember]] = {}

    def add(self, variants: Sequence[ReadDialogue]) -> None:
        """Write the rows of one dialogue in all its languages."""
        found = self.rows.of(variants)
        for table in self.rows.tables:
            if not found[table.split]:
                continue
            if table.path not in self._begun:
                lines = self._archive.begin(f"{self._root}/{lines_path(table)}")
                self._begun[table.path] = lines, TableMember(self._archive, self._root, table)
            lines, member = self._begun[table.path]
            for row in found[table.split]:
                lines.write(as_line(row, self._canary))
                member.add(as_table_row(row, self._canary))

    def end(self) -> dict[Table, WrittenFile]:
        """Add the files to the archive; return its tables. A file without rows is left out."""
        written = {}
        for table in self.rows.tables:
            if table.path in self._begun:
                lines, member = self._begun[table.path]
                self._archive.end(lines)
                written[table] = member.end()
        return written


class EntryCheck:
    """Compares the files of a release with its documents. ``toolset_of``: see ``EntryRows``."""

    def __init__(self, manifest: Manifest, toolset_of: Callable[[str], str]) -> None:
        self._stated = (manifest.model_extra or {}).get("entries")
        layout = manifest.schema_versions.get("release")
        self._required = type(layout) is int and layout >= SINCE
        self._rows = EntryRows(manifest.format, toolset_of)
        self._of: Sequence[ReadDialogue] | None = None
        self._found: dict[str, list[Row]] = {}
        self._followers: list[Follower] = []

    def followers(
        self, files: set[str], lines: Callable[[str], Lines], read: Callable[[Table], Lines]
    ) -> Iterator[Follower]:
        """Yield what is compared with the documents: also files that an archive of this layout must have.

        ``files``: the paths in the archive. ``lines`` and ``read`` open the JSON lines of a path, and a table.
        """
        for table in self._rows.tables:
            due = self._due(table.split)
            for path, unit in ((lines_path(table), "line"), (table.path, "row")):
                if path not in files and not self._required:
                    continue
                missing = path not in files
                opened: Lines = iter(()) if missing else read(table) if unit == "row" else lines(path)
                self._followers.append(Follower(path, opened, due, unit, missing))
                yield self._followers[-1]

    def finish(self, say: Say) -> None:
        """Compare what the manifest counts, after all documents were compared."""
        if not self._required or all(one.ended for one in self._followers):
            return
        if self._stated != self._rows.summary():
            say("The manifest counts the entries or challenges differently than the documents do.")

    def _due(self, split: str) -> Due:
        def due(variants: Sequence[ReadDialogue]) -> Iterator[dict[str, Any]]:
            # All files are compared with one dialogue before the next one.
            if variants is not self._of:
                self._of, self._found = variants, self._rows.of(variants)
            return map(as_record, self._found[split])

        return due
