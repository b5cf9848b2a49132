"""``{% load workspace %}``: parts of the workspace's editors."""

from typing import Any

from django import template
from django.template.context import Context

from annotator.presentation.components.jinja import macros

register = template.Library()


@register.simple_tag(takes_context=True)
def suggested(context: Context, ghosts: Any) -> str:
    """Show the suggestions of models and scripts for a field of the workspace."""
    if not ghosts:
        return ""
    here = {"at": context["at"], "panel": context["panel"]}
    return _parts().suggested(ghosts, context["slot"].public_id, context["csrf_token"], here)


@register.simple_tag(takes_context=True)
def move(context: Context, op: str, anchor: str, what: str, delete: str = "") -> str:
    """Show the buttons that move a part of the draft, and delete it. ``op``, ``delete``: operations."""
    return _parts().move(context["edit_url"], context["csrf_token"], op, anchor, what, delete)


def _parts() -> Any:
    return macros("parts", "reviews/workspace")
