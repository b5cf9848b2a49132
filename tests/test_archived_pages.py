"""Everything in an archived project refuses changes, and what it has published can still be read."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from annotator.config import settings
from annotator.models import Job, JobState, Membership, Project, WebhookDelivery
from annotator.services.archiving import archive_project
from benchmark.services.project_data.tables import project_tables
from reviews.models import Claim, Slot
from tests.access_project import AccessProject, access, module_access
from tests.test_access_matrix import NAMES, SIGN_IN, VARIABLES, outcome, visit

__all__ = ["access", "module_access"]

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

#: Addresses that change something in an archived project or only look although they are posted to.
_STILL = {"api-project-archive", "api-project-deletion", "api-project-export", "api-project-restore", "project-archive"}
#: Tables that are written for what people are and read, not for the project: new tokens, notices that were read.
_OF_PEOPLE = {"token-list": {"annotator_event", "annotator_apitoken_projects"}, "notice-list": {"annotator_notice"}}
#: Tables that periodic tasks still write: they only add up what has been written.
_SUMS = {
    "reviews_agreementcount", "reviews_agreementpending", "reviews_counter", "reviews_counterdelta",
    "reviews_itemhistory", "reviews_itemhistorycount", "reviews_itemhistorypending", "reviews_queuecursor",
    "reviews_workloadcount", "reviews_workloadpending",
}  # fmt: skip
_WRITES = re.compile(r'\s*(?:INSERT(?: OR \w+)? INTO|UPDATE|DELETE FROM)\s+"?(\w+)"?', re.IGNORECASE)


@pytest.fixture
def archived(access: AccessProject) -> AccessProject:
    team = access.team
    Job.objects.filter(project=team.project).exclude(state=JobState.DONE).update(
        state=JobState.DONE, ended_at=timezone.now()
    )
    archive_project(actor=team.administrator, project=team.project)
    return access


@contextmanager
def written() -> Iterator[set[str]]:
    """The tables with rows of projects that statements have written meanwhile, even if it was taken back."""
    tables, found = {table.model._meta.db_table for table in project_tables()}, set()

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        match = _WRITES.match(sql)
        if match and match[1] in tables and context["cursor"].rowcount:
            found.add(match[1])
        return result

    with connection.execute_wrapper(note):
        yield found


def test_every_page_refuses_changes_and_public_links_work(archived: AccessProject) -> None:
    # Not the addresses of accounts, which belong to a library.
    for name in (one for one in NAMES if not one.startswith("account")):
        for role in ("administrator", "annotator", "anonymous"):
            with written() as tables:
                answer = outcome(visit(archived, role, name, "POST"))
            if name in _STILL:
                continue
            if "slug" in VARIABLES[name] or "slot" in VARIABLES[name]:
                assert answer in ("401", "403", "404", "405", "409", SIGN_IN), (name, role, answer)
            # Others may make a project of their own.
            if name not in ("api-project-list", "project-create"):
                assert tables <= _OF_PEOPLE.get(name, set()), (name, role, answer, tables)
    for name in ("shared-scores", "shared-table", "shared-badge", "shared-errata"):
        assert outcome(visit(archived, "anonymous", name, "GET")) == "200"
    for name in ("release-detail", "release-download", "api-release-archive", "dialogue", "history-list", "gold-list"):
        with written() as tables:
            assert outcome(visit(archived, "senior", name, "GET")) == "200"
        assert not tables


def test_periodic_tasks_only_add_up_what_was_written(archived: AccessProject) -> None:
    project = Project.objects.get(slug=archived.slug)
    past = timezone.now() - timedelta(hours=2)
    # Everything is due.
    Claim.objects.filter(project=project).update(expires_at=past)
    WebhookDelivery.objects.filter(webhook__project=project).update(state="waiting", next_try_at=past)
    Slot.objects.filter(project=project, state="open").update(reserved_for=archived.people["deactivated"])
    Membership.objects.filter(user=archived.people["deactivated"]).update(ended_at=past)
    rows = {label: set(kept) for label, kept in _rows(project).items()}
    for task in [entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()]:
        module, _, function = task.rpartition(".")
        with written() as tables:
            getattr(import_module(module), function)()
        assert tables <= _SUMS | {"annotator_notice"}, task
    assert {label: kept for label, kept in _rows(project).items() if label not in _SUMS} == {
        label: kept for label, kept in rows.items() if label not in _SUMS
    }


def _rows(project: Project) -> dict[str, set[int]]:
    return {
        table.model._meta.db_table: set(table.rows(project.pk).values_list("pk", flat=True))
        for table in project_tables()
    }
