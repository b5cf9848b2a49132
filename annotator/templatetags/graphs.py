"""``{% load graphs %}``: a task's tool graph and the sources of a call's values."""

from typing import Any

from django import template

from annotator.presentation.components.anchors import text_dom_id
from annotator.presentation.graph import GraphView

register = template.Library()


@register.inclusion_tag("components/graph.html")
def tool_graph(graph: GraphView, title: str, links: str) -> dict[str, Any]:
    """Show the drawing of a graph. ``links``: a URL; each step links to it with ``?at=`` its anchor."""
    return {"graph": graph, "title": title, "links": links}


@register.filter
def text_id(anchor: str) -> str:
    """Return the DOM id of the text at an anchor, inside the part of the page with the id ``anchor|dom_id``."""
    return text_dom_id(anchor)
