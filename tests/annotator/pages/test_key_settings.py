"""The search of all pages finds what lists show and nothing else; people change their keys."""

import pytest
from django.test import Client

from annotator.models import Role
from annotator.services.accounts.key_settings import change_keys
from annotator.services.projects import publish_guideline
from reviews.services.queue.claims import claim_next
from tests.factories import adopt_c3, begin, give_role, make_dialogue, make_project, make_team, make_user

pytestmark = pytest.mark.any_database


@pytest.fixture
def team(db):
    return make_team()


def signed_in(person) -> Client:
    client = Client()
    client.force_login(person)
    return client


def found(person, query, project="") -> dict[str, list[str]]:
    answer = signed_in(person).get("/palette/", {"q": query, "project": project} if project else {"q": query})
    assert answer.status_code == 200
    return {group["title"]: [one["label"] for one in group["results"]] for group in answer.json()["groups"]}


def test_it_finds_dialogues_sections_people_and_projects(team):
    project = team.project
    adopt_c3(team)
    begin(project, [make_dialogue(project, external_id="trip-17")])
    publish_guideline(actor=team.administrator, project=project, text="# Wrong arguments\n\nText.", seen=0)
    assert found(team.annotator, "trip-17", project.slug) == {"Dialogues": ["trip-17"]}
    assert found(team.annotator, "trip-17") == {"Dialogues": ["trip-17"]}  # on a page without a project
    assert found(team.annotator, "argum wrong", project.slug) == {"Guideline": ["Wrong arguments"]}
    assert found(team.annotator, project.name, project.slug)["Projects"] == [project.name]
    assert found(team.annotator, "  ", project.slug) == {}
    [group] = signed_in(team.annotator).get("/palette/?q=wrong&project=" + project.slug).json()["groups"]
    assert group["results"][0]["url"] == f"/p/{project.slug}/guideline/#s-wrong-arguments"


def test_reviewers_of_blind_stages_find_nobody_and_strangers_nothing(team):
    project = team.project
    adopt_c3(team)
    dialogue = make_dialogue(project, external_id="secret-1")
    hidden = make_dialogue(project, external_id="secret-2")
    type(hidden).objects.filter(pk=hidden.pk).update(published=False)
    begin(project, [dialogue])
    claim_next(actor=team.annotator, project=project)
    name = str(team.annotators[1])
    assert found(team.annotator, name, project.slug) == {}
    assert found(team.annotator, team.annotators[1].username) == {}
    assert name in found(team.senior, name, project.slug)["People"]
    assert found(team.annotator, "secret-2", project.slug) == {}
    stranger = make_user("stranger")
    give_role(make_project("elsewhere"), stranger, Role.ADMINISTRATOR)
    assert found(stranger, "secret-1") == {}
    assert signed_in(stranger).get(f"/palette/?q=secret&project={project.slug}").status_code == 404


def test_a_person_changes_keys_and_pages_show_them(team):
    person = team.annotator
    client = signed_in(person)
    usual = client.get("/projects/").content.decode()
    assert 'data-action="go-home" data-key="g h"' in usual
    answer = client.post("/keys/", {"go-home": "g w", "go-notices": "", "seen": "{}"})
    assert answer.status_code == 302
    person.refresh_from_db()
    assert person.own_keys == {"go-home": "g w", "go-notices": ""}
    page = client.get("/projects/").content.decode()
    assert 'data-action="go-home" data-key="g w"' in page
    assert 'data-action="go-notices" data-key-label' in page
    # Another person still has the usual keys.
    assert 'data-action="go-home" data-key="g h"' in signed_in(team.senior).get("/projects/").content.decode()


def test_a_clash_is_refused_with_the_name_of_the_other_action_and_what_was_typed_stays(team):
    client = signed_in(team.annotator)
    answer = client.post("/keys/", {"undo": "f", "seen": "{}"})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "“f” is already the key of “All findings”." in page
    assert 'name="undo" value="f"' in page
    team.annotator.refresh_from_db()
    assert team.annotator.own_keys == {}


def test_another_window_overwrites_nothing_and_the_usual_keys_come_back(team):
    person = team.annotator
    change_keys(actor=person, keys={"undo": "b"})
    client = signed_in(person)
    assert client.post("/keys/", {"redo": "k", "seen": "{}"}).status_code in (409, 422)
    assert client.post("/keys/", {"redo": "Shift+B", "seen": "{}"}).status_code == 409
    assert client.post("/keys/", {"seen": "{"}).status_code == 422
    assert client.post("/keys/", {"reset": "1", "seen": '{"undo": "b"}'}).status_code == 302
    person.refresh_from_db()
    assert person.own_keys == {}
