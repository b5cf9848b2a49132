"""The tags of ``{% load components %}`` that draw the frame of what a template writes: tables and notices."""

from django import template

from annotator.presentation.components.jinja import macros

register = template.Library()

#: Tone → icon of a notice; the others have an i.
_NOTICE_ICONS = {"good": "check", "bad": "error", "warn": "warning"}


@register.simple_block_tag
def table(content: str, *, labelledby: str = "", label: str = "", flush: bool = False, css: str = "") -> str:
    """Wrap ``{% heads %}`` and rows into a table that can be focused and scrolls where it is too wide.

    ``labelledby`` (the id of its heading) or ``label`` names it for screen readers. ``flush``: in a pane without
    padding. ``css``: classes of the table.
    """
    return macros("frames").table(labelledby, label, flush, css, caller=lambda: content)


@register.simple_block_tag
def heads(content: str) -> str:
    """Wrap the heads of all columns into the first row of a table. Browsers add the ``<tbody>`` of the rows below."""
    return macros("frames").heads(caller=lambda: content)


@register.simple_tag
def th(*labels: str, css: str = "", hidden: bool = False) -> str:
    """Return the head of a column for each label: ``{% th _("Waiting") _("In progress") css="number" %}``.

    ``hidden``: only screen readers show it.
    """
    return macros("frames").th(labels, css, hidden)


@register.simple_block_tag
def notice(
    content: str, tone: str, *, icon: str | None = None, role: str = "", css: str = "", dismissible: bool = False
) -> str:
    """Wrap what a notice says: ``{% notice "warn" role="alert" %}``. ``tone``: good, info, warn or bad.

    ``icon``: instead of that of the tone; blank for none. ``role``: alert or status, if screen readers should read it
    out. ``css``: classes of what is beside the icon. ``dismissible``: with a button that closes it.
    """
    icon_name = _NOTICE_ICONS.get(tone, "info") if icon is None else icon
    return macros("frames").notice(tone, icon_name, role, css, dismissible, caller=lambda: content)
