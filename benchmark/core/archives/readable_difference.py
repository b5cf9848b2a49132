"""What changed between two releases, as one HTML file that needs no network, scripts or other files."""

from collections.abc import Iterable, Iterator
from html import escape
from itertools import islice

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

_WORDS = {
    Category.USER_MESSAGE: "user message",
    Category.TOOLS: "tools",
    Category.OTHER: "other fields",
}
_EMPTY = '<span class="quiet">Empty</span>'
#: Control characters, and marks that change the direction of text, which could make a value look like another one.
_UNSEEN = (
    *range(9), 11, 12, *range(14, 32), *range(127, 160), 0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
)  # fmt: skip
_SHOWN = dict.fromkeys(_UNSEEN, "�")
_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%(title)s</title>
<style>
:root { color-scheme: light dark; --line: #c8ccd2; --quiet: #57606a; --del: #ffd7d5; --ins: #ccffd8; }
@media (prefers-color-scheme: dark) {
  :root { --line: #444c56; --quiet: #9aa4af; --del: #6b2226; --ins: #1a4d2b; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3, h4 { line-height: 1.25; }
article { border-top: 1px solid var(--line); margin-top: 1.5rem; }
table { border-collapse: collapse; }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.quiet { color: var(--quiet); font-weight: normal; }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: .5rem; }
.sides > div { border: 1px solid var(--line); padding: .4rem .6rem; min-width: 0; }
.sides h5 { margin: 0; font-size: .8rem; color: var(--quiet); }
.text { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; }
del { background: var(--del); } ins { background: var(--ins); }
ul.ids { columns: 16rem; }
@media (max-width: 40rem) { .sides { grid-template-columns: 1fr; } }
@media print {
  body { max-width: none; margin: 0; font-size: 10pt; }
  del, ins { print-color-adjust: exact; }
  h4, .sides > div { break-inside: avoid-page; }
}
</style>
</head>
<body>
"""


def write_html(difference: Difference) -> Iterator[str]:
    """Yield the file in pieces. What it leaves out, it says; ``write_json`` leaves out nothing."""
    before, after = difference.before, difference.after
    title = f"{after.project}: release {before.version} to {after.version}"
    if before.project != after.project:
        title = f"Release {before.version} of {before.project} to release {after.version} of {after.project}"
    yield _HEAD % {"title": _safe(title)}
    yield f"<h1>{_safe(title)}</h1>\n"
    yield from _summary(difference)
    yield from _changed(difference)
    yield from _ids("Added", difference.added, difference.counts.added)
    yield from _ids("Removed", difference.removed, difference.counts.removed)
    renamed = [f"{old} → {new}" for old, new in islice(difference.renamed, MAX_IDS)]
    if renamed:
        yield "<section>\n<h2>Same content under another id</h2>\n"
        yield from _list(renamed)
        yield "</section>\n"
    yield "</body>\n</html>\n"


def category_words(category: Category) -> str:
    """Return a category in words."""
    return _WORDS.get(category, str(category))


def _summary(difference: Difference) -> Iterator[str]:
    counts, suggestion = difference.counts, difference.suggestion
    name = suggestion.version or f"a new {suggestion.level} version"
    if suggestion.level == "same":
        name = suggestion.version or "no new version"
    yield f"<p><strong>Suggested version after {_safe(difference.before.version)}: {_safe(name)}.</strong> "
    yield f"{_safe(suggestion.reason)}</p>\n<table>\n<tr><th>Dialogues</th><th>Number</th></tr>\n"
    for label, count in (
        ("Added", counts.added), ("Removed", counts.removed), ("Changed", counts.changed),
        ("Unchanged", counts.unchanged),
    ):  # fmt: skip
        yield _row(label, count)
    for category, count in difference.categories.items():
        yield _row(f"Changed: {category_words(category)}", count)
    yield "</table>\n"
    if counts.changed > difference.examined:
        yield f'<p class="quiet">The categories are those of the first {difference.examined:,} changed dialogues.</p>\n'


def _row(label: str, count: int) -> str:
    return f'<tr><th scope="row">{_safe(label)}</th><td class="number">{count:,}</td></tr>\n'


def _changed(difference: Difference) -> Iterator[str]:
    if not difference.counts.changed:
        return
    yield "<section>\n<h2>Changed</h2>\n"
    shown = 0
    for one in islice(difference.changed(), MAX_DIALOGUES):
        shown += 1
        yield from _dialogue(one)
    yield from _more(difference.counts.changed - shown, "dialogue")
    yield "</section>\n"


def _dialogue(one: DialogueChange) -> Iterator[str]:
    effort = Effort(_EFFORT)
    yield f"<article>\n<h3>{_safe(one['id'])}</h3>\n"
    changes = one["changes"][:MAX_CHANGES]
    for change in changes:
        yield _change(change, effort)
    if not one["total"]:
        yield "<p>The content is the same, written in another way.</p>\n"
    yield from _more(one["total"] - len(changes), "change")
    if one["reviews"]:
        yield "<h4>Reviews</h4>\n<ul>\n"
        yield from (f"<li>{_safe(review_words(review))}</li>\n" for review in one["reviews"])
        yield "</ul>\n"
    yield "</article>\n"


def review_words(review: ReviewFact) -> str:
    """Return a review as a line: “cross_check, round 1: kind-otter, approve, edited the dialogue”."""
    stage = review["stage"] + (f", round {review['round']}" if review["round"] is not None else "")
    said = [review["reviewer"], review["verdict"], "edited the dialogue" if review["edited"] else ""]
    return f"{stage}: {', '.join(filter(None, said))}" + (f". {review['reason']}" if review["reason"] else "")


def _change(change: FieldChange, effort: Effort) -> str:
    before, after = (None if text is None else _cut(text) for text in (change["before"], change["after"]))
    left, right = word_diff(before or "", after or "", effort)
    sides = (
        ("Before", before, "".join(_marked(part, text, "del") for part, text in left)),
        ("After", after, "".join(_marked(part, text, "ins") for part, text in right)),
    )
    shown = "".join(
        f'<div><h5>{label}</h5><div class="text">{_EMPTY if text is None else marked}</div></div>'
        for label, text, marked in sides
    )
    place = change["place"][:1].upper() + change["place"][1:]
    note = f"{category_words(Category(change['category']))}, {change['kind']}"
    return f'<h4>{_safe(place)} <span class="quiet">{_safe(note)}</span></h4>\n<div class="sides">{shown}</div>\n'


def _marked(part: Part, text: str, tag: str) -> str:
    return _safe(text) if part is Part.SAME else f"<{tag}>{_safe(text)}</{tag}>"


def _ids(heading: str, names: Iterable[str], count: int) -> Iterator[str]:
    if count:
        shown = list(islice(names, MAX_IDS))
        yield f"<section>\n<h2>{heading}</h2>\n"
        yield from _list(shown)
        yield from _more(count - len(shown), "dialogue")
        yield "</section>\n"


def _list(lines: Iterable[str]) -> Iterator[str]:
    yield '<ul class="ids">\n'
    yield from (f"<li>{_safe(line)}</li>\n" for line in lines)
    yield "</ul>\n"


def _more(count: int, noun: str) -> Iterator[str]:
    if count > 0:
        yield f'<p class="quiet">And {counted(count, f"more {noun}")}.</p>\n'


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"


def _safe(text: str) -> str:
    return escape(text.translate(_SHOWN))
