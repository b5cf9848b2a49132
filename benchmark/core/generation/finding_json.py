"""Find the JSON in a model's answer, whatever text is around it. Takes linear time."""

import json
from collections.abc import Iterator
from typing import Any

from annotator.core.constraints.rounds import without_thinking
from annotator.core.schema.canonical import normalise
from annotator.core.schema.errors import SchemaProblem
from annotator.core.schema.exact_json import loads
from annotator.core.schema.value_words import cut
from annotator.core.text import message
from benchmark.core.generation.problems import Problem

#: Characters of an answer.
MAX_ANSWER = 60_000
#: Places at which JSON may begin that are tried, so that the time stays linear.
_STARTS = 20
_DECODER = json.JSONDecoder()


def plain(text: str) -> str | Problem:
    """Return an answer without thoughts and the white space around it."""
    if len(text) > MAX_ANSWER:
        return too_long(MAX_ANSWER)
    text = without_thinking(text)
    if "\0" in text or not _is_unicode(text):
        return Problem("characters", message("The answer has characters that can’t be stored."))
    return text if text else Problem("empty", message("The answer is empty."))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def find_json(text: str) -> Any:
    """Return the first object or list in an answer, whatever text is around it; a Problem if there is none."""
    found = plain(text)
    if isinstance(found, Problem):
        return found
    why = ""
    for start in _starts(found):
        try:
            _value, end = _DECODER.raw_decode(found, start)
        except json.JSONDecodeError as error:
            why = why or f"{error.msg}, line {error.lineno}, column {error.colno}"
            continue
        except (ValueError, RecursionError) as error:
            return Problem("invalid_json", message("The JSON can’t be read: %(why)s.", why=_words(error)))
        try:
            return normalise(loads(found[start:end]))
        except SchemaProblem as error:
            return Problem("invalid_json", message("The JSON can’t be stored: %(why)s", why=error.problems[0].message))
        except ValueError as error:
            return Problem("invalid_json", message("The JSON can’t be read: %(why)s.", why=_words(error)))
    if why:
        return Problem("invalid_json", message("The JSON is not valid: %(why)s.", why=why))
    return Problem("no_json", message("The answer has no JSON, only text: “%(text)s”.", text=cut(found[:200])))


def _words(error: Exception) -> str:
    return str(error)[:200].rstrip(".")


def _starts(text: str) -> Iterator[int]:
    """Yield places at which an object or list may begin: in a block of code first, then the first objects."""
    block = text.find("```")
    if block >= 0:
        begin = min((at for at in (text.find("{", block), text.find("[", block)) if at >= 0), default=-1)
        if begin >= 0:
            yield begin
    at = -1
    for _try in range(_STARTS):
        following = [found for found in (text.find("{", at + 1), text.find("[", at + 1)) if found >= 0]
        if not following:
            return
        at = min(following)
        if _may_begin(text, at):
            yield at


def _may_begin(text: str, at: int) -> bool:
    """Return whether JSON may begin here: a mark such as [1] in a sentence has a value at once, too, but no braces."""
    following = text[at + 1 : at + 40].lstrip()[:1]
    return following in ('"', "}") if text[at] == "{" else following in ("{", "[", '"', "]")


def too_long(most: int) -> Problem:
    """Return the problem of an answer with more than ``most`` characters."""
    return Problem("too_long", message("The answer has more than %(most)s characters.", most=f"{most:,}"))
