"""A program reads a person's notices, marks them as read and chooses what comes by mail; the pages show the same."""

import json
from typing import Any

import pytest
from django.test import Client

from annotator.core.text import Message
from annotator.models import Notice, NoticeSettings, Role
from tests.api_client import ApiClient, refusal
from tests.factories import Team, give_role, make_team

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


def notice(team: Team, kind: str, text: str) -> Notice:
    return Notice.objects.create(
        person=team.annotator, project=team.project, kind=kind, message=Message(text), target="/notices/"
    )


def change(api: ApiClient, **settings: Any) -> Any:
    return api.patch("/api/notices/settings/", json.dumps(settings), content_type="application/json")


def test_a_program_reads_what_the_page_lists_and_no_one_elses(team: Team, client: Client) -> None:
    made = [notice(team, kind, f"Look at {kind}.") for kind in ("job", "alarm")]
    api, path = ApiClient(team.annotator), "/api/notices/"
    rows = api.get(path).json()["results"]
    assert [(row["kind"], row["text"], row["project"]) for row in rows] == [
        ("job", "Look at job.", team.project.slug), ("alarm", "Look at alarm.", team.project.slug),
    ]  # fmt: skip
    for _ in range(2):
        read = api.send(f"{path}{made[0].public_id}/read/").json()
    assert read["read_at"] is not None
    assert [row["kind"] for row in api.get(f"{path}?show=unread").json()["results"]] == ["alarm"]
    assert api.get(f"{path}?kind=job").json()["results"] == [read]
    client.force_login(team.annotator)
    page = client.get("/notices/?show=unread").content.decode()
    assert "Look at alarm." in page
    assert "Look at job." not in page
    assert ApiClient(team.administrator).get(path).json()["results"] == []
    assert refusal(ApiClient(team.administrator).send(f"{path}{made[1].public_id}/read/")) == (404, "not_found")
    wrong = api.get(f"{path}?kind=none")
    assert refusal(wrong) == (400, "unknown_filter")
    assert "Use one of: “mention”" in wrong.json()["sentence"]


def test_a_program_chooses_what_comes_by_mail(team: Team, client: Client) -> None:
    api = ApiClient(team.annotator)
    assert "mention" in api.get("/api/notices/settings/").json()["daily"]
    assert change(api, daily=["job"]).json() == {"daily": ["job"], "time_zone": ""}
    assert change(api, time_zone="Europe/Kyiv").json() == {"daily": ["job"], "time_zone": "Europe/Kyiv"}
    client.force_login(team.annotator)
    assert "Europe/Kyiv" in client.get("/notices/settings/").content.decode()
    wrong = change(api, daily=["none"])
    assert refusal(wrong) == (400, "invalid")
    assert "Use one of: “mention”" in wrong.json()["sentence"]
    assert refusal(change(api, time_zone="Nowhere")) == (422, "invalid")
    limited = ApiClient(team.annotator, projects=[team.project.public_id])
    assert refusal(change(limited, daily=[])) == (403, "denied")
    assert refusal(limited.get("/api/notices/settings/")) == (403, "denied")
    assert NoticeSettings.objects.get().daily == ["job"]


def test_a_token_for_another_project_does_not_reach_a_notice(team: Team) -> None:
    made, other = notice(team, "job", "Look."), make_team()
    give_role(other.project, team.annotator, Role.ANNOTATOR)
    limited = ApiClient(team.annotator, projects=[other.project.public_id])
    assert limited.get("/api/notices/").json()["results"] == []
    assert refusal(limited.send(f"/api/notices/{made.public_id}/read/")) == (404, "not_found")
