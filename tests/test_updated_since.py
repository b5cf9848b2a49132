"""Programs follow the lists of the API: pages by cursor, and what has changed since a moment."""

from typing import Any

import pytest
from django.test import Client
from django.urls import resolve
from django.utils import timezone

from annotator.api.filters import parameters_of
from annotator.api.schema_view import description
from annotator.models import Job, JobState
from tests.access_project import AccessProject, access, module_access
from tests.test_access_matrix import NAMES, address

__all__ = ["access", "module_access"]

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

#: Every list of the API: a GET with pages.
LISTS = [
    "api-assignment-list", "api-baseline-list", "api-comment-list", "api-dialogue-list", "api-draw-list",
    "api-endpoint-list", "api-entry-list", "api-erratum-report-list", "api-example-list",
    "api-feedback-list", "api-generation-list", "api-gold-list",
    "api-guideline-acceptance-list",
    "api-guideline-version-list", "api-history-list", "api-import-list", "api-inference-list", "api-invitation-list",
    "api-job-list", "api-member-list", "api-model-run-compare-entry-list", "api-model-run-entry-list",
    "api-model-run-list", "api-notice-list", "api-outdated-list", "api-pause-list", "api-prediction-list",
    "api-project-list", "api-protocol-version-list", "api-release-diff", "api-release-left-out", "api-release-list",
    "api-review-list", "api-revision-list", "api-session-decision-list", "api-toolset-list",
    "api-webhook-delivery-list",
]  # fmt: skip
#: Those that compare two releases or runs, which the access project does not have.
OF_TWO = ("api-model-run-compare-entry-list", "api-release-diff")


def test_whatever_returns_rows_has_pages_and_a_moment(access: AccessProject) -> None:
    for name in NAMES:
        if not name.startswith("api-") or name in ("api-docs", "api-schema"):
            continue
        path = address(name, access.ids)
        view: Any = resolve(path).func
        known = parameters_of(view.cls, "get") if hasattr(view.cls, "get") else {}
        assert ({"cursor", "size", "updated_since"} <= set(known)) == (name in LISTS), name
        assert not {"page", "offset", "limit", "after"} & set(known)
    schema = description()
    arrays = [
        path
        for path, methods in schema["paths"].items()
        for answer in methods.get("get", {}).get("responses", {}).values()
        if any(content["schema"].get("type") == "array" for content in answer.get("content", {}).values())
    ]
    # The changes between two documents are computed as a whole, and a project has at most 20 webhooks.
    assert [path for path in arrays if not path.endswith(("/diff/{other_id}/", "/webhooks/"))] == []


@pytest.mark.parametrize("name", [name for name in LISTS if name not in OF_TWO])
def test_every_list_has_nothing_after_the_last_change_and_all_before_the_first(
    access: AccessProject, name: str
) -> None:
    client = Client()
    client.force_login(access.team.administrator)
    path, key = address(name, access.ids), "slots" if name == "api-assignment-list" else "results"
    query = "state=waiting&" if name == "api-assignment-list" else ""
    Job.objects.filter(ended_at=None).update(ended_at=timezone.now(), state=JobState.DONE)
    start = f"{path}?{query}"
    whole = client.get(start).json()[key]
    early, late = (client.get(f"{start}updated_since={year}-01-01T00:00:00Z") for year in (2000, 2100))
    assert early.json()[key][: len(whole)] == whole
    assert late.status_code == 200
    assert [row for row in late.json()[key] if name != "api-release-list" or row["job"]["state"] == "done"] == []
