"""Suggest a built-in validator for a constraint's sentence, and find those that judge like existing code."""

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.schema.errors import SchemaProblem
from annotator.core.validators.aspects import MAX_LENGTH
from annotator.core.validators.library import FORMS, Form

_QUOTED = re.compile(r"[\"“`]([^\"”`\n]{1,200})[\"”`]|(?<!\w)'([^'\n]{1,200})'(?!\w)")
_ELEMENTS = {"heading": "heading", "bold": "bold", "italic": "italic", "link": "link", "code block": "code"}


@dataclass(frozen=True, slots=True)
class Suggestion:
    form: Form
    parameters: Mapping[str, Any]


def suggest(text: str) -> list[Suggestion]:
    """Return built-in validators, with parameters, that a constraint's sentence asks for; empty if it is not clear."""
    text = text[:MAX_LENGTH]
    lower = text.lower()
    quoted = [a or b for a, b in _QUOTED.findall(text)]
    out: list[Suggestion] = []

    def add(key: str, **parameters: Any) -> None:
        form = FORMS[key]
        # A sentence may quote more texts than a built-in validator takes.
        with contextlib.suppress(SchemaProblem):
            out.append(Suggestion(form, form.read(parameters)))

    if re.search(r"\bjson\b", lower):
        keyed = re.search(r"\b(?:keys?|fields?|contain|includ)", lower)
        add("json_object", keys=[one for one in quoted if re.fullmatch(r"\w+", one)] if keyed else [])
    elif re.search(r"\bbullet", lower):
        add("bullets")
    elif re.search(r"\btabular|\btable\b", lower):
        add("table")
    elif re.search(r"\bmarkdown\b", lower):
        # “Elements such as …” names examples, not demands.
        named = [] if re.search(r"such as|like\b|e\.g\.", lower) else [v for k, v in _ELEMENTS.items() if k in lower]
        add("markdown", elements=named)
    elif re.search(r"\b(?:start|begin)s? with\b", lower) and len(quoted) == 1:
        add("starts_with", texts=quoted)
    elif re.search(r"\bending punctuation\b.{0,4}\(\.\)|\bend(?:s|ing)? with (?:a |one )?(?:period|full stop)", lower):
        add("ends_with", texts=["."])
    elif re.search(r"\bend(?:s|ing)? with (?:a )?question mark", lower):
        add("ends_with", texts=["?"])
    elif re.search(r"\b(?:end|conclude)s? with\b", lower) and quoted and "[" not in "".join(quoted):
        add("ends_with", texts=quoted)
    elif re.search(r"\b(?:includ|contain|mention)", lower) and quoted:
        add("contains", texts=quoted)
    return out


def fitting(verdicts: Mapping[str, bool], candidates: Sequence[Suggestion]) -> list[Suggestion]:
    """Return the candidates that judge every response like the code: they can replace it.

    ``verdicts``: response → the code's verdict. Without a rejection among them, nothing is known.
    """
    if set(verdicts.values()) != {True, False}:
        return []
    return [
        one
        for one in candidates
        if all(one.form.accepts(text, one.parameters)[0] == verdict for text, verdict in verdicts.items())
    ]
