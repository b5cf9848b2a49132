"""Building the archive of a frozen release: the same bytes whenever it is built from the same data.

Everything comes from what freezing stored: the items, their trails, what was left out, the summary. Streamed, so that
memory does not grow with the release.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import orjson

from annotator.errors import Invalid
from benchmark.formats import WRITERS
from benchmark.formats.archive import DeterministicZip, WrittenFile
from benchmark.formats.interface import CANARY
from benchmark.formats.limits import Limits
from benchmark.formats.manifest import ITEMS, MANIFEST, VERSION, build_manifest
from benchmark.formats.neutral import VERSION as ENVELOPE_VERSION
from benchmark.models import LeftOut, Release, ReleaseItem
from benchmark.services.release_card import write_card
from benchmark.services.release_items import Item

NEUTRAL = "neutral"
DIALOGUES = "dialogues.jsonl"
LEFT_OUT = "left_out.jsonl"
CARD = "README.md"
SUMS = "SHA256SUMS"
#: Version of the dialogue document's schema.
DOCUMENT_VERSION = 1

#: As many as readers take.
MAX_FILES_BESIDE = Limits().beside
_SLICE = 200
_LANGUAGES = {"en": "0", "zh": "1"}

#: Called with the number of dialogues written so far; may raise to stop.
Progress = Callable[[int], None]


def passes(release: Release) -> int:
    """How often building walks over all dialogues."""
    return 1 if release.native_format == NEUTRAL else 2


def native_file(release: Release) -> str:
    """The name of the file of native records."""
    return WRITERS[release.native_format].file_name or f"{release.native_format}.jsonl"


def build_archive(release: Release, path: Path, *, progress: Progress = lambda done: None) -> None:
    """Write the archive of a frozen release to ``path``, where it appears whole or not at all."""
    _Building(release, progress).run(path)


class _Building:
    def __init__(self, release: Release, progress: Progress) -> None:
        self.release = release
        self.progress = progress
        self.root = f"release-{release.version}"
        self.done = 0
        #: Keys of the items in the archive's order: variants of one dialogue side by side, English first.
        self.order = self._order()
        self.files_beside = 0
        self._aside: IO[bytes]

    def run(self, path: Path) -> None:
        formats = {DIALOGUES: NEUTRAL}
        with TemporaryFile() as aside, DeterministicZip(path) as archive:
            self._aside = aside
            if self.release.native_format != NEUTRAL:
                name = native_file(self.release)
                formats[name] = self.release.native_format
                self._lines(archive, name, self._native())
                self._add_files(archive)
            self._lines(archive, DIALOGUES, self._neutral())
            self._lines(archive, ITEMS, self._items())
            self._lines(archive, LEFT_OUT, self._left_out())
            archive.add(f"{self.root}/{CARD}", write_card(self.release, [*formats]).encode())
            sums = "".join(f"{file.sha256}  {self._inside(file)}\n" for file in archive.files)
            archive.add(f"{self.root}/{SUMS}", sums.encode())
            archive.add(f"{self.root}/{MANIFEST}", self._manifest(archive.files, formats))

    def _order(self) -> list[tuple[str, int]]:
        rows = ReleaseItem.objects.filter(release=self.release).values_list(
            "pk", "dialogue__external_id", "dialogue__variant_group", "dialogue__language"
        )
        keyed = sorted(
            (group or external_id, _LANGUAGES.get(language, "2" + language), external_id, pk)
            for pk, external_id, group, language in rows.iterator()
        )
        return [(group, pk) for group, _, _, pk in keyed]

    def _lines(self, archive: DeterministicZip, name: str, records: Iterator[dict[str, Any]]) -> None:
        with archive.member(f"{self.root}/{name}") as out:
            for record in records:
                out.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))

    def _native(self) -> Iterator[dict[str, Any]]:
        writer = WRITERS[self.release.native_format]
        for variants in self._variants():
            for items in self._writable(variants):
                record = writer.write(items, full=True, canary=self.release.canary)
                self._keep_files(writer.take_files(record))
                yield record

    def _keep_files(self, files: dict[str, bytes]) -> None:
        """Put aside what stands beside a record: while the records are written no other member can be."""
        for path, content in files.items():
            self.files_beside += 1
            if self.files_beside > MAX_FILES_BESIDE:
                raise Invalid(
                    f"The records need more than {MAX_FILES_BESIDE:,} files beside them, and no archive with so many "
                    "would be read again. Release fewer dialogues at a time, or choose the format neutral."
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

    def _neutral(self) -> Iterator[dict[str, Any]]:
        writer = WRITERS[NEUTRAL]
        for variants in self._variants():
            for item in variants:
                yield writer.write([item], canary=self.release.canary)

    def _items(self) -> Iterator[dict[str, Any]]:
        for rows in self._rows(content=False):
            for row in rows:
                yield {
                    "id": row.dialogue.external_id,
                    "language": row.dialogue.language,
                    "variant_group": row.dialogue.variant_group,
                    "revision_sha256": row.revision.content_hash,
                    "toolset_sha256": row.revision.toolset_revision.content_hash,
                    **row.trail,
                    CANARY: self.release.canary,
                }

    def _left_out(self) -> Iterator[dict[str, Any]]:
        rows = LeftOut.objects.filter(release=self.release).order_by("dialogue__external_id")
        for external_id, reason in rows.values_list("dialogue__external_id", "reason").iterator():
            yield {"left_out": external_id, "reason": reason, CANARY: self.release.canary}

    def _variants(self) -> Iterator[list[Item]]:
        """The items of each dialogue in all its languages."""
        flat = (
            (row.dialogue.variant_group or row.dialogue.external_id, Item.of(row.dialogue, row.revision))
            for rows in self._rows(content=True)
            for row in rows
        )
        for _, group in groupby(flat, key=lambda pair: pair[0]):
            items = [item for _, item in group]
            yield items
            self.done += len(items)
            self.progress(self.done)

    def _rows(self, *, content: bool) -> Iterator[list[ReleaseItem]]:
        keys = [pk for _, pk in self.order]
        rows = ReleaseItem.objects.select_related("dialogue", "revision__toolset_revision").defer(
            "dialogue__search_text"
        )
        if not content:
            rows = rows.defer("dialogue__search_text", "revision__content", "revision__toolset_revision__content")
        for start in range(0, len(keys), _SLICE):
            part = keys[start : start + _SLICE]
            found = rows.in_bulk(part)
            yield [found[pk] for pk in part]

    def _writable(self, variants: Sequence[Item]) -> Iterator[Sequence[Item]]:
        """One record for all languages; one each where the format holds but one, or two items are of one language."""
        joins = WRITERS[self.release.native_format].joins_languages
        if joins and len({item.language for item in variants}) == len(variants):
            yield variants
        else:
            yield from ([item] for item in variants)

    def _manifest(self, files: Sequence[WrittenFile], formats: dict[str, str]) -> bytes:
        frozen = self.release.frozen
        counts = frozen["counts"]
        protocols = frozen["protocols"]
        return build_manifest(
            version=self.release.version,
            project=frozen["project"]["slug"],
            format=self.release.native_format,
            canary=self.release.canary,
            schema_versions={"release": VERSION, "envelope": ENVELOPE_VERSION, "document": DOCUMENT_VERSION},
            counts={"items": self.release.item_count} | {k: v for k, v in counts.items() if isinstance(v, int)},
            breakdown={k: v for k, v in counts.items() if isinstance(v, dict)},
            left_out=frozen["left_out"],
            frozen_at=frozen["frozen_at"],
            protocol=protocols[-1] if protocols else None,
            protocols=protocols,
            samples=frozen["draws"],
            # Releases frozen before there were figures have none, and are built again as they were.
            **({"figures": frozen["figures"]} if "figures" in frozen else {}),
            **({"validators": frozen["validators"]} if "validators" in frozen else {}),
            files=[
                {
                    "path": self._inside(file),
                    "sha256": file.sha256,
                    "bytes": file.bytes,
                    "records": file.records,
                    "format": formats.get(self._inside(file)),
                }
                for file in files
            ],
        )

    def _inside(self, file: WrittenFile) -> str:
        return file.path.removeprefix(f"{self.root}/")
