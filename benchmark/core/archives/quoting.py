"""Quote untrusted texts for YAML and Markdown."""

import json
import re

_SPECIAL = set("\\`*_{}[]<>#|&~$")
#: The beginning of a line that Markdown would take for a list, a rule or the underline of a heading.
_OPENING = re.compile(r"(\d{0,9})([-+=.):])")


def yaml_text(text: str) -> str:
    """Return a YAML string in double quotes, on one line. Only printable characters are written as they are."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(character if character.isprintable() else _escaped(character) for character in quoted)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def markdown_text(text: str) -> str:
    """Return a text on one line, without meaning for Markdown."""
    line = "".join(f"\\{c}" if c in _SPECIAL else c for c in " ".join(text.split()))
    opening = _OPENING.match(line)
    return f"{opening[1]}\\{line[opening.end(1) :]}" if opening else line


def markdown_paragraphs(text: str) -> str:
    """Return a text as paragraphs, which blank lines separate, without any other meaning for Markdown."""
    paragraphs = re.split(r"\n\s*\n", "\n".join(text.splitlines()))
    return "\n\n".join(markdown_text(paragraph) for paragraph in paragraphs if paragraph.strip())


def markdown_code(text: str) -> str:
    """Return a text as a block of code, line by line as it is."""
    return "\n".join(f"    {line}" for line in text.splitlines())
