"""Messages in the language of their reader."""

from django.utils.translation import gettext, ngettext

from annotator.core.text import Message


def translated(message: Message) -> str:
    """Return a message in the active language."""
    return message.render(_translate)


def _translate(text: str, plural: str, count: int) -> str:
    return ngettext(text, plural, count) if plural else gettext(text)
