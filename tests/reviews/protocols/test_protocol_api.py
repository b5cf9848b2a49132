"""A program reads, checks and adopts protocols, and moves items in progress to the current version."""

from copy import deepcopy
from typing import Any

import pytest

from annotator.models import Job
from reviews.core.protocols import load_preset
from reviews.models import ProtocolVersion
from tests.api_client import ApiClient, refusal
from tests.factories import Team, begin, make_dialogue, make_team

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


def at(team: Team, rest: str) -> str:
    return f"/api/projects/{team.project.slug}/protocol/{rest}"


def renamed(definition: dict[str, Any]) -> dict[str, Any]:
    changed = deepcopy(definition)
    changed["stages"][0]["title"] = "First look"
    return changed


def test_a_protocol_is_checked_adopted_and_replaced_without_overwriting() -> None:
    team = make_team()
    api = ApiClient(team.administrator)
    assert refusal(api.get(at(team, ""))) == (404, "not_found")
    definition = load_preset("c3").model_dump(mode="json")
    checked = api.send(at(team, "check/"), {"definition": definition}).json()
    assert checked["problems"] == []
    assert not ProtocolVersion.objects.exists()
    sent = {"definition": definition, "seen": 0, "understaffed": True}
    first = api.send(at(team, "versions/"), sent)
    assert (first.status_code, first.json()["number"]) == (201, 1)
    assert api.send(at(team, "versions/"), sent).json() == first.json()
    assert refusal(api.send(at(team, "versions/"), sent | {"definition": renamed(definition)})) == (409, "conflict")
    changes = api.send(at(team, "check/"), {"definition": renamed(definition)}).json()["changes"]
    assert "First look" in str(changes)
    second = api.send(at(team, "versions/"), sent | {"definition": renamed(definition), "seen": 1})
    assert second.json()["number"] == 2
    assert api.get(at(team, "")).json() == second.json()
    assert api.get(at(team, "versions/1/")).json() == first.json()
    assert [row["number"] for row in api.get(at(team, "versions/")).json()["results"]] == [1, 2]


def test_an_impossible_protocol_and_one_without_people_are_refused_with_reasons() -> None:
    team = make_team(annotators=1)
    api = ApiClient(team.administrator)
    definition = load_preset("c3").model_dump(mode="json")
    bare = api.send(at(team, "versions/"), {"definition": definition, "seen": 0})
    assert refusal(bare) == (409, "conflict")
    assert bare.json()["details"]["short"]
    broken = deepcopy(definition)
    broken["stages"][0]["reviewers"] = 0
    answer = api.send(at(team, "versions/"), {"definition": broken, "seen": 0})
    assert refusal(answer) == (422, "invalid")
    assert (
        answer.json()["details"]["problems"] == api.send(at(team, "check/"), {"definition": broken}).json()["problems"]
    )
    huge = {"name": "x" * 500_000}
    assert "longer than" in api.send(at(team, "check/"), {"definition": huge}).json()["problems"][0]["message"]
    many = {"stages": [1] * 6_000}
    assert "values" in api.send(at(team, "check/"), {"definition": many}).json()["problems"][0]["message"]


def test_items_in_progress_are_moved_after_a_preview(team: Team) -> None:
    api = ApiClient(team.administrator)
    begin(team.project, [make_dialogue(team.project)])
    definition = api.get(at(team, "")).json()["definition"]
    sent = {"definition": renamed(definition), "seen": 1, "understaffed": True}
    assert api.send(at(team, "versions/"), sent).status_code == 201
    preview = api.get(at(team, "move/")).json()
    assert (preview["number"], preview["items"]) == (2, 1)
    assert refusal(api.send(at(team, "move/"), {"number": 1})) == (409, "conflict")
    assert api.send(at(team, "move/"), {"number": 2, "reason": "Clearer title"}).status_code == 202
    assert Job.objects.get().kind == "migrate_protocol"
    assert refusal(ApiClient(team.senior).send(at(team, "move/"), {"number": 2})) == (403, "denied")
