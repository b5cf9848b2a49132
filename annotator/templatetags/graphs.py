"""``{% load graphs %}``: a task's tool graph, and where the values of a call come from."""

from typing import Any

from django import template

from annotator.presentation.components.anchors import text_dom_id
from annotator.presentation.graph import GraphView

register = template.Library()


@register.inclusion_tag("components/graph.html")
def tool_graph(graph: GraphView, title: str, links: str) -> dict[str, Any]:
    """The drawing of a graph. ``links``: a URL; each step leads to it with ``?at=`` its anchor."""
    return {"graph": graph, "title": title, "links": links}


@register.filter
def text_id(anchor: str) -> str:
    """The DOM id of the text at an anchor, inside the part of the page that is called ``anchor|dom_id``."""
    return text_dom_id(anchor)
