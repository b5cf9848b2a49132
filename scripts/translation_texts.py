"""Collect the texts that are marked for translation: in modules, templates and scripts.

Needs no GNU gettext. Each text has its places, ``templates/base.html:12``, in the order of their files.
"""

import ast
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import django
from babel.messages.extract import extract
from django.conf import settings
from django.utils.translation.template import templatize

#: The functions that mark a text, as Babel names them: which of their arguments are texts.
KEYWORDS: dict[str, tuple[int, ...] | None] = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop", "message")),
    **dict.fromkeys(("ngettext", "ngettext_lazy", "counted_message"), (1, 2)),
}
DOMAINS = ("django", "djangojs")
_CALL = re.compile(r"\b(_|gettext|ngettext)\(\s*(?=[ub]?['\"])")
_STRING = re.compile(r"""\s*(u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))\s*(,?)""", re.S)


@dataclass(order=True)
class Text:
    """A marked text; ``plural`` is blank if it has no number."""

    text: str
    plural: str = ""
    places: list[str] = field(default_factory=list, compare=False)


def collect(root: Path, domain: str) -> dict[str, Text]:
    """Return the marked texts of a domain by their English: scripts (djangojs), or modules and templates (django)."""
    texts: dict[str, Text] = {}
    for name, line, text, plural in _marked(root, domain):
        known = texts.setdefault(text, Text(text, plural))
        known.plural = known.plural or plural
        known.places.append(f"{name}:{line}")
    return texts


def _marked(root: Path, domain: str) -> Iterator[tuple[str, int, str, str]]:
    if domain == "djangojs":
        files = sorted((root / "static" / "app").rglob("*.js"))
    else:
        folders = ("annotator", "reviews", "benchmark", "templates")
        files = sorted(file for name in folders for file in (root / name).rglob("*") if file.suffix in _READERS)
    for file in files:
        name = file.relative_to(root).as_posix()
        if name.startswith("templates/styleguide/"):
            continue  # only developers see it
        source = file.read_text(encoding="utf-8")
        for line, text, plural in _READERS[file.suffix](source):
            yield name, line, text, plural


def _of_module(source: str) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name == "check" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            # The title of an automatic check: @check("graph.cycle", "Steps depend on each other in a cycle", "error").
            yield node.lineno, str(node.args[1].value), ""
        if name in KEYWORDS:
            given = [argument.value for argument in node.args[:2] if isinstance(argument, ast.Constant)]
            words = [text for text in given if isinstance(text, str)]
            if len(words) >= len(KEYWORDS[name] or (1,)):
                yield node.lineno, words[0], words[1] if KEYWORDS[name] else ""


def _of_script(source: str) -> Iterator[tuple[int, str, str]]:
    for line, texts, _, _ in extract("javascript", io.BytesIO(source.encode()), KEYWORDS):
        text, plural = texts if isinstance(texts, tuple) else (texts, "")
        yield line, text, plural


def _of_template(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield the texts of a template of Django or Jinja2; Django turns it into calls of gettext."""
    if not settings.configured:
        settings.configure()
        django.setup()
    code = templatize(source)
    for found in _CALL.finditer(code):
        words, place = [], found.end()
        while string := _STRING.match(code, place):
            words.append(str(ast.literal_eval(string[1])))
            place = string.end()
            if not string[2]:
                break
        line = code.count("\n", 0, found.start()) + 1
        yield line, words[0], words[1] if found[1] == "ngettext" else ""


_READERS = {".py": _of_module, ".html": _of_template, ".txt": _of_template, ".js": _of_script}
