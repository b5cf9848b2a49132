"""Fixtures for tests in a real browser: pages that collect their own problems, and an accessibility check."""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import pytest

from scripts.private_services import find_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Response

PLAYWRIGHT_DISABLES = (
    "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding", "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints", "NetworkTimeServiceQuerying", "AimEnabled",
    "PreconnectToSearch",
)  # fmt: skip
"""Features that Playwright switches off. Chromium reads the last list only, so ours repeats them."""

COSTLY_FEATURES = (
    "WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup", "SpareRendererForSitePerProcess",
)  # fmt: skip
"""For each window, Chromium loads pages of its address bar and starts a spare process: most of what a window costs."""

CHROMIUM_OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    f"--disable-features={','.join(PLAYWRIGHT_DISABLES + COSTLY_FEATURES)}",
)  # fmt: skip

PATIENCE = 20_000
"""Milliseconds until something has not come; other parts of the suite run beside these and make it late."""

REPORT_CSP_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) => console.error(
  `CSP violation: ${event.effectiveDirective} blocked ${event.blockedURI}`,
  `at ${event.sourceFile}:${event.lineNumber} ${event.sample}`
));
"""


class Problems:
    """Problems in the pages of one test: console errors, uncaught errors, CSP violations, server errors."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._allowed: list[re.Pattern[str]] = []

    def allow(self, pattern: str) -> None:
        """Expect problems whose text matches, such as ``status of 422``."""
        self._allowed.append(re.compile(pattern))

    def note(self, text: str) -> None:
        """Keep a problem for the end of the test."""
        self.found.append(text)

    def watch(self, context: "BrowserContext") -> None:
        """Note what goes wrong in every page of a window."""

        def note_console(message: "ConsoleMessage") -> None:
            if message.type == "error":
                self.note(f"console: {message.text}")

        def note_response(response: "Response") -> None:
            if response.status >= 500:
                self.note(f"{response.status}: {response.url}")

        context.on("console", note_console)
        context.on("weberror", lambda error: self.note(f"uncaught: {error.error}"))
        context.on("response", note_response)

    def unexpected(self) -> list[str]:
        """Return the problems that no pattern allows."""
        return [text for text in self.found if not any(pattern.search(text) for pattern in self._allowed)]


@pytest.fixture(scope="session")
def chromium() -> Iterator["Browser"]:
    """The installed Chromium, headless, one for the whole run."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    executable = find_chromium()
    assert executable is not None, "a test that opens pages needs the marker “browser”"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(CHROMIUM_OPTIONS))
        yield browser
        browser.close()


@pytest.fixture
def page_problems() -> Iterator[Problems]:
    """The problems of this test's pages; whatever the test did not allow fails it."""
    problems = Problems()
    yield problems
    assert problems.unexpected() == []


@pytest.fixture
def open_page(
    chromium: "Browser", live_server: Any, page_problems: Problems, settings: Any
) -> Iterator[Callable[..., "Page"]]:
    """Open a window of its own: ``open_page(user, scheme="dark", width=320)``; addresses are relative to the site."""
    # Links that people are given lead here.
    settings.SITE_URL = live_server.url
    contexts: list[BrowserContext] = []

    def open_as(
        user: Any = None,
        *,
        scheme: Literal["light", "dark"] = "light",
        width: int = 1280,
        height: int = 900,
        javascript: bool = True,
        zone: str = "UTC",
    ) -> "Page":
        context = chromium.new_context(
            base_url=live_server.url,
            color_scheme=scheme,
            reduced_motion="reduce",
            viewport={"width": width, "height": height},
            java_script_enabled=javascript,
            timezone_id=zone,
            accept_downloads=True,
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        if javascript:
            context.add_init_script(REPORT_CSP_VIOLATIONS)
        if user is not None:
            context.add_cookies([session_cookie(user, live_server.url)])
        page_problems.watch(context)
        page = context.new_page()
        if javascript:
            _wait_before_keys(page)
        return page

    yield open_as
    for context in contexts:
        context.close()


def _wait_before_keys(page: "Page") -> None:
    """Press keys only when the page listens: its text is there before its scripts have run."""
    press = page.keyboard.press

    def press_when_ready(key: str, *, delay: float | None = None) -> None:
        page.locator("html[data-shortcuts]").wait_for(state="attached")
        press(key, delay=delay)

    page.keyboard.press = press_when_ready  # type: ignore[method-assign]


def session_cookie(user: Any, url: str) -> Any:
    """Return the cookie of a session in which `user` is signed in."""
    from django.conf import settings
    from django.test import Client

    client = Client()
    client.force_login(user)
    return {
        "name": settings.SESSION_COOKIE_NAME,
        "value": client.cookies[settings.SESSION_COOKIE_NAME].value,
        "url": url,
    }


@pytest.fixture
def check_accessibility() -> Callable[..., None]:
    """Assert that axe finds no violation on a page, in light and in dark."""
    from axe_playwright_python.sync_playwright import Axe

    axe = Axe()

    def check(page: "Page", *, schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")) -> None:
        # A page that has just been opened may have no element yet, which axe cannot read.
        page.wait_for_load_state()
        if not page.evaluate("'axe' in window"):
            page.evaluate(axe.axe_script)
        violations = []
        # A scheme changes colours and nothing else: after the first, only what axe says of colours can be new.
        for scheme, rules in zip(schemes, (EVERY_RULE, COLOUR_RULES), strict=False):
            page.emulate_media(color_scheme=scheme)
            for violation in page.evaluate(RUN_AXE, rules):
                places = "; ".join(str(node["target"]) for node in violation["nodes"][:5])
                violations.append(f"{page.url} ({scheme}): {violation['id']}: {violation['help']}: {places}")
        assert violations == []

    return check


EVERY_RULE: dict[str, Any] = {"resultTypes": ["violations"]}
COLOUR_RULES = EVERY_RULE | {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
RUN_AXE = "async (rules) => (await axe.run(rules)).violations"
