"""A description of tools becomes a toolset, and a function of it is changed in its form."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotator.models import Toolset
from annotator.services.toolsets.categories import start_categories
from tests.reviews.toolsets.openapi import OPENAPI

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_an_openapi_document_becomes_a_toolset_whose_function_is_changed(
    window_of, team, check_accessibility, page_problems
):
    page_problems.allow("status of 422")
    start_categories(team.project)
    page = window_of(team.administrator).page
    page.goto(reverse("toolset-list", args=[team.project.slug]))
    page.get_by_role("link", name="Import a toolset").click()
    page.get_by_role("button", name="Read").click()
    expect(page.get_by_role("alert")).to_contain_text("Choose a file, or paste")
    page.get_by_label("Or paste it here").fill(OPENAPI)
    page.get_by_role("button", name="Read").click()
    expect(page.get_by_role("heading", name="2 functions were read")).to_be_visible()
    check_accessibility(page)
    page.get_by_label("Category").select_option("Logistics")
    page.get_by_role("button", name="Save the toolset").click()
    expect(page.get_by_role("heading", name="Ferries")).to_be_visible()
    check_accessibility(page)
    # By keyboard: open the function and its form.
    page.locator("summary", has_text="book_crossing").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Edit book_crossing").focus()
    page.keyboard.press("Enter")
    cars = page.get_by_role("group", name="cars")
    cars.get_by_label("Default").fill("two")
    page.get_by_role("button", name="Apply and close").click()
    expect(page.get_by_role("alert")).to_contain_text("“two” is not JSON.")
    check_accessibility(page)
    cars.get_by_label("Default").fill("2")
    # The Enter key shows what the change affects.
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What this change affects")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("link", name="Revision 2").click()
    expect(page.get_by_role("heading", name="What revision 2 changed")).to_be_visible()
    check_accessibility(page)
    head = Toolset.objects.select_related("head").get().head
    assert head is not None
    assert head.tools()[1]["function"]["parameters"]["properties"]["cars"]["default"] == 2
