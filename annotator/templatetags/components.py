"""``{% load components %}``: the parts of pages. The style guide shows each with its markup.

Values are looked up in ``presentation.components.labels``, so a template names a kind and a value, never a colour.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from django import template
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.template.context import Context
from django.template.defaultfilters import floatformat
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotator.core.comparison import Effort, Part, word_diff
from annotator.presentation.components.anchors import dom_id, visible_dom_id
from annotator.presentation.components.constant_tag import register as constant_tag
from annotator.presentation.components.counts import counted
from annotator.presentation.components.form_tags import plain_name
from annotator.presentation.components.form_tags import register as form_tags
from annotator.presentation.components.frame_tags import register as frame_tags
from annotator.presentation.components.jinja import kbd, macros, render
from annotator.presentation.components.json_text import Piece, pretty_json
from annotator.presentation.components.key_tags import register as key_tags
from annotator.presentation.components.labels import label_of, words_of
from annotator.presentation.markdown import render_markdown
from annotator.services.accounts.languages import texts_version
from annotator.services.jobs.jobs import kind_title
from annotator.services.security_log import KINDS
from annotator.translation import clause_comma, translated_text

register = template.Library()
register.tags |= constant_tag.tags | form_tags.tags | frame_tags.tags | key_tags.tags

_TONES = ("info", "good", "special", "warn", "neutral")


# --- signs and words -------------------------------------------------------------------------------------------------


@register.simple_tag
def page_url(setting: str, *arguments: str) -> str:
    """Return the address of a page whose name is in the settings: ``{% page_url "IMPORTS_PAGE" project.slug %}``."""
    return reverse(getattr(settings, setting), args=arguments)


@register.simple_tag(takes_context=True)
def page_tabs(context: Context, setting: str) -> list[tuple[str, str, bool]]:
    """Return (address, label, whether it is open) of pages: ``{% page_tabs "ACCOUNT_PAGES" as tabs %}``.

    The setting is a list of (name of the URL, label). A page belongs to a tab if its name begins with the tab's.
    """
    match = context["request"].resolver_match
    here = (match.url_name or "") if match else ""
    pages = getattr(settings, setting)
    current = max((name for name, _label in pages if here.startswith(name)), key=len, default="")
    return [(reverse(name), _(label), name == current) for name, label in pages]


@register.simple_tag
def security_event(event: Any) -> str:
    """Return an event of the security log in words: ``{% security_event event %}``."""
    shown = {name: words_of("role", str(value)) if name == "role" else value for name, value in event.details.items()}
    details = ", ".join(str(value) for value in shown.values() if value not in (None, ""))
    words = _(KINDS[event.kind])
    return f"{words} ({details})" if details else words


@register.simple_tag
def identity_providers() -> Iterable[Any]:
    """Return the identity providers with which people may sign in: ``{% identity_providers as providers %}``."""
    providers: Iterable[Any] = settings.IDENTITY_PROVIDERS
    return providers


@register.filter
def in_words(text: object) -> str:
    """Return an English sentence or place of a pure module in the reader's language: ``{{ place|in_words }}``."""
    return translated_text(str(text))


@register.simple_tag
def colon() -> str:
    """Return the colon between two parts that a template joins, with the space that the reader's language needs."""
    return _(": ")


@register.simple_tag
def comma() -> str:
    """Return the comma between two phrases that a template joins; a list of equals is joined by ``_(", ")``."""
    return clause_comma()


@register.simple_tag
def script_texts_url() -> str:
    """Return the address of the scripts' texts in the active language; blank if they need none, as in English."""
    language = get_language() or settings.LANGUAGE_CODE
    version = texts_version(language)
    query = urlencode({"language": language, "version": version})
    return f"{reverse('javascript-catalog')}?{query}" if version else ""


@register.simple_tag
@lru_cache(maxsize=256)
def icon(name: str) -> str:
    """Return an icon of ``annotator.presentation.components.icons``; decoration, always next to a word."""
    return macros("badges").icon(name)


@lru_cache(maxsize=1024)  # a page shows hundreds, but few different ones
def _badge(escaped: str, tone: str, icon_name: str) -> str:
    return macros("badges").badge(escaped, tone, icon_name)


@register.simple_tag
def badge(text: object, tone: str = "neutral", icon_name: str = "") -> str:
    """Return a small tag: ``{% badge "2 errors" "bad" "error" %}``. Its text is escaped, even if marked as safe."""
    return _badge(escape(text), tone, icon_name)


@register.simple_tag
def tag(kind: str, value: object, text: str = "") -> str:
    """Return the tag of a coded value: ``{% tag "policy" task.policy %}``; ``text`` replaces its label."""
    return _tag(get_language(), kind, "" if value is None else str(value), text)


@lru_cache(maxsize=1024)
def _tag(_language: str | None, kind: str, value: str, text: str) -> str:
    label = label_of(kind, value)
    return _badge(escape(text or _(label.text)), label.tone, label.icon)


@register.filter
def words(value: object, kind: str) -> str:
    """Return the label of a coded value without its tag: ``{{ verdict|words:"verdict" }}``."""
    return _(label_of(kind, value).text)


register.simple_tag(kbd)


@register.simple_tag
def person(who: Any, note: str = "") -> str:
    """Return a person's chip: initials and name. ``who`` is a user or a name (a pseudonym, "Reviewer A")."""
    name = str(who) if who else _("Nobody")
    initials = "".join(part[0] for part in name.replace("-", " ").split()[:2]).upper() or "?"
    tone = _TONES[sum(map(ord, name)) % len(_TONES)] if who else "neutral"
    return macros("badges").person(name, initials, tone, note)


@register.simple_tag
def when(moment: datetime | None, shown: str = "time") -> str:
    """Return a moment in UTC, which the browser converts to the reader's time zone.

    ``shown`` is time, date, or clock (a time, without the date if that is today).
    """
    utc = moment and moment.astimezone(UTC)
    return macros("badges").when(utc, "%-d %b %Y" if shown == "date" else "%-d %b %Y, %H:%M UTC", shown)


@register.simple_tag
def interval(shown: Any) -> str:
    """Return a share with its interval as a bar from 0 to 100 %. ``shown``: value, low, high, words and geometry."""
    return macros("badges").interval(shown, shown.words, _("none"))


register.filter(counted)
register.filter(dom_id)
register.filter(visible_dom_id)


@register.filter
def shown_json(value: Any) -> str:
    """Return a value for a field that takes JSON; empty if there is none, a text unquoted."""
    return "" if value is None else value if isinstance(value, str) else pretty_json(value)


@register.filter
def as_list(value: Any) -> list[Any]:
    """Return a list of one item."""
    return [value]


@register.filter
def markdown(text: str) -> str:
    """Return safe HTML of Markdown, for a ``<div class="prose">``."""
    return render_markdown(text)


@register.filter
def guideline_html(text: str) -> str:
    """Return safe HTML of a guideline, with linkable headings."""
    return render_markdown(text, anchors=True)


@register.simple_tag
def asset(path: str) -> str:
    """Return the URL of a static file, or nothing if it is unknown; for pages that must never fail."""
    try:
        return staticfiles_storage.url(path)
    except ValueError:
        return ""


# --- values and differences ------------------------------------------------------------------------------------------


@register.simple_tag
def json_block(value: Any, label: str, id: str = "") -> str:
    """Return a JSON value. ``label`` names it ("Arguments of s3"); a long one scrolls and can be focused."""
    values = macros("values")
    return values.block(values.json(value), label, "json", id)


@register.simple_tag
def text_block(text: str, label: str) -> str:
    """Return a text unchanged, in a fixed-width font."""
    return macros("values").block(escape(text), label, "block")


def _effort(context: Context) -> Effort:
    """Return what is left of the page's limit for comparing texts, which all texts of a page share."""
    request = getattr(context, "request", None)
    left: Effort = vars(request).setdefault("comparing", Effort()) if request is not None else Effort()
    return left


@register.inclusion_tag("components/text_diff.html", takes_context=True)
def text_diff(
    context: Context,
    before: str | None,
    after: str | None,
    was: str = "Before",
    now: str = "After",
    mono: bool = False,
    language: str = "",
) -> dict[str, Any]:
    """Show two texts side by side (on narrow screens one above the other), with differences marked by word."""
    left, right = word_diff(before or "", after or "", _effort(context))
    return {
        "left": macros("values").marked_text(_pieces(left, "del")),
        "right": macros("values").marked_text(_pieces(right, "ins")),
        "was": was,
        "now": now,
        "mono": mono,
        "language": language,
        "no_before": before is None,
        "no_after": after is None,
    }


@register.simple_tag(takes_context=True)
def side_diff(context: Context, left: str | None, right: str | None, side: str, before: str = "") -> str:
    """Show one side (left or right) of two texts, with words marked that the other lacks.

    ``before``: the side with the earlier text, else left. Words only in it are struck out, words only in the other are
    underlined.
    """
    own, other = (left, right) if side == "left" else (right, left)
    if own is None or other is None:
        return own or ""
    parts = word_diff(own, other, _effort(context))[0]
    return macros("values").marked_text(_pieces(parts, "del" if side == (before or "left") else "ins"))


@register.simple_tag(takes_context=True)
def inline_diff(context: Context, before: str | None, after: str | None) -> str:
    """Show the changes of a text in one piece: removed words struck out, added words underlined."""
    left, right = (list(reversed(side)) for side in word_diff(before or "", after or "", _effort(context)))
    out: list[Piece] = []
    while left or right:
        if left and left[-1][0] is not Part.SAME:
            out.append(("del", left.pop()[1]))
        elif right and right[-1][0] is not Part.SAME:
            out.append(("ins", right.pop()[1]))
        else:
            # The two sides shorten unchanged words differently if they have changes next to them.
            (_, one), (_, other) = left.pop(), right.pop()
            shared = min(len(one), len(other))
            out.append((None, one[:shared]))
            left += [(Part.SAME, one[shared:])] if one[shared:] else []
            right += [(Part.SAME, other[shared:])] if other[shared:] else []
    return macros("values").marked_text(out)


# --- lists -----------------------------------------------------------------------------------------------------------


@register.simple_tag
def findings(found: Iterable[Any], links: bool = True, empty: str = "", *, places: bool = False) -> str:
    """Show a list of findings. ``links``: each leads to its place. ``places``: each names its place; for lists that are
    not next to it. ``empty``: the text of an empty list."""
    return macros("turns").findings(found, links, places, empty)


@register.inclusion_tag("components/pager.html")
def pager(previous: str | None = None, following: str | None = None, shown: str = "") -> dict[str, Any]:
    """Show links to the previous and the next page (URLs; empty if there is none), and what this page shows."""
    return {"previous": previous, "following": following, "shown": shown}


@register.inclusion_tag("components/empty.html")
def empty(title: str, text: str = "", href: str = "", action: str = "", icon_name: str = "inbox") -> dict[str, Any]:
    """Show an empty list: what that means and what to do."""
    return {"title": title, "text": text, "href": href, "action": action, "icon_name": icon_name}


@register.inclusion_tag("components/pipeline.html")
def pipeline(stages: Iterable[Mapping[str, Any]], label: str = "Stages") -> dict[str, Any]:
    """Show stages in order: mappings with ``name``, ``count``; optionally ``href``, ``note``, ``tone``, ``current``."""
    rows = [{"href": "", "note": "", "tone": "neutral", "current": False} | dict(stage) for stage in stages]
    return {"stages": rows, "label": label}


@register.inclusion_tag("components/proportions.html")
def proportions(segments: Iterable[tuple[str, int, str]], label: str) -> dict[str, Any]:
    """Show a bar of shares with its legend. ``segments``: (name, count, tone)."""
    rows = [(name, count, tone) for name, count, tone in segments]
    total = sum(count for _, count, _ in rows)
    out, start = [], 0.0
    for name, count, tone in rows:
        width = 100 * count / total if total else 0.0
        out.append({"name": name, "count": count, "tone": tone, "x": f"{start:.3f}", "width": f"{width:.3f}"})
        start += width
    summary = ", ".join(f"{name} {floatformat(count, '0g')}" for name, count, _ in rows)
    return {"segments": out, "label": label, "total": total, "summary": summary}


@register.inclusion_tag("components/progress.html")
def progress(label: str, value: float, total: float | None, text: str = "", id: str = "") -> dict[str, Any]:
    """Show a bar with a name and a value; without a total it only shows that something is in progress."""
    return {"label": label, "value": value, "total": total, "text": text, "id": id or f"progress-{plain_name(label)}"}


@register.inclusion_tag("components/job.html")
def job_progress(job: Any, url: str = "") -> dict[str, Any]:
    """Show a job's progress, with rate and time left. ``url`` returns this part only and is called every second."""
    done, total = job.progress_done, job.progress_total
    running = job.state == "running"
    seconds = (timezone.now() - job.started_at).total_seconds() if running and job.started_at else 0.0
    rate = done / seconds if seconds > 1 and done else 0.0
    left = (total - done) / rate if rate and total else None
    return {
        "job": job,
        "title": kind_title(job.kind),
        "url": url if job.state in ("queued", "running") else "",
        "percent": f"{100 * done / total:.0f} %" if total else "",
        "rate": _("%(number)s a second") % {"number": f"{rate:,.0f}"} if rate >= 1 else "",
        "left": _("about %(time)s left") % {"time": _duration(left)} if left is not None and left >= 1 else "",
    }


# --- the dialogue ----------------------------------------------------------------------------------------------------


@register.simple_tag(takes_context=True)
def jinja2(context: Context, name: str) -> str:
    """Include a Jinja2 template with the page's context. Its ``of_django(name, **more)`` includes one of Django's."""
    given: dict[str, Any] = {str(key): value for key, value in context.flatten().items()}

    def of_django(name: str, **more: Any) -> str:
        return render(name, given | more)

    return render(name, given | {"of_django": of_django})


@register.simple_tag
def dialogue_view(view: Any, links: str = "", paths: str = "", revision: str = "", only: Any = None) -> str:
    """Show a whole dialogue for reading (``view``: ``annotator.presentation.dialogue.DialogueView``).

    ``links``: a URL; each task and step links to it with ``?at=`` its anchor. ``paths``: the URL below which each task
    with calls has its decision tree, and ``revision`` the revision of these. ``only``: show this task alone.
    """
    context = {"view": view, "only": only, "language": view.data.get("language") or "", "links": links, "paths": paths}
    return render(view.template, context | {"paths_query": f"?revision={revision}" if revision else ""})


@register.simple_tag
def open_link(links: str, anchor: str, what: str) -> str:
    """Link to a place in the editor beside the dialogue. ``links``: the page's URL; ``what``: the name of the place."""
    return macros("turns").open_link(links, anchor, what)


@register.simple_block_tag
def turn(
    content: str,
    role: str,
    who: str,
    *,
    id: str = "",
    note: str = "",
    language: str = "",
    walk: bool = True,
    current: bool = False,
) -> str:
    """Wrap a turn of the chat around its content. ``role``: user, assistant, call, clarification, answer or system."""
    return macros("turns").turn(role, who, id, note, language, walk, current, caller=lambda: content)


# --- inside ----------------------------------------------------------------------------------------------------------


def _pieces(parts: list[tuple[Part, str]], element: str) -> list[Piece]:
    return [(None if part is Part.SAME else element, text) for part, text in parts]


def _duration(seconds: float) -> str:
    if seconds < 90:
        return _("%(number)s s") % {"number": f"{seconds:.0f}"}
    if seconds < 5400:
        return _("%(number)s min") % {"number": f"{seconds / 60:.0f}"}
    return _("%(number)s h") % {"number": f"{seconds / 3600:.1f}"}
