"""Rules that every template keeps.

The content security policy or the browser would break what does not: no inline script or style, no event attribute, no
file of another server, no htmx attribute that needs eval. The text of a field begins on a line of its own, since a
browser drops the first line end there. And no line is longer than 120 characters.
"""

import re
from collections.abc import Iterator
from pathlib import Path

RULES = (
    (
        re.compile(r"<script(?![^>]*\ssrc=)", re.I),
        "an inline script: put it in a file under static/ and name it with src",
    ),
    (re.compile(r"<style\b", re.I), "an inline style sheet: put it in a file under static/"),
    (re.compile(r"<[^>]*\sstyle\s*=", re.I), "a style attribute: use a class"),
    (re.compile(r"<[^>]*\son[a-z]+\s*=", re.I), "an event attribute: add the listener in a script file"),
    (re.compile(r"<[^>]*\shx-on\b", re.I), "an hx-on attribute, which needs eval: add the listener in a script file"),
    (re.compile(r"\b(?:href|src|action)\s*=\s*[\"']\s*javascript:", re.I), "a javascript: address"),
    (
        re.compile(r"<textarea\b[^>]*>(?!\n|</textarea>)", re.I),
        "a text field whose text stands beside its tag: begin a new line, for a browser drops the text's own first one",
    ),
    (
        re.compile(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)\s*=\s*[\"'](?:https?:)?//", re.I),
        "a file of another server",
    ),
)
LONGEST = 120
COMMENTS = re.compile(r"\{#.*?#\}|\{% comment %\}.*?\{% endcomment %\}|<!--.*?-->", re.S)


def template_problems(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line, sentence) for every place of a template that breaks a rule."""
    # What is commented out may name anything; its line breaks stay, so that lines keep their numbers.
    visible = COMMENTS.sub(lambda found: "\n" * found[0].count("\n"), text)
    for pattern, sentence in RULES:
        for found in pattern.finditer(visible):
            yield visible.count("\n", 0, found.start()) + 1, sentence
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LONGEST:
            yield number, f"{len(line)} characters in a line: at most {LONGEST}"


def problems_below(root: Path) -> list[str]:
    """Return a line for every broken rule in the templates."""
    lines = []
    for file in sorted((root / "templates").rglob("*")):
        if file.suffix in (".html", ".svg", ".txt") and file.is_file():
            for line, sentence in sorted(template_problems(file.read_text(encoding="utf-8"))):
                lines.append(f"{file.relative_to(root)}:{line}: {sentence}")
    return lines
