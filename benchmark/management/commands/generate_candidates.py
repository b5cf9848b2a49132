"""``manage.py generate_candidates PROJECT --toolset NAME --cells all|FILE --replay FILE --chooser first``"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from annotator.core.schema.exact_json import loads
from annotator.core.wording import counted
from annotator.models import Project, Toolset, ToolsetRevision
from annotator.translation import translated
from benchmark.core.generation.cells import all_cells, cell_name, default_name, draw_relations
from benchmark.core.generation.kinds import Kind
from benchmark.core.generation.purposes import Role
from benchmark.core.generation.state import Setup, Unusable
from benchmark.management.base import NOTHING_DONE, REFUSED, PipelineCommand, Stop
from benchmark.management.recorded import read_file
from benchmark.models import Chooser, Generation, GenerationStatus
from benchmark.services.generation.players import players_of
from benchmark.services.generation.reading import read_setup
from benchmark.services.generation.recordings import RecordedAsker
from benchmark.services.generation.records import recorded_answers
from benchmark.services.generation.requests import Player, continue_generation, start_generation
from benchmark.services.generation.stepping import work_on

#: Generations that are named on standard error if they are not complete.
_NAMED = 20
#: Policies, and the information types of each task.
Cell = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]


class Command(PipelineCommand):
    help = (
        "Generate candidates from recorded answers, one for each cell; needs no network and no worker. The same "
        "answers give the same dialogues. An interrupted run goes on where it was when it is started again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="the project's slug")
        parser.add_argument("--toolset", required=True, help="name or id of the toolset; its newest revision is used")
        parser.add_argument(
            "--cells", default="all", metavar="all|FILE",
            help='all 340 sequences of up to four policies, or lines such as {"policies": ["chat", "clarify"], '
            '"relations": [["explicit"], ["partial_information"]]}; without relations, they are drawn',
        )  # fmt: skip
        parser.add_argument(
            "--replay", required=True, type=Path, metavar="FILE", help="recorded answers, as JSON lines"
        )
        parser.add_argument(
            "--chooser", choices=Chooser.values, default=Chooser.FIRST,
            help="who chooses among the candidates of a request; with “people”, each waits for its first choice",
        )  # fmt: skip
        parser.add_argument("--language", choices=["en", "zh"], default="en")
        parser.add_argument("--seed", type=int, default=1, metavar="S", help="part of the names of the dialogues")
        parser.add_argument("--retries", type=int, default=2, metavar="K", help="after an answer that is not accepted")
        parser.add_argument("--simulate", action="store_true", help="simulate also functions that have code")
        parser.add_argument("--record", type=Path, metavar="OUT", help="write the answers that were used to this file")

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise Stop(f"There is no project “{options['project']}”.")
        toolset = _toolset(project, options["toolset"])
        records = read_file(options["replay"])
        players = players_of(records)
        asker = RecordedAsker(records, exact=True)
        done: list[Generation] = []
        cells = {
            default_name(cell, options["language"], options["seed"]): (cell, relations)
            for cell, relations in _once(_cells(options["cells"], options["seed"]))
        }
        for name, (cell, relations) in cells.items():
            setup = {
                "name": name, "policies": cell, "relations": relations, "language": options["language"],
                "seed": options["seed"], "retries": options["retries"],
                "run_tools": toolset.implementation() is not None and not options["simulate"],
            }  # fmt: skip
            done.append(self._generate(project, toolset, setup, players, asker, Chooser(options["chooser"])))
        if options["record"] is not None:
            with options["record"].open("wb") as out:
                out.writelines(one.to_line() for generation in done for one in recorded_answers(generation))
        self._explain(done)

    def _generate(
        self,
        project: Project,
        toolset: ToolsetRevision,
        setup: dict[str, Any],
        players: dict[Role, Player],
        asker: RecordedAsker,
        chooser: Chooser,
    ) -> Generation:
        """Start the generation of a name, or go on with it."""
        generation = Generation.objects.filter(project=project, name=setup["name"], kind=Kind.DIALOGUE).first()
        if generation is None:
            generation = start_generation(
                actor=None, project=project, toolset=toolset, setup=setup, players=players, chooser=chooser,
                idempotent=True, work=False,
            )  # fmt: skip
        else:
            _require_same(generation, toolset, setup)
        if generation.status == GenerationStatus.PAUSED:
            generation = continue_generation(actor=None, generation=generation, work=False)
        atomic = partial(transaction.atomic)
        return work_on(generation_id=generation.pk, asker=asker, transaction=atomic, even_if_stopped=atomic)

    def _explain(self, done: list[Generation]) -> None:
        tally = Counter(one.status for one in done)
        self.say(f"{counted(len(done), 'generation')}: {tally[GenerationStatus.DONE]:,} complete.")
        others = [one for one in done if one.status != GenerationStatus.DONE]
        for one in others[:_NAMED]:
            self.say(
                f"  {one.name}: {one.get_status_display().lower()}. {translated(one.reason) if one.reason else ''}"
            )
        if len(others) > _NAMED:
            self.say(f"  … and {len(others) - _NAMED:,} more.")
        self.tell({"generations": len(done)} | {status.value: tally[status] for status in GenerationStatus})
        if tally[GenerationStatus.PAUSED] or tally[GenerationStatus.FAILED]:
            raise SystemExit(REFUSED if tally[GenerationStatus.DONE] else NOTHING_DONE)


def _require_same(generation: Generation, toolset: ToolsetRevision, setup: dict[str, Any]) -> None:
    """Stop if a generation is not this command's: it is another one of this name, or models are asked for it."""
    known = read_setup(generation)
    try:
        wanted = replace(Setup.from_json(setup, known.tools), checks=known.checks)
    except Unusable as refusal:
        raise Stop(translated(refusal.problem.text)) from None
    if generation.toolset_revision_id != toolset.pk or known != wanted:
        raise Stop(
            f"There is a generation {generation.name} already, with another setup or revision of the toolset. Use "
            "another --seed."
        )
    job = generation.job
    if (job is not None and not job.ended) or generation.role_models.filter(endpoint__isnull=False).exists():
        raise Stop(f"The generation {generation.name} was started on its page, and asks models. Use another --seed.")


def _toolset(project: Project, name: str) -> ToolsetRevision:
    rows = Toolset.objects.filter(project=project).select_related("head")
    found = rows.filter(public_id=name).first() or rows.filter(name=name).first()
    if found is None or found.head is None:
        raise Stop(f"The project has no toolset “{name}”.")
    return found.head


def _cells(source: str, seed: int) -> Iterator[Cell]:
    """Yield the cells to fill, with the relations of their tasks."""
    if source == "all":
        for cell in all_cells():
            yield cell, draw_relations(cell, seed)
        return
    try:
        lines = Path(source).read_bytes().splitlines()
    except OSError as error:
        raise Stop(f"Can't read {source} ({error.strerror or error}).") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _cell(number, line, seed)


def _once(cells: Iterable[Cell]) -> Iterator[Cell]:
    """Yield cells; stop at one that comes again, because its dialogue would have the same name."""
    seen: set[tuple[str, ...]] = set()
    for policies, relations in cells:
        if policies in seen:
            raise Stop(f"{cell_name(policies)} is twice in the cells. Each sequence of policies can be there once.")
        seen.add(policies)
        yield policies, relations


def _cell(number: int, line: bytes, seed: int) -> Cell:
    try:
        found = loads(line)
        policies = tuple(found["policies"])
        cell_name(policies)
        relations = found.get("relations")
        return policies, draw_relations(policies, seed) if relations is None else tuple(map(tuple, relations))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise Stop(f'Line {number} of the cells must be like {{"policies": ["chat", "clarify"]}}.') from None
