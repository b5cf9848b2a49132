"""What programs get that ask a list for what has changed since a moment."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client
from django.utils import timezone

from annotator.models import Dialogue, Job, JobState, Project, Role
from annotator.services.members import grant_role
from annotator.services.projects import publish_guideline
from reviews.services.assignments.changes import hand_over
from reviews.services.queue.pauses import pause, resume
from tests.api_client import ApiClient, refusal
from tests.factories import Team, adopt_c3, begin, make_dialogue, make_dialogues, make_document, make_team

pytestmark = pytest.mark.django_db


def stamp(moment: datetime) -> str:
    return quote(moment.astimezone(UTC).isoformat().replace("+00:00", "Z"))


def read_all(client: Client, path: str, key: str = "results") -> list[Any]:
    """Every row of a list, page by page."""
    rows: list[Any] = []
    following: str | None = path
    while following:
        answer = client.get(following)
        assert answer.status_code == 200, answer.content
        rows += answer.json()[key]
        following = answer.json()["next"]
    return rows


@pytest.mark.parametrize(
    "raw",
    [
        "2026-05-31", "2026-05-31T08:00:00", "2026-05-31 08:00:00Z", "2026-05-31T08:00Z", "2026-05-31T08:00:00+02",
        "2026-05-31T08:00:00 02:00", "2026-02-30T08:00:00Z", "2026-05-31T24:01:00Z", "2026-05-31T08:00:60Z",
        "2026-05-31T08:00:00+99:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "now", "1780214400",
        "2026-05-31T08:00:00z", "\u0662026-05-31T08:00:00Z", "2026-05-31T08:00:00Z\n", "20260531T080000Z",
    ],
)  # fmt: skip
def test_what_is_no_moment_with_a_zone_is_refused(team: Team, raw: str) -> None:
    answer = ApiClient(team.annotator).get("/api/projects/", {"updated_since": raw})
    assert refusal(answer) == (400, "unknown_filter")
    assert "Use a time with a zone, like 2026-05-31T08:00:00Z" in answer.json()["sentence"]


@pytest.mark.parametrize("zone", ["Z", "%2B00:00", "-00:00"])
def test_the_moment_itself_is_included_whatever_its_zone(team: Team, zone: str) -> None:
    dialogue = make_dialogue(team.project, make_document())
    moment = datetime(2026, 5, 31, 8, 0, 0, 250_000, tzinfo=UTC)
    Dialogue.objects.filter(pk=dialogue.pk).update(updated_at=moment)
    path = f"/api/projects/{team.project.slug}/dialogues/?updated_since=2026-05-31T08:00:00"
    client = ApiClient(team.annotator)
    assert len(client.get(f"{path}.25{zone}").json()["results"]) == 1
    assert len(client.get(f"{path}.250001{zone}").json()["results"]) == 0
    assert len(client.get(f"{path[:-8]}10:00:00.250000%2B02:00").json()["results"]) == 1


def test_a_program_that_follows_the_dialogues_misses_no_change(team: Team) -> None:
    adopt_c3(team)
    rows = make_dialogues(team.project, 7)
    client = ApiClient(team.administrator)
    path = f"/api/projects/{team.project.slug}/dialogues/?size=3&updated_since="

    def changed(since: datetime) -> list[str]:
        return [row["public_id"] for row in read_all(client, path + stamp(since))]

    Dialogue.objects.update(updated_at=timezone.now() - timedelta(days=1))
    before = timezone.now()
    assert changed(before) == []
    hand_over(actor=team.administrator, dialogue=rows[4], to=team.annotators[0])
    assert changed(before) == [rows[4].public_id]
    before = timezone.now()
    begin(team.project, [rows[1]])
    assert changed(before) == [rows[1].public_id]
    before = timezone.now()
    annotator = ApiClient(team.annotators[1])
    work = annotator.send(f"/api/projects/{team.project.slug}/claims/").json()
    annotator.send(f"/api/work/{work['slot']}/submit/", {"token": work["token"], "verdict": "approve"})
    assert changed(before) == [rows[1].public_id]


def test_what_an_import_publishes_late_is_not_missed(team: Team) -> None:
    """Its rows are written before the moment and become visible after it."""
    old = make_dialogue(team.project, make_document("old"))
    rows = make_dialogues(team.project, 2)
    now = timezone.now()
    Dialogue.objects.filter(pk=old.pk).update(updated_at=now - timedelta(hours=3))
    Dialogue.objects.filter(pk__in=[row.pk for row in rows]).update(updated_at=now - timedelta(hours=1))
    job = Job.objects.create(project=team.project, kind="import", created_at=now - timedelta(hours=2))
    client, path = ApiClient(team.annotator), f"/api/projects/{team.project.slug}/dialogues/?updated_since="

    def found(since: datetime) -> int:
        return len(client.get(path + stamp(since)).json()["results"])

    assert found(now) == 2
    Job.objects.filter(pk=job.pk).update(ended_at=now - timedelta(minutes=30), state=JobState.DONE)
    assert (found(now - timedelta(minutes=45)), found(now - timedelta(minutes=15))) == (2, 0)


def test_projects_change_with_their_settings_and_members(team: Team) -> None:
    client = ApiClient(team.annotator)
    Project.objects.update(created_at=timezone.now() - timedelta(days=9))

    def changed(since: datetime) -> list[str]:
        return [row["slug"] for row in client.get(f"/api/projects/?updated_since={stamp(since)}").json()["results"]]

    before = timezone.now()
    assert changed(before) == []
    other = make_team()
    Project.objects.update(created_at=timezone.now() - timedelta(days=9))
    before = timezone.now()
    grant_role(actor=other.administrator, project=other.project, user=team.annotator, role=Role.ANNOTATOR)
    assert changed(before) == [other.project.slug]
    before = timezone.now()
    publish_guideline(actor=team.administrator, project=team.project, text="Be kind.", seen=0)
    assert changed(before) == [team.project.slug]


def test_pauses_that_have_ended_since_are_listed_with_their_end(team: Team) -> None:
    client, path = ApiClient(team.administrator), f"/api/projects/{team.project.slug}/pauses/"
    made, _ = pause(actor=team.administrator, project=team.project)
    before = timezone.now()
    resume(actor=team.administrator, project=team.project, public_id=made.public_id)
    assert client.get(path).json()["results"] == []
    (row,) = client.get(f"{path}?updated_since={stamp(before)}").json()["results"]
    assert (row["public_id"], row["ended_at"] is None) == (made.public_id, False)


def test_assignments_have_pages_with_an_address(team: Team) -> None:
    adopt_c3(team)
    rows = begin(team.project, make_dialogues(team.project, 5))
    client, path = ApiClient(team.administrator), f"/api/projects/{team.project.slug}/assignments/?state=waiting&size=2"
    seen = read_all(client, path, "slots")
    assert [one["dialogue"] for one in seen] == [row.public_id for row in rows]
    before = timezone.now()
    assert read_all(client, f"{path}&updated_since={stamp(before)}", "slots") == []
    annotator = ApiClient(team.annotator)
    work = annotator.send(f"/api/projects/{team.project.slug}/claims/").json()
    held = f"/api/projects/{team.project.slug}/assignments/?updated_since={stamp(before)}"
    assert [one["slot"] for one in read_all(client, held, "slots")] == [work["slot"]]
    annotator.send(f"/api/work/{work['slot']}/release/", {"token": work["token"]})
    freed = read_all(client, f"{path}&updated_since={stamp(before)}", "slots")
    assert [one["slot"] for one in freed] == [work["slot"]]
    refused = client.get(path + "&cursor=1.x")
    assert refusal(refused) == (400, "unknown_filter")
