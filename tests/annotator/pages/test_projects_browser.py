"""Every page of people, projects and accounts in a browser: accessible, narrow, by keyboard and without scripts."""

import re

import pytest
from playwright import sync_api as playwright

from annotator.models import Invitation, Role
from annotator.services import members, projects
from annotator.services.access.permissions import roles_in
from annotator.services.accounts import tokens
from tests.factories import give_role, make_project, make_team

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

GUIDELINE = """# Rules

Be *exact*, see [the paper](https://example.org/).

| Policy | When | Example |
|---|---|---|
| `single_tool` | one call is enough | “What are the next trains to Ghent, and when do they arrive?” |
| `clarify` | a required value is neither said nor to be found with a tool | “Book one of them for the caller.” |

1. First
2. Then
"""


@pytest.fixture
def team():
    team = make_team("travel")
    give_role(make_project("banking"), team.administrator, Role.ANNOTATOR, Role.SENIOR_REVIEWER)
    for seen, text in enumerate((GUIDELINE, GUIDELINE + "\nMore.\n")):
        projects.publish_guideline(
            actor=team.administrator, project=team.project, text=text, note=f"change {seen}", seen=seen
        )
    tokens.create_token(actor=team.administrator, name="nightly import", expires_at=None)
    old, _ = tokens.create_token(actor=team.administrator, name="x" * 80, expires_at=None)
    tokens.revoke_token(actor=team.administrator, public_id=old.public_id)
    # Only people who have a password are asked for it again.
    team.annotator.set_password("a-long-enough-passphrase")
    team.annotator.save()
    return team


@pytest.fixture
def link(team):
    """The path of an open invitation."""
    _, secret = members.create_invitation(
        actor=team.administrator, project=team.project, roles=["annotator", "senior_reviewer"], note="for Olena"
    )
    return f"/invitation/{secret}/"


#: (address, who opens it, status). “link” means the path of an invitation.
PAGES = [
    ("/accounts/login/", None, 200),
    ("/accounts/signup/", None, 200),
    ("/accounts/password/reset/", None, 200),
    ("/accounts/password/reset/done/", None, 200),
    ("/accounts/password/reset/key/x-y/", None, 200),
    ("/accounts/password/reset/key/done/", None, 200),
    ("/accounts/inactive/", None, 200),
    ("link", None, 200),
    ("link", "outsider", 200),
    ("link", "senior", 200),
    ("/accounts/logout/", "annotator", 200),
    ("/accounts/password/change/", "annotator", 200),
    ("/accounts/reauthenticate/", "annotator", 200),
    ("/projects/", "administrator", 200),
    ("/projects/", "outsider", 200),
    ("/projects/new/", "administrator", 200),
    ("/p/travel/settings/", "administrator", 200),
    ("/p/travel/people/", "administrator", 200),
    ("/p/travel/people/", "annotator", 200),
    ("/p/travel/guideline/", "administrator", 200),
    ("/p/travel/guideline/?version=1", "annotator", 200),
    ("/p/travel/guideline/edit/", "administrator", 200),
    ("/p/banking/guideline/", "administrator", 200),
    ("/tokens/", "administrator", 200),
    ("/tokens/", "outsider", 200),
    ("/api/docs/", "annotator", 200),
    ("/nothing/here/", "annotator", 404),
    ("/nothing/here/", None, 404),
    ("/p/travel/settings/", "annotator", 403),
    ("/theme/", "annotator", 405),
]


def width_of(page):
    return page.evaluate("document.documentElement.scrollWidth")


#: Who opens which addresses, those that are refused apart: only there is an error of the console expected.
VISITS = sorted({(who or "nobody", status >= 400) for _, who, status in PAGES})


@pytest.mark.parametrize(("who", "refused"), VISITS)
def test_pages_open_for_everybody(open_page, check_accessibility, page_problems, team, link, who, refused):
    """No CSP violation or script error, nothing for axe to find in either theme, no sideways scrolling at 320 px."""
    pages = [(one[0], one[2]) for one in PAGES if (one[1] or "nobody", one[2] >= 400) == (who, refused)]
    faults = []
    page = open_page(None if who == "nobody" else getattr(team, who), width=320)
    for address, status in pages:
        if refused:
            page_problems.allow(f"status of {status}")
        page.set_viewport_size({"width": 320, "height": 900})
        answer = page.goto(link if address == "link" else address)
        if answer.status != status or page.locator("h1").count() != 1:
            faults.append((address, answer.status, page.locator("h1").all_inner_texts()))
        for details in page.locator("main details").all()[:4]:
            details.evaluate("element => element.open = true")
        widths = [width_of(page)]
        try:
            check_accessibility(page)
        except AssertionError as fault:
            faults.append((address, str(fault)))
        page.set_viewport_size({"width": 1280, "height": 900})
        widths.append(width_of(page))
        if widths != [320, 1280]:
            faults.append((address, widths))
    assert faults == []


@pytest.mark.parametrize("address", ["/projects/new/", "/p/travel/settings/", "/p/travel/people/", "/tokens/"])
def test_a_refused_form_is_as_good_as_a_fresh_one(open_page, check_accessibility, page_problems, team, address):
    page_problems.allow("status of 422")
    page = open_page(team.administrator, width=320)
    page.goto(address)
    form = page.locator("main form").filter(has=page.locator("[name=name], [name=roles]"))
    if form.locator("[name=name]").count():
        form.locator("[name=name]").fill("")
    form.locator("button[data-primary]").click()
    summary = page.locator(".error-summary")
    summary.wait_for()
    assert summary.evaluate("element => element === document.activeElement")
    assert width_of(page) == 320
    check_accessibility(page)


def test_the_options_of_a_preset_stay_in_one_line_beside_an_error(open_page, check_accessibility, page_problems, team):
    page_problems.allow("status of 422")
    page = open_page(team.administrator, width=1440)
    page.goto("/p/travel/protocol/edit/?preset=c3&audit_fraction=-1")
    form = page.locator("form", has=page.locator("[name=audit_fraction]"))
    assert form.locator(".field-error").is_visible()
    controls = form.locator("input:not([type=hidden]), button").all()
    middles = [box["y"] + box["height"] / 2 for box in (control.bounding_box() for control in controls)]
    assert len(controls) == 6
    assert max(middles) - min(middles) < 3
    check_accessibility(page)
    page.set_viewport_size({"width": 320, "height": 900})
    assert width_of(page) == 320


def test_outdated_work_and_previewed_guidelines(open_page, check_accessibility, page_problems, team):
    page_problems.allow("status of 409")
    page = open_page(team.administrator, width=320)
    page.goto("/p/travel/guideline/edit/")
    page.get_by_label("Text (Markdown)").fill("Mine, **bold**.")
    page.get_by_role("button", name="Preview").click()
    assert page.locator("section .prose strong").inner_text() == "bold"
    check_accessibility(page)
    projects.publish_guideline(actor=team.administrator, project=team.project, text="Theirs.\n" + "x" * 400, seen=2)
    page.get_by_role("button", name="Publish").click()
    playwright.expect(page.locator("main")).to_contain_text("Theirs.")
    assert page.get_by_label("Text (Markdown)").input_value() == "Mine, **bold**."
    assert width_of(page) == 320
    check_accessibility(page)


def test_failed_sign_in(open_page, check_accessibility, team):
    page = open_page(width=320)
    page.goto("/accounts/login/")
    page.get_by_label("Username or email address").fill("nobody")
    page.get_by_label("Password", exact=True).fill("nothing")
    page.keyboard.press("Enter")
    page.locator(".error-summary").wait_for()
    assert width_of(page) == 320
    check_accessibility(page)


def test_the_demos_buttons(open_page, check_accessibility, transactional_db, demo):
    page = open_page(width=320)
    page.goto("/tokens/")
    assert width_of(page) == 320
    check_accessibility(page)
    page.get_by_role("button", name=str(demo[1])).click()
    page.wait_for_url("**/tokens/")
    assert str(demo[1]) in page.locator("header").text_content()


@pytest.mark.parametrize("javascript", [True, False])
def test_from_an_invitation_to_an_account(open_page, team, link, javascript):
    page = open_page(javascript=javascript)
    page.goto(link)
    page.get_by_role("button", name="Create account").click()
    page.get_by_label("Username").fill("olena")
    page.get_by_label("Your name").fill("Olena Koval")
    page.get_by_label("Password", exact=True).fill("a-long-enough-passphrase")
    page.get_by_label("Password (again)").fill("a-long-enough-passphrase")
    page.get_by_role("button", name="Create account").click()
    page.wait_for_url("**/p/travel/")
    assert "Olena Koval" in page.locator("header").inner_text()
    assert Invitation.objects.get().accepted_by.username == "olena"


def test_a_member_is_invited_changed_and_removed_without_scripts(open_page, team):
    page = open_page(team.administrator, javascript=False)
    page.goto("/p/travel/people/")
    page.get_by_role("group", name="Roles").get_by_label("Annotator").check()
    page.get_by_label("Note").fill("for Petro")
    page.get_by_role("button", name="Create link").click()
    assert re.search(r"/invitation/.{32}/$", page.get_by_label("Link to send").input_value())
    assert "for Petro" in page.locator("main").inner_text()
    page.get_by_role("button", name="Revoke invitation for Petro").click()
    assert "Invitation revoked." in page.locator("body").inner_text()
    row = page.get_by_role("row").filter(has_text=str(team.annotators[1]))
    row.locator("summary", has_text="Change").click()
    row.get_by_role("button", name="Add senior reviewer").click()
    assert roles_in(team.project, team.annotators[1]) == {"annotator", "senior_reviewer"}
    row.locator("summary", has_text="Change").click()
    row.get_by_role("button", name="Remove all roles").click()
    page.get_by_role("button", name="Remove all roles").click()
    assert roles_in(team.project, team.annotators[1]) == frozenset()


def test_ending_all_roles_asks_first(open_page, team):
    page = open_page(team.administrator)
    page.goto("/p/travel/people/")
    row = page.get_by_role("row").filter(has_text=str(team.annotators[1]))
    row.locator("summary", has_text="Change").click()
    row.get_by_role("button", name="Remove all roles").click()
    page.get_by_role("heading", name="Remove Ann2 from").wait_for()
    assert "No items are in progress." in page.locator("main").inner_text()
    page.get_by_role("link", name="Cancel").click()
    page.wait_for_url("**/people/")
    assert roles_in(team.project, team.annotators[1]) == {"annotator"}


def test_a_token_is_made_copied_and_gone(open_page, team):
    page = open_page(team.administrator)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/tokens/")
    page.get_by_label("Name").fill("copied")
    page.keyboard.press("Enter")
    secret = page.get_by_label("Token", exact=True).input_value()
    page.get_by_role("button", name="Copy").click()
    assert page.evaluate("navigator.clipboard.readText()") == secret
    page.goto("/projects/")
    with pytest.raises(playwright.Error, match="ERR_CACHE_MISS"):
        page.go_back()
    # A locator waits until the browser's own error page is there; the content cannot be read while it comes.
    playwright.expect(page.locator("body")).to_be_attached()
    playwright.expect(page.locator(f'[value="{secret}"]')).to_have_count(0)


def tab_stops(page, most=1000):
    """Return the elements that the Tab key reaches, from the top of the page to its end."""
    reached = []
    for _ in range(most):
        page.keyboard.press("Tab")
        at = page.evaluate("document.activeElement === document.body ? null : document.activeElement.outerHTML")
        if at is None or at in reached[:1]:
            break
        reached.append(at)
    return reached


def test_the_tab_key_reaches_everything_that_can_be_used(open_page, team):
    windows = {None: open_page(width=320), team.administrator: open_page(team.administrator, width=320)}
    missed = {}
    for address, who in (
        ("/accounts/login/", None),
        ("/projects/", team.administrator),
        ("/projects/new/", team.administrator),
        ("/p/travel/settings/", team.administrator),
        ("/p/travel/people/", team.administrator),
        ("/p/travel/guideline/", team.administrator),
        ("/p/travel/guideline/edit/", team.administrator),
        ("/tokens/", team.administrator),
        ("/api/docs/", team.administrator),
    ):
        page = windows[who]
        page.goto(address)
        usable = page.evaluate(
            """[...document.querySelectorAll("main :is(a[href], button, input, select, textarea, summary)"),
                ...document.querySelectorAll("main [tabindex='0']")]
               .filter((e) => e.checkVisibility() && !e.disabled && e.type !== "hidden").map((e) => e.outerHTML)"""
        )
        reached = tab_stops(page)
        assert "Skip to content" in reached[0], address
        missed[address] = [one for one in usable if one not in reached]
    assert {address: elements for address, elements in missed.items() if elements} == {}


def test_keys_go_to_the_pages_they_name(open_page, team):
    page = open_page(team.administrator)
    page.goto("/p/travel/people/")
    for keys, address in (("gg", "/p/travel/guideline/"), ("e", "/p/travel/guideline/edit/")):
        for key in keys:
            page.keyboard.press(key)
        page.wait_for_url(f"**{address}")


@pytest.mark.parametrize("javascript", [True, False])
def test_the_theme_that_was_chosen_stays(open_page, team, javascript):
    page = open_page(team.annotator, javascript=javascript)
    page.goto("/projects/")
    page.locator("summary").filter(has_text=str(team.annotator)).click()
    page.get_by_role("button", name="Dark").click()
    page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    page.goto("/tokens/")
    assert page.locator("html").get_attribute("data-theme") == "dark"
