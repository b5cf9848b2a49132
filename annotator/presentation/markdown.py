"""Markdown as safe HTML."""

from functools import lru_cache
from itertools import zip_longest

import nh3
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext
from markdown_it import MarkdownIt
from markdown_it.token import Token

from annotator.core.guideline_sections import bare_text, slug_of

# Images would be loaded from other servers; without their rule they become links.
_PARSER = (
    MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"]).disable("image")
)
_TAGS = {
    "a",
    "blockquote",
    "br",
    "code",
    "div",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
}
#: A wide table scrolls by itself, by keyboard too.
_REGION: dict[str, str | int | float] = {"class": "table-scroll", "tabindex": "0", "role": "group"}

#: Short texts, such as comments, have a larger cache than long ones, such as guidelines.
_SHORT = 4_000


def render_markdown(text: str, anchors: bool = False) -> SafeString:
    """Return HTML without scripts, styles, images and event handlers; cached.

    Headings are one level lower, below the page's own. ``anchors``: each heading has the id of its section (see
    ``annotator.core.guideline_sections``); for pages with only one such text.
    """
    language = get_language()
    return _short(text, anchors, language) if len(text) <= _SHORT else _long(text, anchors, language)


def _render(text: str, anchors: bool, _language: str | None) -> SafeString:
    parsed, tokens = _PARSER.parse(text), []
    taken: dict[str, int] = {}
    for token, following in zip_longest(parsed, parsed[1:]):
        if token.type == "table_open":
            tokens.append(Token("region_open", "div", 1, {**_REGION, "aria-label": gettext("Table")}))
        tokens.append(token)
        if token.type == "table_close":
            tokens.append(Token("region_close", "div", -1))
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
        if anchors and token.type == "heading_open" and following is not None:
            token.attrSet("id", slug_of(bare_text(following.content), taken))
    html = nh3.clean(
        _PARSER.renderer.render(tokens, _PARSER.options, {}),
        tags=_TAGS,
        attributes={"a": {"href", "title"}, "div": {"aria-label"}}
        | ({f"h{n}": {"id"} for n in range(2, 7)} if anchors else {}),
        tag_attribute_values={"div": {name: {str(value)} for name, value in _REGION.items()}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return mark_safe(html)  # noqa: S308 - cleaned by nh3 above


# Guidelines are on every workspace page and never change. A page may show hundreds of comments, and the slowest take
# the library 40 milliseconds each.
_short, _long = lru_cache(maxsize=1024)(_render), lru_cache(maxsize=64)(_render)
