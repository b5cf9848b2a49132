"""The search of all pages finds what lists show and nothing else; people change their keys."""

import pytest
from django.conf import settings
from django.test import Client

from annotator.models import Role
from annotator.services.accounts.key_settings import change_keys
from annotator.services.projects import publish_guideline
from reviews.services.queue.claims import claim_next
from tests.access_table import EXPECTED
from tests.factories import adopt_c3, begin, give_role, make_dialogue, make_project, make_team, make_user
from tests.test_access_matrix import NAMES, VARIABLES

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


def test_it_finds_the_pages_that_one_may_open_by_other_words_in_both_languages(team):
    slug = team.project.slug
    assert found(team.administrator, "stuck", slug) == {"Pages": ["Team today"]}
    assert found(team.administrator, "卡住", slug)["Pages"] == ["Team today"]
    assert found(team.administrator, "invite", slug)["Pages"] == ["Invite many people", "People"]
    assert found(team.annotator, "stuck", slug) == found(team.annotator, "卡住", slug) == {}
    assert found(team.annotator, "kappa", slug) == {"Pages": ["Agreement"]}
    assert found(team.administrator, "stuck") == {}
    address = f"/palette/?q=severities&project={slug}"
    [group] = signed_in(team.administrator).get(address).json()["groups"]
    assert [one["url"] for one in group["results"]] == [f"/p/{slug}/settings/#s-checks"]


#: Addresses of a project that answer GET and are no page by themselves: files, and what needs a choice first.
NO_PAGES = {
    "dialogue-export", "history-export", "import-examples", "project-export", "protocol-json", "run-compare",
    "run-compare-with",
}  # fmt: skip


def test_no_page_of_a_project_is_forgotten_and_none_is_offered_to_who_may_not_open_it():
    """The lists of pages against the URLs and the table of access."""
    listed: dict[str, set[tuple[str, ...]]] = {}
    for page, *_label, roles in settings.PROJECT_PAGES:
        listed.setdefault(page, set()).add(roles)
    for page, _label, _action, roles, _bar, _section in settings.PROJECT_BAR:
        listed.setdefault(page, set()).add(roles)
    pages = {
        name
        for name in NAMES
        if set(VARIABLES[name]) == {"slug"} and not name.startswith("api-") and name not in NO_PAGES
        and EXPECTED[name, "GET"]["administrator"] == "200"
    }  # fmt: skip
    assert set(listed) == pages
    for page, audiences in listed.items():
        everyone = () in audiences
        for visitor, role in (("annotator", "annotator"), ("senior", "senior_reviewer"), ("administrator",) * 2):
            offered = everyone or any(role in roles for roles in audiences)
            assert offered == (EXPECTED[page, "GET"][visitor] == "200"), (page, visitor)
    places = {f"{page}#{part}" if part else page for page, part, *_rest in settings.PROJECT_PAGES} | set(listed)
    assert set(settings.SEARCH_WORDS) <= places


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
