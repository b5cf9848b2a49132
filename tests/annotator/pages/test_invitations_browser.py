"""Many people are invited at once, in a browser."""

import pytest
from playwright.sync_api import expect

from annotator.models import Invitation
from tests.factories import make_team

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.any_database]

PASTED = """name,address,role
Amina Diallo,amina@example.org,
Boris,boris@example.org,senior reviewer
Chen,chen
"""


def test_pasted_people_get_links_to_copy_and_a_file(open_page, check_accessibility):
    team = make_team("travel")
    page = open_page(team.administrator)
    page.goto(f"/p/{team.project.slug}/people/")
    page.get_by_role("link", name="Invite many people").click()
    check_accessibility(page)
    page.get_by_label("People", exact=True).fill(PASTED)
    page.get_by_label("Annotator").check()
    page.get_by_role("button", name="Create links").click()
    expect(page.get_by_role("heading", name="2 invitation links")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("“chen” isn’t an email address.")
    expect(page.get_by_label("People", exact=True)).to_have_value("name,address,role\nChen,chen")
    check_accessibility(page)
    link = page.get_by_role("textbox", name="Link for amina@example.org").input_value()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as CSV").click()
    lines = download.value.path().read_text().splitlines()
    assert download.value.suggested_filename == "invitations.csv"
    assert lines[:2] == ["name,address,roles,link", f"Amina Diallo,amina@example.org,Annotator,{link}"]
    assert [one.roles for one in Invitation.objects.order_by("pk")] == [["annotator"], ["senior_reviewer"]]
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
