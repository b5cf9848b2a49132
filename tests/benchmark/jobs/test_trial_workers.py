"""A validator that hangs, in the hands of a real Celery worker with two processes: its author waits, others do not."""

import itertools
import subprocess
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from annotator.core.validators import subjects_of
from annotator.models import Job, User, ValidatorTrial
from annotator.models.jobs import JOB_ENDED
from annotator.services.dialogues import trials
from annotator.services.jobs import jobs
from tests.annotator.case_documents import CODE, with_constraint
from tests.benchmark.conftest import as_lines, begin_import, candidates
from tests.benchmark.imports.test_import_workers import until
from tests.factories import Team, adopt_c3, make_team

pytestmark = [pytest.mark.servers, pytest.mark.slow]

HANGING = "def validate_punctuation(response):\n    while True:\n        pass\n"
GOOD = 50
#: Colleagues who ask for them: nobody has more than ``trials.MAX_RUNNING`` under way.
COLLEAGUES = 17


def coded(code: str) -> dict[str, Any]:
    return with_constraint("c4", validator={"code": code, "function": "validate_punctuation", "good": [], "bad": []})


@pytest.mark.any_database
def test_a_validator_that_hangs_costs_its_author_a_sentence_and_nobody_else_a_job(
    transactional_db: None, start_worker: Callable[..., subprocess.Popen[bytes]]
) -> None:
    team = make_team(annotators=1 + COLLEAGUES)
    adopt_c3(team)
    author, *colleagues = team.annotators
    bad = [coded(f"{HANGING}# {n}\n") for n in range(trials.MAX_RUNNING)]
    for document in bad:
        ask(team, author, document)
    for n, colleague in zip(range(GOOD), itertools.cycle(colleagues), strict=False):
        ask(team, colleague, coded(f"{CODE}# {n}\n"))
    batch = begin_import(team, as_lines(candidates(3)))
    jobs.wake(batch.job)
    start_worker("--concurrency", "2")
    asked = Job.objects.filter(kind=trials.KIND).order_by("started_at")
    good = asked.exclude(requester=author)
    until(lambda: not good.exclude(state__in=JOB_ENDED).exists(), "the end of the colleagues’ trials")
    until(lambda: Job.objects.get(pk=batch.job_id).ended, "the end of the import behind them")
    until(lambda: not asked.exclude(state__in=JOB_ENDED).exists(), "the end of the author’s trials")

    assert {(job.state, job.attempt) for job in asked.all()} == {("done", 1)}
    assert Job.objects.get(pk=batch.job_id).state == "done"
    assert good.count() == ValidatorTrial.objects.filter(error_count=0).count() == GOOD
    for document in bad:
        (subject,) = subjects_of(document)
        (sentence,) = ValidatorTrial.objects.get(key=subject.key).errors
        assert "It returns no verdict on any response." in sentence

    # Nobody had two running, so one author cannot take both processes.
    runs: dict[int | None, list[Job]] = defaultdict(list)
    for job in asked.all():
        runs[job.requester_id].append(job)
    assert len(runs) == 1 + COLLEAGUES
    for mine in runs.values():
        for before, after in itertools.pairwise(mine):
            assert before.ended_at is not None
            assert after.started_at is not None
            assert before.ended_at <= after.started_at
    # Once the author’s first had ended the next went behind those who had asked: all colleagues were served before it,
    # but for the one that the other process had just been given.
    second = runs.pop(author.pk)[1].started_at
    assert second is not None
    late = [mine[0] for mine in runs.values() if mine[0].started_at is not None and mine[0].started_at > second]
    assert len(late) <= 1


def ask(team: Team, person: User, document: dict[str, Any]) -> None:
    """Have the document’s validators tried; its message is in the queue when this returns."""
    assert trials.start_trials(actor=person, project=team.project, document=document) is not None
