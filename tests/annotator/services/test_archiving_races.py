"""Archiving and whatever begins at the same moment: nothing is in progress in an archived project."""

from functools import partial

import pytest
from django.db import IntegrityError

from annotator.errors import Conflict
from annotator.models import ArchivedProject, Job, Project
from annotator.services.archiving import archive_project, restore_project
from annotator.services.integrity.history_checks import start_check
from annotator.services.jobs.jobs import start_job
from tests.factories import make_team
from tests.racing import lost, overlap, race, won

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]


def test_a_job_that_is_being_added_stops_the_archiving() -> None:
    team = make_team()
    ask = {"actor": team.administrator, "project": team.project}
    _job, late = overlap(partial(start_check, **ask), partial(archive_project, **ask))
    assert isinstance(late, Conflict)
    assert not ArchivedProject.objects.exists()


def test_a_job_that_comes_while_the_project_is_archived_is_refused() -> None:
    team = make_team()
    ask = {"actor": team.administrator, "project": team.project}
    add = partial(start_job, **ask, kind="import", parameters={})
    _project, late = overlap(partial(archive_project, **ask), add)
    assert isinstance(late, IntegrityError)
    assert not Job.objects.exists()


def test_two_administrators_archive_and_restore_once() -> None:
    team = make_team()
    ask = {"actor": team.administrator, "project": team.project}
    assert lost(race(*[partial(archive_project, **ask)] * 2)) == []
    assert ArchivedProject.objects.count() == 1
    assert len(won(race(*[partial(restore_project, **ask)] * 2))) == 2
    assert Project.objects.get().archived_at is None
