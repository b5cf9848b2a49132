"""``manage.py make_constrained_cases [QUERIES] --seed S [--project SLUG]``"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from annotator.core.case_construction import DRAWN, CannotConstruct
from annotator.core.schema import SchemaProblem
from annotator.core.text import Message
from annotator.errors import DomainError
from annotator.models import Event, Job, JobState, Project
from annotator.translation import translated
from benchmark.core.constructing import Made, Options, make
from benchmark.core.files.reading import RawLine, RecordError, parse_line, read_lines
from benchmark.core.formats import FORMATS, ReadDialogue
from benchmark.core.generation.purposes import Role
from benchmark.core.generation.records import Recorded, Records
from benchmark.core.generation.state import Unusable
from benchmark.core.generation.texts.replaying import replayed
from benchmark.core.rewritten_cases import rewrite_sentences, sentences_setup
from benchmark.management.base import REFUSED, PipelineCommand, Stop
from benchmark.management.recorded import read_file
from benchmark.models import Generation, GenerationStatus, ImportBatch, QueryOutcome
from benchmark.services.constructing.requests import start_constructing
from benchmark.services.constructing.rewriting import Rewriting, rewriting_name
from benchmark.services.constructing.runner import EVENT, Construction, store_cases
from benchmark.services.constructing.sources import Request, existing_cases
from benchmark.services.generation.players import players_of
from benchmark.services.generation.recordings import RecordedAsker
from benchmark.services.generation.stepping import work_on
from benchmark.services.imports.requests import follow_up
from benchmark.services.imports.trials import trials_of
from benchmark.services.sampling.requests import (
    continue_sampling,
    counts_of,
    last_sampling,
    queries_of,
    read_query_file,
    start_sampling,
)


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
        parser.add_argument(
            "--sample", action="store_true",
            help="QUERIES have no trajectories (docs/construction.md): sample them first; needs --project and --replay",
        )  # fmt: skip
        parser.add_argument(
            "--replay", type=Path, metavar="FILE", help="with --sample: recorded answers, as JSON lines"
        )
        parser.add_argument("--attempts", type=int, default=3, metavar="N", help="with --sample: at each query")
        parser.add_argument("--unverified", action="store_true", help="without a file: also use cases in review")
        parser.add_argument(
            "--rewrite", type=Path, metavar="FILE",
            help="put the sentences of the constraints into other words: recorded answers of a model, as JSON lines",
        )  # fmt: skip

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
        self._seed = options["seed"]
        self._records = None if options["rewrite"] is None else read_file(options["rewrite"])
        if options["sample"]:
            if self._records is not None:
                raise Stop("--sample and --rewrite don’t work together. Construct without --rewrite.")
            if None in (options["queries"], project, options["replay"]):
                raise Stop("--sample needs a file of queries, --project and --replay.")
            self._sample(options["queries"], options["replay"], project, chosen, options["attempts"])
        elif options["queries"] is not None:
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
        if found.made and self._records is not None:
            found.made = self._rewritten(found.made, self._records)
        if project is None:
            for made in found.made:
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

    def _sample(self, path: Path, replay: Path, project: Any, options: Options, attempts: int) -> None:
        """Sample trajectories from recorded answers, or go on with those of this command, and make cases of them."""
        try:
            queries = read_query_file(project, path.read_bytes())
            records = read_file(replay)
            sampling = last_sampling(project)
            if sampling is not None and sampling.requester is None and counts_of(sampling)["open"]:
                sampling = continue_sampling(actor=None, sampling=sampling, wake_worker=False)
            else:
                sampling = start_sampling(
                    actor=None, project=project, queries=queries, attempts=attempts, options=options,
                    players=players_of(records), records=records, idempotent=True, wake_worker=False,
                )  # fmt: skip
        except OSError as error:
            raise Stop(f"Can’t read {error.filename}: {error.strerror or error}.") from None
        except DomainError as refusal:
            raise Stop(refusal.sentence) from None
        assert sampling.job is not None  # noqa: S101 - it was just started
        job = self.run_here(sampling.job, progress=_progress)
        for query in queries_of(sampling):
            if query.outcome != QueryOutcome.SOLVED:
                self.say(f"{query.name}: {translated(query.reason) if query.reason else 'open'}")
        if job.state != JobState.DONE:
            raise Stop(job.error)
        making = Job.objects.filter(project=project, public_id=job.result.get("job", "")).first()
        if making is None:
            refused = job.result.get("refusal")
            raise Stop(Message.from_json(refused).english if refused else "No query is solved.")
        self._finish(self.run_here(making, progress=_progress))

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
        rewriting = None
        if self._records is not None:
            rewriting = Rewriting(players_of(self._records)[Role.WRITER].model, idempotent=True, work=False)
        job = start_constructing(actor=None, project=project, request=request, rewriting=rewriting, wake_worker=False)
        self._finish(self.run_here(job, progress=_progress))

    def _finish(self, job: Job) -> None:
        """Import the cases that a job has made."""
        if job.state != JobState.DONE:
            raise Stop(job.error)
        for source, reason in job.result["reasons"]:
            self.say(f"{source}: {reason}")
        batch = job.result.get("import") or self._replayed(job.result["generation"])
        self._import(ImportBatch.objects.select_related("job").get(public_id=batch))
        self.tell({name: job.result[name] for name in ("made", "there", "refused")})

    def _rewritten(self, made: list[Made], records: list[Recorded]) -> list[Made]:
        """Return cases of a file with their sentences in other words."""
        try:
            setup = sentences_setup(rewriting_name(self._seed), made)
            state = replayed(setup, Records(records), players_of(records)[Role.WRITER].model)
        except (Unusable, LookupError) as problem:
            raise Stop(str(problem)) from None
        return [rewrite_sentences(one, state) for one in made]

    def _replayed(self, public_id: str) -> str:
        """Let a rewriting run from the recorded answers; return the import that it starts."""
        generation = Generation.objects.get(public_id=public_id)
        done = work_on(
            generation_id=generation.pk, asker=RecordedAsker(self._records or (), exact=True),
            transaction=transaction.atomic, even_if_stopped=transaction.atomic,
        )  # fmt: skip
        if done.status != GenerationStatus.DONE:
            raise Stop(translated(done.reason) if done.reason else done.get_status_display())
        event = Event.objects.get(project=done.project, kind=EVENT, after__generation=public_id)
        return str(event.after["import"])

    def _import(self, batch: ImportBatch) -> None:
        job = self.run_here(batch.job, progress=_progress)
        if job.state != JobState.DONE:
            raise Stop(f"The import failed. {job.error}")
        for following in (follow_up(batch), trials_of(batch)):
            if following is not None:
                self.run_here(following, progress=_progress)


def _progress(job: Job) -> str:
    return f"{job.progress_done:,} done"
