"""What a screen reader says on the way from taking an item to its submission, read in Chromium's accessibility tree."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from reviews.models import Review
from tests.browser import Problems
from tests.factories import Team, begin, make_dialogue, make_document
from tests.journeys.browser_window import BrowserWindow
from tests.journeys.workspaces import draft_of

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.any_database]

#: Roles of what one operates.
CONTROLS = {
    "button", "link", "textbox", "searchbox", "combobox", "listbox", "checkbox", "radio", "switch", "slider",
    "spinbutton", "tab", "menuitem", "option", "DisclosureTriangle", "treeitem",
}  # fmt: skip
LANDMARKS = {"banner", "navigation", "main", "complementary", "contentinfo", "region", "form", "search"}
#: Of these a page has one, so that the role alone names it.
ALONE = {"banner", "main", "contentinfo"}
#: Collects what is written into live regions. Their text counts, not how it was put there.
LISTEN = """() => {
  window.heard = [];
  const region = "[aria-live]:not([aria-live=off]), [role=status], [role=alert], [role=log]";
  new MutationObserver((records) => {
    for (const {target} of records) {
      const element = target.nodeType === Node.ELEMENT_NODE ? target : target.parentElement;
      const text = element?.closest(region)?.textContent.replace(/\\s+/g, " ").trim();
      if (text && window.heard.at(-1) !== text) window.heard.push(text);
    }
  }).observe(document.body, {childList: true, characterData: true, subtree: true});
}"""


class Reader:
    """What a screen reader is told of the page that is open."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._session = page.context.new_cdp_session(page)

    def nodes(self) -> list[dict[str, Any]]:
        """Return the nodes that are not ignored, in reading order: role, name, properties."""
        tree = self._session.send("Accessibility.getFullAXTree")["nodes"]
        return [
            {
                "role": node["role"]["value"],
                "name": node.get("name", {}).get("value", "").strip(),
                **{one["name"]: one["value"].get("value") for one in node.get("properties", [])},
            }
            for node in tree
            if not node["ignored"]
        ]

    def faults(self) -> list[str]:
        """Return what is wrong with controls, headings and landmarks."""
        nodes = self.nodes()
        found = [f"{node['role']} without a name" for node in nodes if node["role"] in CONTROLS and not node["name"]]
        levels = [int(node["level"]) for node in nodes if node["role"] == "heading"]
        if levels.count(1) != 1:
            found.append(f"{levels.count(1)} headings of level 1")
        found += [
            f"a heading of level {level} follows one of level {before}"
            for before, level in itertools.pairwise(levels)
            if level > before + 1
        ]
        found += ["heading without text" for node in nodes if node["role"] == "heading" and not node["name"]]
        # A form without a name is no landmark.
        marks = [
            (node["role"], node["name"])
            for node in nodes
            if node["role"] in LANDMARKS and (node["name"] or node["role"] != "form")
        ]
        found += [f"two landmarks: {mark}" for mark in sorted({one for one in marks if marks.count(one) > 1})]
        roles = [role for role, _ in marks]
        found += [
            f"{role} needs a name" for role, name in marks if not name and role not in ALONE and roles.count(role) > 1
        ]
        if roles.count("main") != 1:
            found.append(f"{roles.count('main')} main landmarks")
        return found

    def focused(self) -> tuple[str, str]:
        """Return role and name of what has the focus."""
        node = next(node for node in reversed(self.nodes()) if node.get("focused"))
        return node["role"], node["name"]

    def listen(self) -> None:
        """Collect what is announced on this page from now on."""
        self.page.evaluate(LISTEN)

    def expect_announced(self, words: str) -> None:
        """Wait until a live region has said these words."""
        self.page.wait_for_function("(words) => window.heard.some((one) => one.includes(words))", arg=words)


def test_an_item_is_claimed_edited_reviewed_and_submitted_by_ear(
    window_of: Callable[..., BrowserWindow], team: Team, page_problems: Problems
) -> None:
    page_problems.allow("status of 422|ERR_INTERNET_DISCONNECTED|Failed to (load resource|fetch)")
    begin(team.project, [make_dialogue(team.project, make_document(), external_id="one")])
    window = window_of(team.annotator)
    page, reader = window.page, Reader(window.page)

    page.goto("/")
    assert reader.faults() == []
    page.keyboard.press("n")
    expect(page.get_by_role("heading", level=1)).to_have_text("one")
    assert reader.faults() == []

    # The editor of a step: each field has a name, and what has the focus says what it is.
    page.goto(f"{page.url.partition('?')[0]}?at=/tasks/t1/steps/s0&panel=edit")
    expect(page.get_by_role("textbox", name="city")).to_be_visible()
    assert reader.faults() == []
    reader.listen()
    page.get_by_role("textbox", name="city").focus()
    role, name = reader.focused()
    assert role == "textbox"
    assert "city" in name

    # Without a connection the change is kept, and both that and the end of it are announced.
    page.context.set_offline(True)
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("Bruges")
    page.keyboard.press("Tab")
    window.expect_state("offline")
    reader.expect_announced(page.locator("[data-save-text]").inner_text())
    page.context.set_offline(False)
    window.expect_state("saved")
    reader.expect_announced(page.locator("[data-save-text]").inner_text())
    expect(window.chat).to_contain_text("Bruges")
    assert draft_of(team)["tasks"][0]["steps"][0]["arguments"] == {"city": "Bruges"}
    assert reader.faults() == []

    # The review: a refusal is an alert; then the verdict is accepted, and a toast says so.
    page.get_by_role("button", name="Approve with fix…").click()
    page.wait_for_url("**/submit/**")
    assert reader.faults() == []
    page.get_by_role("radio", name="Reject").check()
    page.get_by_role("button", name="Submit and open next").click()
    alert = page.get_by_role("alert").filter(has_text="reason")
    expect(alert.first).to_be_visible()
    assert reader.faults() == []
    page.locator("#reason").fill("It can’t be saved.")
    page.get_by_role("button", name="Submit and open next").click()
    expect(page.get_by_role("heading", level=1, name="My work")).to_be_visible()
    toast = page.get_by_role("status").filter(has_text="one")
    expect(toast.first).to_be_visible()
    assert reader.faults() == []
    assert Review.objects.get().verdict == "reject"
