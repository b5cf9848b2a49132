"""Icons, tags and keys as HTML. Pages show dozens of each and there are few different ones, so they are made once."""

from functools import lru_cache
from html import escape

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from annotator.presentation.components.icons import ICONS
from annotator.presentation.components.labels import Label, label_of

ICON_HTML = {
    name: format_html('<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="{}"/></svg>', path)
    for name, path in ICONS.items()
}


def badge_html(label: Label) -> SafeString:
    """A small tag with the words of a label, its tone and its icon."""
    return _badge(label._replace(text=_not_safe(label.text)))


@lru_cache(maxsize=1024)
def coded_html(kind: str, value: str | None) -> SafeString:
    """The tag of a coded value: see ``annotator.presentation.components.labels``."""
    return badge_html(label_of(kind, value))


@lru_cache(maxsize=256)
def key_html(key: str) -> SafeString:
    """A key, as a hint for the eye."""
    return mark_safe(f'<kbd aria-hidden="true">{escape(key)}</kbd>')  # noqa: S308 - escaped


@lru_cache(maxsize=1024)
def _badge(label: Label) -> SafeString:
    icon = ICON_HTML[label.icon] if label.icon else ""
    return format_html('<span class="tag tone-{}">{}{}</span>', label.tone, icon, label.text)


def _not_safe(text: object) -> str:
    """The bare text. A text marked safe equals its unmarked twin, so the cache above would give one for the other."""
    return "".join(list(str(text)))
