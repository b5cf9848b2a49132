"""``manage.py import_dialogues FILE --project SLUG --format NAME``"""

import os
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils.text import slugify

from annotator.models import Job, JobState, Project
from annotator.services.projects import create_project
from benchmark.formats import READERS
from benchmark.management.base import DONE, NOTHING_DONE, REFUSED, PipelineCommand, Stop
from benchmark.models import ImportBatch
from benchmark.services.import_report import read_report
from benchmark.services.import_runner import COUNTERS
from benchmark.services.import_trials import trials_of
from benchmark.services.imports import follow_up, start_import, unfinished_import
from benchmark.services.stored_files import sha256_of, written_whole
from reviews.services.protocols import adopt_preset

#: Refused records named on standard error; the report has all of them.
_NAMED = 20


class Command(PipelineCommand):
    help = "Import a file of candidate dialogues; no worker is needed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help=".jsonl, .jsonl.gz, .json or .zip")
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument("--format", required=True, choices=sorted(READERS), help="what the records are")
        parser.add_argument("--create-project", action="store_true", help="make the project where there is none")
        parser.add_argument("--dry-run", action="store_true", help="validate and report; no dialogue is written")
        parser.add_argument("--revise", action="store_true", help="known ids with other content become revisions")
        parser.add_argument("--report", type=Path, metavar="OUT.jsonl", help="write every finding to this file")

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"]
        if not file.is_file():
            raise Stop(f"{file} is no file; give the path of a file of records.")
        report: Path | None = options["report"]
        if report is not None:
            _require_writable(report.absolute())
        project = self._project(options["project"], create=options["create_project"], native=options["format"])
        batch = self._batch(project, file, options)
        job = self.run_here(batch.job, progress=_progress)
        batch.refresh_from_db()
        batch.job = job
        following = follow_up(batch)
        if following is not None:
            self.run_here(following, progress=_progress)
        self._try_validators(batch)
        if report is not None:
            self._write(report.absolute(), batch)
        self.tell({name: getattr(batch, name) for name in COUNTERS})
        code = self._explain(batch, job)
        if code != DONE:
            raise SystemExit(code)

    def _write(self, report: Path, batch: ImportBatch) -> None:
        """Without its report, an import stands all the same."""
        try:
            with written_whole(report) as out:
                for piece in read_report(batch):
                    out.write(piece)
        except OSError as error:
            self.say(f"The report could not be written to {report} ({error.strerror or error}).")

    def _try_validators(self, batch: ImportBatch) -> None:
        """A long trial goes on in another job; without a sandbox the import stands all the same."""
        while (trial := trials_of(batch)) is not None:
            done = self.run_here(trial, progress=_progress)
            if done.state != JobState.DONE:
                self.say(f"The validators were not tried. {done.error}")
                return

    def _project(self, slug: str, *, create: bool, native: str) -> Project:
        project = Project.objects.filter(slug=slug).first()
        if project is not None:
            return project
        if not create:
            raise Stop(f"There is no project “{slug}”. Add --create-project to make it.")
        if slugify(slug) != slug:
            raise Stop(f"“{slug}” cannot be a project's address: use small letters, digits and hyphens.")
        project = create_project(actor=None, name=slug, slug=slug)
        preset = "cctu" if native == "cctu" else "c3"
        adopt_preset(actor=None, project=project, preset=preset)
        self.say(f"Project {slug} is there, under the {preset} protocol, with nobody in it yet.")
        return project

    def _batch(self, project: Project, file: Path, options: dict[str, Any]) -> ImportBatch:
        """The import to run: one of the same file that was cut short, or a new one."""
        if not options["dry_run"]:
            unfinished = unfinished_import(
                project=project,
                sha256=sha256_of(file),
                native_format=options["format"],
                revise=options["revise"],
            )
            if unfinished is not None:
                self.say(f"An import of this file was cut short after {unfinished.read:,} records; going on with it.")
                return unfinished
        return start_import(
            actor=None,
            project=project,
            path=file.absolute(),
            filename=file.name,
            native_format=options["format"],
            dry_run=options["dry_run"],
            revise=options["revise"],
            wake_worker=False,
        )

    def _explain(self, batch: ImportBatch, job: Job) -> int:
        if job.state != JobState.DONE:
            self.say(job.error)
            return NOTHING_DONE
        verb = "would be" if batch.dry_run else "were"
        self.say(
            f"{batch.read:,} records read; {batch.created:,} dialogues {verb} created, {batch.revised:,} revised, "
            f"{batch.unchanged:,} unchanged, {batch.rejected:,} rejected; {batch.with_errors:,} have error findings."
        )
        if not batch.rejected:
            return DONE
        notes = batch.notes.filter(rejects=True).order_by("pk")
        for note in notes[:_NAMED]:
            place = f"{note.member}, line {note.line}" if note.member else f"line {note.line}"
            self.say(f"  {place}{f' ({note.external_id})' if note.external_id else ''}: {note.message}")
        if batch.rejected > _NAMED:
            self.say("  … and more; --report writes all of them to a file.")
        return REFUSED


def _require_writable(report: Path) -> None:
    """Before anything is imported. Raises Stop."""
    if report.is_dir():
        raise Stop(f"{report} is a folder; give the report a file's name in it.")
    if not report.parent.is_dir():
        raise Stop(f"The report cannot be written: there is no folder {report.parent}.")
    if not os.access(report.parent, os.W_OK):
        raise Stop(f"The report cannot be written: the folder {report.parent} is not yours to write to.")


def _progress(job: Job) -> str:
    return f"{job.progress_done:,} records"
