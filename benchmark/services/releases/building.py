"""Build the archive of a frozen release: the same bytes whenever it is built from the same data.

Everything comes from what freezing stored: the items, their trails, the summary. It is streamed, so memory does not
grow with the release. It does not list what was left out, because that would reveal gold answers.
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
from benchmark.core.archives.manifest import ITEMS, MANIFEST, SUMS, VERSION, build_manifest, sum_lines
from benchmark.core.archives.table import TABLE
from benchmark.core.files.limits import Limits
from benchmark.core.formats import FORMATS
from benchmark.core.formats.interface import CANARY
from benchmark.core.formats.neutral import VERSION as ENVELOPE_VERSION
from benchmark.models import Release, ReleaseItem
from benchmark.services.releases.card import DRAWS, has_populations, write_card
from benchmark.services.releases.items import NOT_NATIVE, Item, line_of
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
    """Write the archive of a frozen release to ``path``, where it appears complete or not at all."""
    _Building(release, progress).run(path)


class _Building:
    def __init__(self, release: Release, progress: Progress) -> None:
        self.release = release
        self.progress = progress
        self.root = f"release-{release.version}"
        self.done = 0
        #: Keys of the items in the archive's order: variants of one dialogue together, English first.
        self.order = self._order()
        self.files_beside = 0
        #: Number of dialogues with fields that no native record of the release has.
        self.not_native = 0
        self._aside: IO[bytes]

    def run(self, path: Path) -> None:
        formats = {DIALOGUES: NEUTRAL}
        with TemporaryFile() as aside, DeterministicZip(path, level=self.release.frozen["compression"]) as archive:
            self._aside = aside
            native = None
            if self.release.native_format != NEUTRAL:
                name = native_file(self.release)
                formats[name] = self.release.native_format
                native = archive.begin(f"{self.root}/{name}")
            neutral, lines = archive.begin(f"{self.root}/{DIALOGUES}"), archive.begin(f"{self.root}/{ITEMS}")
            table = archive.begin(f"{self.root}/{TABLE}")
            for variants in self._variants():
                left: dict[str, list[str]] = {}
                if native is not None:
                    native.write(self._native([item for item, _ in variants], left))
                    self.not_native += len(left)
                for item, line in variants:
                    neutral.write(item.neutral(self.release.canary))
                    places = left.get(item.external_id)
                    line |= ({NOT_NATIVE: places} if places else {}) | {CANARY: self.release.canary}
                    lines.write(_line(line))
                    table.write(item.row(self.release.canary))
            if native is not None:
                archive.end(native)
                self._add_files(archive)
            archive.end(neutral)
            archive.end(lines)
            archive.end(table)
            if has_populations(self.release):
                with archive.member(f"{self.root}/{DRAWS}") as out:
                    for member in self._populations():
                        out.write(member)
            archive.add(f"{self.root}/{CARD}", write_card(self.release, [*formats], self.not_native).encode())
            sums = sum_lines((self._inside(file), file.sha256) for file in archive.files)
            archive.add(f"{self.root}/{SUMS}", sums)
            archive.add(f"{self.root}/{MANIFEST}", self._manifest(archive.files, formats))

    def _order(self) -> list[tuple[str, int]]:
        rows = ReleaseItem.objects.filter(release=self.release).values_list(
            "pk", "dialogue__external_id", "dialogue__variant_group"
        )
        keyed = sorted(
            (_numbered(group or external_id), group or external_id, external_id, pk)
            for pk, external_id, group in rows.iterator()
        )
        return [(group, pk) for _, group, _, pk in keyed]

    def _native(self, variants: Sequence[Item], left: dict[str, list[str]]) -> bytes:
        """Return the native records of one dialogue, as lines. ``left`` collects, by id, its fields that
        are in none.
        """
        writer = FORMATS[self.release.native_format]
        out = []
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
            out.append(f"{lay_out(record, line)}\n".encode() if line else _line(record))
        return b"".join(out)

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
            # Many items share a toolset: each is read once for each slice.
            toolsets = _toolsets({row[3] for row in rows.values()}, toolsets)
            for group, pk in part:
                external_id, variant_group, trail, toolset, toolset_hash, content_hash, content, laid = rows[pk]
                _require_whole(content, content_hash, message("dialogue %(dialogue)s", dialogue=external_id))
                _require_whole(
                    toolsets[toolset], toolset_hash, message("the tools of dialogue %(dialogue)s", dialogue=external_id)
                )
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
            frozen_at=frozen["frozen_at"],
            protocol=protocols[-1] if protocols else None,
            protocols=protocols,
            samples=frozen["draws"],
            figures=frozen["figures"],
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
