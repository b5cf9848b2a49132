"""Toolsets on pages: a description is read and saved, found again, described, changed by form, and counted."""

import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from annotator.errors import Invalid
from annotator.models import Event, Project, Toolset, ToolsetCategory
from annotator.services.toolsets.categories import start_categories
from annotator.services.toolsets.details import Details
from annotator.services.toolsets.importing import import_toolset
from annotator.services.toolsets.storing import lock_toolsets
from tests.factories import Team, make_team, make_toolset
from tests.pages import one_line
from tests.reviews.toolsets.openapi import OPENAPI

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=1, seniors=1)
    start_categories(team.project)
    return team


class Browser:
    """A person on the pages of toolsets."""

    def __init__(self, team: Team, person: Any) -> None:
        self.slug = team.project.slug
        self.client = Client()
        self.client.force_login(person)

    def url(self, page: str, toolset: Toolset | None = None) -> str:
        return reverse(page, args=[self.slug, *([toolset.public_id] if toolset else [])])

    def get(self, page: str, toolset: Toolset | None = None, query: str = "") -> str:
        answer = self.client.get(self.url(page, toolset) + query)
        assert answer.status_code == 200, answer.status_code
        return one_line(answer)

    def post(self, page: str, data: dict[str, Any], toolset: Toolset | None = None) -> HttpResponse:
        answer: HttpResponse = self.client.post(self.url(page, toolset), data)
        return answer


def imported(browser: Browser, **details: str) -> Toolset:
    read = browser.client.post(browser.url("toolset-import"), {"text": OPENAPI, "kind": ""})
    assert read.status_code == 200
    fields = {"name": "Ferries", "category": "", "tags": "", "licence": "", "source": ""} | details
    saved = browser.post("toolset-import", fields | {"tools": read.context["text"]})
    assert saved.status_code == 302, one_line(saved)
    return Toolset.objects.get(name=fields["name"])


def test_a_description_is_shown_before_it_is_saved_with_what_was_changed_and_found(team: Team) -> None:
    browser = Browser(team, team.administrator)
    file = SimpleUploadedFile("ferries.yaml", OPENAPI.encode())
    read = browser.post("toolset-import", {"file": file, "text": "", "kind": ""})
    page = one_line(read)
    assert Toolset.objects.count() == 0
    assert "OpenAPI 3 document" in page
    assert "2 functions were read" in page
    assert 'value="Ferries"' in page
    assert "book crossing is named book_crossing here." in page
    assert "ghost is required, but the schema does not describe it." in page
    fields = {
        "name": "Ferries", "category": "Logistics", "tags": "sea, Draft", "licence": "CC0-1.0",
        "source": "https://ferries.example/openapi.yaml", "tools": read.context["text"],
    }  # fmt: skip
    assert browser.post("toolset-import", fields).status_code == 302
    toolset = Toolset.objects.select_related("head", "category").get()
    assert toolset.head is not None
    assert (toolset.head.number, toolset.head.author, toolset.head.tool_count) == (1, team.administrator, 2)
    assert toolset.head.tools()[0]["function"]["response"]["items"]["properties"] == {"crossing_id": {"type": "string"}}
    assert (toolset.head.facts["errors"], toolset.head.facts["warnings"]) == (1, 1)
    page = browser.get("toolset", toolset)
    for text in ("Logistics", "sea", "draft", "CC0-1.0", "https://ferries.example/openapi.yaml", "car · foot"):
        assert text in page
    assert Event.objects.get(kind="toolset.added").after["toolset"] == "Ferries"


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"text": " "}, "Choose a file, or paste"),
        ({"text": "{"}, "The file cannot be read"),
        ({"text": "swagger: '2.0'"}, "This is OpenAPI 2 (Swagger)."),
        ({"text": "[]"}, "There are no tools in it."),
        ({"text": "x = 1", "kind": "python"}, "The code has no function"),
        ({"text": "[{}]", "kind": "mcp"}, "no tool has an inputSchema"),
        (
            {"text": json.dumps({"tools": [{"name": str(n), "inputSchema": {}} for n in range(513)]})},
            "The limit is 512",
        ),
        ({"text": "[]", "kind": "smoke"}, "Select a valid choice"),
    ],
)
def test_what_cannot_be_read_is_a_sentence_and_stays_in_the_form(
    team: Team, sent: dict[str, str], sentence: str
) -> None:
    browser = Browser(team, team.administrator)
    refused = browser.post("toolset-import", {"kind": "", **sent})
    assert refused.status_code == 422
    page = one_line(refused)
    assert sentence in page
    assert Toolset.objects.count() == 0
    binary = SimpleUploadedFile("tools.json", b"\xff\xfe\x00[")
    assert "not text in UTF-8" in one_line(browser.post("toolset-import", {"file": binary, "kind": ""}))


def test_saving_refuses_known_tools_bad_json_and_bad_details_and_keeps_what_was_typed(team: Team) -> None:
    browser = Browser(team, team.administrator)
    toolset = imported(browser)
    assert toolset.head is not None
    tools = json.dumps(toolset.head.tools())
    other = json.dumps([{"name": "sail", "description": "Sail away."}])
    fields = {"name": "Boats", "category": "", "tags": "", "licence": "", "source": "", "tools": other}
    for changes, sentence in (
        ({"tools": tools}, "Revision 1 of Ferries has exactly these tools already."),
        ({"tools": "[{"}, "The tools are not JSON"),
        ({"tools": "[]"}, "There are no tools in it."),
        ({"name": ""}, "This field is required."),
        ({"tags": "sea,???"}, "can’t be a tag"),
        ({"category": "Smoke"}, "Select a valid choice"),
    ):
        refused = browser.post("toolset-import", fields | changes)
        assert refused.status_code == 422
        page = one_line(refused)
        assert sentence in page
        assert "sail" in page or "tools" in changes
    assert Toolset.objects.count() == 1
    # A name that another toolset has gets a number.
    assert browser.post("toolset-import", fields | {"name": "Ferries"}).status_code == 302
    assert Toolset.objects.filter(name="Ferries (2)").exists()


def test_the_list_is_narrowed_down_and_statistics_count_what_it_shows(team: Team) -> None:
    browser = Browser(team, team.administrator)
    imported(browser, category="Logistics", tags="sea")
    make_toolset(team.project, [{"name": "fly", "description": "Fly somewhere."}], name="Skies")
    for query, shown in (
        ("", {"Ferries", "Skies"}),
        ("?q=ferr", {"Ferries"}),
        ("?category=Logistics", {"Ferries"}),
        ("?category=-", {"Skies"}),
        ("?tag=sea", {"Ferries"}),
        ("?findings=errors", {"Ferries"}),
        ("?findings=clean", {"Skies"}),
        ("?q=nothing", set()),
    ):
        page = browser.get("toolset-list", query=query)
        assert {name for name in ("Ferries", "Skies") if f">{name}</a>" in page} == shown, query
    assert browser.client.get(browser.url("toolset-list") + "?category=Smoke").status_code == 400
    found = browser.client.get(browser.url("toolset-statistics") + "?tag=sea").context["found"]
    assert (found.toolsets, found.tools, found.required) == (1, 2, 2)
    assert found.by_kind == {"string": 2, "integer": 1, "enum": 1}
    assert "Logistics" in browser.get("toolset-statistics")


def test_categories_are_added_renamed_for_all_and_deleted_when_not_used(team: Team) -> None:
    browser = Browser(team, team.administrator)
    toolset = imported(browser, category="Logistics")
    key = ToolsetCategory.objects.get(project=team.project, name="Logistics").pk
    for sent, status in (
        ({"action": "add", "name": " Sea  travel "}, 302),
        ({"action": "add", "name": "Sea travel"}, 409),
        ({"action": "add", "name": "x" * 61}, 422),
        ({"action": "rename", "key": key, "name": "Sea travel"}, 409),
        ({"action": "delete", "key": key}, 409),
        ({"action": "rename", "key": key, "name": "Freight"}, 302),
        ({"action": "rename", "key": "9" * 30, "name": "Freight"}, 422),
        ({"action": "smoke", "key": key}, 422),
    ):
        assert browser.post("toolset-categories", sent).status_code == status, sent
    toolset.refresh_from_db()
    assert toolset.category is not None
    assert toolset.category.name == "Freight"
    assert "1 toolset has the category Freight." in one_line(
        browser.post("toolset-categories", {"action": "delete", "key": key})
    )
    details = {"name": "Ferries", "category": "Sea travel", "tags": "", "licence": "", "source": ""}
    assert browser.post("toolset-details", details, toolset).status_code == 302
    assert browser.post("toolset-categories", {"action": "delete", "key": key}).status_code == 302
    assert browser.post("toolset-categories", {"action": "delete", "key": key}).status_code == 404


def test_details_are_changed_and_recorded(team: Team) -> None:
    browser = Browser(team, team.administrator)
    toolset = imported(browser, tags="sea, draft")
    make_toolset(team.project, name="Skies")
    fields = {"name": "Boats", "category": "Maps", "tags": "sea; north", "licence": "MIT", "source": "By hand"}
    assert browser.post("toolset-details", fields | {"name": "Skies"}, toolset).status_code == 422
    assert browser.post("toolset-details", fields, toolset).status_code == 302
    event = Event.objects.get(kind="toolset.details_changed")
    assert event.before["tags"] == ["draft", "sea"]
    assert event.after == {
        "name": "Boats", "category": "Maps", "tags": ["north", "sea"], "licence": "MIT", "source": "By hand",
        "toolset": "Boats",
    }  # fmt: skip
    # The same again is no change.
    assert browser.post("toolset-details", fields, toolset).status_code == 302
    assert Event.objects.filter(kind="toolset.details_changed").count() == 1


def fields_of(answer: Any) -> dict[str, str]:
    """What the form of the page would send."""
    context = answer.context
    opened = context["opened"]
    sent = {"tools": context["typed"], **context["values"]}
    if opened is None:
        return sent
    sent |= {"function": str(opened["number"]), "f:name": opened["name"], "f:description": opened["description"]}
    for row in opened["rows"]:
        sent |= {f"f:{row['key']}-{name}": row[name] for name in ("name", "type", "description", "choices", "default")}
        sent |= {f"f:{row['key']}-required": "on"} if row["required"] else {}
    return sent | {"f:new-name": "", "f:new-type": "string"}


def test_functions_are_changed_by_form_previewed_and_saved(team: Team) -> None:
    browser = Browser(team, team.administrator)
    toolset = imported(browser)
    sent = fields_of(browser.client.get(browser.url("toolset", toolset)))
    opened = browser.post("toolset", sent | {"open": "1"}, toolset)
    assert [row["full_name"] for row in opened.context["opened"]["rows"]] == ["cars", "crossing_id"]
    sent = fields_of(opened)
    wrong = browser.post("toolset", sent | {"f:p0-default": "two", "f:p1-description": "Kept.", "apply": ""}, toolset)
    assert wrong.status_code == 422
    page = one_line(wrong)
    assert "“two” is not JSON." in page
    assert "Kept." in page
    sent |= {"f:p0-name": "vehicles", "f:p0-default": "1", "f:new-name": "pets", "f:new-type": "boolean"}
    applied = browser.post("toolset", sent | {"apply": ""}, toolset)
    assert [row["full_name"] for row in applied.context["opened"]["rows"]] == ["crossing_id", "pets", "vehicles"]
    added = browser.post("toolset", fields_of(applied) | {"add": ""}, toolset)
    sent = fields_of(added) | {"f:name": "cancelBooking", "f:description": "Cancel a booking."}
    previewed = browser.post("toolset", sent | {"preview": ""}, toolset)
    page = one_line(previewed)
    assert "No dialogue uses these tools now." in page
    for text in ("cancelBooking", "parameters › properties › vehicles", "pets"):
        assert text in page
    assert toolset.revisions.count() == 1
    sent = fields_of(previewed) | {"save": "", "previewed": previewed.context["change"].sha256}
    assert browser.post("toolset", sent, toolset).status_code == 302
    toolset = Toolset.objects.select_related("head").get(pk=toolset.pk)
    assert toolset.head is not None
    assert toolset.head.number == 2
    functions = [tool["function"] for tool in toolset.head.tools()]
    assert [function["name"] for function in functions] == ["listCrossings", "book_crossing", "cancelBooking"]
    assert functions[1]["parameters"]["properties"]["vehicles"] == {
        "type": "integer", "description": "How many.", "default": 1,
    }  # fmt: skip
    assert (toolset.head.tool_count, toolset.head.facts["tools"]) == (3, 3)
    page = browser.get("toolset", toolset, "?revision=2")
    assert "What revision 2 changed" in page
    assert "cancelBooking" in page
    removed = browser.post("toolset", fields_of(browser.post(
        "toolset", fields_of(browser.client.get(browser.url("toolset", toolset))) | {"open": "2"}, toolset
    )) | {"remove": ""}, toolset)  # fmt: skip
    assert [tool.spec.name for tool in removed.context["tools"]] == ["listCrossings", "book_crossing"]


def test_everyone_reads_and_only_administrators_change(team: Team) -> None:
    toolset = imported(Browser(team, team.administrator))
    for person in (team.annotator, team.senior):
        browser = Browser(team, person)
        assert "Import a toolset" not in browser.get("toolset-list")
        assert "Change functions and code" not in browser.get("toolset", toolset)
        browser.get("toolset-statistics")
        for page, of in (("toolset-import", None), ("toolset-categories", None), ("toolset-details", toolset)):
            assert browser.client.get(browser.url(page, of)).status_code == 403
            assert browser.post(page, {"name": "x"}, of).status_code == 403


def test_functions_are_chosen_with_a_seed_and_saved_as_a_toolset(team: Team) -> None:
    browser = Browser(team, team.administrator)
    toolset = imported(browser, category="Logistics")
    clash = [{"name": "listCrossings", "description": "List them."}, {"name": "sail", "description": "Sail away."}]
    other = make_toolset(team.project, clash, name="Skies").toolset
    other.category = toolset.category
    other.save()
    query = "?category=Logistics&toolset=&count=2&seed=3&must=book_crossing&connected=on"
    chosen = browser.client.get(browser.url("toolset-choose") + query)
    assert [tool.spec.name for tool in chosen.context["tools"]] == ["listCrossings", "book_crossing"]
    page = one_line(chosen)
    assert "2 of 3 functions" in page
    assert "The first toolset by name counts: listCrossings." in page
    assert "crossing_id" in page
    details = {"name": "Two", "category": "Logistics", "tags": "", "licence": "", "source": ""}
    kept = browser.post("toolset-import", details | {"tools": chosen.context["text"]})
    # With all of its functions, it is no other toolset.
    assert "Revision 1 of Ferries has exactly these tools already." in one_line(kept)
    one = browser.client.get(browser.url("toolset-choose") + query.replace("count=2", "count=1"))
    assert browser.post("toolset-import", details | {"tools": one.context["text"]}).status_code == 302
    for wrong, sentence in (
        ("must=smoke", "There is no function named smoke."),
        ("count=0", "Enter a whole number from 1 to"),
        (f"toolset={toolset.public_id}", "Choose either a category or a toolset."),
        ("category=", "Choose either a category or a toolset."),
    ):
        name = wrong.split("=")[0]
        changed = "&".join([*(part for part in query[1:].split("&") if not part.startswith(f"{name}=")), wrong])
        refused = browser.client.get(f"{browser.url('toolset-choose')}?{changed}")
        assert refused.status_code == 422
        assert sentence in one_line(refused)
    assert Toolset.objects.count() == 3


def test_refused_names_of_categories_stay_in_their_fields(team: Team) -> None:
    browser = Browser(team, team.administrator)
    key = ToolsetCategory.objects.get(project=team.project, name="Maps").pk
    refused = one_line(browser.post("toolset-categories", {"action": "rename", "key": key, "name": "Music"}))
    assert "There is a category “Music” already." in refused
    assert re.search(rf'id="category-{key}" name="name" value="Music"', refused)
    for name in ("-", " ", "x" * 61):
        page = one_line(browser.post("toolset-categories", {"action": "add", "name": name}))
        assert "A category has a name of at most 60 characters" in page
    assert 'id="new-category" name="name" value="xxx' in page


def test_json_is_not_edited_beside_the_form_of_a_function_and_a_refusal_keeps_both(team: Team) -> None:
    browser = Browser(team, team.administrator)
    toolset = imported(browser)
    sent = fields_of(browser.client.get(browser.url("toolset", toolset)))
    opened = browser.post("toolset", sent | {"open": "1"}, toolset)
    assert "Functions as JSON" not in one_line(opened)
    changed = fields_of(opened) | {"f:description": "Kept.", "class_name": "no name", "source": "x = 1"}
    refused = browser.post("toolset", changed | {"preview": ""}, toolset)
    assert refused.status_code == 422
    assert '"description": "Kept."' in refused.context["typed"]
    unread = browser.post("toolset", sent | {"tools": "[{", "preview": ""}, toolset)
    assert unread.status_code == 422
    assert unread.context["typed"] == "[{"


def test_a_category_that_is_deleted_meanwhile_is_a_sentence(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    def lock(project: Project) -> None:
        lock_toolsets(project)
        ToolsetCategory.objects.filter(name="Maps").delete()

    monkeypatch.setattr("annotator.services.toolsets.importing.lock_toolsets", lock)
    with pytest.raises(Invalid, match="has no category “Maps”"):
        import_toolset(
            actor=team.administrator, project=team.project, tools=[{"name": "a"}], details=Details("A", "Maps")
        )


def test_the_page_of_a_wide_toolset_is_bounded(team: Team) -> None:
    properties = {f"parameter{n}": {"type": "string"} for n in range(100)}
    tools = [{"name": f"tool{n}", "parameters": {"type": "object", "properties": properties}} for n in range(30)]
    toolset = make_toolset(team.project, tools, name="Wide").toolset
    page = Browser(team, team.annotator).get("toolset", toolset)
    assert page.count('<th scope="row"> <code>parameter') == 2_000
    assert "The page cannot show all parameters. See the JSON." in page
    assert "and 2,930 more" in page
