"""Unknown names in a query string are refused at every address; the addresses come from the URL conf."""

import json
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import resolve

from annotator.api.filters import has_body, parameters_of
from tests.access_project import AccessProject, access, module_access
from tests.access_table import EXPECTED
from tests.test_access_matrix import FORMS, NAMES, address, body_of

__all__ = ["access", "module_access"]

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

#: Somebody who is shown each address that shows something; what the framework brings reads its own parameters.
SHOWN = {
    name: next(role for role in ("administrator", "annotator", "colleague") if EXPECTED[name, "GET"][role] == "200")
    for name in NAMES
    if "200" in (EXPECTED[name, "GET"][role] for role in ("administrator", "annotator", "colleague"))
    and not name.startswith(("account_", "mfa_", "socialaccount_"))
    and name not in ("healthz", "livez", "api-schema", "demo-sign-in", "invitation", "javascript-catalog")
}
#: Parameters that hold words, places in a dialogue or keys, of which any may be sent.
FREE = {"q", "item", "path", "from", "optimal", "at", "dialogue", "preview", "job", "column", "tag"}
#: An example may be withdrawn while somebody reads it; the guideline's version is where a choice begins.
FREE_THERE = {("workspace", "example"), ("guideline-outdated", "version"), ("guideline-outdated", "reason")}
WRONG = "no-such-thing"


def ask(access: AccessProject, name: str, query: dict[str, str], **headers: str) -> Any:
    client = Client()
    person = access.people[SHOWN[name]]
    assert person is not None
    client.force_login(person)
    response = client.get(address(name, access.ids), query, headers=headers)
    response.text_seen = "" if response.streaming else unescape(response.content.decode())
    return response


def parameters(access: AccessProject, name: str) -> frozenset[str]:
    view: Any = resolve(address(name, access.ids)).func
    return frozenset(parameters_of(view.cls, "get")) if hasattr(view, "cls") else getattr(view, "takes", frozenset())


@pytest.mark.parametrize("name", SHOWN)
def test_an_unknown_filter_is_refused_with_what_there_is(access: AccessProject, name: str) -> None:
    response = ask(access, name, {WRONG: "1"})
    assert response.status_code == 400
    assert f"Unknown filter: “{WRONG}”." in response.text_seen
    for known in parameters(access, name):
        assert f"“{known}”" in response.text_seen


def test_the_api_speaks_json_alone_and_says_that_format_is_no_filter(access: AccessProject) -> None:
    response = ask(access, "api-project-list", {"format": "xml"})
    assert response.status_code == 400
    assert "Unknown filter: “format”." in response.text_seen


@pytest.mark.parametrize("name", SHOWN)
def test_an_unknown_value_is_refused_and_an_empty_one_asks_for_nothing(access: AccessProject, name: str) -> None:
    known = parameters(access, name)
    nothing = dict.fromkeys(known - {"csv", "preview"}, "") | {"utm_source": "mail"}
    if known and name != "api-statistics-agreement":
        assert ask(access, name, nothing).status_code == 200
    for parameter in sorted(known - FREE):
        if (name, parameter) in FREE_THERE:
            continue
        response = ask(access, name, {parameter: WRONG})
        # 404: there is no such version, person, draw or table; 422: what was typed is no day, or no number.
        assert response.status_code in (400, 404, 422), parameter
        if response.status_code == 400:
            sentences = ("Use one of: “", "There are no values to choose from yet", "Use a date like", "Unknown filter")
            sentences += (f"“{parameter}” isn’t a valid page of this list", "Use a time with a zone, like")
            sentences += ("Use a key and its value, like",)
            assert any(words in response.text_seen for words in sentences), parameter


def test_a_page_says_what_is_wrong_and_can_be_used_all_the_same(access: AccessProject) -> None:
    page = ask(access, "dialogue-list", {"status": "nonsense", "language": "zh", "colour": "red"})
    assert page.status_code == 400
    alert = page.text_seen.partition('role="alert"')[2].partition("</main>")[0]
    assert "Unknown filter: “colour”." in alert
    assert "“status” can’t be “nonsense”. Use one of: “candidate”" in alert
    # The filters that were right are kept, in the form and in what leads on from here.
    assert '<option value="zh" selected>' in page.text_seen
    assert "nonsense" not in page.text_seen.partition('role="search"')[2]


def test_to_a_part_of_a_page_and_to_a_file_it_is_said_alone(access: AccessProject) -> None:
    part = ask(access, "dialogue-list", {"status": "nonsense"}, hx_request="true")
    assert part.status_code == 400
    assert "can’t be “nonsense”" in part.text_seen
    assert 'id="results"' not in part.text_seen
    file = ask(access, "history-export", {"kind": "nonsense"})
    assert file.status_code == 400
    assert "can’t be “nonsense”" in file.text_seen


def test_an_unknown_value_selects_nothing_that_a_form_would_change(access: AccessProject) -> None:
    client = Client()
    client.force_login(access.team.administrator)
    sent = {"all": "1", "state": "waiting", "stage": "nonsense", "action": "prioritise", "to_priority": "0"}
    answer = client.post(address("assignment-plan", access.ids), sent)
    assert answer.status_code == 400
    assert "“stage” can’t be “nonsense”" in unescape(answer.content.decode())


def test_a_parameter_of_the_api_that_changes_something_is_not_passed_over(access: AccessProject) -> None:
    client = Client()
    client.force_login(access.team.administrator)
    answer = client.post(address("api-import-list", access.ids) + "?dry_run=true", {})
    assert answer.status_code == 400
    assert answer.json()["error"] == "unknown_filter"
    assert "Unknown filter: “dry_run”. This page has no filters." in answer.json()["sentence"]


def test_a_stranger_is_asked_to_sign_in_first(access: AccessProject) -> None:
    assert Client().get(address("dialogue-list", access.ids), {WRONG: "1"}).status_code == 302
    assert Client().get(address("api-dialogue-list", access.ids), {WRONG: "1"}).status_code == 401


#: The bodies of the API, and somebody whose body is read there, also where the project has nothing to play.
BODIES_READ = {
    name: next(
        (role for role in ("administrator", "annotator") if EXPECTED[name, "POST"][role] not in ("403", "404")),
        "administrator",
    )
    for name in NAMES
    if name.startswith("api-") and "405" not in EXPECTED[name, "POST"].values()
}


@pytest.mark.parametrize("name", BODIES_READ)
def test_an_unknown_field_of_a_body_is_refused_with_what_there_is(access: AccessProject, name: str) -> None:
    client = Client()
    person = access.people[BODIES_READ[name]]
    assert person is not None
    client.force_login(person)
    path, body = address(name, access.ids), body_of(name, access.ids) | {"reson": "1", "verdikt": "2"}
    if name in FORMS:
        answer = client.post(path, body)
    else:
        answer = client.post(path, json.dumps(body), content_type="application/json")
    sentence = answer.json()["sentence"]
    assert answer.status_code == 400, sentence
    assert "“reson”" in sentence
    assert "“verdikt”" in sentence
    view: Any = resolve(path).func
    if has_body(view.cls, "post"):
        assert "Unknown field. Use: " in sentence
    else:
        assert "This address takes no fields." in sentence


def test_an_unknown_value_of_a_field_is_refused_with_what_there_is(access: AccessProject) -> None:
    client = Client()
    client.force_login(access.team.administrator)
    sent = {"version": "3.0", "format": "c4"}
    answer = client.post(address("api-release-list", access.ids), json.dumps(sent), content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["sentence"].startswith(
        "Some fields are missing or invalid. “format”: Unknown value. Use one of: “"
    )


def test_a_parameter_that_is_given_twice_is_not_half_ignored(access: AccessProject) -> None:
    client = Client()
    client.force_login(access.team.administrator)
    answer = client.get(address("api-dialogue-list", access.ids) + "?status=verified&status=candidate")
    assert (answer.status_code, answer.json()["sentence"]) == (400, "“status” is given 2 times. Give it once.")
