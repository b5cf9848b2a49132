"""A program reads the history under the rights of the page, downloads it, and starts a check; it follows jobs."""

import json

import pytest
from django.test import Client
from django.utils import timezone

from annotator.models import Event, Job, JobState
from annotator.services.jobs import jobs
from annotator.services.projects import publish_guideline
from reviews.services.queue.claims import claim_slot
from tests.api_client import ApiClient, refusal
from tests.factories import Team, claim_and_submit, make_item, make_team, open_slot

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


def history(team: Team) -> str:
    return f"/api/projects/{team.project.slug}/history/"


def test_a_program_reads_what_the_page_shows_page_by_page(team: Team, client: Client) -> None:
    publish_guideline(actor=team.administrator, project=team.project, text="Read every step.", seen=0)
    item = make_item(team, "cross_check", external_id="seen")
    api, rows, path = ApiClient(team.administrator), [], f"{history(team)}?size=3"
    while path:
        page = api.get(path).json()
        rows, path = rows + page["results"], page["next"]
    assert len(rows) == Event.objects.filter(project=team.project, sealed=False).count()
    assert [row["created_at"] for row in rows] == sorted(row["created_at"] for row in rows)
    (published,) = api.get(f"{history(team)}?kind=guideline").json()["results"]
    assert (published["kind"], published["actor"]) == ("guideline.published", team.administrator.public_id)
    assert (published["dialogue"], published["after"]["number"]) == (None, 1)
    client.force_login(team.administrator)
    assert "guideline" in client.get(f"/p/{team.project.slug}/history/?kind=guideline").content.decode()
    of_item = api.get(f"{history(team)}?item=seen&person={team.annotator.public_id}").json()["results"]
    assert of_item
    assert {(row["external_id"], row["actor"]) for row in of_item} == {("seen", team.annotator.public_id)}
    assert {row["dialogue"] for row in of_item} == {item.public_id}
    # Senior reviewers see dialogues only, as on the page.
    seen = ApiClient(team.senior).get(f"{history(team)}?size=200").json()["results"]
    assert [row for row in rows if row["dialogue"]] == seen
    assert api.get(f"{history(team)}?until=2020-01-01").json()["results"] == []
    file = api.get(f"{history(team)}events.jsonl?item=seen").getvalue().splitlines()
    assert {json.loads(line)["dialogue"] for line in file} == {"seen"}


def test_a_blind_review_is_listed_when_its_stage_has_ended(team: Team) -> None:
    item = make_item(team, "cross_check", external_id="blind")
    path = f"{history(team)}?item=blind&size=200"
    before = ApiClient(team.senior).get(path).json()
    claim_slot(actor=team.annotators[2], slot=open_slot(item))
    claim_and_submit(team.annotators[1], item, "approve")
    kinds = [row["kind"] for row in ApiClient(team.senior).get(path).json()["results"]]
    assert "review.submitted" not in kinds[len(before["results"]) :]
    moment = timezone.now().isoformat().replace("+00:00", "Z")
    claim_and_submit(team.annotators[2], item, "approve")
    later = ApiClient(team.senior).get(f"{path}&updated_since={moment}").json()["results"]
    # What was written before, and hidden, comes now.
    assert [row["kind"] for row in later].count("review.submitted") == 4


def test_what_the_history_does_not_know_is_refused(team: Team) -> None:
    api = ApiClient(team.administrator)
    for query, status, words in (
        ("kind=colour", 400, "Use one of: “project”"),
        ("person=none", 400, "Use one of: “program”"),
        ("colour=red", 400, "Unknown filter: “colour”"),
        ("since=yesterday", 422, "isn’t a date"),
    ):
        for part in ("", "events.jsonl"):
            answer = api.get(f"{history(team)}{part}?{query}")
            assert refusal(answer)[0] == status
            assert words in answer.json()["sentence"]


def test_the_history_is_closed_to_others(team: Team) -> None:
    for part in ("", "events.jsonl", "check/"):
        assert refusal(ApiClient(team.annotator).get(history(team) + part)) == (403, "denied")
        assert refusal(ApiClient(team.outsider).get(history(team) + part)) == (404, "not_found")
    for part in ("events.jsonl", "check/"):
        assert refusal(ApiClient(team.senior).get(history(team) + part)) == (403, "denied")
    assert refusal(ApiClient(team.senior).send(f"{history(team)}check/")) == (403, "denied")
    assert not Job.objects.exists()


def test_a_program_starts_a_check_and_follows_its_job(team: Team) -> None:
    make_item(team, "cross_check")
    api, path = ApiClient(team.administrator), f"{history(team)}check/"
    assert refusal(api.get(path)) == (404, "not_found")
    started = api.send(path)
    assert (started.status_code, started.json()["result"]) == (202, None)
    assert api.send(path).json()["public_id"] == started.json()["public_id"]
    jobs.run(Job.objects.get().pk)
    done = api.get(path).json()
    assert (done["state"], done["result"]["problems"], done["result"]["named"]) == ("done", 0, [])
    listed = f"/api/projects/{team.project.slug}/jobs/"
    assert [row["public_id"] for row in api.get(listed).json()["results"]] == [done["public_id"]]
    assert api.get(f"{listed}{done['public_id']}/").json() == {key: done[key] for key in done if key != "result"}
    assert refusal(api.send(f"{listed}{done['public_id']}/cancel/")) == (409, "conflict")


def test_a_job_is_cancelled_once_and_only_by_administrators_of_its_project(team: Team, client: Client) -> None:
    job = Job.objects.create(project=team.project, requester=team.administrator, kind="history")
    path = f"/api/projects/{team.project.slug}/jobs/{job.public_id}/"
    assert refusal(ApiClient(team.senior).send(f"{path}cancel/")) == (403, "denied")
    other = make_team()
    elsewhere = f"/api/projects/{other.project.slug}/jobs/{job.public_id}/"
    assert refusal(ApiClient(other.administrator).get(elsewhere)) == (404, "not_found")
    assert refusal(ApiClient(other.administrator).send(f"{elsewhere}cancel/")) == (404, "not_found")
    for _ in range(2):
        assert ApiClient(team.administrator).send(f"{path}cancel/").json()["state"] == JobState.CANCELLED
    client.force_login(team.administrator)
    assert "Cancelled" in client.get(f"/p/{team.project.slug}/jobs/").content.decode()
