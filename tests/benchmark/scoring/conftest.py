"""Scored runs of models over a release of three dialogues."""

import io

import pytest
from django.test import Client

from annotator.services.jobs import jobs
from benchmark.models import PredictionFile
from benchmark.services.runs import uploads
from tests.benchmark.conftest import as_lines, make_verified, run_release
from tests.benchmark.scoring.scoring_cases import call, calls, prediction, said


@pytest.fixture
def client(team):
    """A browser in which the administrator is signed in."""
    client = Client()
    client.force_login(team.administrator)
    return client


@pytest.fixture
def release(team):
    for name in ("weather-1", "weather-2", "weather-3"):
        make_verified(team, name)
    return run_release(team, native_format="wild")


def right_rounds(document):
    """Rounds that repeat the reference of each task."""
    found = []
    for task in document["tasks"]:
        rounds = [
            calls(call(step["name"], **step["arguments"])) if step["type"] == "call" else said(step.get("text") or "?")
            for step in task["steps"]
        ]
        found.append(rounds)
    return found


@pytest.fixture
def predictions_of(release):
    """Predictions of every entry: ``predictions_of(run, wrong=…)``; those of the dialogues in ``wrong`` only answer, of
    all tasks or the one given.
    """

    def make(run, *, wrong=(), task=None):
        found = []
        for item in release.items.select_related("dialogue", "revision"):
            name = item.dialogue.external_id
            for number, rounds in enumerate(right_rounds(item.revision.document())):
                is_wrong = name in wrong and task in (None, number)
                found.append(prediction(name, number, [said("No.")] if is_wrong else rounds, run))
        return found

    return make


@pytest.fixture
def score(team, release):
    """Upload predictions and run their job: ``score(lines)``; returns the file."""

    def upload(lines, *, filename="answers.jsonl", actor=None, run=True, **options):
        content = lines if isinstance(lines, bytes) else as_lines(lines)
        file = uploads.start_scoring(
            actor=actor or team.administrator, release=options.pop("release", release), upload=io.BytesIO(content),
            filename=filename, family=options.pop("family", "wild"), wake_worker=False, **options,
        )  # fmt: skip
        if run:
            jobs.run(file.job_id)
        return PredictionFile.objects.select_related("job").get(pk=file.pk)

    return upload
