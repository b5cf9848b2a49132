"""Run an import: chunks of records, each in a fenced transaction, unpublished until the last one publishes all.

An import that ends early is rolled back; its report stays. If it is killed, it continues after the last committed
chunk; if it is killed while rolling back, it rolls back the rest and starts again.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, BinaryIO, cast

from django.db import IntegrityError

from annotator.core.text import counted_message, gettext_noop, message
from annotator.errors import DomainError, Invalid
from annotator.services.custom_fields import CHECK_JOB, refresh_fields
from annotator.services.database.bulk_insert import update_statistics
from annotator.services.dialogues.revisions import check_settings
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import Lost, Running, job_kind, start_job
from annotator.services.jobs.outages import DATABASE
from benchmark.core.files.reading import RawLine, RecordError, read_lines
from benchmark.core.formats import FORMATS
from benchmark.models import ImportBatch
from benchmark.services.imports.classification import Sorter
from benchmark.services.imports.discarding import WRITTEN_IN_BULK, discard_all, discard_slice
from benchmark.services.imports.near_duplicates import note_repeats
from benchmark.services.imports.preparing import Chunk, Prepared, PreparedRecord, Setup
from benchmark.services.imports.processes import Preparers
from benchmark.services.imports.publishing import join_variants, publish, require_all_written, to_join
from benchmark.services.imports.recognising import Heard, recognise, save_mapping
from benchmark.services.imports.reopening import require_reopening_stage
from benchmark.services.imports.report import Note, Report
from benchmark.services.imports.requests import open_upload
from benchmark.services.imports.storing import Storage
from benchmark.services.imports.trials import FINISHED_LATER, start_import_trials

#: A chunk ends at this many records or this many bytes of them, whichever comes first.
CHUNK_RECORDS = 250
CHUNK_BYTES = 4 << 20
#: If all of these first records look like another format, the wrong format was chosen.
FORMAT_PROBE_RECORDS = 20


@dataclass
class Counters:
    """The counts of the records so far; the same names as the columns of the batch."""

    read: int = 0
    created: int = 0
    revised: int = 0
    unchanged: int = 0
    rejected: int = 0
    with_errors: int = 0
    suggestions: int = 0


COUNTERS = tuple(one.name for one in fields(Counters))


@job_kind(
    "import",
    gettext_noop("Import"),
    discard=discard_all,
    queue="imports",
    untrusted=True,
    quiet=lambda job: bool(job.parameters["dry_run"]),
)
def run_import(running: Running) -> dict[str, Any]:
    """Run a job of the kind ``import``."""
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
        self.storage = Storage(self.batch, running.job)
        self.sorter = Sorter(self.batch, running.job, self.storage.toolsets.text)

    def run(self) -> dict[str, Any]:
        """Run to the end; return the job's result. Raises DomainError for a file that cannot be imported."""
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
        """Start from the beginning if there is nothing to continue from.

        A dry run's memory of records is lost with its process, and part of an import that was being rolled back is
        gone.
        """
        self._discard()
        with self.running.chunk() as chunk:
            self.batch.notes.all().delete()
            chunk.advance(done=0, note="", checkpoint={})
            ImportBatch.objects.filter(pk=self.batch.pk).update(**dict.fromkeys(COUNTERS, 0))

    def _read_all(self) -> None:
        if not self.batch.native_format:
            recognise(self.batch, self.running)
        # The protocol may have changed since the request.
        require_reopening_stage(self.batch.project, self.batch.reopen_at)
        setup = Setup(
            self.batch.native_format,
            check_settings(self.batch.project),
            self.batch.mapping,
            suggest_dependencies=self.batch.suggest_dependencies,
        )
        with open_upload(self.batch) as file, Preparers(setup) as preparers:
            for prepared in preparers.prepare(self._chunks(cast(BinaryIO, Heard(file, self.running)))):
                self._take(prepared)
        if not self.consumed:
            raise Invalid(message("The file has no records: every line is blank, or its list is empty."))

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
        """Write one chunk. Two imports may collide on an id or a toolset; the loser tries again."""
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
            if self.batch.dry_run:
                note_repeats(self.batch.project, records, outcome)
            else:
                self.storage.write(outcome.new, outcome.revised, outcome.suggested)
            counters = replace(
                self.counters,
                read=self.counters.read + sum(1 for one in prepared.records if one.line),
                created=self.counters.created + len(outcome.new),
                revised=self.counters.revised + len(outcome.revised),
                unchanged=self.counters.unchanged + outcome.unchanged,
                rejected=self.counters.rejected + outcome.rejected,
                with_errors=self.counters.with_errors + outcome.with_errors,
                suggestions=self.counters.suggestions + outcome.suggestions,
            )
            notes = self.report.add(outcome.notes, dialogues=outcome.checked)
            consumed = self.consumed + len(prepared.records)
            ImportBatch.objects.filter(pk=self.batch.pk).update(**asdict(counters))
            commit.advance(
                done=counters.read,
                total=_estimate(counters.read, prepared.position, self.batch.bytes),
                note=gettext_noop("Reading and checking"),
                checkpoint={"items": consumed, "counters": asdict(counters), "notes": notes},
            )
        self.counters, self.consumed = counters, consumed
        self.report.committed(notes)
        self.storage.toolsets.committed()

    def _refuse_wrong_format(self, records: list[PreparedRecord]) -> None:
        first = records[:FORMAT_PROBE_RECORDS]
        chosen = self.batch.native_format
        guesses = [record.guess for record in first if record.problems]
        if not first or len(guesses) < len(first):
            return
        likely = max(set(guesses) - {None, chosen}, key=guesses.count, default=None)
        if likely is not None and guesses.count(likely) * 2 > len(guesses):
            raise Invalid(
                counted_message(
                    "The only record can’t be read as %(chosen)s. The file looks like %(likely)s: import it again "
                    "with the format %(likely)s.",
                    "None of the first %(count)s records can be read as %(chosen)s. The file looks like %(likely)s: "
                    "import it again with the format %(likely)s.",
                    len(first),
                    chosen=chosen,
                    likely=likely,
                )
            )

    def _publish(self) -> None:
        """Publish everything in one transaction, or nothing."""
        update_statistics(*WRITTEN_IN_BULK)
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
                    if refresh_fields(self.batch.project):
                        # Its records were checked with the fields from before, when they could not be seen yet.
                        start_job(actor=self.batch.requester, project=self.batch.project, kind=CHECK_JOB, parameters={})
                    if FORMATS[self.batch.native_format].kinds & FINISHED_LATER:
                        start_import_trials(
                            batch=self.batch, wake_worker=self.running.job.parameters.get("wake_worker", True)
                        )
            key = self.running.job.parameters.get("remember")
            if key and counters.rejected < counters.read:
                save_mapping(self.batch, key)
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
        """Run the steps after an import; if a worker is killed here, the next one does the rest."""
        for keys in to_join(self.batch, self.running.job):
            with self.running.chunk(even_if_cancelled=True):
                join_variants(self.batch, self.running.job, keys)

    def _take_back(self, error: Exception) -> None:
        """Discard what was written, in limited transactions of this attempt. Raises Lost if another attempt
        took over.
        """
        notes = []
        if isinstance(error, DomainError):
            line = error.details.get("line", 0)
            notes = [Note(line, "", "", "", "import.file", "error", error.sentence, rejects=True)]
        with self.running.chunk(even_if_cancelled=True) as commit:
            counts = self.report.add(notes)
            # From here on, the stored position and counters are no longer valid.
            ImportBatch.objects.filter(pk=self.batch.pk).update(created=0, revised=0, with_errors=0, suggestions=0)
            commit.advance(
                note=gettext_noop("Rolling back"), checkpoint={"taking_back": True, "notes": counts}
            )  # fmt: skip
        self._discard()

    def _discard(self) -> None:
        update_statistics(*WRITTEN_IN_BULK)
        more = True
        while more:
            with self.running.chunk(even_if_cancelled=True):
                more = discard_slice(self.running.job)


def _note_of(error: RecordError) -> Note:
    """Return the report's note on a line, or a file, that is not a record.

    Raises Invalid for an error after which the file cannot be read any further.
    """
    if error.fatal:
        raise Invalid(f"{error.member}: {error.message}" if error.member else error.message, line=error.line)
    if error.line:
        return Note(error.line, error.member, "", error.pointer, "import.line", "error", error.message, rejects=True)
    return Note(0, error.member, "", "", "import.file", "info", error.message)


def _estimate(read: int, position: int, size: int) -> int:
    """Estimate the number of records in the file from the position of those read so far."""
    return max(read, round(read * size / position)) if position else read
