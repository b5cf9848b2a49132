"""Three journeys by keyboard only, filmed in two widths, light and dark: the sheets and ``docs/journeys.md``."""

import re
from collections.abc import Callable
from itertools import groupby

from playwright.sync_api import Browser, expect

from scripts.demo_scene import CHINESE, CONSTRAINED, DISPUTED
from scripts.environment import ROOT
from scripts.film import Film, open_film, write_sheets

PAGE = ROOT / "docs" / "journeys.md"
FOLDER = ROOT / "docs" / "journeys"
#: The third version of the disputed answer.
ANSWER = (
    "The next three trains from Bregenz are S1 5657 to Lindau-Reutin at 17:12 from platform 2, REX 5349 to Feldkirch "
    "at 17:25 instead of 17:19 from platform 4, and EC 195 to Munich Central at 17:34 from platform 1."
)


def sign_in(film: Film, person: str) -> None:
    """Sign in with the button of a person, and open the item that My work offers."""
    film.press("Tab", "Enter")
    film.until("Tab", f"at.name === 'person' && at.textContent.includes('{person}')")
    film.frame(f"Sign in as {person}")
    film.press("Enter")
    film.page.wait_for_url(re.compile(r"://[^/]+/$"))
    film.frame("My work: one key continues or starts")
    film.press("n")
    film.page.wait_for_url("**/work/**")


def four_tasks(film: Film) -> None:
    """A long Chinese dialogue of four tasks, in which one argument is wrong."""
    sign_in(film, "Chen Yaqing")
    page = film.page
    film.frame("The dialogue and the fields of its first task")
    film.press("]")
    expect(page.locator("[data-finding]:focus")).to_be_visible()
    film.frame("The only finding: a date that nobody mentioned")
    film.press("v")
    expect(page.locator("#f-arguments input:focus")).to_be_visible()
    film.until("Tab", "at.value === '2026-06-21'")
    film.write("2026-06-22")
    film.press("Escape")
    expect(page.locator("[data-save-state]")).to_have_attribute("data-state", "saved")
    expect(page.locator("#chat .finding")).to_have_count(0)
    film.frame("The date of the first message: the finding is gone")
    film.press("a")
    page.wait_for_url("**/submit/**")
    expect(page.locator(".suggested-error button")).to_be_focused()
    film.frame("Review: the change, and the error that it suggests")
    film.press("y")
    expect(page.locator(".checklist input:focus")).to_be_visible()
    film.until("Shift+Y", "at.name.startsWith('check:t4:')")
    film.frame("The checklist of the last task")
    film.press("Shift+Y")
    expect(page.locator("#verdict [data-primary]")).to_be_focused()
    film.press("Enter")
    expect(page.locator("#toasts, .toasts").first).to_contain_text(f"{CHINESE} 已提交")
    film.frame("Submitted: the next item is there")


def three_fields(film: Film) -> None:
    """A dispute in three fields: the right side, the left side, and a third version."""
    sign_in(film, "Yuki Hayashida")
    page = film.page
    progress = page.locator("#settle-progress")
    expect(progress).to_contain_text("0 of 3")
    film.press("j")
    expect(page.locator("#place-1")).to_be_focused()
    film.frame("The dispute: the first of three places")
    film.press("2", "r", "End")
    page.wait_for_function("document.activeElement.selectedOptions?.[0].text === 'Other'")
    film.press("Escape", "a")
    expect(progress).to_contain_text("1 of 3")
    film.frame("The right side, a reason, and the same reason for the others")
    film.press("j", "1")
    expect(progress).to_contain_text("2 of 3")
    film.frame("The second place: the left side")
    film.press("j", "3", "e", "Control+A")
    film.write(ANSWER)
    expect(progress).to_contain_text("3 of 3")
    film.frame("The third place: words of her own")
    film.press("Escape", "Shift+J")
    expect(page.locator("#outcome")).to_contain_text("Ready to settle.")
    film.frame("All three are decided")
    settled = page.url
    film.press("Control+Enter")
    page.wait_for_url(lambda url: url != settled)
    expect(page.locator("#toasts, .toasts").first).to_contain_text(f"{DISPUTED} submitted")
    film.frame("Settled: the next dispute is there")


def failing_validator(film: Film) -> None:
    """A constrained case whose validator accepts everything."""
    sign_in(film, "Lucia Ferrante")
    page = film.page
    expect(page.locator("h1").first).to_have_text(CONSTRAINED)
    film.press("]")
    expect(page.locator(".finding-row:focus")).to_contain_text("It accepts every response")
    film.frame("The case, and its first finding: the validator accepts everything")
    film.press("Tab", "Enter")
    page.wait_for_url("**/validators/**")
    film.frame("The validator: what it should reject and accepts")
    film.press("v", "ArrowDown", "ArrowDown", "End", "Shift+Home")
    film.write('if response.startswith("HALD"):')
    film.frame("The code as the constraint says it")
    film.press("Control+Enter")
    expect(page.get_by_text("Trial passed")).to_be_visible()
    film.frame("Saved and tried: all results are as expected")
    film.press("e")
    page.wait_for_url("**/work/*/?**")
    expect(page.locator("#toolbar")).to_contain_text("No issues")
    film.press("a")
    page.wait_for_url("**/submit/**")
    expect(page.locator(".checklist input:focus")).to_be_visible()
    film.press("Shift+Y")
    expect(page.locator("#verdict [data-primary]")).to_be_focused()
    film.frame("The case has no findings: the change and the checklist")
    film.press("Enter")
    expect(page.locator("#toasts, .toasts").first).to_contain_text(f"{CONSTRAINED} submitted")
    film.frame("Submitted: the next case is there")


#: Name of each journey in addresses → the steps, and the language of the browser.
JOURNEYS: dict[str, tuple[Callable[[Film], None], str]] = {
    "four-tasks": (four_tasks, "zh-CN"),
    "three-fields": (three_fields, "en-GB"),
    "failing-validator": (failing_validator, "en-GB"),
}


def film_journeys(browser: Browser, url: str, width: int) -> dict[str, Film]:
    """Film all journeys on a new demo, and write their sheets. Return the films by name."""
    FOLDER.mkdir(exist_ok=True)
    films = {}
    for name, (journey, locale) in JOURNEYS.items():
        films[name] = open_film(browser, url, width, locale)
        journey(films[name])
        write_sheets(browser, films[name], width, FOLDER, name)
        films[name].page.context.close()
    return films


def write_keys(films: dict[int, dict[str, Film]]) -> None:
    """Write the keys of each journey between its marks in the page. ``films``: by width, then by name."""
    text = PAGE.read_text(encoding="utf-8")
    for name in JOURNEYS:
        before, mark, rest = text.partition(f"<!-- keys of {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        text = before + mark + _account({width: films[width][name] for width in films}) + end + after
    PAGE.write_text(text, encoding="utf-8")


def _account(films: dict[int, Film]) -> str:
    """Return the table of frames and keys, and the counts, for each width where they differ. ``films``: by width."""
    rows = ["| picture | what it shows | keys before it |", "|---|---|---|"]
    for number, frames in enumerate(zip(*(film.frames for film in films.values()), strict=True), 1):
        keys = _by_width({width: _keys(frame.keys) for width, frame in zip(films, frames, strict=True)})
        rows.append(f"| {number} | {frames[0].title} | {keys} |")
    presses = _by_width({width: f"{film.presses} keystrokes" for width, film in films.items()})
    typed = max(film.characters for film in films.values())
    return "\n".join(["", *rows, "", f"{presses}, and {typed} characters typed into fields.", "", ""])


def _by_width(texts: dict[int, str]) -> str:
    """Return the text of all widths, or each text with its width."""
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{text} ({width} px)" for width, text in texts.items())


def _keys(keys: list[str]) -> str:
    """Return keys for a page, repeated ones once with their number. The beginning of a typed text has quotes."""
    runs = [(key if len(key) <= 40 else f"{key[:40]}…”", len(list(run))) for key, run in groupby(keys)]
    shown = (key if key.startswith("“") else f"`{key.replace('Control', 'Ctrl')}`" for key, _ in runs)
    return " ".join(f"{one} × {count}" if count > 1 else one for one, (_, count) in zip(shown, runs, strict=True))
