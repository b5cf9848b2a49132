"""Everybody visits every address. The addresses come from the URL conf, so a new one cannot be forgotten.

``tests/access_table.py`` has what is expected; an address without a line there fails, and so does a line without
an address.
"""

import json
import re
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from annotator.models import Role
from reviews.services.queue.claims import claim_slot
from tests.access_project import ROLES, AccessProject, access, module_access
from tests.access_table import BODIES, EXPECTED, IN_EVERY_PROJECT, OPEN_TO_ALL, PARAMETERS, SECRET_LINKS, patterns
from tests.factories import begin, give_role, make_dialogue, make_document, open_slot
from tests.protective_headers import header_problems

__all__ = ["access", "module_access"]

pytestmark = pytest.mark.django_db

METHODS = ("GET", "POST")
SIGN_IN = "sign-in"
#: Addresses of the API that take forms with files.
FORMS = ("api-import-list", "api-prediction-list")
ROLES_ON_POSTGRESQL = ("anonymous", "annotator", "senior", "administrator")


NAMES = sorted(str(pattern.name) for pattern in patterns())
#: Name → the names of the parameters in its address.
VARIABLES = {str(pattern.name): sorted(pattern.pattern.regex.groupindex) for pattern in patterns()}


def address(name: str, ids: dict[str, str]) -> str:
    """The address of that name, its parameters filled from ``ids``."""
    sources = PARAMETERS.get(name, {})
    return reverse(name, kwargs={variable: ids[sources.get(variable, variable)] for variable in VARIABLES[name]})


def body_of(name: str, ids: dict[str, str]) -> dict[str, Any]:
    """Return what is sent in a POST: enough that only permission decides."""

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(one) for one in value]
        return ids.get(value[1:], value) if str(value).startswith("$") else value

    return {key: filled(value) for key, value in BODIES.get(name, {}).items()}


def visit(access: AccessProject, role: str, name: str, method: str, ids: dict[str, str] | None = None) -> Any:
    """One request, whatever it changes taken back."""
    ids = ids or access.ids
    client = Client(raise_request_exception=False)
    if role in access.sessions:
        client.cookies[settings.SESSION_COOKIE_NAME] = access.sessions[role]
    with transaction.atomic():
        path, body = address(name, ids), body_of(name, ids)
        if method == "GET":
            response = client.get(path)
        elif name.startswith("api-") and name not in FORMS:
            response = client.post(path, json.dumps(body), content_type="application/json")
        else:
            response = client.post(path, body)
        content = b"".join(response.streaming_content) if response.streaming else response.content
        response.text_seen = content.decode(errors="replace")
        transaction.set_rollback(True)
    return response


def outcome(response: Any) -> str:
    """The status, or that one is sent to sign in."""
    if response.status_code == 302 and response["Location"].startswith("/accounts/login/"):
        return SIGN_IN
    return str(response.status_code)


def test_every_address_has_a_name_of_its_own() -> None:
    assert "None" not in NAMES
    assert len(NAMES) == len(set(NAMES))


def test_the_table_knows_every_address_and_no_other() -> None:
    assert sorted(set(NAMES) - {name for name, _ in EXPECTED}) == []
    assert sorted({name for name, _ in EXPECTED} - set(NAMES)) == []
    assert all({(name, "GET"), (name, "POST")} <= set(EXPECTED) for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_everybody_gets_what_the_table_says(access: AccessProject, name: str) -> None:
    wanted = {
        (role, method): EXPECTED.get((name, method), {}).get(role, "not in the table")
        for method in METHODS
        for role in ROLES
    }
    if connection.vendor == "postgresql":
        # A refusal does not depend on the database, so PostgreSQL is asked only for what people get, by one person of
        # each role: the others who get it send the same queries.
        wanted = {key: code for key, code in wanted.items() if code[0] not in "4s" and key[0] in ROLES_ON_POSTGRESQL}
    answers = {(role, method): visit(access, role, name, method) for role, method in wanted}
    seen = {key: outcome(answer) for key, answer in answers.items()}
    differing = {key: f"{seen[key]}, not {wanted[key]}" for key in seen if seen[key] != wanted[key]}
    assert not differing
    unprotected = {key: problems for key, answer in answers.items() if (problems := header_problems(name, answer))}
    assert not unprotected


@pytest.mark.any_database
def test_the_table_itself_lets_nobody_in_by_mistake() -> None:
    mistaken = {}
    for (name, method), row in EXPECTED.items():
        rules = {
            "everybody has a place in it": set(row) == set(ROLES),
            "no failure of the server is expected": not any(code.startswith("5") for code in row.values()),
            "deactivated people count as anonymous": row["deactivated"] == row["anonymous"],
            "members of another project count as outsiders": row["neighbour"] == row["outsider"] or name in OPEN_TO_ALL,
            "anonymous people have to sign in": row["anonymous"] in (SIGN_IN, "401", "405") or name in OPEN_TO_ALL,
            "outsiders find nothing": row["outsider"] in ("404", "405") or name in OPEN_TO_ALL,
        }
        if broken := [rule for rule, holds in rules.items() if not holds]:
            mistaken[name, method] = broken
    assert mistaken == {}


#: The link of an invitation is a secret, not an id: everybody who has it may see it.
#: Addresses of one's own account; its ids are not those of a project.
OWN_ACCOUNT = ("account_", "account-", "mfa_")
WITH_IDS = [name for name in NAMES if VARIABLES[name] and not name.startswith(OWN_ACCOUNT) and name != "invitation"]
IDS_ONLY = [name for name in WITH_IDS if name not in SECRET_LINKS]


def answering(name: str, role: str) -> list[str]:
    """The methods that the address knows."""
    return [method for method in METHODS if EXPECTED.get((name, method), {}).get(role) != "405"]


@pytest.mark.any_database
@pytest.mark.parametrize("name", IDS_ONLY)
def test_a_hidden_thing_and_a_missing_one_answer_alike(access: AccessProject, name: str) -> None:
    for role in ("anonymous", "outsider", "neighbour"):
        for method in answering(name, role):
            hidden = visit(access, role, name, method)
            missing = visit(access, role, name, method, wrong_ids(access, keep=()))
            assert outcome(hidden) == outcome(missing), (role, method)
            if name not in OPEN_TO_ALL:
                assert told(hidden) == told(missing), (role, method)
                assert_tells_nothing(access, hidden)


@pytest.mark.any_database
@pytest.mark.parametrize(
    "name", [name for name in WITH_IDS if VARIABLES[name] != ["slug"] and name not in SECRET_LINKS | IN_EVERY_PROJECT]
)
def test_ids_of_this_project_are_wrong_ids_in_another(access: AccessProject, name: str) -> None:
    """The neighbour administers a project, and so gets past every role; the ids are not of that project."""
    for method in answering(name, "administrator"):
        own = {"slug": access.neighbour_slug}
        hidden = visit(access, "neighbour", name, method, access.ids | own)
        missing = visit(access, "neighbour", name, method, wrong_ids(access, keep=()) | own)
        assert outcome(hidden) == outcome(missing), method
        assert outcome(hidden) == "404"
        assert told(hidden) == told(missing), method


@pytest.mark.any_database
@pytest.mark.parametrize(
    "name",
    [
        name
        for name in WITH_IDS
        # Administrators see the tokens of members.
        if "slot" in VARIABLES[name] or ("token" in name and not name.startswith("member-"))
    ],
)
def test_what_a_colleague_holds_is_hidden_from_colleagues(access: AccessProject, name: str) -> None:
    for role in ("colleague", "senior", "administrator"):
        for method in answering(name, role):
            hidden = visit(access, role, name, method)
            missing = visit(access, role, name, method, wrong_ids(access, keep=("slug",)))
            assert outcome(hidden) == "404"
            assert told(hidden) == told(missing), (role, method)


@pytest.mark.parametrize("name", WITH_IDS)
def test_ids_in_the_wrong_place_and_odd_ids_are_wrong_ids(access: AccessProject, name: str) -> None:
    odd = ["\x00", "天" * 200, "-1"]
    if connection.vendor != "postgresql":
        # No database takes these differently from any other id.
        odd += ["..", "%", access.ids["dialogue"], access.ids["revision"]]
    for value in odd:
        for variable in VARIABLES[name]:
            source = PARAMETERS.get(name, {}).get(variable, variable)
            if value == access.ids[source.removeprefix("other_")] or (
                variable == "slug" and not re.fullmatch(r"[-a-zA-Z0-9_]+", value)
            ):
                continue
            for method in answering(name, "administrator"):
                response = visit(access, "administrator", name, method, access.ids | {source: value})
                assert outcome(response) == "404", (value, variable, method)


def wrong_ids(access: AccessProject, *, keep: tuple[str, ...]) -> dict[str, str]:
    """Ids of nothing."""
    return {key: value if key in keep else f"nothing{key[:4]}" for key, value in access.ids.items()}


def told(response: Any) -> str:
    """Return an answer's text without what differs between requests: its own address and secrets."""
    text = re.sub(r"\b[A-Za-z0-9]{64}\b", "SECRET", response.text_seen)
    path = response.request["PATH_INFO"]
    for written in (path, path.replace("/", "%2F")):
        text = text.replace(written, "ADDRESS")
    return text


def assert_tells_nothing(access: AccessProject, response: Any) -> None:
    """Nothing of the project is in the answer, but for what the address itself held."""
    text = told(response)
    project = access.team.project
    for secret in (project.name, project.public_id, "one", *(access.ids[key] for key in ("person", "claim"))):
        if len(secret) > 3:
            assert secret not in text


def test_a_session_of_somebody_deactivated_ends(access: AccessProject) -> None:
    client = Client()
    person = access.people["annotator"]
    assert person is not None
    client.force_login(person)
    assert client.get(f"/p/{access.slug}/").status_code == 200
    type(person).objects.filter(pk=person.pk).update(is_active=False)
    assert SESSION_KEY in client.session
    assert outcome(client.get(f"/p/{access.slug}/")) == SIGN_IN
    assert client.get(f"/api/projects/{access.slug}/").status_code == 401


@pytest.mark.any_database
@pytest.mark.parametrize("role", ["annotator", "senior", "administrator"])
def test_the_bar_is_the_same_on_every_page_of_the_project(access: AccessProject, role: str) -> None:
    """Workspaces too, whose address names no project: everybody is given one here."""
    person, ids = access.people[role], dict(access.ids)
    assert person is not None
    if role != "annotator":
        give_role(access.team.project, person, Role.ANNOTATOR)
        (item,) = begin(access.team.project, [make_dialogue(access.team.project, make_document("three"))])
        ids["slot"] = claim_slot(actor=person, slot=open_slot(item)).slot.public_id
    bars: dict[str, list[str]] = {}
    for name in NAMES:
        if {"slug", "slot"} & set(VARIABLES[name]) and not name.startswith("api-"):
            text = visit(access, role, name, "GET", ids).text_seen
            bar = re.search(r'id="site-menu".*?<nav aria-label="Main".*?</nav>', text, re.DOTALL)
            if bar and "Project:" in text:
                bars[name] = re.findall(r'href="([^"]+)"', bar[0])
    assert {"project", "workspace", "workspace-decision-tree", "statistics"} <= set(bars)
    assert {name: bar for name, bar in bars.items() if bar != bars["project"]} == {}
    assert any(link.endswith("/history/") for link in bars["workspace"]) == (role != "annotator")
