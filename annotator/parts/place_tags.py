"""The tags of ``{% load parts %}`` that stand at every step of a dialogue: dozens to a page, so no templates."""

from typing import Any
from urllib.parse import quote

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from annotator.parts.places import place_id

register = template.Library()


@register.simple_tag
def open_link(links: str, anchor: str, what: str) -> SafeString:
    """Opens a place in the editor beside the dialogue. ``links``: the page's URL; ``what``: the place in words."""
    return format_html(
        '<a class="open-link" href="{0}" hx-get="{0}" hx-target="#edit-note" hx-swap="innerHTML" hx-replace-url="true" '
        'data-key="e" data-key-label="Edit what has the focus" data-key-group="Dialogue">'
        'Edit<span class="visually-hidden"> {1}</span></a>',
        f"{links}?at={quote(anchor, safe='')}",
        what,
    )


@register.simple_tag
def depends(step: Any, task: Any) -> SafeString:
    """What a step depends on: ``annotator.presentation.StepView`` and the ``TaskView`` it is of."""
    if step.depends_on is None:
        words: SafeString = mark_safe('<span class="missing">Dependencies not annotated</span>')
    elif not step.depends_on:
        words = mark_safe("Depends on nothing")
    else:
        words = format_html(
            "After {}",
            format_html_join(
                ", ",
                '<a href="#{}">{}</a>{}',
                (
                    (
                        place_id(f"{task.anchor}/steps/{dep['id']}"),
                        dep["id"],
                        " (order only)" if dep["kind"] == "logical" else "",
                    )
                    for dep in step.depends_on
                ),
            ),
        )
    return format_html('<p class="depends muted">{}</p>', words)
