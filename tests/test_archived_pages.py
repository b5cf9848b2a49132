"""Everything in an archived project refuses changes, and what it has published can still be read."""

import pytest
from django.utils import timezone

from annotator.models import Event, Job, JobState
from annotator.services.archiving import archive_project
from tests.access_project import AccessProject, access, module_access
from tests.test_access_matrix import NAMES, VARIABLES, outcome, visit

__all__ = ["access", "module_access"]

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

#: Addresses that change something in an archived project or only look although they are posted to.
_STILL = {"api-project-archive", "api-project-deletion", "api-project-export", "api-project-restore", "project-archive"}


def test_every_page_refuses_changes_and_public_links_work(access: AccessProject) -> None:
    team = access.team
    Job.objects.filter(project=team.project).exclude(state=JobState.DONE).update(
        state=JobState.DONE, ended_at=timezone.now()
    )
    archive_project(actor=team.administrator, project=team.project)
    before = Event.objects.count()
    for name in NAMES:
        if "slug" not in VARIABLES[name] and "slot" not in VARIABLES[name]:
            continue
        for role in ("administrator", "annotator"):
            answer = outcome(visit(access, role, name, "POST"))
            assert answer in ("403", "404", "405", "409") or name in _STILL, (name, role, answer)
    assert Event.objects.count() == before
    for name in ("shared-scores", "shared-table", "shared-badge", "shared-errata"):
        assert outcome(visit(access, "anonymous", name, "GET")) == "200"
    for name in ("release-detail", "release-download", "api-release-archive", "dialogue", "history-list", "gold-list"):
        assert outcome(visit(access, "senior", name, "GET")) == "200"
