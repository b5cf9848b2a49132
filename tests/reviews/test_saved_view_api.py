"""A program saves, reads, renames and deletes views of the list of dialogues; the page shows the same."""

import json
from typing import Any

import pytest
from django.test import Client

from annotator.models import SavedView
from tests.api_client import ApiClient, refusal
from tests.factories import Team, make_team

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


def views(team: Team) -> str:
    return f"/api/projects/{team.project.slug}/views/"


def rename(api: ApiClient, path: str, name: str) -> Any:
    return api.patch(path, json.dumps({"name": name}), content_type="application/json")


def test_a_program_keeps_a_view_that_the_page_lists(team: Team, client: Client) -> None:
    api, path = ApiClient(team.administrator), views(team)
    sent = {"name": "Wrong ones", "query": "problems=errors&sort=-errors&column=source&stage=", "shared": True}
    made = api.send(path, sent)
    view = made.json()
    assert (made.status_code, view["query"]) == (201, "problems=errors&sort=-errors&column=source")
    assert (view["usable"], view["left_out"]) == (view["query"], [])
    assert refusal(api.send(path, sent)) == (409, "conflict")
    reader = ApiClient(team.annotator)
    own = reader.send(path, {"name": "Mine", "query": ""}).json()
    assert [one["name"] for one in reader.get(path).json()["views"]] == ["Wrong ones", "Mine"]
    assert [one["name"] for one in api.get(path).json()["views"]] == ["Wrong ones"]
    client.force_login(team.annotator)
    assert "Wrong ones" in client.get(f"/p/{team.project.slug}/views/").content.decode()
    address = f"{path}{view['public_id']}/"
    assert reader.get(address).json() == view
    assert rename(api, address, "Errors").json()["name"] == "Errors"
    assert refusal(rename(reader, address, "Ours")) == (403, "denied")
    assert refusal(reader.delete(address)) == (403, "denied")
    assert refusal(api.get(f"{path}{own['public_id']}/")) == (404, "not_found")
    assert api.delete(address).status_code == 204
    assert refusal(api.delete(address)) == (404, "not_found")
    assert list(SavedView.objects.values_list("name", flat=True)) == ["Mine"]


def test_what_the_list_does_not_know_is_refused_with_what_it_knows(team: Team) -> None:
    api = ApiClient(team.annotator)
    for query, words in (
        ("colour=red", "Unknown filter: “colour”. Use one of: “check”, “column”"),
        ("stage=nowhere", "Use one of: “self_check_single”"),
        ("sort=colour", "“sort” can’t be “colour”"),
        ("count=1", "Unknown filter: “count”"),
    ):
        answer = api.send(views(team), {"name": "V", "query": query})
        assert refusal(answer) == (400, "unknown_filter")
        assert words in answer.json()["sentence"]
    assert refusal(api.send(views(team), {"name": " ", "query": ""})) == (400, "invalid")
    assert refusal(api.send(views(team), {"name": "V", "query": "", "shared": True})) == (403, "denied")
    assert not SavedView.objects.exists()


def test_a_part_that_no_longer_exists_is_named_and_left_out(team: Team) -> None:
    api = ApiClient(team.annotator)
    made = api.send(views(team), {"name": "V", "query": "q=rain&stage=expert"}).json()
    SavedView.objects.filter(public_id=made["public_id"]).update(query="q=rain&stage=gone")
    read = api.get(f"{views(team)}{made['public_id']}/").json()
    assert (read["query"], read["usable"]) == ("q=rain&stage=gone", "q=rain")
    assert "“stage” can’t be “gone”" in read["left_out"][0]


def test_views_of_another_project_do_not_exist(team: Team) -> None:
    made = ApiClient(team.administrator).send(views(team), {"name": "V", "query": "", "shared": True}).json()
    other = make_team()
    stranger = ApiClient(other.administrator)
    assert refusal(stranger.get(views(team))) == (404, "not_found")
    assert refusal(stranger.get(f"{views(other)}{made['public_id']}/")) == (404, "not_found")
    assert refusal(stranger.delete(f"{views(other)}{made['public_id']}/")) == (404, "not_found")
