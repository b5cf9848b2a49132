"""Many people are invited at once, in a browser."""

import pytest
from playwright.sync_api import Error as PlaywrightError
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
    expect(page.get_by_label("People", exact=True)).to_be_visible()
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
    expect(page.get_by_text("All links are copied.")).to_be_visible()
    # The corrected line adds its link to them, and the page asks before it is left.
    people = page.get_by_label("People", exact=True)
    people.fill("Chen,chen@example.org\nAmina,amina@example.org")
    page.get_by_role("button", name="Create links").click()
    expect(page.get_by_role("heading", name="3 invitation links")).to_be_visible()
    expect(page.get_by_text("1 link isn’t copied yet.")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("amina@example.org already has an open invitation.")
    expect(page.get_by_role("heading", name="1 line has a problem")).to_be_focused()
    check_accessibility(page)
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    with pytest.raises(PlaywrightError):
        page.reload(timeout=2_000)
    assert asked == ["beforeunload"]
    # The old link is replaced; the others stay, and all of them are copied at once.
    page.get_by_label("Replace open invitations").check()
    page.get_by_role("button", name="Create links").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(people).to_have_value("")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy all").click()
    expect(page.get_by_text("All links are copied.")).to_be_visible()
    lines = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert [line.split(", ")[:-1] for line in lines] == [
        ["Boris", "boris@example.org"], ["Chen", "chen@example.org"], ["Amina", "amina@example.org"],
    ]  # fmt: skip
    new = page.get_by_role("textbox", name="Link for amina@example.org").input_value()
    assert lines[2].endswith(f", {new}")
    assert new != link
    page.get_by_text("All links as text").click()
    expect(page.locator("#all-links")).to_have_text("\n".join(lines))
    check_accessibility(page)
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
