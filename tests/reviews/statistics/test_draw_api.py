"""A program sees what waits for a draw, draws, and checks draws; the pages show the same draw."""

import json

import pytest
from django.test import Client

from annotator.models import Role
from reviews.models import Draw
from reviews.services.protocols.versions import adopt_preset
from reviews.services.queue.claims import claim_slot
from tests.api_client import ApiClient, refusal
from tests.factories import Team, begin, claim_and_submit, give_role, make_dialogue, make_item, make_team, open_slot

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


def test_a_program_draws_the_audit_sample_that_the_page_shows(team: Team, client: Client) -> None:
    api, path = ApiClient(team.administrator), f"/api/projects/{team.project.slug}/draws/"
    assert api.send(path).status_code == 204
    item = make_item(team, "cross_check")
    for person in team.annotators[1:]:
        claim_and_submit(person, item, "approve")
    (pool,) = api.get(f"{path}pools/").json()["pools"]
    assert (pool["stage"], pool["mode"], pool["waiting"], pool["last"]) == ("expert", "escalated_and_fraction", 1, None)
    answer = api.send(path, {"stage": "expert"})
    made = answer.json()
    assert answer.status_code == 201
    assert (made["number"], made["population_size"], made["sample_size"]) == (1, 1, 1)
    assert made["actor"] == team.administrator.public_id
    assert made["carried_out_at"] is not None
    senior = ApiClient(team.senior)
    assert senior.get(path).json()["results"] == [made]
    assert senior.get(f"{path}{made['public_id']}/").json() == made
    assert senior.get(f"{path}pools/").json()["pools"][0] == pool | {"waiting": 0, "last": made}
    assert senior.get(f"{path}{made['public_id']}/check/").json() == {"problems": []}
    population = senior.get(f"{path}{made['public_id']}/population/").getvalue()
    assert [json.loads(line)["id"] for line in population.splitlines()] == [item.external_id]
    client.force_login(team.senior)
    assert made["seed"] in client.get(f"/p/{team.project.slug}/statistics/samples/").content.decode()


def test_a_round_in_progress_keeps_the_next_one_from_being_drawn() -> None:
    team = make_team(annotators=5)
    adopt_preset(actor=team.administrator, project=team.project, preset="wild", round_fraction=0.5)
    for person in team.annotators[:4]:
        item = make_dialogue(team.project)
        begin(team.project, [item])
        claim_and_submit(person, item, "approve")
    api, path = ApiClient(team.administrator), f"/api/projects/{team.project.slug}/draws/"
    assert api.send(path).json()["sample_size"] == 2
    assert api.get(f"{path}pools/").json()["pools"][0]["under_way"] is True
    assert refusal(api.send(path)) == (409, "conflict")
    assert Draw.objects.count() == 1


def test_draws_are_for_those_who_oversee_the_project(team: Team) -> None:
    api, path = ApiClient(team.administrator), f"/api/projects/{team.project.slug}/draws/"
    item = make_item(team, "cross_check")
    for person in team.annotators[1:]:
        claim_and_submit(person, item, "approve")
    wrong = api.send(path, {"stage": "nowhere"})
    assert refusal(wrong) == (400, "unknown_filter")
    assert "Use one of: “expert”" in wrong.json()["sentence"]
    made = api.send(path).json()["public_id"]
    assert refusal(ApiClient(team.senior).send(path)) == (403, "denied")
    for address in (path, f"{path}pools/", *(f"{path}{made}/{part}" for part in ("", "check/", "population/"))):
        assert refusal(ApiClient(team.annotator).get(address)) == (403, "denied")
        assert refusal(ApiClient(team.outsider).get(address)) == (404, "not_found")
    other = make_team()
    assert refusal(ApiClient(other.administrator).get(f"/api/projects/{other.project.slug}/draws/{made}/"))[0] == 404


def test_a_population_is_closed_to_a_senior_reviewer_who_reviews_one_of_its_dialogues_blind() -> None:
    team = make_team(annotators=5, seniors=1)
    adopt_preset(actor=team.administrator, project=team.project, preset="wild", round_fraction=1.0)
    for person in team.annotators:
        give_role(team.project, person, Role.SENIOR_REVIEWER)
    items = [make_dialogue(team.project) for _ in range(2)]
    begin(team.project, items)
    for person, item in zip(team.annotators, items, strict=False):
        claim_and_submit(person, item, "approve")
    made = ApiClient(team.administrator).send(f"/api/projects/{team.project.slug}/draws/").json()
    slot = open_slot(items[0])
    reviewer = slot.reserved_for
    claim_slot(actor=reviewer, slot=slot)
    path = f"/api/projects/{team.project.slug}/draws/{made['public_id']}/population/"
    assert refusal(ApiClient(reviewer).get(path)) == (403, "denied")
