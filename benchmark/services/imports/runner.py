"""Running an import: chunks of records, each a fenced transaction, unpublished until the last of them flips all.

Whatever ends an import early takes back all it has written; its report stays. Killed, it goes on after the last chunk
that was committed; killed while it was taking back, it takes back the rest and begins anew.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from time import monotonic
from typing import Any, BinaryIO, cast

from django.db import IntegrityError

from annotator.errors import DomainError, Invalid
from annotator.services.dialogues.revisions import check_settings
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import Lost, Running, job_kind, start_job
from annotator.services.jobs.outages import DATABASE
from benchmark.core.formats import WRITERS
from benchmark.core.formats.files import RawLine, RecordError, read_lines
from benchmark.models import ImportBatch
from benchmark.services.imports.classification import Sorter
from benchmark.services.imports.discarding import discard_all, discard_slice
from benchmark.services.imports.preparing import Chunk, Prepared, PreparedRecord, Setup
from benchmark.services.imports.processes import Preparers
from benchmark.services.imports.publishing import join_variants, publish, require_all_written, to_join
from benchmark.services.imports.report import Note, Report
from benchmark.services.imports.requests import open_upload
from benchmark.services.imports.storing import Storage
from benchmark.services.imports.trials import start_import_trials

#: A chunk ends at whichever comes first: this many records, or this many bytes of them.
CHUNK_RECORDS = 250
CHUNK_BYTES = 4 << 20
#: Seconds of reading after which the worker says that it lives, though there was no record to write.
BEAT = 5.0
#: When these first records all look like another format, that is the mistake.
TELLING_RECORDS = 20


@dataclass
class Counters:
    """What has become of the records so far; the same names as the columns of the batch."""

    read: int = 0
    created: int = 0
    revised: int = 0
    unchanged: int = 0
    rejected: int = 0
    with_errors: int = 0


COUNTERS = tuple(one.name for one in fields(Counters))


@job_kind("import", "Import", discard=discard_all, untrusted=True, quiet=lambda job: bool(job.parameters["dry_run"]))
def run_import(running: Running) -> dict[str, Any]:
    """Runner of the job kind ``import``."""
    return ImportRun(running).run()


class ImportRun:
    """One attempt at an import."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.batch = ImportBatch.objects.select_related("project", "job", "requester").get(job=running.job)
        if running.checkpoint.get("taking_back") or (self.batch.dry_run and running.checkpoint):
            self._start_over()
        self.counters = Counters(**running.checkpoint.get("counters", {}))
        self.consumed: int = running.checkpoint.get("items", 0)
        self.report = Report(self.batch, running.checkpoint.get("notes", {}))
        self.sorter = Sorter(self.batch, running.job)
        self.storage = Storage(self.batch, running.job)

    def run(self) -> dict[str, Any]:
        """To the end; returns the job's result. Raises DomainError for a file that cannot be imported."""
        if not self.running.checkpoint.get("published"):
            try:
                self._read_all()
                self._publish()
            except (Lost, *DATABASE):
                raise
            except Exception as error:
                self._take_back(error)
                raise
            finally:
                self.sorter.close()
        if not self.batch.dry_run:
            self._join_variants()
        return {**asdict(self.counters), "notes": self.report.counts}

    def _start_over(self) -> None:
        """Begin anew where there is nothing to go on from.

        What a dry run has met is gone with the process that met it; of what was being taken back a part is gone.
        """
        self._discard()
        with self.running.chunk() as chunk:
            self.batch.notes.all().delete()
            chunk.advance(done=0, note="", checkpoint={})
            ImportBatch.objects.filter(pk=self.batch.pk).update(**dict.fromkeys(COUNTERS, 0))

    def _read_all(self) -> None:
        setup = Setup(self.batch.native_format, check_settings(self.batch.project))
        with open_upload(self.batch) as file, Preparers(setup) as preparers:
            for prepared in preparers.prepare(self._chunks(cast(BinaryIO, _Heard(file, self.running)))):
                self._take(prepared)
        if not self.consumed:
            raise Invalid("The file holds no record: every line of it is blank, or its list is empty.")

    def _chunks(self, file: BinaryIO) -> Iterator[Chunk]:
        lines = read_lines(file, self.batch.filename, skip=self.consumed, format_name=self.batch.native_format)
        chunk, size = Chunk(), 0
        for item in lines:
            chunk.items.append(item)
            size += item.bytes if isinstance(item, RawLine) else 0
            if len(chunk.items) >= CHUNK_RECORDS or size >= CHUNK_BYTES:
                chunk.position = file.tell()
                yield chunk
                chunk, size = Chunk(), 0
        if chunk.items:
            chunk.position = file.tell()
            yield chunk

    def _take(self, prepared: Prepared) -> None:
        """Write one chunk. Two imports may meet at an id or a toolset: whoever loses looks again."""
        records = [one if isinstance(one, PreparedRecord) else _note_of(one) for one in prepared.records]
        if self.consumed == 0:
            self._refuse_wrong_format([record for record in records if isinstance(record, PreparedRecord)])
        self.storage.toolsets.learn(prepared.toolsets)
        for last in (False, False, True):
            try:
                return self._write(prepared, records)
            except IntegrityError:
                self.storage.toolsets.forget_keys()
                if last:
                    raise

    def _write(self, prepared: Prepared, records: list[PreparedRecord | Note]) -> None:
        with self.running.chunk() as commit:
            outcome = self.sorter.sort(records)
            if not self.batch.dry_run:
                self.storage.write(outcome.new, outcome.revised)
            counters = replace(
                self.counters,
                read=self.counters.read + sum(1 for one in prepared.records if one.line),
                created=self.counters.created + len(outcome.new),
                revised=self.counters.revised + len(outcome.revised),
                unchanged=self.counters.unchanged + outcome.unchanged,
                rejected=self.counters.rejected + outcome.rejected,
                with_errors=self.counters.with_errors + outcome.with_errors,
            )
            notes = self.report.add(outcome.notes)
            consumed = self.consumed + len(prepared.records)
            ImportBatch.objects.filter(pk=self.batch.pk).update(**asdict(counters))
            commit.advance(
                done=counters.read,
                total=_estimate(counters.read, prepared.position, self.batch.bytes),
                note="Reading and checking",
                checkpoint={"items": consumed, "counters": asdict(counters), "notes": notes},
            )
        self.counters, self.consumed = counters, consumed
        self.report.committed(notes)
        self.storage.toolsets.committed()

    def _refuse_wrong_format(self, records: list[PreparedRecord]) -> None:
        first = records[:TELLING_RECORDS]
        chosen = self.batch.native_format
        guesses = [record.guess for record in first if record.problems]
        if not first or len(guesses) < len(first):
            return
        likely = max(set(guesses) - {None, chosen}, key=guesses.count, default=None)
        if likely is not None and guesses.count(likely) * 2 > len(guesses):
            which = "The only record" if len(first) == 1 else f"None of the first {len(first)} records"
            raise Invalid(
                f"{which} can{'not' if len(first) == 1 else ''} be read as {chosen}, and the file looks like {likely}. "
                f"Import it again with the format {likely}."
            )

    def _publish(self) -> None:
        """The last step: one transaction in which everything becomes visible, or nothing does."""
        with self.running.chunk() as commit:
            counters, late = self.counters, []
            if not self.batch.dry_run:
                require_all_written(job=self.running.job, created=counters.created, revised=counters.revised)
                late = publish(batch=self.batch, job=self.running.job)
                counters = replace(
                    counters, revised=counters.revised - len(late), rejected=counters.rejected + len(late)
                )
                append_event(
                    actor=self.batch.requester,
                    project=self.batch.project,
                    kind="import.published",
                    after={"import": self.batch.public_id, **asdict(counters)},
                )
                if counters.created or counters.revised:
                    start_job(
                        actor=self.batch.requester,
                        project=self.batch.project,
                        kind="near_duplicates",
                        parameters={"import": self.batch.public_id},
                        wake_worker=self.running.job.parameters.get("wake_worker", True),
                    )
                    if "constrained" in WRITERS[self.batch.native_format].kinds:
                        start_import_trials(
                            batch=self.batch, wake_worker=self.running.job.parameters.get("wake_worker", True)
                        )
            notes = self.report.add(late)
            ImportBatch.objects.filter(pk=self.batch.pk).update(**asdict(counters))
            commit.advance(
                done=counters.read,
                total=counters.read,
                note="",
                checkpoint={
                    "items": self.consumed, "counters": asdict(counters), "notes": notes, "published": True,
                },
            )  # fmt: skip
        self.counters = counters
        self.report.committed(notes)

    def _join_variants(self) -> None:
        """After the end, which nothing undoes any more; a worker that is killed here leaves the rest to the next."""
        for keys in to_join(self.batch, self.running.job):
            with self.running.chunk(even_if_cancelled=True):
                join_variants(self.batch, self.running.job, keys)

    def _take_back(self, error: Exception) -> None:
        """Discard what was written, in bounded transactions of this attempt; raises Lost when another one took over."""
        notes = []
        if isinstance(error, DomainError):
            line = error.details.get("line", 0)
            notes = [Note(line, "", "", "", "import.file", "error", error.sentence, rejects=True)]
        with self.running.chunk(even_if_cancelled=True) as commit:
            counts = self.report.add(notes)
            # From here on neither the place in the file nor the counters are true of what is stored.
            ImportBatch.objects.filter(pk=self.batch.pk).update(created=0, revised=0, with_errors=0)
            commit.advance(
                note="Taking back what was written", checkpoint={"taking_back": True, "notes": counts}
            )  # fmt: skip
        self._discard()

    def _discard(self) -> None:
        more = True
        while more:
            with self.running.chunk(even_if_cancelled=True):
                more = discard_slice(self.running.job)


class _Heard:
    """A file whose reader is heard of: gigabytes of blank lines give nothing to write, and a worker that is silent for
    so long would be taken for dead, by one after the other of those that others wait for.
    """

    def __init__(self, file: BinaryIO, running: Running) -> None:
        self._file, self._running = file, running
        self._beaten = monotonic()

    def read(self, size: int = -1, /) -> bytes:
        """Raises Lost or Cancelled as well."""
        if monotonic() - self._beaten > BEAT:
            self._running.beat()
            self._beaten = monotonic()
        return self._file.read(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _note_of(error: RecordError) -> Note:
    """What the report says of a line, or a file, that is no record.

    Raises Invalid for an error after which the file cannot be read any further.
    """
    if error.fatal:
        raise Invalid(f"{error.member}: {error.message}" if error.member else error.message, line=error.line)
    if error.line:
        return Note(error.line, error.member, "", error.pointer, "import.line", "error", error.message, rejects=True)
    return Note(0, error.member, "", "", "import.file", "info", error.message)


def _estimate(read: int, position: int, size: int) -> int:
    """About how many records the file holds, from how far into it the ones read so far reach."""
    return max(read, round(read * size / position)) if position else read
