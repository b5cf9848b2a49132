"""What an administrator does in the browser, done by a program: members, invitations, settings, guideline."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.core.checks import all_checks
from annotator.models import Event, Guideline, Invitation, Project, Role
from annotator.services.access.permissions import roles_in
from reviews.services.queue.claims import claim_next
from tests.api_client import ApiClient, refusal
from tests.factories import Team, adopt_c3, begin, give_role, make_dialogue, make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.fixture
def api(team: Team) -> ApiClient:
    return ApiClient(team.administrator)


def at(team: Team, rest: str) -> str:
    return f"/api/projects/{team.project.slug}/{rest}"


def change(client: Client, path: str, body: Any) -> Any:
    return client.patch(path, json.dumps(body), content_type="application/json")


def test_a_project_is_created_once_and_only_by_those_who_may(team: Team, api: ApiClient) -> None:
    made = [api.send("/api/projects/", {"name": "Second", "slug": "second"}).json() for _ in range(2)]
    assert made[0] == made[1]
    assert roles_in(Project.objects.get(slug="second"), team.administrator) == {Role.ADMINISTRATOR}
    assert refusal(ApiClient(team.annotator).send("/api/projects/", {"name": "Mine"})) == (403, "denied")
    limited = ApiClient(team.administrator, projects=[team.project.public_id])
    assert refusal(limited.send("/api/projects/", {"name": "Out of reach"})) == (403, "denied")
    assert refusal(ApiClient(team.administrator, scopes=["import"]).send("/api/projects/", {"name": "A"}))[0] == 403
    assert refusal(api.send("/api/projects/", {"name": "A", "colour": "red"}))[0] == 400


def test_roles_are_given_and_ended_and_the_answer_says_what_was_released(team: Team, api: ApiClient) -> None:
    adopt_c3(team)
    begin(team.project, [make_dialogue(team.project)])
    assert claim_next(actor=team.annotator, project=team.project) is not None
    member = at(team, f"members/{team.annotator.public_id}/")
    assert api.put(f"{member}roles/senior_reviewer/").status_code == 204
    assert api.get(member).json()["roles"] == ["annotator", "senior_reviewer"]
    assert api.delete(f"{member}roles/senior_reviewer/").json() == {"released": []}
    (sentence,) = api.delete(member).json()["released"]
    assert "Self-check" in sentence
    assert roles_in(team.project, team.annotator) == frozenset()
    assert refusal(api.get(member)) == (404, "not_found")
    assert refusal(api.put(f"{member}roles/king/")) == (404, "not_found")
    assert refusal(api.put(at(team, f"members/{team.outsider.public_id}/roles/annotator/"))) == (404, "not_found")
    alone = at(team, f"members/{team.administrator.public_id}/roles/administrator/")
    assert refusal(api.delete(alone)) == (409, "conflict")
    assert refusal(ApiClient(team.senior).delete(member)) == (403, "denied")


def test_the_list_of_members_has_pages_and_follows_changes(team: Team, api: ApiClient) -> None:
    page = api.get(at(team, "members/?size=2")).json()
    names = [row["public_id"] for row in page["results"]]
    while page["next"]:
        page = api.get(page["next"]).json()
        names += [row["public_id"] for row in page["results"]]
    members = {person.public_id for person in team.everybody if person != team.outsider}
    assert sorted(names) == sorted(members)
    give_role(team.project, make_user("late"), Role.ANNOTATOR)
    assert len(api.get(at(team, "members/")).json()["results"]) == len(names) + 1


def test_the_link_of_an_invitation_is_shown_once_and_ends_when_it_is_revoked(team: Team, api: ApiClient) -> None:
    path = at(team, "invitations/")
    response = api.send(path, {"roles": ["annotator"], "note": "for Ann"})
    made = response.json()
    assert response["Cache-Control"] == "no-store"
    secret = made["link"].rstrip("/").rpartition("/")[2]
    assert Client().get(reverse("invitation", args=[secret])).status_code == 200
    (listed,) = api.get(path).json()["results"]
    assert listed == {key: value for key, value in made.items() if key != "link"}
    assert secret not in str(list(Event.objects.values())) + str(list(Invitation.objects.values()))
    assert api.send(f"{path}{made['public_id']}/revoke/").status_code == 204
    assert Client().get(reverse("invitation", args=[secret])).status_code == 404
    assert api.get(path).json()["results"] == []
    assert refusal(api.send(path, {"roles": ["king"]}))[0] == 400
    assert refusal(ApiClient(team.senior).send(path, {"roles": ["annotator"]})) == (403, "denied")


def test_settings_are_changed_one_by_one_and_clashes_are_refused(team: Team, api: ApiClient) -> None:
    path = at(team, "settings/")
    seen = api.get(path).json()
    assert change(api, path, {"description": "Ours"}).json() == seen | {"description": "Ours"}
    # Somebody else has changed the description; the time zone is beside it.
    assert change(api, path, {"time_zone": "Europe/Kyiv", "seen": seen}).json()["description"] == "Ours"
    answer = change(api, path, {"description": "Mine", "seen": seen})
    assert refusal(answer) == (409, "conflict")
    assert answer.json()["details"]["now"]["description"] == "Ours"
    quieter = change(api, path, {"check_settings": {all_checks()[0].id: "off"}})
    assert quieter.json()["check_settings"] == {all_checks()[0].id: "off"}
    assert refusal(change(api, path, {"check_settings": {"no.check": "off"}})) == (422, "invalid")
    assert refusal(change(api, path, {"time_zone": "Mars"})) == (422, "invalid")
    assert refusal(change(api, path, {"colour": "red"}))[0] == 400
    assert refusal(ApiClient(team.senior).get(path)) == (403, "denied")


def test_a_guideline_is_published_and_read_by_version(team: Team, api: ApiClient) -> None:
    path = at(team, "guideline/versions/")
    assert refusal(api.get(at(team, "guideline/"))) == (404, "not_found")
    first = api.send(path, {"text": "# Rules\n", "seen": 0})
    assert (first.status_code, first.json()["number"]) == (201, 1)
    assert api.send(path, {"text": "# Rules\n", "seen": 0}).json() == first.json()
    assert refusal(api.send(path, {"text": "Others", "seen": 0})) == (409, "conflict")
    assert api.send(path, {"text": "# New rules\n", "note": "Dates", "seen": 1}).json()["number"] == 2
    assert api.get(at(team, "guideline/")).json()["text"] == "# New rules\n"
    assert api.get(f"{path}1/").json()["text"] == "# Rules\n"
    assert [row["note"] for row in api.get(path).json()["results"]] == ["", "Dates"]
    assert refusal(api.get(f"{path}9/")) == (404, "not_found")
    assert refusal(ApiClient(team.annotator).send(path, {"text": "x", "seen": 2})) == (403, "denied")
    assert Guideline.objects.count() == 2


def test_rules_of_assignments_and_texts_of_releases_are_read_and_changed(team: Team, api: ApiClient) -> None:
    rules = at(team, "assignments/rules/")
    assert change(api, rules, {"most_held": 3}).json() == {"most_held": 3, "absent_days": None}
    assert (
        change(api, rules, {"absent_days": 14}).json() == api.get(rules).json() == {"most_held": 3, "absent_days": 14}
    )
    assert change(api, rules, {"most_held": None}).json() == {"most_held": None, "absent_days": 14}
    assert refusal(change(api, rules, {"most_held": 0}))[0] == 400
    texts = at(team, "releases/settings/")
    sent = api.get(texts).json() | {"licence": "CC-BY-4.0", "authors": "Curie, Marie"}
    assert api.send(texts, sent).json() == sent | {"seen": 1}
    assert refusal(api.send(texts, sent | {"limits": "None"})) == (409, "conflict")
    assert refusal(api.send(texts, {"seen": 1, "licence": "own"})) == (422, "invalid")
    for path in (rules, texts):
        assert refusal(ApiClient(team.senior).get(path)) == (403, "denied")


def test_nothing_of_another_project_is_read_or_changed(team: Team) -> None:
    other = make_team("other")
    stranger = ApiClient(other.administrator)
    for rest in ("settings/", "members/", "invitations/", "guideline/", "protocol/", "gold/", "toolsets/"):
        assert refusal(stranger.get(at(team, rest))) == (404, "not_found")
