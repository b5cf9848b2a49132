"""Score an uploaded file of predictions: runs, predictions, scores and figures.

An attempt that is killed leaves incomplete runs, which no page shows; the next attempt removes them and begins again.
"""

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.db.models import Count, Max, OuterRef, Q, Subquery

from annotator.core.sandbox import SandboxUnavailable
from annotator.core.text import gettext_noop, message
from annotator.errors import Conflict, Invalid
from annotator.models import Job
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import Running, job_kind
from benchmark.core.scoring.arguments import NoScoringLibraries
from benchmark.core.scoring.items import Answer, dialogue_of, fingerprint, statistics_of
from benchmark.core.scoring.records import Unreadable
from benchmark.core.scoring.scorers import MultiTurnScorer, Scored, figure_json
from benchmark.core.scoring.scoring_run import VERSION, Options, Outcome, ScoringRun
from benchmark.core.scoring.sources import run_of
from benchmark.core.scoring.statistics import BEST, PASS, attempt_figures, mcnemar
from benchmark.models import (
    EntryStatistic,
    Figure,
    Inference,
    Prediction,
    PredictionFile,
    Release,
    Run,
    RunPair,
    Score,
    ScoreSet,
)
from benchmark.services.releases.requests import archive_path
from benchmark.services.runs.boards import attempts_of, current_sets
from benchmark.services.runs.entries import items_by_name
from benchmark.services.runs.withdrawn import count_kept, latest_recount
from benchmark.services.stored_files import full_path

#: Entries written in one chunk, and seconds of reading after which the worker sends a heartbeat.
CHUNK = 200
BEAT = 5.0
#: Sentences kept about records that were not scored.
MAX_NOTES = 200
_MODEL = 120


def remove_runs(job: Job) -> None:
    """Remove everything that an unfinished job has written."""
    runs = Run.objects.filter(file__job=job, complete=False)
    sets = ScoreSet.objects.filter(run__in=runs)
    Figure.objects.filter(score_set__in=sets).delete()
    Score.objects.filter(score_set__in=sets).delete()
    Prediction.objects.filter(run__in=runs).delete()
    sets.delete()
    runs.delete()


@job_kind("score_predictions", gettext_noop("Scores"), discard=remove_runs, untrusted=True)
def run_scoring(running: Running) -> dict[str, Any]:
    """Run a job of the kind ``score_predictions``."""
    file = PredictionFile.objects.select_related("release__project", "requester").get(job=running.job)
    if not running.checkpoint.get("complete"):
        with running.chunk() as chunk:
            remove_runs(running.job)
            chunk.advance(done=0, note="", checkpoint={})
        with refusals_as_domain_errors():
            _score(running, file)
    runs = list(file.runs.values_list("public_id", flat=True))
    return {"runs": runs, "entries": file.entries}


@contextmanager
def refusals_as_domain_errors() -> Iterator[None]:
    """Raise what stops scoring as Invalid or Conflict, so that the job fails with its sentence."""
    try:
        yield
    except (Unreadable, NoScoringLibraries) as error:
        raise Invalid(str(error)) from None
    except SandboxUnavailable as error:
        raise Conflict(str(error)) from None


def _score(running: Running, file: PredictionFile) -> None:
    options = Options(file.family, file.language or None, file.history, strip_think=file.strip_thinking)
    last = time.monotonic()

    def beat() -> None:
        nonlocal last
        if time.monotonic() - last > BEAT:
            running.beat()
            last = time.monotonic()

    with ScoringRun(archive_path(file.release), [full_path(file.file)], options) as scoring:
        writer = _FileWriter(running, file, scoring)
        named = file.model or run_of(Path(file.filename))
        for group in groups(scoring.scored(named, shown=file.filename, beat=beat)):
            writer.write(group)
        if not writer.sets:
            first = scoring.outcome.listed[0] if scoring.outcome.listed else ""
            with running.chunk():
                _keep_counts(file, scoring.outcome)
            raise Invalid(
                message("The file has no predictions for this release. %(first)s", first=first)
                if first
                else gettext_noop("The file has no predictions.")
            )
        summary = scoring.summary()
        running.beat()
        writer.finish(summary, scoring.outcome)


def groups(scored: Iterable[Scored]) -> Iterator[list[Scored]]:
    group: list[Scored] = []
    for one in scored:
        group.append(one)
        if len(group) == CHUNK:
            yield group
            group = []
    if group:
        yield group


class Writer(ABC):
    """Writes scored entries, each chunk in a fenced transaction. ``publish`` stores what is about all of them."""

    def __init__(self, running: Running, release: Release, family: str, scoring: ScoringRun) -> None:
        self.running, self.release, self.family, self.scoring = running, release, family, scoring
        self.sets: dict[str, ScoreSet] = {}
        self.errors: dict[str, Counter[str]] = {}
        #: Run → replies of all predictions, and predictions.
        self.replies: dict[str, tuple[int, int]] = {}
        self.done = 0

    @abstractmethod
    def begin(self, name: str) -> ScoreSet:
        """Create the scores of a run."""

    @abstractmethod
    def predictions(self, group: list[Scored]) -> Mapping[tuple[str, str], Prediction]:
        """Return what the models said, by run and entry."""

    def write(self, group: list[Scored]) -> None:
        with self.running.chunk() as chunk:
            for one in group:
                if one.run not in self.sets:
                    self.sets[one.run] = self.begin(one.run)
            said = self.predictions(group)
            Score.objects.bulk_create(
                Score(
                    score_set=self.sets[one.run], prediction=said.get((one.run, one.name)), entry=one.name,
                    right=one.entry["right"], error=one.error[:60], said=self._fingerprint(one), detail=one.entry,
                )
                for one in group
            )  # fmt: skip
            self.done += len(group)
            chunk.advance(done=self.done, note=gettext_noop("Scoring"))
        for one in group:
            self.errors.setdefault(one.run, Counter())[one.error] += bool(one.error)
            if one.prediction is not None:
                replies, predictions = self.replies.get(one.run, (0, 0))
                self.replies[one.run] = (replies + count_replies(self.family, one.prediction), predictions + 1)

    def _fingerprint(self, one: Scored) -> str:
        compared = self.family not in ("cctu", "async") and one.prediction is not None
        return fingerprint(one.prediction) if compared else ""

    def publish(self, summary: dict[str, Any]) -> None:
        """Store the figures of the runs, with those that compare them with other runs."""
        for name, score_set in self.sets.items():
            told = summary["runs"][name]
            store_figures(score_set, told.pop("figures"))
            counted = score_set.scores.aggregate(entries=Count("pk"), right=Count("pk", filter=Q(right=True)))
            score_set.entries, score_set.right = counted["entries"], counted["right"]
            score_set.missing = len(told.get("missing", ()))
            replies, predictions = self.replies.get(name, (0, 0))
            score_set.rounds = replies / predictions if predictions else None
            score_set.summary = told | {"errors": dict(self.errors.get(name, Counter()).most_common())}
            score_set.complete = True
            score_set.save()
        sets = list(self.sets.values())
        for score_set in sets:
            compare_with_others(score_set)
        # Attempts may be scored in any order, and those of a file belong together.
        for score_set in {(one.run.model, one.run.mode): one for one in sets}.values():
            count_attempts(score_set)
        for family, language in {(one.run.family, one.run.language) for one in sets}:
            count_entries(self.release, family, language)
        recount = latest_recount(self.release)
        if recount is not None and recount.items:
            count_kept(self.release, sets, recount.items)


class _FileWriter(Writer):
    """Writes the runs of a file, and shows them when everything is there."""

    def __init__(self, running: Running, file: PredictionFile, scoring: ScoringRun) -> None:
        super().__init__(running, file.release, file.family, scoring)
        self.file = file
        #: By language.
        self.items: dict[str, dict[str, int]] = {}

    def item_of(self, one: Scored) -> int | None:
        language = self.sets[one.run].run.language
        if language not in self.items:
            self.items[language] = items_by_name(self.release, self.family, language)
        return self.items[language].get(one.dialogue)

    def predictions(self, group: list[Scored]) -> Mapping[tuple[str, str], Prediction]:
        """Store what the models said, and return it by run and entry."""
        said = {
            (one.run, one.name): Prediction(
                run=self.sets[one.run].run, entry=one.name, item_id=self.item_of(one), content=one.prediction,
            )
            for one in group if one.prediction is not None
        }  # fmt: skip
        Prediction.objects.bulk_create(said.values())
        return said

    def begin(self, name: str) -> ScoreSet:
        """Create a run. The release is locked, so that two jobs do not take the same number of attempt."""
        file, scorer = self.file, self.scoring.scorer
        release = Release.objects.select_for_update(no_key=True).get(pk=file.release_id)
        language = scorer.language_of(name) if isinstance(scorer, MultiTurnScorer) else ""
        model = self.scoring.models.get(name, name)
        same = asdict(file.mode) | {"model": model[:_MODEL], "language": language}
        latest = Run.objects.filter(release=release, **same).aggregate(latest=Max("attempt"))["latest"] or 0
        run = Run.objects.create(
            release=release, release_sha256=release.sha256, file=file, requester=file.requester,
            provider=file.provider, family=file.family, attempt=latest + 1, **same, **self._asked(),
        )  # fmt: skip
        return ScoreSet.objects.create(run=run, version=VERSION, comparers=scorer.versions())

    def _asked(self) -> dict[str, Any]:
        """Return how Assay asked the model, and what it used; empty for an uploaded file."""
        asked = Inference.objects.select_related("endpoint").filter(predictions=self.file).first()
        if asked is None or asked.endpoint is None:
            return {}
        about = {"endpoint": asked.endpoint.name, "model": asked.model, "answered_as": asked.answered_as}
        used = {"input_tokens": asked.input_tokens, "output_tokens": asked.output_tokens}
        return {"settings": about | asked.settings, "cost": asked.cost if asked.priced else None, **used}

    def finish(self, summary: dict[str, Any], outcome: Outcome) -> None:
        """Store the figures and the comparisons, and show the runs."""
        with self.running.chunk() as chunk:
            # Locked, so that of two jobs that end at the same time one compares its runs with the other's.
            Release.objects.select_for_update(no_key=True).get(pk=self.file.release_id)
            Run.objects.filter(pk__in=[one.run_id for one in self.sets.values()]).update(complete=True)
            self.publish(summary)
            _keep_counts(self.file, outcome)
            append_event(
                actor=self.file.requester, project=self.file.release.project, kind="predictions.scored",
                after={"version": self.file.release.version, "runs": len(self.sets), "entries": outcome.entries},
            )  # fmt: skip
            chunk.advance(done=self.done, total=self.done, note="", checkpoint={"complete": True})


def count_replies(family: str, content: Any) -> int:
    """Return how many replies of a model a stored prediction has."""
    if family == "cctu":
        return sum(one.get("role") == "assistant" for one in content)
    return len(content["turns"] if family == "async" else content)


def store_figures(score_set: ScoreSet, figures: Iterable[dict[str, Any]]) -> None:
    """Store figures as a summary has them."""
    Figure.objects.bulk_create(
        Figure(
            score_set=score_set, name=one["name"], cell=one["cell"][:120], n=one["n"], value=one["value"],
            low=one["low"], high=one["high"],
        )
        for one in figures
    )  # fmt: skip


def _keep_counts(file: PredictionFile, outcome: Outcome) -> None:
    for name in ("entries", "missing", "foreign", "doubled", "problems"):
        setattr(file, name, getattr(outcome, name))
    file.notes = outcome.listed[:MAX_NOTES]
    file.save()


def count_entries(release: Release, family: str, language: str) -> None:
    """Count what the runs of a release made of each entry."""
    sets = current_sets(release).filter(run__family=family, run__language=language).values_list("pk", flat=True)
    rows = Score.objects.filter(score_set__in=list(sets)).values_list("entry", "score_set_id", "right", "said")
    entries: dict[str, list[Answer]] = {}
    for entry, score_set, right, said in rows.iterator(chunk_size=10_000):
        entries.setdefault(entry, []).append(Answer(score_set, right, said))
    found = statistics_of(entries)
    items = items_by_name(release, family, language)
    same = {"release": release, "family": family, "language": language}
    # Rows are updated and keep their keys, because pages of entries link to them.
    EntryStatistic.objects.bulk_create(
        (
            EntryStatistic(
                **same, entry=entry, item_id=items.get(dialogue_of(family, entry)), runs=one.runs, right=one.right,
                agreeing=one.agreeing, discrimination=one.discrimination, flag=one.flag.value,
            )
            for entry, one in found.items()
        ),
        batch_size=1_000, update_conflicts=True, unique_fields=[*same, "entry"],
        update_fields=["item", "runs", "right", "agreeing", "discrimination", "flag"],
    )  # fmt: skip


def count_attempts(score_set: ScoreSet) -> None:
    """Store pass^k and best-of-k over the attempts of the same model in the same mode, with the latest of them.

    Constrained cases have their attempts within a run, so the scorer counts them. Entries count that all attempts have.
    """
    run = score_set.run
    if run.family == "cctu":
        return
    sets = [one.pk for one in attempts_of(score_set)]
    Figure.objects.filter(score_set__in=sets, name__in=(PASS, BEST)).delete()
    if len(sets) < 2:
        return
    outcomes: dict[str, list[bool]] = {}
    for entry, right in Score.objects.filter(score_set__in=sets).values_list("entry", "right").iterator(10_000):
        outcomes.setdefault(entry, []).append(right)
    whole = {entry: rights for entry, rights in outcomes.items() if len(rights) == len(sets)}
    clusters = {entry: dialogue_of(run.family, entry) for entry in whole}
    latest = ScoreSet(pk=sets[-1])
    store_figures(latest, (figure_json(*one) for one in attempt_figures(whole, clusters)))


def compare_with_others(score_set: ScoreSet) -> None:
    """Store how a run's scores differ from those of the other runs of the release, entry by entry."""
    run = score_set.run
    others = ScoreSet.objects.filter(
        run__release=run.release_id, run__family=run.family, run__language=run.language, run__complete=True,
        version=score_set.version, complete=True,
    ).exclude(pk=score_set.pk)  # fmt: skip
    for other in others.only("pk"):
        first, second = sorted((score_set.pk, other.pk))
        theirs = Score.objects.filter(score_set=second, entry=OuterRef("entry")).values("right")[:1]
        counts = (
            Score.objects.filter(score_set=first)
            .annotate(theirs=Subquery(theirs))
            .aggregate(
                n=Count("pk", filter=Q(theirs__isnull=False)),
                only_first=Count("pk", filter=Q(right=True, theirs=False)),
                only_second=Count("pk", filter=Q(right=False, theirs=True)),
            )
        )
        p = mcnemar(counts["only_first"], counts["only_second"])
        RunPair.objects.update_or_create(first_id=first, second_id=second, defaults={**counts, "p": p})
