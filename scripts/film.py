"""Filming a journey by keyboard: keys that are pressed and counted, frames in light and dark, one sheet of them."""

import base64
import html
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Page, expect

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
#: Width of the window in pixels → its height, the width of a frame in the sheet, and frames beside each other.
SIZES = {1440: (900, 720, 2), 390: (844, 390, 4)}
#: Quality of the sheets, which are WebP: enough to read them, small enough for git.
QUALITY = 45
#: Milliseconds until a page is there; a new server is slow at first.
PATIENCE = 30_000


@dataclass
class Frame:
    """What somebody pressed since the frame before, and the picture after it in each scheme."""

    title: str
    keys: list[str]
    pictures: dict[Scheme, bytes]


@dataclass
class Film:
    """A window that only the keyboard reaches. ``keys`` are those since the last frame; typed text is one of them."""

    page: Page
    frames: list[Frame] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    presses: int = 0
    characters: int = 0

    def press(self, *keys: str) -> None:
        """Press keys one after the other when the page listens, as a person would."""
        for key in keys:
            self.page.locator("html[data-shortcuts]").wait_for(state="attached")
            self.page.keyboard.press(key)
            self.keys.append(key)
            self.presses += 1

    def until(self, key: str, reached: str, most: int = 60) -> None:
        """Press a key until an expression about the element with the focus, ``at``, is true."""
        for _ in range(most):
            if self.page.evaluate(f"(at => {reached})(document.activeElement)"):
                return
            self.press(key)
        raise AssertionError(f"{key} never led to {reached}")

    def write(self, text: str) -> None:
        """Type a text into the field with the focus."""
        self.page.keyboard.insert_text(text)
        self.keys.append(f"“{text}”")
        self.characters += len(text)

    def frame(self, title: str) -> None:
        """Keep a picture of the window in both schemes."""
        self.page.wait_for_load_state("networkidle")
        pictures: dict[Scheme, bytes] = {}
        for scheme in reversed(SCHEMES):
            self.page.emulate_media(color_scheme=scheme)
            pictures[scheme] = self.page.screenshot(animations="disabled", caret="initial")
        self.frames.append(Frame(title, self.keys, pictures))
        self.keys = []


def open_film(browser: Browser, url: str, width: int, locale: str = "en-GB") -> Film:
    """Open a window of this width on the page for signing in."""
    context = browser.new_context(
        base_url=url,
        viewport={"width": width, "height": SIZES[width][0]},
        locale=locale,
        reduced_motion="reduce",
        has_touch=width < 768,
    )
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    page = context.new_page()
    page.goto("/accounts/login/")
    return Film(page)


def write_sheets(browser: Browser, film: Film, width: int, folder: Path, name: str) -> None:
    """Write all frames of a film as one WebP picture for each scheme: ``NAME-WIDTH-SCHEME.webp``."""
    _, narrow, columns = SIZES[width]
    for scheme in SCHEMES:
        page = browser.new_page(viewport={"width": columns * (narrow + 16) + 16, "height": 600})
        page.set_content(_sheet(film.frames, scheme, narrow, columns))
        page.evaluate("Promise.all([...document.images].map((image) => image.decode()))")
        box: Any = page.locator("main").bounding_box()
        session = page.context.new_cdp_session(page)
        clip = {"x": 0, "y": 0, "width": box["width"], "height": box["height"], "scale": 1}
        shot = session.send(
            "Page.captureScreenshot",
            {"format": "webp", "quality": QUALITY, "clip": clip, "captureBeyondViewport": True},
        )
        (folder / f"{name}-{width}-{scheme}.webp").write_bytes(base64.b64decode(shot["data"]))
        page.close()


def _sheet(frames: list[Frame], scheme: Scheme, width: int, columns: int) -> str:
    ink, paper = ("#1c1c1c", "#e4e4e4") if scheme == "light" else ("#ededed", "#3a3a3a")
    figures = "".join(
        f"<figure><figcaption>{number}. {html.escape(frame.title)}</figcaption>"
        f'<img width={width} src="data:image/png;base64,{base64.b64encode(frame.pictures[scheme]).decode()}">'
        "</figure>"
        for number, frame in enumerate(frames, 1)
    )
    return (
        "<!doctype html><style>body, figure {margin: 0}"
        f"main {{display: grid; grid-template-columns: repeat({columns}, {width}px); gap: 16px; padding: 16px;"
        f" background: {paper}; color: {ink}; font: 600 16px sans-serif; width: max-content}}"
        "figure {display: flex; flex-direction: column; justify-content: end; gap: 6px} img {display: block}</style>"
        f"<main>{figures}</main>"
    )
