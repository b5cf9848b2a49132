"""``manage.py make_constrained_cases [QUERIES] --seed S [--project SLUG]``"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from annotator.core.case_construction import DRAWN, CannotConstruct
from annotator.core.schema import SchemaProblem
from annotator.models import Job, JobState, Project
from benchmark.core.constructing import Options, make
from benchmark.core.files.reading import RawLine, RecordError, parse_line, read_lines
from benchmark.core.formats import FORMATS, ReadDialogue
from benchmark.management.base import REFUSED, PipelineCommand, Stop
from benchmark.models import ImportBatch
from benchmark.services.constructing.requests import start_constructing
from benchmark.services.constructing.runner import Construction, store_cases
from benchmark.services.constructing.sources import Request, existing_cases
from benchmark.services.imports.requests import follow_up
from benchmark.services.imports.trials import trials_of


class Command(PipelineCommand):
    help = (
        "Make constrained cases from queries with a reference trajectory: those of a file, or the cases of a project. "
        "With a project, the cases are imported; otherwise they are written, one per line."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("queries", nargs="?", type=Path, metavar="QUERIES", help="cases in neutral or cctu format")
        parser.add_argument("--format", choices=["neutral", "cctu"], default="neutral", help="of the file")
        parser.add_argument("--project", metavar="SLUG", help="where the cases are imported")
        parser.add_argument("--seed", required=True, type=int, metavar="S", help="the same seed gives the same cases")
        parser.add_argument("--probability", type=float, default=0.5, metavar="P", help="of each category")
        parser.add_argument(
            "--without", action="append", default=[], choices=list(DRAWN), metavar="CATEGORY",
            help="leave out a category; may be repeated",
        )  # fmt: skip
        parser.add_argument(
            "--source", action="append", default=[], metavar="ID", dest="sources",
            help="without a file: the id of a source case; may be repeated; default: all",
        )  # fmt: skip
        parser.add_argument("--unverified", action="store_true", help="without a file: also use cases in review")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            chosen = Options(options["seed"], options["probability"], tuple(options["without"]))
        except CannotConstruct as problem:
            raise Stop(str(problem)) from None
        project = None
        if options["project"] is not None:
            project = Project.objects.filter(slug=options["project"]).first()
            if project is None:
                raise Stop(f"There is no project “{options['project']}”.")
        if options["queries"] is not None:
            self._of_file(options["queries"], options["format"], project, chosen)
        elif project is not None:
            self._of_project(project, Request(chosen, tuple(options["sources"]), not options["unverified"]))
        else:
            raise Stop("Give a file of queries, or a project with --project.")

    def _of_file(self, path: Path, native_format: str, project: Project | None, options: Options) -> None:
        found = Construction(options)
        for read in self._read(path, native_format, found):
            if project is not None and existing_cases(project, [options.name_of(read.external_id)]):
                found.there += 1
                continue
            try:
                made = make(read.external_id, read.document, read.tools, options)
            except (CannotConstruct, SchemaProblem) as problem:
                found.refused.append((read.external_id, str(problem)))
                continue
            found.made.append(made)
            if project is None:
                self.stdout.write(made.line.decode().rstrip("\n"))
        for source, reason in found.refused:
            self.say(f"{source}: {reason}")
        if project is not None and found.made:
            with transaction.atomic():
                batch = store_cases(actor=None, project=project, found=found, wake_worker=False)
            self._import(batch)
        if project is not None:
            self.tell(found.counts())
        elif found.made:
            self.say(f"Made: {len(found.made):,}. Not made: {len(found.refused):,}.")
        if found.refused:
            raise SystemExit(REFUSED)

    def _read(self, path: Path, native_format: str, found: Construction) -> Iterator[ReadDialogue]:
        try:
            file = path.open("rb")
        except OSError as error:
            raise Stop(f"Can’t read {path}: {error.strerror or error}.") from None
        with file:
            for line in read_lines(file, path.name, format_name=native_format):
                item = parse_line(line) if isinstance(line, RawLine) else line
                if isinstance(item, RecordError):
                    found.refused.append((f"Line {item.line}", item.message))
                    if item.fatal:
                        return
                    continue
                try:
                    yield from FORMATS[native_format].read(item.data)
                except SchemaProblem as problem:
                    found.refused.append((f"Line {item.line}", str(problem)))

    def _of_project(self, project: Project, request: Request) -> None:
        job = start_constructing(actor=None, project=project, request=request, wake_worker=False)
        job = self.run_here(job, progress=_progress)
        if job.state != JobState.DONE:
            raise Stop(job.error)
        for source, reason in job.result["reasons"]:
            self.say(f"{source}: {reason}")
        self._import(ImportBatch.objects.select_related("job").get(public_id=job.result["import"]))
        self.tell({name: job.result[name] for name in ("made", "there", "refused")})

    def _import(self, batch: ImportBatch) -> None:
        job = self.run_here(batch.job, progress=_progress)
        if job.state != JobState.DONE:
            raise Stop(f"The import failed. {job.error}")
        for following in (follow_up(batch), trials_of(batch)):
            if following is not None:
                self.run_here(following, progress=_progress)


def _progress(job: Job) -> str:
    return f"{job.progress_done:,} done"
