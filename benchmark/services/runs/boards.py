"""Read runs and their scores: the leaderboard of a release, one run, one entry, two runs compared."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db.models import F, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _

from annotator.errors import Denied, Hidden
from annotator.models import Project, User
from annotator.services.database.filters import one_of
from benchmark.core.scoring.statistics import BEST, PASS, holm
from benchmark.models import Figure, Release, Run, RunPair, Score, ScoreSet
from benchmark.services.releases.requests import load_release, oversees

#: Difference that counts as one: p after adjusting for the number of comparisons.
LEVEL = 0.05
ALL = "all"
#: Digits of a number that a database may not hold.
_LONGEST_KEY = 19
#: Runs of one model that a page lists.
_RELEASES = 50
#: The figures of a leaderboard, by family; the first decides the order.
COLUMNS: dict[str, tuple[tuple[str, str], ...]] = {
    "wild": (
        ("right", ALL), ("right_as_in_the_paper", ALL), ("right_with_equal_arguments", ALL), ("session", ALL),
        ("AP", "published"), ("AP", "as_in_the_paper"), ("OP", "published"), ("OP", "as_in_the_paper"),
    ),
    "c3": (
        ("right", ALL), ("right_as_in_the_paper", ALL), ("right_with_equal_arguments", ALL),
        ("AP", "published"), ("AP", "as_in_the_paper"), ("OP", "published"), ("OP", "as_in_the_paper"),
    ),
    "cctu": (("SR", ALL), ("strict SR", ALL), ("PSR", ALL), ("strict PSR", ALL)),
    "async": (("overall", ALL),),
}  # fmt: skip
COLUMNS["mmtb"] = COLUMNS["c3"]
OUTCOMES = ("wrong", "right", "all")
#: Which of two runs alone has an entry right.
SIDES = ("first", "second")
#: The figure that decides a leaderboard, without the items that were withdrawn.
KEPT = ("kept", ALL)
#: Figures that are no slices of the entries.
NOT_SLICES = frozenset(("AP", "OP", PASS, BEST, KEPT[0]))


@dataclass
class Row:
    """A run on a leaderboard. ``rank``: 1 + the runs that are better beyond chance, None for a run that was scored by
    another version than most; ``figures`` are by (name, cell).
    """

    score_set: ScoreSet
    rank: int | None
    figures: dict[tuple[str, str], Figure] = field(default_factory=dict)

    @property
    def run(self) -> Run:
        return self.score_set.run


@dataclass
class Board:
    """A leaderboard: its rows in order, the column that decides it, and the slices to choose from."""

    rows: list[Row]
    family: str
    families: list[str]
    column: tuple[str, str]
    columns: Sequence[tuple[str, str]]
    slices: list[str]
    slice: str = ""


def load_overseen(*, actor: User, project: Project, public_id: str) -> Release:
    """Return a release whose scores the actor may see.

    Raises Hidden, and Denied for people who may review its dialogues: answers of models reveal what they must find.
    """
    release = load_release(actor=actor, project=project, public_id=public_id)
    if not oversees(actor=actor, project=project):
        raise Denied(_("Only administrators and senior reviewers of the project can see scores."))
    return release


def current_sets(release: Release) -> QuerySet[ScoreSet]:
    """Return the newest scores of each complete run of a release."""
    return newest_sets().filter(run__release=release).select_related("run")


def newest_sets() -> QuerySet[ScoreSet]:
    """Return the newest scores of every complete run, without what may be large."""
    newest = ScoreSet.objects.filter(run=OuterRef("run"), complete=True).order_by("-version").values("pk")[:1]
    return ScoreSet.objects.filter(run__complete=True, pk=Subquery(newest)).defer("summary")


def leaderboard(release: Release, query: Mapping[str, Any], *, public: bool = False) -> Board:
    """Return the leaderboard of a release, of one “family”. “slice”: “name=cell” sorts by the figure of that cell;
    “sort”: “name|cell” by another figure. Raises UnknownFilter.

    ``public``: without the figure without withdrawn items, whose difference from the whole tells reviewers which runs
    agree with the reference that they are to judge.
    """
    sets = list(current_sets(release))
    families = sorted({one.run.family for one in sets})
    family = one_of(query, "family", families, otherwise=families[0] if families else "")
    columns = COLUMNS.get(family, ())
    mine = [one for one in sets if one.run.family == family]
    names = set(Figure.objects.filter(score_set__in=mine).values_list("name", "cell").distinct())
    if KEPT in names and not public:
        columns = (*columns[:1], KEPT, *columns[1:])
    slices = sorted(f"{name}={cell}" for name, cell in names if name not in NOT_SLICES and cell != ALL)
    slice_ = one_of(query, "slice", slices)
    column = _pair(slice_, "=") if slice_ else columns[0] if columns else ("", "")
    shown = [column, *columns] if slice_ and column not in columns else list(columns)
    sort = one_of(query, "sort", ["|".join(one) for one in shown])
    order = _pair(sort, "|") if sort else column
    wanted = set(shown)
    rows = {one.pk: Row(one, None) for one in mine}
    for figure in Figure.objects.filter(score_set__in=rows.keys(), name__in={one[0] for one in wanted}):
        if (figure.name, figure.cell) in wanted:
            rows[figure.score_set_id].figures[figure.name, figure.cell] = figure
    ranked = sorted(rows.values(), key=lambda row: (-_value(row, order), row.run.model, row.run.pk))
    _rank(ranked)
    return Board(ranked, family, families, order, shown, slices, slice_)


def _pair(text: str, sign: str) -> tuple[str, str]:
    name, _, cell = text.partition(sign)
    return name, cell


def _value(row: Row, column: tuple[str, str]) -> float:
    figure = row.figures.get(column)
    return -1.0 if figure is None or figure.value is None else figure.value


def _rank(rows: Sequence[Row]) -> None:
    """Give each run the rank 1 + the number of runs in its language that have more entries right beyond chance.

    Runs can be compared only if the same version scored them: the one that scored most runs, of two the newer.
    """
    versions: dict[str, Counter[int]] = {}
    for row in rows:
        versions.setdefault(row.run.language, Counter())[row.score_set.version] += 1
    version_of = {
        language: max(counts, key=lambda one: (counts[one], one)) for language, counts in versions.items()
    }  # fmt: skip
    ranks = {row.score_set.pk: 1 for row in rows if row.score_set.version == version_of[row.run.language]}
    pairs = list(RunPair.objects.filter(first__in=ranks, second__in=ranks))
    for pair, p in zip(pairs, holm([pair.p for pair in pairs]), strict=True):
        if p < LEVEL and pair.only_first != pair.only_second:
            ranks[pair.second_id if pair.only_first > pair.only_second else pair.first_id] += 1
    for row in rows:
        row.rank = ranks.get(row.score_set.pk)


# --- one run ---------------------------------------------------------------------------------------------------------


def load_run(*, actor: User, project: Project, public_id: str, version: int | None = None) -> ScoreSet:
    """Return the newest scores of a run, or those by a version of the scorers. Raises Hidden and Denied."""
    if not oversees(actor=actor, project=project):
        raise Denied(_("Only administrators and senior reviewers of the project can see scores."))
    sets = ScoreSet.objects.filter(
        run__public_id=public_id, run__release__project=project, run__in=Run.objects.visible_to(actor), complete=True
    )
    if version is not None:
        sets = sets.filter(version=version)
    found = sets.select_related("run__release", "run__requester", "run__file").order_by("-version").first()
    if found is None:
        raise Hidden(_("There is no such run in the project."))
    return found


def versions_of(run: Run) -> list[int]:
    """Return the versions of the scorers by which a run was scored, newest first."""
    return list(run.score_sets.filter(complete=True).order_by("-version").values_list("version", flat=True))


def choose_scores(*, actor: User, project: Project, public_id: str, query: Mapping[str, Any]) -> ScoreSet:
    """Return the scores of a run by the version of the scorers that “scorer” names, or the newest.

    Raises Hidden, Denied and UnknownFilter.
    """
    newest = load_run(actor=actor, project=project, public_id=public_id)
    scorer = one_of(query, "scorer", lambda: [str(one) for one in versions_of(newest.run)])
    if scorer in ("", str(newest.version)):
        return newest
    return load_run(actor=actor, project=project, public_id=public_id, version=int(scorer))


def list_scores(score_set: ScoreSet, *, outcome: str, error: str = "") -> QuerySet[Score]:
    """Return the scores of a run without their details; ``outcome``: one of OUTCOMES; ``error``: of that class."""
    found = score_set.scores.defer("detail").select_related(None)
    if outcome != "all":
        found = found.filter(right=outcome == "right")
    return found.filter(error=error) if error else found


def attempts_of(score_set: ScoreSet) -> list[ScoreSet]:
    """Return the scores of all attempts of the same model in the same mode by the same version, in order."""
    run = score_set.run
    same = ScoreSet.objects.filter(
        run__release=run.release_id, run__complete=True, run__family=run.family, run__model=run.model, complete=True,
        version=score_set.version, **{f"run__{name}": value for name, value in asdict(run.mode).items()},
    )  # fmt: skip
    return list(same.defer("summary").order_by("run__attempt"))


def figures_over_attempts(score_set: ScoreSet) -> tuple[list[Figure], int]:
    """Return pass^k and best-of-k, and over how many runs they are: attempts at a constrained case are within one."""
    attempts = [score_set] if score_set.run.family == "cctu" else attempts_of(score_set)
    return list(Figure.objects.filter(score_set=attempts[-1], name__in=(PASS, BEST))), len(attempts)


def others_of(score_set: ScoreSet) -> list[Run]:
    """Return the runs with which a run can be compared."""
    run = score_set.run
    others = current_sets(run.release).filter(
        run__family=run.family, run__language=run.language, version=score_set.version
    )
    return [one.run for one in others.exclude(run=run)]


def load_score(run: Run, key: str) -> Score:
    """Return a score of a loaded run, by any version of the scorers, with its prediction. Raises Hidden."""
    found = None
    if key.isascii() and key.isdecimal() and len(key) < _LONGEST_KEY:
        found = (
            Score.objects.filter(pk=int(key), score_set__run=run, score_set__complete=True)
            .select_related("prediction__item__revision", "prediction__item__dialogue", "score_set")
            .defer("score_set__summary")
            .first()
        )
    if found is None:
        raise Hidden(_("There is no such entry in the run."))
    found.score_set.run = run
    return found


def next_wrong(score: Score) -> Score | None:
    """Return the next entry of the run that is wrong."""
    found = Score.objects.filter(score_set=score.score_set_id, right=False, pk__gt=score.pk)
    return found.order_by("pk").defer("detail").first()


def others_on(score: Score, limit: int = 50) -> list[Score]:
    """Return what the other runs of the release earned on the same entry."""
    run = score.score_set.run
    return list(
        Score.objects.filter(
            score_set__in=current_sets(run.release).values("pk"), entry=score.entry, score_set__run__family=run.family,
            score_set__run__language=run.language,
        )
        .exclude(score_set__run=run).select_related("score_set__run").defer("detail", "score_set__summary")
        .order_by("score_set__run__model")[:limit]
    )  # fmt: skip


def over_releases(run: Run) -> list[tuple[ScoreSet, Figure | None]]:
    """Return what the model earned on each release of the project, oldest release first: the figure that leads the
    leaderboard. Runs in another mode are others.
    """
    sets = list(
        newest_sets().filter(
            run__release__project=run.release.project_id, run__model=run.model, run__family=run.family,
            **{f"run__{name}": value for name, value in asdict(run.mode).items()},
        )
        .select_related("run__release").defer("summary", "run__release__frozen")
        .order_by("run__release_id", "run__attempt")[:_RELEASES]
    )  # fmt: skip
    name, cell = COLUMNS[run.family][0]
    figures = {one.score_set_id: one for one in Figure.objects.filter(score_set__in=sets, name=name, cell=cell)}
    return [(one, figures.get(one.pk)) for one in sets]


# --- two runs --------------------------------------------------------------------------------------------------------


@dataclass
class Versus:
    """Two runs: the stored comparison from the first one's side, and their figures by cell."""

    first: ScoreSet
    second: ScoreSet
    n: int
    only_first: int
    only_second: int
    p: float
    cells: list[tuple[str, str, Figure | None, Figure | None]]


def compare_runs(first: ScoreSet, second: ScoreSet) -> Versus:
    """Compare two runs of one release. Raises Hidden if they were not compared."""
    low, high = sorted((first, second), key=lambda one: one.pk)
    pair = RunPair.objects.filter(first=low, second=high).first()
    if pair is None:
        raise Hidden(
            _("These two runs can’t be compared: their releases, families, languages or versions of the scorer differ.")
        )
    counts = (pair.only_first, pair.only_second)
    only_first, only_second = counts if low is first else counts[::-1]
    figures: dict[tuple[str, str], dict[int, Figure]] = {}
    for side in (first, second):
        own = Figure.objects.filter(score_set=side).exclude(name__in=(PASS, BEST))
        for one in (*own, *figures_over_attempts(side)[0]):
            figures.setdefault((one.name, one.cell), {})[side.pk] = one
    cells = [(name, cell, by.get(first.pk), by.get(second.pk)) for (name, cell), by in sorted(figures.items())]
    return Versus(first, second, pair.n, only_first, only_second, pair.p, cells)


def list_changed(first: ScoreSet, second: ScoreSet, *, which: str = "") -> QuerySet[Score]:
    """Return the first run's scores of entries that only one of two runs has right, with the other's key as
    ``other_id``. ``which``: one of SIDES for the entries that this one alone has right.
    """
    other = Score.objects.filter(score_set=second, entry=OuterRef("entry"))
    found = (
        first.scores.defer("detail")
        .annotate(theirs=Subquery(other.values("right")[:1]), other_id=Subquery(other.values("pk")[:1]))
        .exclude(theirs__isnull=True)
        .exclude(theirs=F("right"))
    )
    return found.filter(right=which == "first") if which else found


def two_runs(*, actor: User, project: Project, first: str, second: str) -> tuple[ScoreSet, ScoreSet]:
    """Return two runs' scores by the runs' public ids. Raises Hidden and Denied."""
    return (
        load_run(actor=actor, project=project, public_id=first),
        load_run(actor=actor, project=project, public_id=second),
    )
