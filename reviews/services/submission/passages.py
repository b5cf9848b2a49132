"""A third version of marked words: the words themselves, one passage a line, instead of JSON with positions."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from django.utils.translation import gettext as _

from annotator.core.comparison import lookup
from annotator.core.fields import CustomField
from annotator.core.schema.labels import MAX_SPANS
from annotator.errors import Invalid


def text_of(document: dict[str, Any], anchor: str, field: CustomField) -> str:
    """Return the text in which the words of a label are marked; empty if the document has none."""
    part = anchor.rpartition("/labels/")[0]
    holder = lookup(document, part, None) if part else document
    text = holder.get(field.of or "") if isinstance(holder, dict) else None
    return text if isinstance(text, str) else ""


def passages_of(spans: Any, text: str) -> str | None:
    """Return the passages of spans, one a line; None if these lines would not say where each of them is."""
    if not isinstance(spans, list) or not all(isinstance(one, dict) for one in spans):
        return None
    passages = [str(one.get("text", "")) for one in spans]
    starts = [[one.get("start")] for one in spans]
    if not all(map(_is_line, passages)) or [_starts(one, text) for one in passages] != starts:
        return None
    return "\n".join(passages)


def read_passages(typed: str, texts: Iterable[str]) -> list[dict[str, Any]]:
    """Return the spans of passages, one a line, in the first of the texts that has them all.

    Raises Invalid if a passage is in no text, or in one more than once.
    """
    # One more than a label may have, which is refused: each line is searched for in a whole text.
    passages = list(islice(filter(None, map(str.strip, typed.splitlines())), MAX_SPANS + 1))
    if not passages:
        raise Invalid(_("Enter at least one passage."))
    problem = ""
    for text in texts:
        spans = []
        for passage in passages:
            starts = _starts(passage, text)
            if len(starts) != 1:
                sentence = _("“%(passage)s” isn’t in the text.")
                if starts:
                    sentence = _("“%(passage)s” is in the text more than once. Add the words around it.")
                problem = problem or sentence % {"passage": passage if len(passage) <= 80 else f"{passage[:79]}…"}
                break
            spans.append({"start": starts[0], "end": starts[0] + len(passage), "text": passage})
        else:
            return spans
    raise Invalid(problem or _("There is no text to mark."))


def _is_line(passage: str) -> bool:
    return passage.strip() == passage and len(passage.splitlines()) == 1 and not passage.startswith("[")


def _starts(passage: str, text: str) -> list[int]:
    """Return where a passage begins in a text: at most two places."""
    first = text.find(passage)
    if first < 0:
        return []
    second = text.find(passage, first + 1)
    return [first] if second < 0 else [first, second]
