"""A program says who is present at a review session, opens disputes and decides them; the page shows the same."""

from typing import Any

import pytest
from django.test import Client

from annotator.models import Role
from reviews.models import Claim, Review, ReviewSession, SessionDecision
from tests.api_client import ApiClient, refusal
from tests.factories import Team, adopt_c3, give_role, make_item, make_team
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

RULINGS = {"/tasks/t1/steps/s1/text": {"choice": "right", "reason_kind": "answer_wrong", "reason": "As observed."}}


@pytest.fixture
def team() -> Team:
    team = make_team(seniors=2)
    adopt_c3(team, audit_fraction=0.0)
    return team


def sessions(team: Team) -> str:
    return f"/api/projects/{team.project.slug}/review-sessions/"


def decision(claim: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"slot": claim["slot"], "token": claim["token"], "verdict": "fix", "rulings": RULINGS} | more


def test_a_program_decides_a_dispute_as_on_the_page(team: Team, client: Client) -> None:
    items = [make_item(team, "expert") for _ in range(2)]
    api = ApiClient(team.senior)
    (found,) = api.get(sessions(team)).json()["rounds"]
    assert (found["address"], found["open"]) == ("cross_check-1", 2)
    path = f"{sessions(team)}{found['address']}/"
    assert refusal(api.send(f"{path}claims/", {"dialogue": items[0].public_id})) == (409, "conflict")
    before = api.get(path).json()
    assert (before["started"], before["present"], before["decided"]) == (False, [], 0)
    people = [team.senior.public_id, team.annotators[1].public_id]
    started = api.send(path, {"people": people}).json()
    assert (started["started"], set(started["present"])) == (True, set(people))
    assert [one["available"] for one in started["disputes"]] == [True, True]
    assert started["disputes"][0]["verdicts"] == ["approve", "fix"]
    claims = [api.send(f"{path}claims/", {"dialogue": item.public_id}).json() for item in (*items, items[0])]
    # Opening another dispute releases the first one; opening it again is a new claim.
    assert len({one["token"] for one in claims}) == 3
    assert Claim.objects.filter(person=team.senior, state="live").count() == 1
    sent = decision(claims[2], note="It reads the observation.")
    made = api.send(f"{path}decisions/", sent)
    assert made.status_code == 201, made.json()
    assert api.send(f"{path}decisions/", sent).json() == made.json()
    (row,) = ApiClient(team.administrator).get(f"{path}decisions/").json()["results"]
    assert (row["review"], row["dialogue"]) == (made.json()["public_id"], items[0].public_id)
    assert (set(row["present"]), row["rulings"], row["note"]) == (set(people), 1, "It reads the observation.")
    after = api.get(path).json()
    assert (after["decided"], after["open"]) == (1, 1)
    assert after["rulings"] == {"choices": {"right": 1}, "reasons": {"answer_wrong": 1}}
    client.force_login(team.senior)
    page = one_line(client.get(f"/p/{team.project.slug}/review-sessions/cross_check-1/"))
    assert "Decided together: 1" in page
    assert "It reads the observation." in page


def test_the_page_of_a_dispute_that_a_program_opened_belongs_to_the_session(team: Team, client: Client) -> None:
    item, api = make_item(team, "expert"), ApiClient(team.senior)
    path = f"{sessions(team)}cross_check-1/"
    api.send(path, {"people": [team.senior.public_id, team.annotators[1].public_id]})
    claim = api.send(f"{path}claims/", {"dialogue": item.public_id}).json()
    client.force_login(team.senior)
    assert "review-sessions/cross_check-1/" in client.get(f"/work/{claim['slot']}/settle/").content.decode()


def test_a_decision_needs_others_and_belongs_to_its_round(team: Team) -> None:
    item, api = make_item(team, "expert"), ApiClient(team.senior)
    path = f"{sessions(team)}cross_check-1/"
    api.send(path, {"people": [team.senior.public_id]})
    claim = api.send(f"{path}claims/", {"dialogue": item.public_id}).json()
    alone = api.send(f"{path}decisions/", decision(claim))
    assert refusal(alone) == (422, "invalid")
    assert "Select who else is present" in alone.json()["sentence"]
    others = {"people": [team.annotators[1].public_id]}
    assert refusal(api.send(f"{path}decisions/", decision(claim, people=["nobody"]))) == (422, "invalid")
    assert refusal(api.send(f"{path}decisions/", decision(claim, token="none", **others))) == (404, "not_found")
    elsewhere = ReviewSession.objects.create(
        project=team.project, stage="self_check_single", round=1, opened_by=team.senior
    )
    wrong = api.send(f"{sessions(team)}{elsewhere.stage}-1/decisions/", decision(claim, **others))
    assert refusal(wrong) == (409, "conflict")
    assert "isn’t a dispute of this round" in wrong.json()["sentence"]
    # Nor is it one of the same round of another project.
    other = make_team()
    adopt_c3(other)
    give_role(other.project, team.senior, Role.SENIOR_REVIEWER)
    api.send(f"{sessions(other)}cross_check-1/", {"people": [other.annotators[0].public_id]})
    foreign = decision(claim, people=[other.annotators[0].public_id])
    assert refusal(api.send(f"{sessions(other)}cross_check-1/decisions/", foreign)) == (409, "conflict")
    assert not Review.objects.filter(slot__public_id=claim["slot"]).exists()
    assert not SessionDecision.objects.exists()


def test_sessions_are_for_those_who_oversee_the_project(team: Team) -> None:
    item = make_item(team, "expert")
    path = f"{sessions(team)}cross_check-1/"
    for body, address in (({"people": ["x"]}, path), ({"dialogue": item.public_id}, f"{path}claims/")):
        assert refusal(ApiClient(team.annotator).send(address, body)) == (403, "denied")
        assert refusal(ApiClient(team.outsider).send(address, body)) == (404, "not_found")
    for address in (sessions(team), path, f"{path}decisions/"):
        assert refusal(ApiClient(team.annotator).get(address)) == (403, "denied")
        assert refusal(ApiClient(team.outsider).get(address)) == (404, "not_found")
    api = ApiClient(team.senior)
    assert refusal(api.get(f"{sessions(team)}nothing-1/")) == (404, "not_found")
    assert refusal(api.send(path, {"people": []})) == (400, "invalid")
    assert refusal(api.send(path, {"people": [team.outsider.public_id]})) == (422, "invalid")
    # An administrator without the role of a senior reviewer starts a session but settles nothing.
    administrator = ApiClient(team.administrator)
    assert administrator.send(path, {"people": [team.senior.public_id]}).status_code == 200
    assert refusal(administrator.send(f"{path}claims/", {"dialogue": item.public_id})) == (403, "denied")
    other = make_team()
    assert ApiClient(other.administrator).get(sessions(other)).json() == {"rounds": []}
