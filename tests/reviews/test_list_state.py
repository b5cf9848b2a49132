"""The page with the list of dialogues: its parts keep each other's state, and it says why a list is empty."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import expect

from annotator.errors import Invalid
from annotator.models import SavedView
from annotator.services.archiving import archive_project
from annotator.services.dialogues.tags import change_tags
from annotator.services.saved_views import save_view
from reviews.services.assignments.plans import make_plan
from tests.factories import Team, make_dialogue, make_document, make_item, open_slot
from tests.pages import one_line

pytestmark = pytest.mark.django_db


def test_links_to_a_value_and_to_a_tag_keep_filters_order_and_columns(team: Team, client: Client) -> None:
    row = make_dialogue(team.project, make_document() | {"extra": {"source": "a&b"}})
    change_tags(actor=team.administrator, dialogue=row, add=["hard"])
    client.force_login(team.administrator)
    path = reverse("dialogue-list", args=[team.project.slug])
    text = client.get(f"{path}?problems=clean&sort=-id&column=source&count=1").content.decode()
    kept = "?problems=clean&amp;sort=-id&amp;column=source"
    assert f'href="{kept}&amp;meta=source%3Da%26b"' in text
    assert f'href="{kept}&amp;tag=hard"' in text


def test_an_annotator_reads_why_a_shared_view_with_a_tag_is_empty(team: Team, client: Client) -> None:
    row = make_dialogue(team.project)
    change_tags(actor=team.administrator, dialogue=row, add=["hard"])
    path = reverse("dialogue-list", args=[team.project.slug])
    why = "Only administrators and senior reviewers filter by tags, by colleagues and by layers."
    client.force_login(team.annotator)
    text = client.get(f"{path}?tag=hard").content.decode()
    assert why in text
    # The filter can be seen and removed.
    assert 'name="tag"' in text
    assert why in client.get(f"{path}?owner={team.administrator.public_id}").content.decode()
    assert why not in client.get(f"{path}?owner={team.annotator.public_id}").content.decode()
    client.force_login(team.administrator)
    assert why not in client.get(f"{path}?tag=other").content.decode()


def test_a_refused_change_leads_back_to_the_filtered_list(team: Team, client: Client) -> None:
    make_dialogue(team.project)
    client.force_login(team.administrator)
    asked = {"action": "tag", "all": "yes", "tags": "!", "problems": "clean", "meta": "a=b&c", "column": ["x", "y"]}
    response = client.post(reverse("dialogue-plan", args=[team.project.slug]), asked)
    assert response.status_code == 422
    path = reverse("dialogue-list", args=[team.project.slug])
    text = response.content.decode()
    assert f'href="{path}?problems=clean&amp;meta=a%3Db%26c&amp;column=x&amp;column=y"' in text
    # Sent again, the form keeps the order and the columns.
    assert '<input type="hidden" name="column" value="y">' in text


def test_a_change_leads_back_to_the_list_as_it_was_filtered(team: Team, client: Client) -> None:
    row, slot = make_dialogue(team.project), open_slot(make_item(team, "cross_check"))
    client.force_login(team.administrator)
    listed, assigned = (reverse(name, args=[team.project.slug]) for name in ("dialogue-list", "assignment-list"))
    asked = {"action": "tag", "tags": "x", "dialogue": row.public_id, "status": "candidate", "sort": "-id", "q": " "}
    preview = client.post(reverse("dialogue-plan", args=[team.project.slug]), asked)["Location"]
    back = f'href="{listed}?status=candidate&amp;sort=-id"'
    assert back in client.get(preview).content.decode()
    done = client.post(preview)["Location"]
    text = client.get(done).content.decode()
    assert back in text
    # So does its undo.
    [undo] = re.findall(r'action="([^"]*/undo/[^"]*)"', text)
    assert back in client.get(client.post(unescape(undo))["Location"]).content.decode()
    # A change of work that was chosen in the list of dialogues leads back there, too.
    asked |= {"action": "prioritise", "to_priority": "0", "dialogue": slot.dialogue.public_id}
    preview = client.post(reverse("dialogue-plan", args=[team.project.slug]), asked)["Location"]
    assert back in client.get(preview).content.decode()
    assert back in client.get(client.post(preview)["Location"]).content.decode()
    asked = {"action": "prioritise", "to_priority": "0", "slot": slot.public_id, "state": "waiting", "q": "a&b"}
    preview = client.post(reverse("assignment-plan", args=[team.project.slug]), asked)["Location"]
    assert f'href="{assigned}?state=waiting&amp;q=a%26b"' in client.get(preview).content.decode()


@pytest.mark.parametrize(
    "back", ["//evil.example", "https://evil.example/?status=candidate", "status=nonsense", "sort=x"]
)
def test_a_change_leads_back_to_no_other_page(team: Team, client: Client, back: str) -> None:
    row = make_dialogue(team.project)
    made = make_plan(actor=team.administrator, project=team.project, action="tag", dialogues=[row.pk], tags=["x"])
    client.force_login(team.administrator)
    response = client.get(reverse("assignment-plan-detail", args=[team.project.slug, made.public_id]), {"back": back})
    assert response.status_code == 400
    text = response.content.decode()
    assert f'<a class="button" href="{reverse("dialogue-list", args=[team.project.slug])}">' in text
    assert 'href="//' not in text
    assert 'href="https://evil' not in text


def test_a_change_of_all_says_that_nothing_matches_any_more(team: Team, client: Client) -> None:
    make_dialogue(team.project)
    client.force_login(team.administrator)
    sentence = "No item matches the filters any more. Choose other filters in the list."
    for name, action in (("dialogue-plan", "tag"), ("assignment-plan", "free")):
        asked = {"action": action, "tags": "x", "all": "yes", "q": "no such words"}
        response = client.post(reverse(name, args=[team.project.slug]), asked)
        assert (response.status_code, sentence in response.content.decode()) == (422, True)
    sent = client.post(
        reverse("api-assignment-plan-list", args=[team.project.slug]),
        {"action": "tag", "tags": ["x"], "filters": {"q": "no such words"}},
        "application/json",
    )
    assert (sent.status_code, sent.json()["sentence"]) == (422, sentence)


def test_what_follows_from_the_filters_is_updated_with_the_results(team: Team, client: Client) -> None:
    make_dialogue(team.project)
    save_view(actor=team.administrator, project=team.project, name="Clean", query="problems=clean")
    client.force_login(team.administrator)
    path = reverse("dialogue-list", args=[team.project.slug])
    for query, is_open, active in (("?problems=clean", True, True), ("?language=en", False, True), ("", False, False)):
        texts = [one_line(client.get(path + query, headers=headers)) for headers in ({}, {"HX-Request": "true"})]
        assert "<!doctype html" not in texts[1]
        for text in texts:
            assert ('aria-current="true">Clean</a>' in text) is is_open
            assert (f'<a id="clear-filters" href="{path}" hidden>' in text) is not active
            assert ("More filters (1)" in text) is ("language" in query)


def test_a_view_with_too_many_columns_is_refused_and_the_list_names_those_left_out(team: Team, client: Client) -> None:
    make_dialogue(team.project)
    client.force_login(team.administrator)
    query = "&".join(f"column=k{number}" for number in range(10))
    text = one_line(client.get(f"{reverse('dialogue-list', args=[team.project.slug])}?{query}"))
    assert "The list shows at most 8 columns with metadata. Not shown: k8, k9." in text
    response = client.post(reverse("saved-view-list", args=[team.project.slug]), {"name": "Wide", "query": query})
    assert (response.status_code, SavedView.objects.count()) == (422, 0)
    text = one_line(response)
    assert "at most 8 columns with metadata, and this one has 10. Choose fewer." in text
    assert 'aria-invalid="true"' in text
    with pytest.raises(Invalid):
        save_view(actor=team.administrator, project=team.project, name="Wide", query=query)
    save_view(actor=team.administrator, project=team.project, name="Wide", query=query.partition("&column=k8")[0])


def test_the_list_of_an_archived_project_offers_no_changes(team: Team, client: Client) -> None:
    make_dialogue(team.project)
    client.force_login(team.administrator)
    path = reverse("dialogue-list", args=[team.project.slug])
    assert 'name="dialogue"' in client.get(path).content.decode()
    archive_project(actor=team.administrator, project=team.project)
    text = client.get(path).content.decode()
    assert ('name="dialogue"' in text, 'id="change"' in text, "data-nav-item" in text) == (False, False, True)


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_the_open_view_is_marked_while_filters_change(
    team: Team, open_page: Any, check_accessibility: Any, page_problems: Any
) -> None:
    page_problems.allow("status of 400")
    make_dialogue(team.project)
    save_view(actor=team.administrator, project=team.project, name="Clean", query="problems=clean")
    page = open_page(team.administrator)
    page.goto(reverse("dialogue-list", args=[team.project.slug]))
    view, clear = page.get_by_role("link", name="Clean"), page.get_by_role("link", name="Clear filters")
    expect(clear).to_be_hidden()
    page.get_by_label("Findings").select_option("clean")
    expect(view).to_have_attribute("aria-current", "true")
    expect(clear).to_be_visible()
    check_accessibility(page)
    page.get_by_label("Status").select_option("candidate")
    expect(view).not_to_have_attribute("aria-current", "true")
    page.go_back()
    expect(view).to_have_attribute("aria-current", "true")
    expect(page.get_by_label("Status")).to_have_value("")
    clear.click()
    expect(view).not_to_have_attribute("aria-current", "true")
    expect(page.get_by_label("Findings")).to_have_value("")
    # Enter changes the field and submits the form: a wrong tag is refused in one notice, also a second time.
    page.get_by_role("textbox", name="Tag", exact=True).fill("x y")
    for act in (
        lambda: page.keyboard.press("Enter"),
        lambda: page.get_by_label("Status").select_option("verified"),
    ):
        with page.expect_response(lambda answer: answer.status == 400):
            act()
        expect(page.locator("#toasts").get_by_text("“tag” can’t be “x y”.")).to_have_count(1)
