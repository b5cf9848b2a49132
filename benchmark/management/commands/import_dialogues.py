"""``manage.py import_dialogues FILE|FOLDER --project SLUG --format NAME``"""

import os
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from annotator.core.wording import counted
from annotator.management.base import require_different_files
from annotator.models import Job, JobState, Project
from benchmark.core.files.extensions import SHOWN
from benchmark.core.formats import FORMATS
from benchmark.management.base import DONE, NOTHING_DONE, REFUSED, PipelineCommand, Stop
from benchmark.management.new_projects import let_in, new_project
from benchmark.management.recognising import detect_in, name_of, read_pairs
from benchmark.models import AtConflicts, ImportBatch
from benchmark.services.imports.folders import FolderArchive
from benchmark.services.imports.report import REOPENED, read_report, report_path
from benchmark.services.imports.requests import follow_up, start_import, unfinished_import
from benchmark.services.imports.runner import COUNTERS
from benchmark.services.imports.trials import trials_of
from benchmark.services.stored_files import full_path, sha256_of, sha256_of_source, written_whole

#: Rejected records listed on standard error; the report has all of them.
_NAMED = 20


class Command(PipelineCommand):
    help = (
        "Import a file of candidate dialogues, or the files of a folder and the folders in it; needs no worker. "
        "Hidden files and symbolic links are left out."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help=f"{SHOWN}, or a folder")
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument(
            "--format", choices=sorted(FORMATS), help="the format of the records; without it, recognised"
        )
        parser.add_argument(
            "--map", action="append", default=[], metavar="ROLE=FIELD", dest="pairs",
            help="with --format: a field with another name than in the format, for example messages=conversation",
        )  # fmt: skip
        parser.add_argument(
            "--create-project",
            action="store_true",
            help="create the project if it does not exist; a dry run does not keep it",
        )
        parser.add_argument(
            "--owner",
            metavar="NAME",
            help=(
                "administrator of the new project, or of one without administrators; default: the "
                "only person who can administer it"
            ),
        )
        parser.add_argument("--dry-run", action="store_true", help="validate and report, but save no dialogue")
        parser.add_argument(
            "--revise", action="store_true", help="merge records with known ids and new content into their dialogues"
        )
        parser.add_argument(
            "--reopen",
            action="store_true",
            help=(
                "with --revise: also change reviewed and verified dialogues, if a dry run of this file has listed them"
            ),
        )
        parser.add_argument(
            "--reopen-at",
            metavar="STAGE",
            default="",
            help="with --revise: the key of the stage in which their review starts again; default: the first stage",
        )
        parser.add_argument(
            "--at-conflicts",
            choices=AtConflicts.values,
            default="",
            help=(
                "with --revise: keep what people entered (mine), or take what the record has (theirs), where both "
                "changed the same place; otherwise such a dialogue is not changed"
            ),
        )
        parser.add_argument(
            "--suggest-dependencies",
            action="store_true",
            help="store the dependencies of the records as suggestions, for people to accept or refuse",
        )
        parser.add_argument("--report", type=Path, metavar="OUT.jsonl", help="write every finding to this file")

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"]
        if not file.is_file() and not file.is_dir():
            raise Stop(f"{file} is not a file or folder. Give the path of a file of records, or of a folder of them.")
        report: Path | None = options["report"]
        require_different_files(file, report)
        if report is not None:
            _require_writable(report.absolute())
        slug = options["project"]
        project = Project.objects.filter(slug=slug).first()
        if project is not None:
            if options["owner"] is not None and not options["dry_run"]:
                said = let_in(project=project, owner=options["owner"])
                if said:
                    self.say(said)
            self._import(project, file, report, options)
        elif not options["create_project"]:
            raise Stop(f"There is no project “{slug}”. Add --create-project to create it.")
        elif options["dry_run"]:
            self._try_in_a_new_project(file, report, options)
        else:
            project, said = self._new_project(options)
            self.say(said)
            self._import(project, file, report, options)

    def _try_in_a_new_project(self, file: Path, report: Path | None, options: dict[str, Any]) -> None:
        """Read the file as if into a new project of this name, and roll everything back."""
        stored: list[Path] = []
        try:
            with transaction.atomic():
                project = self._new_project(options)[0]
                try:
                    self._import(project, file, report, options)
                finally:
                    for batch in ImportBatch.objects.filter(project=project):
                        stored += [full_path(batch.file), report_path(batch)]
                    transaction.set_rollback(True)
        finally:
            for path in stored:
                path.unlink(missing_ok=True)

    def _import(self, project: Project, file: Path, report: Path | None, options: dict[str, Any]) -> None:
        batch = self._batch(project, file, options)
        job = self.run_here(batch.job, progress=_progress)
        batch.refresh_from_db()
        batch.job = job
        if options["format"] is None and batch.native_format:
            self.say(f"Recognised as {batch.native_format}.")
        following = follow_up(batch)
        if following is not None:
            self.run_here(following, progress=_progress)
        self._try_validators(batch)
        if report is not None:
            self._write(report.absolute(), batch)
        # Suggestions are told only if there are some, since other programs know the other counters.
        counters = {name: getattr(batch, name) for name in COUNTERS}
        self.tell({name: count for name, count in counters.items() if name != "suggestions" or count})
        code = self._explain(batch, job)
        if code != DONE:
            raise SystemExit(code)

    def _write(self, report: Path, batch: ImportBatch) -> None:
        """Write the report to a file. The import is valid without it."""
        try:
            with written_whole(report) as out:
                for piece in read_report(batch):
                    out.write(piece)
        except OSError as error:
            self.say(f"Can't write the report to {report} ({error.strerror or error}).")

    def _try_validators(self, batch: ImportBatch) -> None:
        """Run the trials of validators. A long trial continues in another job; without a sandbox the import is still
        valid.
        """
        while (trial := trials_of(batch)) is not None:
            done = self.run_here(trial, progress=_progress)
            if done.state != JobState.DONE:
                self.say(f"The validators were not tried. {done.error}")
                return

    def _new_project(self, options: dict[str, Any]) -> tuple[Project, str]:
        # Its protocol depends on the format.
        name = options["format"] or detect_in(options["file"]).format
        return new_project(slug=options["project"], native_format=name, owner=options["owner"])

    def _batch(self, project: Project, file: Path, options: dict[str, Any]) -> ImportBatch:
        """Return the import to run: an unfinished one of the same file, or a new one."""
        mapping = read_pairs(options["pairs"], options["format"])
        names = ("dry_run", "revise", "reopen", "reopen_at", "at_conflicts", "suggest_dependencies")
        chosen = {name: options[name] for name in names}
        if not options["dry_run"]:
            unfinished = unfinished_import(
                project=project,
                sha256=sha256_of_source(FolderArchive(file)) if file.is_dir() else sha256_of(file),
                preview=False,
                job__parameters__format=options["format"] or "",
                **({"mapping": mapping} if options["format"] else {}),
                **chosen,
            )
            if unfinished is not None:
                read = counted(unfinished.read, "record")
                self.say(f"An import of this file is unfinished ({read} so far); continuing.")
                return unfinished
        return start_import(
            actor=None,
            project=project,
            path=file.absolute(),
            filename=name_of(file),
            native_format=options["format"] or "",
            mapping=mapping,
            wake_worker=False,
            **chosen,
        )

    def _explain(self, batch: ImportBatch, job: Job) -> int:
        if job.state != JobState.DONE:
            self.say(job.error)
            return NOTHING_DONE
        verb = "would be" if batch.dry_run else "was" if batch.created == 1 else "were"
        self.say(
            f"{counted(batch.read, 'record')} read: {counted(batch.created, 'dialogue')} {verb} created, "
            f"{batch.revised:,} revised, {batch.unchanged:,} unchanged, {batch.rejected:,} rejected; "
            f"with error findings: {batch.with_errors:,}."
            + (f" Suggestions: {batch.suggestions:,}." if batch.suggestions else "")
        )
        reopened = batch.notes.filter(check_id=REOPENED).order_by("pk")
        for note in reopened[:_NAMED]:
            self.say(f"  {note.message}")
        if reopened.count() > _NAMED:
            self.say("  … and more. Use --report to write all of them to a file.")
        if not batch.rejected:
            return DONE
        notes = batch.notes.filter(rejects=True).order_by("pk")
        for note in notes[:_NAMED]:
            place = f"{note.member}, line {note.line}" if note.member else f"line {note.line}"
            self.say(f"  {place}{f' ({note.external_id})' if note.external_id else ''}: {note.message}")
        if batch.rejected > _NAMED:
            self.say("  … and more. Use --report to write all of them to a file.")
        return REFUSED


def _require_writable(report: Path) -> None:
    """Check that the report can be written, before importing anything. Raises Stop."""
    if report.is_dir():
        raise Stop(f"{report} is a folder. Give the report a file name in it.")
    if not report.parent.is_dir():
        raise Stop(f"Can't write the report: the folder {report.parent} does not exist.")
    if not os.access(report.parent, os.W_OK):
        raise Stop(f"Can't write the report: no permission to write to the folder {report.parent}.")


def _progress(job: Job) -> str:
    return counted(job.progress_done, "record")
