"""What changed between two releases, as one HTML file that needs no network, scripts or other files."""

from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from annotator.core.comparison import Effort, Part, word_diff
from annotator.core.wording import counted
from benchmark.core.archives.change_categories import Category
from benchmark.core.archives.dialogue_changes import DialogueChange, FieldChange, ReviewFact
from benchmark.core.archives.difference import Difference

#: Changed dialogues that the file shows, and ids in each of its lists: a browser has to lay all of it out.
MAX_DIALOGUES = 1_000
MAX_IDS = 2_000
#: Changes of each dialogue, and characters of each text.
MAX_CHANGES = 100
MAX_CHARACTERS = 10_000
#: The limit for comparing the texts of a dialogue by word.
_EFFORT = 50_000

#: One side of a change: its label, whether there is a value, its parts (same on both sides, text), the element of the
#: others.
_Side = tuple[str, bool, list[tuple[bool, str]], str]

_WORDS = {
    Category.USER_MESSAGE: "user message",
    Category.TOOLS: "tools",
    Category.OTHER: "other fields",
}
#: Control characters, and marks that change the direction of text, which could make a value look like another one.
_UNSEEN = (
    *range(9), 11, 12, *range(14, 32), *range(127, 160), 0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
)  # fmt: skip
_SHOWN = dict.fromkeys(_UNSEEN, "�")


def write_html(difference: Difference) -> Iterator[str]:
    """Yield the file in pieces. What it leaves out, it says; ``write_json`` leaves out nothing."""
    before, after, counts = difference.before, difference.after, difference.counts
    title = f"{after.project}: release {before.version} to {after.version}"
    if before.project != after.project:
        title = f"Release {before.version} of {before.project} to release {after.version} of {after.project}"
    suggestion = difference.suggestion
    is_same = suggestion.level == "same"
    yield from _template().generate(
        title=title,
        before=before.version,
        version=suggestion.version or ("no new version" if is_same else f"a new {suggestion.level} version"),
        reason=suggestion.reason,
        counts=[
            ("Added", counts.added), ("Removed", counts.removed), ("Changed", counts.changed),
            ("Unchanged", counts.unchanged),
            *((f"Changed: {category_words(one)}", count) for one, count in difference.categories.items()),
        ],
        examined=difference.examined,
        unexamined=counts.changed > difference.examined,
        changed_count=counts.changed,
        # Read while it is written.
        changed=(_dialogue(one) for one in islice(difference.changed(), MAX_DIALOGUES)),
        unshown=counts.changed - min(counts.changed, difference.examined, MAX_DIALOGUES),
        added=list(islice(difference.added, MAX_IDS)),
        added_count=counts.added,
        removed=list(islice(difference.removed, MAX_IDS)),
        removed_count=counts.removed,
        renamed=[f"{old} → {new}" for old, new in islice(difference.renamed, MAX_IDS)],
    )  # fmt: skip


def category_words(category: Category) -> str:
    """Return a category in words."""
    return _WORDS.get(category, str(category))


@cache
def _template() -> Template:
    """Return the template, in which every value is escaped."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=lambda value: value.translate(_SHOWN) if type(value) is str else value,
    )
    environment.globals["counted"] = counted
    return environment.get_template("difference.html")


def _dialogue(one: DialogueChange) -> dict[str, Any]:
    effort = Effort(_EFFORT)
    changes = one["changes"][:MAX_CHANGES]
    return {
        "id": one["id"],
        "changes": [_change(change, effort) for change in changes],
        "total": one["total"],
        "left_out": one["total"] - len(changes),
        "reviews": [review_words(review) for review in one["reviews"]],
    }


def review_words(review: ReviewFact) -> str:
    """Return a review as a line: “cross_check, round 1: kind-otter, approve, edited the dialogue”."""
    stage = review["stage"] + (f", round {review['round']}" if review["round"] is not None else "")
    said = [review["reviewer"], review["verdict"], "edited the dialogue" if review["edited"] else ""]
    return f"{stage}: {', '.join(filter(None, said))}" + (f". {review['reason']}" if review["reason"] else "")


def _change(
    change: FieldChange, effort: Effort
) -> tuple[str, str, list[tuple[str, bool, list[tuple[bool, str]], str]]]:
    """Return the place, a note, and both sides."""
    before, after = (None if text is None else _cut(text) for text in (change["before"], change["after"]))
    left, right = word_diff(before or "", after or "", effort)
    sides = [
        (label, text is not None, [(part is Part.SAME, piece) for part, piece in parts], tag)
        for label, text, parts, tag in (("Before", before, left, "del"), ("After", after, right, "ins"))
    ]
    place = change["place"][:1].upper() + change["place"][1:]
    return place, f"{category_words(Category(change['category']))}, {change['kind']}", sides


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"
