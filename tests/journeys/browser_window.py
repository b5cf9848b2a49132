"""Actions of people on the pages of Assay, so that tests of journeys read like descriptions."""

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from playwright.sync_api import Locator, Page, Response, Route, expect


class BrowserWindow:
    """One person's window."""

    def __init__(self, page: Page) -> None:
        self.page = page

    # --- My work -------------------------------------------------------------------------------------------------

    def take_next(self, stage: str) -> None:
        """Take the next item of a stage from My work; ends in the workspace (or where an expert settles)."""
        self.page.goto("/")
        self.page.get_by_role("button", name=re.compile(rf"Claim next\s*: {re.escape(stage)}")).click()
        self.page.wait_for_url("**/work/**")

    # --- the workspace -------------------------------------------------------------------------------------------

    @property
    def chat(self) -> Locator:
        return self.page.locator("#chat")

    @property
    def inspector(self) -> Locator:
        return self.page.locator("#inspector")

    @property
    def findings(self) -> Locator:
        """The findings in the chat, next to what they concern."""
        return self.chat.locator(".finding")

    def open_place(self, place: str) -> None:
        """Open ``task t1`` or ``s0 of task t1`` in the inspector."""
        self.chat.get_by_role("link", name=f"Edit {place}", exact=True).click()
        number = place.rpartition("t")[2] if place.startswith("task") else place.partition(" ")[0]
        expect(self.page.locator("#i-head")).to_contain_text(number)
        expect(self.page.locator("#i-head")).to_be_focused()

    def open_panel(self, name: str) -> None:
        """Open what the inspector can show: Edit, Graph or Comments by its tab, Findings by the button of the bar."""
        if name == "Findings":
            self.page.locator("#toolbar [data-findings]").click()
            expect(self.page.locator("#i-head")).to_have_text("Findings")
            return
        tab = {"Edit": "Step", "Comments": "Discussion"}.get(name, name)
        self.inspector.get_by_role("link", name=tab, exact=True).click()
        expect(self.inspector.locator(".tabs [aria-current=page]")).to_have_text(tab)

    @contextlib.contextmanager
    def saving(self, *, status: int = 200) -> Iterator[None]:
        """Wait until the edit that is made inside has been answered, and shown."""
        with self.page.expect_response(_is_edit) as answer:
            yield
        assert answer.value.status == status, answer.value.text()
        if status == 200:
            self.expect_state("saved")

    def expect_state(self, state: str) -> None:
        """The indicator says: saved, saving, offline, conflict, refused or lost."""
        expect(self.page.locator("[data-save-state]")).to_have_attribute("data-state", state)

    def fill_code(self, form: str, text: str) -> None:
        """Replace the content of a form's code editor, as if by pasting."""
        self.page.locator(f"{form} .cm-content").click()
        self.page.keyboard.press("ControlOrMeta+A")
        self.page.keyboard.insert_text(text)

    def set_observation(self, value: Any) -> None:
        with self.saving():
            self.fill_code("#f-observation", value if isinstance(value, str) else json.dumps(value))

    def depend_on(self, *steps: str) -> None:
        """Tick what the open step depends on; nothing where no step is named."""
        if not self.page.locator("#f-depends input[name=annotated][value=yes]").is_checked():
            with self.saving():
                self.page.locator("#f-depends input[name=annotated][value=yes]").check()
        for step in steps:
            with self.saving():
                self.page.locator(f"#f-depends input[name=dep][value='{step}']").check()

    def walk_to(self, step: str) -> None:
        """Walk down the chat with ``j`` from its top until a step has the focus."""
        self.page.keyboard.press("Shift+K")
        for _ in range(40):
            if self.page.evaluate("document.activeElement.id").endswith(f"-{step}"):
                return
            self.page.keyboard.press("j")
        raise AssertionError(f"j never came to {step}")

    def tab_to(self, selector: str) -> None:
        """Press Tab until the focus is there: what cannot be reached this way cannot be reached by keyboard."""
        target = self.page.locator(selector).first
        for _ in range(60):
            if target.evaluate("node => node === node.getRootNode().activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab never came to {selector}")

    def submit(self, verdict: str, *, reason: str = "") -> None:
        """From the workspace through the last look, and stop there."""
        self.page.locator("#toolbar").get_by_role("button", name=f"{verdict}…").click()
        self.page.wait_for_url("**/submit/**")
        if reason:
            self.page.locator("#reason").fill(reason)
        close = self.page.get_by_role("button", name="Submit and close")
        close.click()
        asked = self.page.locator("[data-unanswered]:visible")
        home = self.page.get_by_role("heading", name="My work", level=1)
        expect(asked.or_(home)).to_be_visible()
        if asked.count():
            self.leave_blank()
        self.expect_home()

    def leave_blank(self) -> None:
        """Submit again, once the page has asked about questions without an answer and one had the time to read it."""
        self.page.locator("[data-unanswered][data-asked]").wait_for()
        self.page.get_by_role("button", name="Submit and close").click()

    def expect_home(self) -> None:
        expect(self.page.get_by_role("heading", name="My work", level=1)).to_be_visible()


def hold(page: Page, act: Callable[[], object], address: str = "**/edit/") -> Callable[[], None]:
    """Do what sends a request; the answer waits until the function that comes back is called."""
    held: list[Route] = []
    page.route(address, lambda route: held.append(route), times=1)
    with page.expect_request(address):
        act()

    def release_requests() -> None:
        with page.expect_response(address):
            held[0].continue_()

    return release_requests


def _is_edit(response: Response) -> bool:
    return response.request.method == "POST" and "/work/" in response.url and not response.url.endswith("/heartbeat/")
