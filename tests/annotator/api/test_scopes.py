"""Scopes and projects of tokens, at every address of the API."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import resolve

from annotator.api.scopes import scope_of
from annotator.core.scopes import TEXTS, Scope, from_text
from annotator.models import Role
from tests.access_project import AccessProject, access, module_access
from tests.api_client import ApiClient, refusal
from tests.factories import give_role, make_team
from tests.test_access_matrix import NAMES, VARIABLES, address

__all__ = ["access", "module_access"]

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

#: What is open to everybody, without a token.
OPEN = ("api-docs", "api-schema")
API = [name for name in NAMES if name.startswith("api-") and name not in OPEN]


def methods(access: AccessProject, name: str) -> Iterator[tuple[str, Any, str]]:
    """Yield each method of an address, its view and its path."""
    path = address(name, access.ids)
    view: Any = resolve(path).func
    for method in ("get", "post", "put", "patch", "delete"):
        if hasattr(view.cls, method):
            yield method, view.cls, path


@pytest.mark.parametrize("name", API)
def test_every_view_that_changes_something_declares_its_scope(access: AccessProject, name: str) -> None:
    for method, view, _path in methods(access, name):
        if method == "get":
            # An export has what its administrator sees nowhere else.
            assert scope_of(view, method) == (Scope.ADMINISTER if name == "api-project-export-archive" else Scope.READ)
        else:
            assert Scope(view.scope) in (Scope.IMPORT, Scope.ANNOTATE, Scope.ADMINISTER), f"{view.__name__}.scope"


@pytest.mark.parametrize("name", API)
def test_a_token_without_the_scope_is_refused_with_its_name(access: AccessProject, name: str) -> None:
    for method, view, path in methods(access, name):
        needed = scope_of(view, method)
        for text in TEXTS:
            client = ApiClient(access.team.administrator, scopes=text.split())
            answer = client.generic(method.upper(), path, "{}", content_type="application/json")
            # Reading a file to its end closes it.
            is_refused = b"the scope" in b"".join(answer)
            assert is_refused == (needed not in from_text(text)), (method, text)
            if is_refused:
                assert refusal(answer) == (403, "denied")
                assert f"doesn’t have the scope “{needed}”" in answer.json()["sentence"]
                assert answer.json()["details"]["scope"] == needed
        # A person who is signed in needs none.
        browser = Client()
        browser.force_login(access.team.administrator)
        answer = browser.generic(method.upper(), path, "{}", content_type="application/json")
        assert b"the scope" not in b"".join(answer)


@pytest.mark.parametrize("name", [name for name in API if VARIABLES[name]])
def test_outside_its_projects_a_token_finds_nothing(access: AccessProject, name: str) -> None:
    other = make_team()
    for person in (access.team.administrator, access.team.annotator):
        give_role(other.project, person, Role.ADMINISTRATOR)
        client = ApiClient(person, projects=[other.project.public_id])
        for method, _view, path in methods(access, name):
            answer = client.generic(method.upper(), path, "{}", content_type="application/json")
            assert refusal(answer) == (404, "not_found"), method
