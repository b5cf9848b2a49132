"""A program reads toolsets and changes one, after it has counted what that affects."""

import pytest

from annotator.models import Job
from tests.api_client import ApiClient, refusal
from tests.factories import WEATHER_TOOLS, Team, make_dialogue

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


def test_a_toolset_is_read_previewed_and_changed(team: Team) -> None:
    make_dialogue(team.project)
    api, path = ApiClient(team.administrator), f"/api/projects/{team.project.slug}/toolsets/"
    (row,) = api.get(path).json()["results"]
    one = f"{path}{row['public_id']}/"
    before = api.get(one).json()
    assert (before["number"], len(before["tools"]), before["implementation"]) == (1, 2, None)
    assert refusal(api.send(one, {"tools": before["tools"], "seen": 1})) == (409, "conflict")
    fewer = {"tools": WEATHER_TOOLS[:1]}
    assert api.send(f"{one}preview/", fewer).json() == {"affected": {"candidate": 1}, "problems": []}
    assert refusal(api.send(one, fewer | {"seen": 2})) == (409, "conflict")
    assert api.send(one, fewer | {"seen": 1}).json()["state"] == "queued"
    assert Job.objects.get().kind == "toolset_change"
    assert api.get(one).json()["number"] == 2
    assert refusal(ApiClient(team.senior).send(one, fewer | {"seen": 2})) == (403, "denied")
    assert refusal(api.send(f"{one}preview/", {"tools": [{"type": "x"}]})) == (422, "invalid")
