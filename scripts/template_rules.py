"""Check the rules for templates, that only templates contain HTML, and that nothing hides `_()`.

The content security policy forbids inline scripts and styles, event attributes, files from other servers and htmx
attributes that need eval. The text of a textarea begins on a new line, because browsers drop its first line break.
Lines have at most 120 characters. All text is marked for translation.
"""

import ast
import re
import symtable
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path

RULES = (
    (
        re.compile(r"<script(?![^>]*\ssrc=)", re.I),
        "an inline script: put it in a file under static/ and use src",
    ),
    (re.compile(r"<style\b", re.I), "an inline style sheet: put it in a file under static/"),
    (re.compile(r"<[^>]*\sstyle\s*=", re.I), "a style attribute: use a class"),
    (re.compile(r"<[^>]*\son[a-z]+\s*=", re.I), "an event attribute: add the listener in a script file"),
    (re.compile(r"<[^>]*\shx-on\b", re.I), "an hx-on attribute, which needs eval: add the listener in a script file"),
    (re.compile(r"\b(?:href|src|action)\s*=\s*[\"']\s*javascript:", re.I), "a javascript: address"),
    (
        re.compile(r"<textarea\b[^>]*>(?!\n|</textarea>)", re.I),
        "a textarea with text next to its tag: begin a new line, because browsers drop the first line break",
    ),
    (
        re.compile(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)\s*=\s*[\"'](?:https?:)?//", re.I),
        "a file from another server: put it under static/",
    ),
)
UNESCAPED = ((re.compile(r"\|\s*safe(?:seq)?\b|\{%-?\s*autoescape\s+(?:off|false)\b"), "text that is not escaped"),)
# Jinja2 reads these; Django's engine shows them as text.
BROKEN_TAGS = (
    (re.compile(r"\{\{[^{}\n]*\n|\{%[^{}\n]*\n"), "a tag that does not end on its line: Django would show it as text"),
)
APPLICATIONS = ("annotator", "benchmark", "reviews")
# Modules that may mark text as safe, with the reason.
SAFE = {
    "annotator/presentation/components/jinja.py": "a template engine rendered it",
    "annotator/presentation/markdown.py": "nh3 has cleaned it",
}
MARKS_SAFE = {"format_html", "format_html_join", "mark_safe"}
MAKES_SAFE = {"Markup", "SafeString"}
ELEMENT = re.compile(
    r"(?<!\?P)</?(?:a|article|b|br|button|circle|code|dd|del|details|div|dl|dt|em|fieldset|form|g|h[1-6]|header|hr|i|img"
    r"|input|ins|kbd|label|legend|li|line|mark|nav|ol|option|p|path|pre|rect|script|section|select|small|span|strong"
    r"|style|summary|svg|table|tbody|td|text|textarea|th|thead|time|title|tr|ul)(?=[\s/>]|$)"
)
MAX_LENGTH = 120
# Only developers see these, in debug mode.
UNTRANSLATED = ("templates/styleguide",)
UNMARKED = "is not marked for translation: use translate or blocktranslate, or _() in a tag"
READ_ATTRIBUTES = {"alt", "aria-description", "aria-label", "aria-roledescription", "aria-valuetext"}
READ_ATTRIBUTES |= {"data-key-group", "data-key-label", "hx-confirm", "hx-prompt", "label", "placeholder", "title"}
VERBATIM = {"code", "kbd", "pre", "samp", "script", "style"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
NAMES = re.compile(r"\bAssay\b")
#: A block whose name ends in “_class” is the value of an attribute.
MARKED = re.compile(
    r"\{%\s*blocktrans(?:late)?\b.*?%\}.*?\{%\s*endblocktrans(?:late)?\s*%\}|\{%\s*trans(?:late)?\b.*?%\}"
    r"|\{%\s*block\s+\w+_class\s*%\}.*?\{%\s*endblock\b.*?%\}",
    re.S,
)
EXPRESSIONS = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.S)
# Tags whose quoted texts are names and values.
NAMING = re.compile(r"\{%\s*(?:load|url|static|extends|page_url|if|elif|kbd|cycle|constant|now)\b")
QUOTED = re.compile(r"""(?P<before>(?:\b_\(|\bcss=|\bdate:|\btime:)?)(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)')""")
WORDS = re.compile(r"(?=.*[a-z])(?:[A-Z]|.*\s\w|.*\w\s)", re.S)
SENTENCE = re.compile(r"[A-Z][\w’]* [\w“]")
BADGE = re.compile(r"""\{%\s*badge\s+["']""")
COMMENTS = re.compile(r"\{#.*?#\}|\{% comment %\}.*?\{% endcomment %\}|<!--.*?-->", re.S)


def broken(rules: Iterable[tuple[re.Pattern[str], str]], text: str) -> Iterator[tuple[int, str]]:
    """Yield (line, message) for every match of a rule."""
    for pattern, sentence in rules:
        for found in pattern.finditer(text):
            yield text.count("\n", 0, found.start()) + 1, sentence


def template_problems(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line, message) for every broken rule in a template."""
    # Comments may contain anything. Their line breaks stay, so that line numbers are right.
    visible = COMMENTS.sub(lambda found: "\n" * found[0].count("\n"), text)
    yield from broken(RULES, visible)
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_LENGTH:
            yield number, f"a line of {len(line)} characters: use at most {MAX_LENGTH}"


def code_problems(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line, message) for every place in a module that builds HTML or marks text as safe."""
    tree = ast.parse(text)
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in MARKS_SAFE:
                yield node.lineno, f"{name}: write the HTML in a template"
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in MAKES_SAFE:
                yield node.lineno, f"{name}: write the HTML in a template"
            case ast.Constant(value=str(words)) if id(node) not in documentation and ELEMENT.search(words):
                yield node.lineno, "HTML in a text: write it in a template"


def gettext_problems(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line, sentence) for every function that uses `_`, or lets an inner one use it, and also assigns to it."""
    waiting = [symtable.symtable(text, "module", "exec")]
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        symbols = {symbol.get_name(): symbol for symbol in table.get_symbols()}
        if table.get_type() != "function" or "_" not in symbols or symbols["_"].is_imported():
            continue
        if symbols["_"].is_free() or (symbols["_"].is_local() and symbols["_"].is_referenced()):
            yield table.get_lineno(), f"{table.get_name()} uses _ and assigns to it: give the variable another name"


def blanked(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def quoted_words(expression: str) -> Iterator[str]:
    """Yield the quoted texts in a template tag or variable that people read."""
    if NAMING.match(expression):
        return
    for found in QUOTED.finditer(expression):
        text = found["double"] if found["double"] is not None else found["single"]
        if not found["before"] and (WORDS.match(text) or BADGE.fullmatch(expression[: found.start() + 1])):
            yield text


class Reader(HTMLParser):
    """Collects (line, text) for all text that people read on a page."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[tuple[int, str]] = []
        self.hidden: list[str] = []  # Open elements, from the outermost one that is not translated.

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if self.hidden or tag in VERBATIM or given.get("translate") == "no":
            if tag not in VOID:
                self.hidden.append(tag)
            return
        pressed = tag == "input" and given.get("type") in ("submit", "button", "reset")
        for name, value in attrs:
            sentence = name.startswith("data-") and SENTENCE.match(value or "")
            if name in READ_ATTRIBUTES or sentence or (name == "value" and pressed):
                self.add(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.hidden:
            while self.hidden.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.add(data)

    def add(self, text: str) -> None:
        if any(letter.isalpha() for letter in NAMES.sub("", text)):
            line = self.getpos()[0] + text[: len(text) - len(text.lstrip())].count("\n")
            self.read.append((line, " ".join(text.split())))


def unmarked_text(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line, message) for every text in a template that is not marked for translation."""
    visible = MARKED.sub(blanked, COMMENTS.sub(blanked, text))
    for found in EXPRESSIONS.finditer(visible):
        for words in quoted_words(found[0]):
            yield visible.count("\n", 0, found.start()) + 1, f"“{words}” {UNMARKED}"
    reader = Reader()
    reader.feed(EXPRESSIONS.sub(blanked, visible))
    reader.close()
    for line, words in reader.read:
        yield line, f"“{words}” {UNMARKED}"


def problems_below(root: Path) -> list[str]:
    """Return a line for every broken rule in the templates and the applications."""
    lines = []
    for application in APPLICATIONS:
        for file in sorted((root / application).rglob("*.py")):
            name, text = file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")
            problems = [*gettext_problems(text), *(code_problems(text) if name not in SAFE else ())]
            lines += [f"{name}:{line}: {sentence}" for line, sentence in sorted(problems)]
    for file in sorted((root / "templates").rglob("*")):
        if file.suffix in (".html", ".svg", ".txt") and file.is_file():
            text = file.read_text(encoding="utf-8")
            problems = list(template_problems(text))
            if file.suffix != ".txt":
                problems += broken(UNESCAPED, text)
            folder = file.parent.relative_to(root).as_posix()
            if folder not in UNTRANSLATED:
                problems += unmarked_text(text)
            if "jinja2" not in file.parts:
                problems += broken(BROKEN_TAGS, COMMENTS.sub(blanked, text))
            lines += [f"{file.relative_to(root)}:{line}: {sentence}" for line, sentence in sorted(problems)]
    return lines
