"""What a token may do and where: how it is stored, chosen and enforced."""

import importlib

import pytest
from django.apps import apps
from django.test import Client
from django.utils.html import escape

from annotator.core.scopes import TEXTS, as_text, from_text
from annotator.errors import Invalid
from annotator.models import ApiToken, Event, Role
from annotator.services.accounts.tokens import create_token, list_tokens
from tests.api_client import ApiClient, refusal
from tests.factories import Team, give_role, make_team

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


def test_a_token_lists_only_its_projects_and_keeps_none_if_none_is_left() -> None:
    first, second = make_team(), make_team()
    give_role(second.project, first.annotator, Role.ANNOTATOR)
    limited = ApiClient(first.annotator, projects=[second.project.public_id])
    assert [one["slug"] for one in limited.get("/api/projects/").json()["results"]] == [second.project.slug]
    token = ApiToken.objects.get()
    assert token.scopes == "administer"
    token.projects.clear()
    assert limited.get("/api/projects/").json()["results"] == []
    # The limit is the token's, not its owner's.
    assert len(ApiClient(first.annotator).get("/api/projects/").json()["results"]) == 2


def test_the_scopes_of_a_token_do_not_widen_the_role_of_its_owner(team: Team) -> None:
    client = ApiClient(team.annotator, scopes=["administer"])
    answer = client.send(f"/api/projects/{team.project.slug}/pauses/", {})
    assert refusal(answer) == (403, "denied")
    assert "role" in answer.json()["sentence"]


@pytest.mark.parametrize(
    ("given", "text", "all_of_them"),
    [
        ([], "read", {"read"}),
        (["read"], "read", {"read"}),
        (["annotate", "import"], "import annotate", {"read", "import", "annotate"}),
        (["import", "administer"], "administer", {"read", "import", "annotate", "administer"}),
    ],
)
def test_scopes_are_stored_in_one_way(given: list[str], text: str, all_of_them: set[str]) -> None:
    assert as_text(given) == text
    assert text in TEXTS
    assert from_text(text) == all_of_them


def test_the_migration_knows_the_texts_that_may_be_stored() -> None:
    migration = importlib.import_module("annotator.migrations.0008_token_scopes_and_projects")
    assert set(migration._TEXTS) == set(TEXTS)
    assert apps.get_model("annotator", "ApiToken")._meta.get_field("scopes").default == "administer"


def test_wrong_scopes_and_projects_make_no_token(team: Team) -> None:
    for limits, words in (
        ({"scopes": ["write"]}, "There is no scope “write”. Choose from: read, import, annotate, administer."),
        ({"projects": []}, "Choose projects of which you are a member"),
        ({"projects": [make_team().project.public_id, team.project.public_id]}, "Choose projects"),
    ):
        with pytest.raises(Invalid, match=words):
            create_token(actor=team.annotator, name="x", expires_at=None, **limits)  # type: ignore[arg-type]
    assert not ApiToken.objects.exists()


def test_only_projects_in_which_a_token_works_are_told_of_it(team: Team) -> None:
    other = make_team()
    give_role(other.project, team.annotator, Role.ANNOTATOR)
    create_token(actor=team.annotator, name="x", expires_at=None, scopes=["import"], projects=[team.project.public_id])
    event = Event.objects.get(kind="token.created")
    assert (event.project, event.after["scopes"]) == (team.project, "import")
    assert other.project.public_id not in str(event.after)


def test_people_choose_scopes_and_projects_on_the_page_and_see_them_in_the_list(client: Client, team: Team) -> None:
    other = make_team()
    client.force_login(team.annotator)
    page = client.get("/tokens/").content.decode()
    assert escape(team.project.name) in page
    assert other.project.public_id not in page
    sent = {"name": "nightly", "scopes": ["import", "annotate"], "projects": [team.project.public_id]}
    page = client.post("/tokens/", sent).content.decode()
    token = ApiToken.objects.get()
    assert (token.scopes, token.all_projects, list(token.projects.all())) == ("import annotate", False, [team.project])
    assert "Import files, score predictions, compose dialogues; Claim, submit and run" in page
    assert f"{team.project.name}\n" in page
    refused = client.post("/tokens/", sent | {"projects": [other.project.public_id]})
    assert refused.status_code == 422
    # Nothing chosen: the token may read, everywhere.
    client.post("/tokens/", {"name": "reader"})
    newest = list_tokens(team.annotator)[0]
    assert (newest.scopes, newest.all_projects) == ("read", True)
