"""Score files of predictions against a release: ``entries.jsonl`` and ``summary.json``."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Self, TypeVar

from annotator.core.sandbox import Sandbox, Trajectory, TrajectoryRun
from annotator.core.schema.exact_json import dumps, loads
from benchmark.core.formats.interface import ReadDialogue
from benchmark.core.scoring.async_runs import AsyncReferences, AsyncScorer
from benchmark.core.scoring.cctu_cases import ReferenceCase
from benchmark.core.scoring.records import Unreadable
from benchmark.core.scoring.references import ReferenceDialogue, UnusableReference
from benchmark.core.scoring.scorers import CctuScorer, MultiTurnScorer, Refused, Scored, Scorer
from benchmark.core.scoring.sources import prediction_files, read_prediction_file, read_references
from benchmark.core.scoring.verdicts import Verdicts

FAMILIES = ("wild", "c3", "mmtb", "cctu", "async")
#: Facts about runs, in a file beside the predictions: run → ``model``, ``language``, ``history``.
RUNS = "runs.json"
#: Problems that a summary lists; all are counted.
MAX_LISTED = 1_000
VERSION = 1
_Reference = TypeVar("_Reference")


@dataclass(frozen=True, slots=True)
class Options:
    """``language`` and ``history`` (``calls`` or ``answers``): of every run; else each has its own. ``strip_think``:
    leave out what models thought between ``<think>`` and ``</think>``.
    """

    family: str
    language: str | None = None
    history: str | None = None
    strip_think: bool = False


@dataclass(slots=True)
class Outcome:
    """How many runs and entries were scored, and what was not. ``listed``: sentences, at most ``MAX_LISTED``."""

    runs: int = 0
    entries: int = 0
    missing: int = 0
    foreign: int = 0
    problems: int = 0
    doubled: int = 0
    listed: list[str] = field(default_factory=list)

    def refuse(self, where: str, refused: Refused) -> None:
        counted = Counter({refused.kind: 1})
        self.problems += counted["problem"]
        self.foreign += counted["foreign"]
        self.doubled += counted["doubled"]
        self.tell(f"{where}: {refused}")

    def tell(self, sentence: str) -> None:
        if len(self.listed) < MAX_LISTED:
            # A sentence quotes the record, and databases store no NUL.
            self.listed.append(sentence.replace("\0", "�"))

    def as_line(self) -> dict[str, int]:
        """Return the numbers of the last line."""
        return {key: value for key, value in asdict(self).items() if key not in ("listed", "doubled")}


def score_files(
    references: Path,
    predictions: Sequence[Path],
    options: Options,
    entries: IO[bytes],
    *,
    figures: bool = True,
) -> tuple[dict[str, Any], Outcome]:
    """Score predictions; write an entry a line to ``entries`` and return the summary. ``figures``: with intervals.

    Raises Unreadable, SandboxUnavailable and NoScoringLibraries.
    """
    with ScoringRun(references, predictions, options) as scoring:
        for one in scoring.scored():
            entries.write(dumps(one.entry) + b"\n")
        return scoring.summary(figures=figures), scoring.outcome


class ScoringRun:
    """Scores predictions one by one. Use it as a context manager, go through ``scored``, then ask for the summary.

    Raises Unreadable, SandboxUnavailable and NoScoringLibraries.
    """

    def __init__(self, references: Path, predictions: Sequence[Path], options: Options) -> None:
        self.outcome = Outcome()
        self._references, self._predictions, self._options = references, predictions, options
        self._stack = ExitStack()
        #: Run → its model, where a file names it.
        self.models: dict[str, str] = {}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.scorer = _scorer(self._references, self._predictions, self._options, self.outcome, stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def scored(self, run: str = "", *, shown: str = "", beat: Callable[[], None] = lambda: None) -> Iterator[Scored]:
        """Yield every scored entry. ``run``: the run of records that name none, instead of their file's name.
        ``shown``: how sentences name the file. ``beat`` is called with every record.
        """
        outcome = self.outcome
        for path, named in prediction_files(self._predictions):
            for line in read_prediction_file(path, self._options.family, run=run or named, shown=shown):
                beat()
                if line.model:
                    self.models[line.run] = line.model
                if line.problem:
                    outcome.refuse(line.where, Refused("problem", line.problem))
                    continue
                yield from self._kept(line.where, self.scorer.add(line.record, line.run))
        yield from self._kept("At the end", self.scorer.finish())

    def scored_again(self, records: Iterable[Any], *, beat: Callable[[], None] = lambda: None) -> Iterator[Scored]:
        """Yield the entries of records that were scored before, each with its run."""
        for record in records:
            beat()
            yield from self._kept(str(record.get("run")), self.scorer.add(record, ""))
        yield from self._kept("At the end", self.scorer.finish())

    def _kept(self, where: str, found: Iterable[Scored | Refused]) -> Iterator[Scored]:
        for one in found:
            if isinstance(one, Refused):
                self.outcome.refuse(where, one)
            else:
                self.outcome.entries += 1
                yield one

    def summary(self, *, figures: bool = True) -> dict[str, Any]:
        """Return the figures over everything scored. ``figures``: with those that have intervals."""
        summary = self.scorer.summary(figures=figures)
        self.outcome.runs, self.outcome.missing = len(summary["runs"]), self.scorer.missing
        told = {"version": VERSION, "family": self._options.family, "comparers": self.scorer.versions()}
        return told | summary | {"outcome": asdict(self.outcome)}


def _scorer(
    references: Path, predictions: Sequence[Path], options: Options, outcome: Outcome, stack: ExitStack
) -> Scorer:
    if not references.exists():
        raise Unreadable(f"{references} does not exist. Give a release archive, a native file or its folder.")
    if options.family in ("cctu", "async"):
        sandbox = stack.enter_context(Sandbox())
    if options.family == "async":

        def runner(trajectory: Trajectory, twice: bool) -> TrajectoryRun:
            return sandbox.run_trajectory(trajectory, twice=twice)

        if references.is_dir():
            found = AsyncReferences.of_folder(references, runner)
        else:
            found = AsyncReferences.of_dialogues(read_references(references, "async"), runner)
        for problem in found.problems:
            outcome.refuse("References", Refused("problem", problem))
        if not found.composites:
            raise Unreadable(f"{references} has no composites to score.")
        return AsyncScorer(found, strip_think=options.strip_think)
    dialogues = []
    for one in read_references(references, options.family):
        if isinstance(one, str):
            outcome.refuse("References", Refused("problem", one))
        else:
            dialogues.append(one)
    if options.family == "cctu":
        cases = list(_usable(dialogues, "constrained", ReferenceCase, outcome))
        if not cases:
            raise Unreadable(f"{references} has no cases with constraints that could be scored.")
        return CctuScorer(cases, Verdicts(sandbox.run), strip_think=options.strip_think)
    usable = list(_usable(dialogues, "multi_turn", ReferenceDialogue, outcome))
    if not usable:
        raise Unreadable(f"{references} has no dialogues of tasks that could be scored.")
    return MultiTurnScorer(
        options.family, usable, language=options.language, history=options.history, runs=_runs(predictions),
        strip_think=options.strip_think,
    )  # fmt: skip


def _usable(
    dialogues: Iterable[ReadDialogue], kind: str, read: Callable[[ReadDialogue], _Reference], outcome: Outcome
) -> Iterator[_Reference]:
    """Yield the references of one kind that can be scored."""
    for one in dialogues:
        if one.document["kind"] == kind:
            try:
                yield read(one)
            except UnusableReference as error:
                outcome.refuse("References", Refused("problem", str(error)))


def _runs(predictions: Sequence[Path]) -> dict[str, dict[str, Any]]:
    """Return what the files beside the predictions say about runs. Raises Unreadable."""
    found: dict[str, dict[str, Any]] = {}
    for folder in dict.fromkeys(path if path.is_dir() else path.parent for path in predictions):
        file = folder / RUNS
        if not file.is_file():
            continue
        try:
            told = loads(file.read_bytes())
        except (OSError, ValueError) as error:
            raise Unreadable(f"Can’t read {file}: {error}.") from None
        if not isinstance(told, dict) or not all(isinstance(one, dict) for one in told.values()):
            raise Unreadable(f"{file} must be an object: run → model, language and history.")
        found |= told
    return found
