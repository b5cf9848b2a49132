"""The tags of ``{% load components %}`` that draw the frame of what a template writes: a table."""

from django import template

from annotator.presentation.components.jinja import macros

register = template.Library()


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
