"""Score a run again by a newer version of the scorers, from the predictions that are stored. The old scores stay."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotator.core.text import gettext_noop
from annotator.errors import Conflict
from annotator.models import Job, User
from annotator.models.jobs import JOB_ENDED
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import Running, job_kind, lock_requester, start_job
from benchmark.core.scoring import scoring_run
from benchmark.core.scoring.scorers import Scored
from benchmark.core.scoring.scoring_run import Options, ScoringRun
from benchmark.models import Figure, Prediction, Release, Run, Score, ScoreSet
from benchmark.services.releases.requests import archive_path
from benchmark.services.runs.scoring import BEAT, Writer, groups, refusals_as_domain_errors

KIND = "score_again"


def may_score_again(score_set: ScoreSet) -> bool:
    """Return whether there is a newer version of the scorers."""
    return score_set.version < scoring_run.VERSION


def start_rescoring(*, actor: User, run: Run, wake_worker: bool = True) -> Job:
    """Start to score a run by the current version of the scorers. A repeated request returns the unfinished job.

    Raises Denied for anyone but administrators, Conflict if it was scored by this version.
    """
    require_administrator(actor=actor, project=run.release.project)
    with transaction.atomic():
        lock_requester(actor.pk)
        # Locked, so that of two administrators the second finds the job of the first.
        Run.objects.select_for_update(no_key=True).get(pk=run.pk)
        if run.score_sets.filter(version=scoring_run.VERSION, complete=True).exists():
            raise Conflict(_("This run was scored by the current version of the scorers."))
        parameters = {"run": run.public_id, "version": scoring_run.VERSION}
        begun = Job.objects.filter(project=run.release.project, kind=KIND, parameters=parameters)
        waiting = begun.exclude(state__in=JOB_ENDED).first()
        return waiting or start_job(
            actor=actor, project=run.release.project, kind=KIND, parameters=parameters, wake_worker=wake_worker
        )


def remove_scores(job: Job) -> None:
    """Remove the scores that an unfinished job has written."""
    sets = ScoreSet.objects.filter(
        run__public_id=job.parameters["run"], version=job.parameters["version"], complete=False
    )
    Figure.objects.filter(score_set__in=sets).delete()
    Score.objects.filter(score_set__in=sets).delete()
    sets.delete()


@job_kind(KIND, gettext_noop("Scores"), discard=remove_scores, untrusted=True)
def run_rescoring(running: Running) -> dict[str, Any]:
    """Run a job of the kind ``score_again``."""
    run = Run.objects.select_related("release__project", "file").get(public_id=running.job.parameters["run"])
    if not running.checkpoint.get("complete"):
        with running.chunk() as chunk:
            remove_scores(running.job)
            chunk.advance(done=0, note="", checkpoint={})
        with refusals_as_domain_errors():
            _score(running, run)
    return {"runs": [run.public_id]}


def _score(running: Running, run: Run) -> None:
    last = time.monotonic()

    def beat() -> None:
        nonlocal last
        if time.monotonic() - last > BEAT:
            running.beat()
            last = time.monotonic()

    # Of other families, thoughts were left out when the predictions were stored.
    strip_think = run.family == "async" and run.file is not None and run.file.strip_thinking
    options = Options(run.family, run.language or None, run.history, strip_think=strip_think)
    with ScoringRun(archive_path(run.release), [], options) as scoring:
        writer = _Writer(running, run, scoring)
        for group in groups(scoring.scored_again(_records(run), beat=beat)):
            writer.write(group)
        summary = scoring.summary()
        running.beat()
        with running.chunk() as chunk:
            Release.objects.select_for_update(no_key=True).get(pk=run.release_id)
            writer.publish(summary)
            append_event(
                actor=running.job.requester, project=run.release.project, kind="predictions.scored",
                after={"version": run.release.version, "runs": 1, "entries": scoring.outcome.entries},
            )  # fmt: skip
            chunk.advance(done=writer.done, total=writer.done, note="", checkpoint={"complete": True})


def _records(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the stored predictions as neutral records."""
    for entry, content in run.predictions.order_by("pk").values_list("entry", "content").iterator(chunk_size=100):
        if run.family == "cctu":
            case, _sign, attempt = entry.rpartition("@")
            yield {"run": run.public_id, "case": case, "attempt": int(attempt), "messages": content}
        elif run.family == "async":
            yield {**content, "run": run.public_id, "model": run.public_id, "id": entry}
        else:
            dialogue, _sign, task = entry.rpartition("#")
            yield {"run": run.public_id, "dialogue": dialogue, "task": int(task), "rounds": content}


class _Writer(Writer):
    """Writes scores beside the earlier ones, for the predictions that are there."""

    def __init__(self, running: Running, run: Run, scoring: ScoringRun) -> None:
        super().__init__(running, run.release, run.family, scoring)
        self.run = run

    def begin(self, name: str) -> ScoreSet:
        versions = self.scoring.scorer.versions()
        return ScoreSet.objects.create(run=self.run, version=scoring_run.VERSION, comparers=versions)

    def predictions(self, group: list[Scored]) -> Mapping[tuple[str, str], Prediction]:
        found = self.run.predictions.filter(entry__in=[one.name for one in group]).defer("content")
        return {(self.run.public_id, one.entry): one for one in found}
