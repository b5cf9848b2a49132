"""Build the archive of a frozen release: the same bytes whenever it is built from the same data.

Everything comes from what freezing stored: the items, their trails, the summary, the settings. It is streamed, so
memory does not grow with the release. It does not list what was left out, because that would reveal gold answers.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import orjson

from annotator.core.schema import content_hash as checksum
from annotator.core.schema.exact_json import dumps
from annotator.core.schema.layout import lay_out
from annotator.core.text import Message, message
from annotator.errors import Invalid
from annotator.models import ToolsetRevision
from benchmark.core.archives.archive import DeterministicZip, WrittenFile
from benchmark.core.archives.citation import CITATION, write_citation
from benchmark.core.archives.croissant import CROISSANT, write_croissant
from benchmark.core.archives.description import OWN_LICENCE
from benchmark.core.archives.entry_files import SINCE, EntryFiles
from benchmark.core.archives.entry_rows import EntryRows
from benchmark.core.archives.errata import ERRATA
from benchmark.core.archives.manifest import ITEMS, MANIFEST, SUMS, WRITTEN, build_manifest, sum_lines
from benchmark.core.archives.message_copies import COPY, MESSAGES, as_messages
from benchmark.core.archives.table import DEFAULT, LABELS, LABELS_SINCE, Table, TableMember
from benchmark.core.files.limits import Limits
from benchmark.core.formats import FORMATS
from benchmark.core.formats.interface import CANARY
from benchmark.core.formats.neutral import VERSION as ENVELOPE_VERSION
from benchmark.models import Release, ReleaseItem
from benchmark.services.dataset_statistics.releases import STATISTICS
from benchmark.services.releases.card import DRAWS, LICENCE, Written, has_populations, languages_of, write_card
from benchmark.services.releases.coverage import summarise_coverage
from benchmark.services.releases.items import NOT_NATIVE, Item, line_of
from benchmark.services.releases.responsibility import describe_work
from benchmark.services.releases.settings import describe
from reviews.models import Draw
from reviews.services.sampling.draws import member_line, members_of

NEUTRAL = "neutral"
DIALOGUES = "dialogues.jsonl"
CARD = "README.md"
#: Version of the dialogue document's schema.
DOCUMENT_VERSION = 1

#: The most files that readers accept.
MAX_FILES_BESIDE = Limits().beside
#: Dialogues in memory at a time.
_SLICE = 200
_LANGUAGES = {"en": "0", "zh": "1"}

#: Called with the number of dialogues written so far; may raise to stop.
Progress = Callable[[int], None]


def _numbered(name: str) -> list[str | int]:
    """Return a name to sort by, ``d_9`` before ``d_10``: the published evaluator of ``wild`` takes the number at the
    end of an id as the line of its record.
    """
    return [int(part) if n % 2 else part for n, part in enumerate(re.split("([0-9]+)", name))]


def native_file(release: Release) -> str:
    """Return the name of the file of native records."""
    return FORMATS[release.native_format].file_name or f"{release.native_format}.jsonl"


def build_archive(release: Release, path: Path, *, progress: Progress = lambda done: None) -> None:
    """Write the archive of a frozen release to ``path``, where it appears complete or not at all.

    Raises Invalid if an earlier version of Assay froze it: its archive had other files.
    """
    if not can_be_built(release):
        raise Invalid(
            message(
                "Release %(version)s was frozen by an earlier version of Assay, whose archives have other files. This "
                "version can’t build it again. Restore its archive from a backup, or freeze the next version.",
                version=release.version,
            )
        )
    _Building(release, progress).run(path)


def can_be_built(release: Release) -> bool:
    """Return whether this version of Assay writes the archive of a frozen release as it was."""
    return release.frozen.get("layout") in WRITTEN


class _Building:
    def __init__(self, release: Release, progress: Progress) -> None:
        self.release = release
        self.progress = progress
        self.root = f"release-{release.version}"
        self.done = 0
        #: Keys of the items in the archive's order: variants of one dialogue together, English first.
        self.order = self._order()
        self.files_beside = 0
        #: File of dialogues → its format.
        self.formats = {DIALOGUES: NEUTRAL}
        #: Number of dialogues with fields that no native record of the release has.
        self.not_native = 0
        #: None if the release's layout has no entries.
        self.entries: EntryFiles | None = None
        self._aside: IO[bytes]

    def run(self, path: Path) -> None:
        with TemporaryFile() as aside, DeterministicZip(path, level=self.release.frozen["compression"]) as archive:
            self._aside = aside
            tables, copied = self._write_dialogues(archive)
            if has_populations(self.release):
                with archive.member(f"{self.root}/{DRAWS}") as out:
                    for member in self._populations():
                        out.write(member)
            self._describe(archive, tables, copied)
            sums = sum_lines((self._inside(file), file.sha256) for file in archive.files)
            archive.add(f"{self.root}/{SUMS}", sums)
            archive.add(f"{self.root}/{MANIFEST}", self._manifest(archive.files))

    def _write_dialogues(self, archive: DeterministicZip) -> tuple[dict[Table, WrittenFile], int | None]:
        """Write the files of dialogues. Return the tables, and how many dialogues are also messages: None if the native
        records are messages.
        """
        form, canary = self.release.native_format, self.release.canary
        native = native_table = copy = None
        if form != NEUTRAL:
            name = native_file(self.release)
            self.formats[name] = form
            native = archive.begin(f"{self.root}/{name}")
            native_table = TableMember(archive, self.root, Table(form))
        if form != MESSAGES:
            copy = archive.begin(f"{self.root}/{COPY}")
        copied = 0
        neutral, lines = archive.begin(f"{self.root}/{DIALOGUES}"), archive.begin(f"{self.root}/{ITEMS}")
        default = TableMember(archive, self.root, Table(DEFAULT))
        labels: TableMember | None = None
        toolsets: dict[str, str] = {}
        if self.release.frozen["layout"] >= SINCE:
            self.entries = EntryFiles(archive, self.root, EntryRows(form, toolsets.__getitem__), canary)
        for variants in self._variants():
            left: dict[str, list[str]] = {}
            if native is not None and native_table is not None:
                for external_id, record in self._native([item for item, _ in variants], left):
                    native.write(record)
                    native_table.add({"id": external_id, "record": record[:-1].decode()})
                self.not_native += len(left)
            for item, line in variants:
                neutral.write(item.neutral(canary))
                places = left.get(item.external_id)
                line |= ({NOT_NATIVE: places} if places else {}) | {CANARY: canary}
                lines.write(_line(line))
                default.add(item.row(canary))
                for row in item.answers(canary) if self.release.frozen["layout"] >= LABELS_SINCE else ():
                    # Without answers, there is no such table.
                    labels = labels or TableMember(archive, self.root, Table(LABELS))
                    labels.add(row)
                messages = None if copy is None else as_messages(item, canary)
                if copy is not None and messages is not None:
                    copy.write(_line(messages))
                    copied += 1
            if self.entries is not None:
                toolsets.clear()
                toolsets |= {item.external_id: line["toolset_sha256"] for item, line in variants}
                self.entries.add([item for item, _ in variants])
        tables: dict[Table, WrittenFile] = {}
        if native is not None and native_table is not None:
            archive.end(native)
            self._add_files(archive)
            tables[Table(form)] = native_table.end()
        archive.end(neutral)
        archive.end(lines)
        if copy is not None and copied:
            # After the documents: an import without a format looks at the first records of an archive.
            self.formats[COPY] = MESSAGES
            archive.end(copy)
        tables = {Table(DEFAULT): default.end()} | tables
        if labels is not None:
            tables[Table(LABELS)] = labels.end()
        if self.entries is not None:
            tables |= self.entries.end()
        return tables, None if copy is None else copied

    def _describe(self, archive: DeterministicZip, tables: dict[Table, WrittenFile], copied: int | None) -> None:
        """Write what people and loaders read about the release."""
        description = describe(self.release)
        if description.settings.licence == OWN_LICENCE:
            archive.add(f"{self.root}/{LICENCE}", description.settings.licence_text.encode() + b"\n")
        # For errors that are found after it was frozen; loaders do not read it.
        archive.add(f"{self.root}/{ERRATA}", b"")
        made = describe_work(self.release)
        languages = languages_of(self.release)
        archive.add(
            f"{self.root}/{CROISSANT}",
            write_croissant(
                description,
                languages,
                tables,
                made,
                self.root,
                layout=self.release.frozen["layout"],
                fields=self.release.frozen.get("custom_fields", ()),
            ),
        )
        archive.add(f"{self.root}/{CITATION}", write_citation(description).encode())
        entries = self.entries.rows.summary() if self.entries else None
        written = Written([*self.formats], [*tables], copied, self.not_native, entries)
        archive.add(f"{self.root}/{CARD}", write_card(self.release, description, written).encode())

    def _order(self) -> list[tuple[str, int]]:
        rows = ReleaseItem.objects.filter(release=self.release).values_list(
            "pk", "dialogue__external_id", "dialogue__variant_group"
        )
        keyed = sorted(
            (_numbered(group or external_id), group or external_id, external_id, pk)
            for pk, external_id, group in rows.iterator()
        )
        return [(group, pk) for _, group, _, pk in keyed]

    def _native(self, variants: Sequence[Item], left: dict[str, list[str]]) -> Iterator[tuple[str, bytes]]:
        """Yield the native records of one dialogue: the id and the line. ``left`` collects, by id, its fields that are
        in none.
        """
        writer = FORMATS[self.release.native_format]
        for items in writer.by_record(variants):
            try:
                record = writer.write(items, full=True, canary=self.release.canary)
            except (ValueError, KeyError) as problem:
                raise Invalid(
                    message(
                        "Dialogue %(dialogue)s can’t be written as %(format)s: %(problem)s. Correct it, or choose "
                        "another format.",
                        dialogue=items[0].external_id,
                        format=self.release.native_format,
                        problem=str(problem),
                    )
                ) from problem
            left |= {item.external_id: places for item in items if (places := item.not_in(record))}
            self._keep_files(writer.take_files(record))
            # With the layout of the line they came from; only the content comes from the record.
            line = next((item.line for item in items if item.line), "")
            yield str(record["id"]), f"{lay_out(record, line)}\n".encode() if line else _line(record)

    def _keep_files(self, files: dict[str, bytes]) -> None:
        """Put aside the files of a record, because no other member can be written at the same time as records."""
        for path, content in files.items():
            self.files_beside += 1
            if self.files_beside > MAX_FILES_BESIDE:
                raise Invalid(
                    message(
                        "The records need more than %(limit)s additional files, the limit of an archive. Release fewer "
                        "dialogues at a time, or choose the format neutral.",
                        limit=f"{MAX_FILES_BESIDE:,}",
                    )
                )
            packed = path.encode()
            for part in (packed, content):
                self._aside.write(len(part).to_bytes(8, "big"))
                self._aside.write(part)

    def _add_files(self, archive: DeterministicZip) -> None:
        self._aside.seek(0)
        while header := self._aside.read(8):
            path = self._aside.read(int.from_bytes(header, "big")).decode()
            content = self._aside.read(int.from_bytes(self._aside.read(8), "big"))
            archive.add(f"{self.root}/{path}", content)

    def _populations(self) -> Iterator[bytes]:
        """Write the population of each draw, so that anyone can repeat it."""
        for stage, number in self.release.frozen["populations"]:
            draw = Draw.objects.get(project=self.release.project_id, stage=stage, number=number)
            for member, drawn in members_of(draw):
                yield _line(member_line(draw, member, drawn=drawn) | {CANARY: self.release.canary})

    def _variants(self) -> Iterator[list[tuple[Item, dict[str, Any]]]]:
        """Yield each dialogue in all its languages, every one with its line of ``items.jsonl``."""
        for _, group in groupby(self._rows(), key=itemgetter(0)):
            variants = sorted(((item, line) for _, item, line in group), key=lambda variant: _place(variant[0]))
            yield variants
            self.done += len(variants)
            self.progress(self.done)

    def _rows(self) -> Iterator[tuple[str, Item, dict[str, Any]]]:
        """Yield all items in order: the key that variants share, the item, its line."""
        layout = line_of(self.release.native_format, dialogue="dialogue", number="revision__number")
        items = ReleaseItem.objects.annotate(line=layout).values_list(*_COLUMNS)
        toolsets: dict[int, str] = {}
        for start in range(0, len(self.order), _SLICE):
            part = self.order[start : start + _SLICE]
            rows = {row[0]: row[1:] for row in items.filter(pk__in=[pk for _, pk in part])}
            # Many items share a toolset: each is read, and compared with its checksum, once for each slice.
            known, toolsets = toolsets, _toolsets({row[3] for row in rows.values()}, toolsets)
            unchecked = toolsets.keys() - known.keys()
            for group, pk in part:
                external_id, variant_group, trail, toolset, toolset_hash, content_hash, content, laid = rows[pk]
                _require_whole(content, content_hash, message("dialogue %(dialogue)s", dialogue=external_id))
                if toolset in unchecked:
                    what = message("the tools of dialogue %(dialogue)s", dialogue=external_id)
                    _require_whole(toolsets[toolset], toolset_hash, what)
                    unchecked.remove(toolset)
                item = Item.read(external_id, variant_group, content, toolsets[toolset], laid or "")
                line = {
                    "id": external_id,
                    "language": item.language,
                    "variant_group": variant_group,
                    "revision_sha256": content_hash,
                    "toolset_sha256": toolset_hash,
                    **trail,
                }
                yield group, item, line

    def _manifest(self, files: Sequence[WrittenFile]) -> bytes:
        frozen = self.release.frozen
        counts = frozen["counts"]
        protocols = frozen["protocols"]
        return build_manifest(
            version=self.release.version,
            project=frozen["project"]["slug"],
            format=self.release.native_format,
            canary=self.release.canary,
            schema_versions={"release": frozen["layout"], "envelope": ENVELOPE_VERSION, "document": DOCUMENT_VERSION},
            counts={"items": self.release.item_count} | {k: v for k, v in counts.items() if isinstance(v, int)},
            breakdown={k: v for k, v in counts.items() if isinstance(v, dict)},
            frozen_at=frozen["frozen_at"],
            protocol=protocols[-1] if protocols else None,
            protocols=protocols,
            samples=frozen["draws"],
            figures=frozen["figures"],
            licence=frozen["settings"]["licence"],
            **({"validators": frozen["validators"]} if "validators" in frozen else {}),
            **summarise_coverage(frozen),
            **({"statistics": frozen[STATISTICS]} if STATISTICS in frozen else {}),
            **({"entries": self.entries.rows.summary()} if self.entries else {}),
            files=[
                {
                    "path": self._inside(file),
                    "sha256": file.sha256,
                    "bytes": file.bytes,
                    "records": file.records,
                    "format": self.formats.get(self._inside(file)),
                }
                for file in files
            ],
        )

    def _inside(self, file: WrittenFile) -> str:
        return file.path.removeprefix(f"{self.root}/")


_COLUMNS = (
    "pk", "dialogue__external_id", "dialogue__variant_group", "trail",
    "revision__toolset_revision_id", "revision__toolset_revision__content_hash", "revision__content_hash",
    "revision__content", "line",
)  # fmt: skip


def _require_whole(text: str, known: str, what: Message) -> None:
    if checksum(text) != known:
        raise Invalid(
            message(
                "The stored data of %(what)s doesn’t match its checksum. The database is damaged. Restore a backup.",
                what=what,
            )
        )


def _place(item: Item) -> tuple[str, str]:
    """Return the rank among its variants: by the language of the released revision, English first."""
    # The dialogue's current language may differ, and a rebuilt archive has to be the same.
    return _LANGUAGES.get(item.language, "2" + item.language), item.external_id


def _toolsets(wanted: set[int], known: dict[int, str]) -> dict[int, str]:
    """Return the contents of these toolset revisions; known ones are not read again."""
    found = {key: known[key] for key in wanted & known.keys()}
    if wanted - found.keys():
        found |= ToolsetRevision.objects.filter(pk__in=wanted - found.keys()).values_list("pk", "content")
    return found


def _line(record: dict[str, Any]) -> bytes:
    return dumps(record, option=orjson.OPT_APPEND_NEWLINE)
