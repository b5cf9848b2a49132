"""The page of the three journeys: its pictures exist and are small, and its keys do something."""

import re
from pathlib import Path

from annotator.core.keys import effective
from scripts.film import SCHEMES, SIZES
from scripts.journeys import FOLDER, JOURNEYS, PAGE

#: Keys that every browser has, beside those of the table.
BROWSER_KEYS = {"Tab", "Enter", "Escape", "ArrowDown", "End", "Shift+Home", "Ctrl+A", "Ctrl+Enter"}


def test_the_page_shows_every_picture_and_each_is_small() -> None:
    expected = {f"{name}-{width}-{scheme}.webp" for name in JOURNEYS for width in SIZES for scheme in SCHEMES}
    shown = re.findall(r"\]\(journeys/(.*?)\)", PAGE.read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(expected)
    sizes = {path.name: path.stat().st_size for path in Path(FOLDER).iterdir()}
    assert sizes.keys() == expected
    assert max(sizes.values()) < 250_000


def test_the_page_names_only_keys_that_exist() -> None:
    rows = re.findall(r"^\| \d+ \| .* \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.M)
    assert len(rows) >= 6 * len(JOURNEYS)
    pressed = {key for row in rows for key in re.findall(r"`(.*?)`", row)}
    assert pressed <= BROWSER_KEYS | {*effective({}).values()}
