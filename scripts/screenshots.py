"""``make screenshots``: take the pictures in ``docs/screenshots`` and ``docs/journeys`` from new demos of its own."""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

from scripts.demo_scene import make_demo, running
from scripts.environment import ROOT, Stop, print_line
from scripts.film import SIZES
from scripts.journeys import film_journeys, write_keys
from scripts.private_services import find_chromium

FOLDER = ROOT / "docs" / "screenshots"


@contextmanager
def window_of(browser: Browser, url: str, person: str, height: int = 900, width: int = 1440) -> Iterator[Page]:
    """Open a window in which a person has signed in."""
    with browser.new_context(base_url=url, viewport={"width": width, "height": height}, locale="en-GB") as context:
        page = context.new_page()
        page.goto("/accounts/login/")
        page.get_by_role("button", name=person).click()
        page.wait_for_url("/")
        yield page


def visit(page: Page, path: str) -> None:
    response = page.goto(path)
    if response is None or not response.ok:
        raise Stop(f"{path} could not be opened. Use a new demo.")


def save(page: Page, name: str, *, full_page: bool = False) -> None:
    page.mouse.move(0, 0)
    page.wait_for_load_state("networkidle")
    page.screenshot(path=FOLDER / f"{name}.png", full_page=full_page)


def drag(page: Page, first: str, second: str) -> None:
    """Add a dependency in the tool graph: ``second`` depends on ``first``."""
    port: Any = page.locator(f"#node-{first} .port").bounding_box()
    box: Any = page.locator(f"#node-{second} rect").bounding_box()
    page.mouse.move(port["x"] + port["width"] / 2, port["y"] + port["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 10, steps=4)
    page.mouse.move(box["x"] + 50, box["y"] + box["height"] / 2, steps=4)
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.mouse.up()


def workspace(browser: Browser, url: str, pages: dict[str, str]) -> None:
    with window_of(browser, url, "Amina") as page:
        visit(page, f"{pages['amina']}?at=/tasks/t1/steps/s1")
        save(page, "workspace")
    with window_of(browser, url, "Boris", height=1000) as page:
        visit(page, f"{pages['boris']}?at=/tasks/t1&panel=graph")
        page.locator("#edge-s2-s0").focus()
        with page.expect_response(lambda response: response.request.method == "POST"):
            page.keyboard.press("Delete")
        expect(page.locator("#edge-s2-s0.suggested")).to_be_visible()
        for first, second in (("s1", "s2"), ("s2", "s3")):
            drag(page, first, second)
            expect(page.locator(f"#edge-{second}-{first}")).to_be_visible()
        save(page, "graph-editor")
        drag(page, "s3", "s1")
        expect(page.get_by_role("alert")).to_be_visible()
        save(page, "graph-circle")
        visit(page, f"{pages['boris']}?at=/tasks/t1/steps/s3")
        page.get_by_label("supplier_id").first.focus()
        save(page, "graph-sources")


def decision_tree(browser: Browser, url: str, pages: dict[str, str]) -> None:
    observer = {"elevation_m": 436, "latitude": 47.05, "longitude": 8.31}
    night = {"night_of": "2026-10-10", "observer": observer}
    objects = [{"name": "lookup_object", "arguments": {"name": name}} for name in ("Andromeda Galaxy", "Saturn")]
    moon = {"name": "get_moon", "arguments": night}
    wrong = {"name": "get_visibility", "arguments": night | {"object_id": "SOL-9"}}
    with window_of(browser, url, "Rafael") as page:
        visit(page, f"{pages['night-sky-01']}tasks/t1/paths/?path=s0,s1")
        batches = (", \n    ".join(map(json.dumps, batch)) for batch in (objects, [moon, wrong]))
        text = ",\n".join(f"  [\n    {calls}\n  ]" for calls in batches)
        page.locator(".cm-content").first.fill(f"[\n{text}\n]")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("heading", name="Deviation")).to_be_visible()
        save(page, "decision-tree", full_page=True)


def stills(browser: Browser, url: str, pages: dict[str, str]) -> None:
    """Take the single pictures."""
    workspace(browser, url, pages)
    decision_tree(browser, url, pages)
    with window_of(browser, url, "Ingrid") as page:
        for name, path in (
            ("assignments", "assignments/"),
            ("accuracy", "statistics/accuracy/"),
            ("agreement", "statistics/agreement/"),
        ):
            visit(page, f"/p/everyday-assistants/{path}")
            save(page, name, full_page=True)
    with window_of(browser, url, "Lucia", width=1280, height=820) as page:
        visit(page, f"{pages['radio-01']}validators/c1/")
        save(page, "validator")
        visit(page, f"{pages['berth-01']}replay/")
        page.get_by_role("button", name="Run", exact=True).click()
        page.locator("#round-4-head").evaluate("heading => heading.scrollIntoView()")
        save(page, "replay")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make screenshots", description="Take the pictures of the docs.")
    parser.add_argument("--only", choices=["stills", "journeys"], help="take only these")
    only = parser.parse_args(arguments).only
    with tempfile.TemporaryDirectory(prefix="assay-pictures-") as folder:
        made = Path(folder, "made")
        made.mkdir()
        print_line("Making a demo …")
        try:
            pages = make_demo(made)
            with (
                sync_playwright() as playwright,
                playwright.chromium.launch(executable_path=find_chromium()) as browser,
            ):
                if only != "journeys":
                    print_line("Taking single pictures …")
                    with running(made, Path(folder, "stills")) as url:
                        stills(browser, url, pages)
                if only != "stills":
                    films = {}
                    for width in SIZES:
                        print_line(f"Filming the journeys at {width} px …")
                        with running(made, Path(folder, str(width))) as url:
                            films[width] = film_journeys(browser, url, width)
                    write_keys(films)
        except Stop as stop:
            print(stop, file=sys.stderr, flush=True)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
