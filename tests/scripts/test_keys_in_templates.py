"""Templates take their keys from the table, and the table has no key that no page uses."""

import re
from pathlib import Path

from annotator.core.keys import ACTIONS, effective

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
#: The macro that writes the attributes.
WRITER = ROOT / "templates/jinja2/components/badges.html"
NAME = re.compile(r"""(?:\{%-?\s*(?:key|kbd_of|key_name)\s+|\bkey\(|\baction=)"([a-z0-9-]+)\"""")
#: Written by helpers of tags from a beginning and a number: `{% tiles … "policy" … %}` and the options of fields.
NUMBERED = re.compile(r"^(policy|information|option)-\d$")


def test_no_template_writes_a_key_itself():
    literal = re.compile(r"""data-(?:key|held|key-label|key-group|action)=|\{%-?\s*kbd\s""")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in TEMPLATES
        if path != WRITER
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if literal.search(line)
    ]
    assert found == []


def test_every_action_is_used_and_every_name_is_in_the_table():
    named = {name for path in TEMPLATES for name in NAME.findall(path.read_text())}
    code = "".join(
        path.read_text()
        for folder in ("annotator/config", "reviews/views", "annotator/presentation")
        for path in (ROOT / folder).rglob("*.py")
    )
    scripts = "".join(path.read_text() for path in (ROOT / "static/app").glob("*.js"))
    assert {name for name in named if name not in ACTIONS and not name.endswith("-")} <= {"arguments"}
    unused = [
        one.name
        for one in ACTIONS.values()
        if one.name not in named
        and f'"{one.name}"' not in code
        and not NUMBERED.match(one.name)
        and not (one.scripted and (one.fixed or f'"{one.name}"' in scripts))
    ]
    assert unused == []


def test_the_page_of_the_docs_names_the_keys_of_the_table():
    """A row of docs/keys.md: the keys, the name of the action, what it does."""
    rows = re.findall(r"^\| `(.*?)` \| (.*?) \|$", (ROOT / "docs/keys.md").read_text(), re.M)
    keys = effective({})
    expected = [
        (keys[one.name] or f"Ctrl+{one.held[0].upper() if len(one.held[0]) == 1 else one.held[0]}", one.label)
        for one in ACTIONS.values()
        if not NUMBERED.match(one.name)
    ]
    assert rows == expected
