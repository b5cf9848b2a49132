"""Messages and sentences in the language of their reader."""

from collections.abc import Sequence
from functools import lru_cache

from django.conf import settings
from django.utils.translation import get_language, gettext, ngettext

from annotator.core.comparison import describe
from annotator.core.comparison.anchors import Document
from annotator.core.comparison.field_titles import titled
from annotator.core.fields import CustomField
from annotator.core.sentence_patterns import rewritten
from annotator.core.text import Message


def translated(message: Message) -> str:
    """Return a message in the active language."""
    return message.render(_translate)


def translated_text(text: str) -> str:
    """Return an English sentence or place of a pure module in the active language; others stay as they are."""
    language = get_language() or settings.LANGUAGE_CODE
    return text if language == settings.LANGUAGE_CODE else _translated_text(text, language)


def place_name(document: Document, anchor: str, fields: Sequence[CustomField] = ()) -> str:
    """Return a place (``describe``) in the active language, with the titles of custom fields."""
    return translated_text(titled(describe(document, anchor), anchor, fields))


def clause_comma() -> str:
    """Return the comma between two phrases in the active language; the items of a list are joined by ``_(", ")``."""
    # From a text with a comma of this kind: ", " alone is the one of a list.
    return gettext("%(first)s, %(second)s") % {"first": "", "second": ""}


@lru_cache(maxsize=4096)  # a page shows the same few at many places
def _translated_text(text: str, _language: str) -> str:
    return rewritten(text, gettext)


def _translate(text: str, plural: str, count: int) -> str:
    if plural:
        return ngettext(text, plural, count)
    found = gettext(text)
    return translated_text(text) if found == text else found
