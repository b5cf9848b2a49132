"""Selecting dialogues in their list by keyboard, and changing them, with and without scripts."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from annotator.models import Dialogue
from annotator.services.dialogues.tags import read_tags
from tests.factories import Team, make_dialogues

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_rows_are_selected_by_keyboard_and_the_count_is_announced(
    team: Team, open_page: Any, check_accessibility: Any
) -> None:
    dialogues = make_dialogues(team.project, 5)
    page = open_page(team.administrator)
    page.goto(f"/p/{team.project.slug}/dialogues/")
    rows, status = page.locator("input[name=dialogue]"), page.locator("[data-selected]")
    rows.nth(0).focus()
    page.keyboard.press("Space")
    expect(status).to_have_text("1 selected")
    rows.nth(2).focus()
    page.keyboard.press("Shift+Space")
    expect(status).to_have_text("3 selected")
    page.get_by_label("Select all on this page").check()
    expect(status).to_have_text("5 selected")
    rows.nth(4).uncheck()
    expect(status).to_have_text("4 selected")
    check_accessibility(page)
    page.keyboard.press("c")
    expect(page.locator("#change-selected")).to_be_focused()
    page.get_by_label("Add tags").check()
    # Only the fields of the chosen action are shown.
    change = page.locator("#change")
    for name, shown in (("tags", True), ("reason", True), ("to", False), ("to_priority", False), ("to_stage", False)):
        expect(change.locator(f"[name={name}]")).to_be_visible(visible=shown)
    page.locator("#change [name=tags]").fill("hard")
    page.get_by_role("button", name="Preview changes").click()
    page.get_by_role("button", name="Make changes").click()
    expect(page.get_by_role("heading", name=re.compile("Add tags"))).to_be_visible()
    assert list(read_tags([one.pk for one in dialogues]).values()) == [["hard"]] * 4
    check_accessibility(page)
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Make changes").click()
    expect(page.get_by_role("heading", name=re.compile("Undo: Add tags"))).to_be_visible()
    assert read_tags(list(Dialogue.objects.values_list("pk", flat=True))) == {}


def test_dialogues_are_changed_without_scripts_in_a_narrow_window(team: Team, open_page: Any) -> None:
    [dialogue, _] = make_dialogues(team.project, 2)
    page = open_page(team.administrator, javascript=False, width=390)
    page.goto(f"/p/{team.project.slug}/dialogues/")
    expect(page.get_by_label("Select all on this page")).to_be_hidden()
    page.locator(f"input[value='{dialogue.public_id}']").check()
    page.get_by_label("Add tags").check()
    page.locator("#change [name=tags]").fill("hard")
    page.get_by_role("button", name="Preview changes").click()
    page.get_by_role("button", name="Make changes").click()
    assert read_tags([dialogue.pk]) == {dialogue.pk: ["hard"]}
