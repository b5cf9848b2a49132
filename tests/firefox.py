"""Firefox as people have it, driven over WebDriver BiDi (W3C). Playwright drives only a Firefox that it builds itself.

Debian's Firefox speaks the protocol on a socket of its own, so neither geckodriver nor Selenium is needed.
"""

import contextlib
import itertools
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.private_services import find_firefox
from tests.browser import PATIENCE, REPORT_CSP_VIOLATIONS, Problems

KEYS = {
    "Backspace": "\ue003", "Tab": "\ue004", "Enter": "\ue007", "Shift": "\ue008", "Control": "\ue009",
    "Escape": "\ue00c", "Space": " ",
}  # fmt: skip
PREFERENCES = {
    # No page of Firefox itself, no update, nothing from outside.
    "app.normandy.enabled": False,
    "app.update.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,",
    "signon.rememberSignons": False,
    "ui.prefersReducedMotion": 1,
}


class Firefox:
    """A running Firefox with one window. Problems of its pages are noted in `problems`."""

    def __init__(self, socket: Any, site: str, problems: Problems) -> None:
        self._socket, self.site, self._problems = socket, site, problems
        self._numbers = itertools.count(1)
        self._call("session.new", capabilities={})
        self._call("session.subscribe", events=["log.entryAdded", "network.responseCompleted"])
        report = f"() => {{{REPORT_CSP_VIOLATIONS}}}"
        self._call("script.addPreloadScript", functionDeclaration=report)
        self._window = self._call("browsingContext.getTree")["contexts"][0]["context"]
        size = {"width": 1440, "height": 900}
        self._call("browsingContext.setViewport", context=self._window, viewport=size)

    def _call(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(PATIENCE / 1000))
            if answer["type"] == "event":
                self._note(answer["method"], answer["params"])
            elif answer["id"] == number:
                if answer["type"] == "error":
                    raise RuntimeError(f"{method}: {answer['error']}: {answer['message']}")
                return answer["result"]

    def _note(self, event: str, about: Any) -> None:
        if event == "log.entryAdded" and about["level"] == "error":
            self._problems.note(f"{about['type']}: {about['text']}")
        elif event == "network.responseCompleted" and about["response"]["status"] >= 500:
            self._problems.note(f"{about['response']['status']}: {about['response']['url']}")

    def goto(self, path: str) -> None:
        self._call("browsingContext.navigate", context=self._window, url=self.site + path, wait="complete")

    def evaluate(self, function: str, *arguments: Any) -> Any:
        """Call a function of the page with values of JSON; returns what it returns: plain values or an element's id."""
        given = ", ".join(json.dumps(argument) for argument in arguments)
        answer = self._call(
            "script.callFunction",
            functionDeclaration=f"() => ({function})({given})",
            target={"context": self._window},
            awaitPromise=True,
            userActivation=True,
        )
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        result = answer["result"]
        return result["sharedId"] if result["type"] == "node" else result.get("value")

    def wait(self, function: str, *arguments: Any) -> Any:
        """Wait until a function of the page returns what is true, across the loading of pages, and return it."""
        end = time.monotonic() + PATIENCE / 1000
        why = ""
        while time.monotonic() < end:
            try:
                if found := self.evaluate(function, *arguments):
                    return found
            except RuntimeError as error:  # the page is being replaced
                why = str(error)
            time.sleep(0.02)
        shown = self.evaluate("() => location.href + '\\n' + document.body.innerText")
        raise AssertionError(f"Never came: {function} {arguments} {why}\n{shown}")

    def control(self, words: str, kinds: str = "button, a, summary") -> str:
        """Return the id of the first shown and enabled control whose text begins with `words`."""
        return str(self.wait(CONTROL, kinds, words))

    def click(self, element: str) -> None:
        """Click in the middle of an element with the mouse."""
        origin = {"type": "element", "element": {"sharedId": element}}
        steps = [
            {"type": "pointerMove", "x": 0, "y": 0, "origin": origin},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        self._act({"type": "pointer", "id": "mouse", "actions": steps})

    def press(self, keys: str) -> None:
        """Press a key, or several at once such as ``Control+a``, when the page listens."""
        self.wait("() => document.querySelector('html[data-shortcuts]') !== null")
        names = [KEYS.get(name, name) for name in keys.split("+")]
        down = [{"type": "keyDown", "value": name} for name in names]
        self._act({"type": "key", "id": "keyboard", "actions": [*down, *(dict(d, type="keyUp") for d in down[::-1])]})

    def type(self, text: str) -> None:
        """Type a text where the focus is."""
        strokes = [{"type": kind, "value": mark} for mark in text for kind in ("keyDown", "keyUp")]
        self._act({"type": "key", "id": "keyboard", "actions": strokes})

    def tab_to(self, selector: str) -> None:
        """Press Tab until the focus is on an element: what can't be reached this way can't be reached by keyboard."""
        for _ in range(80):
            if self.evaluate("(selector) => document.activeElement?.matches(selector)", selector):
                return
            self.press("Tab")
        raise AssertionError(f"Tab never came to {selector}")

    def _act(self, source: dict[str, Any]) -> None:
        self._call("input.performActions", context=self._window, actions=[source])


CONTROL = """(kinds, words) => {
  const found = [...document.querySelectorAll(kinds)].find(
    (one) => one.checkVisibility() && !one.disabled && one.textContent.trim().startsWith(words),
  );
  found?.scrollIntoView({ block: "center" });
  return found;
}"""


@pytest.fixture
def firefox(live_server: Any, page_problems: Problems, settings: Any, tmp_path: Path) -> Iterator[Firefox]:
    """A Firefox of its own with a new profile, headless; whatever goes wrong in its pages fails the test."""
    from websockets.sync.client import connect

    settings.SITE_URL = live_server.url
    program = find_firefox()
    assert program is not None, "a test that uses Firefox needs the marker “firefox”"
    profile = tmp_path / "profile"
    profile.mkdir()
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items()]
    (profile / "user.js").write_text("\n".join(lines))
    command = [str(program), "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    with (
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process,
        contextlib.ExitStack() as stack,
    ):
        stack.callback(process.kill)
        assert process.stderr is not None
        said = (line.partition("WebDriver BiDi listening on ")[2].strip() for line in process.stderr)
        address = next((found for found in said if found), "")
        assert address, "Firefox ended before it listened"
        with connect(f"{address}/session", max_size=None, ping_interval=None, close_timeout=1) as socket:
            yield Firefox(socket, live_server.url, page_problems)
