"""Match the functions that two people added to a toolset independently: those with the same content, or else name."""

from collections.abc import Hashable
from typing import Any

from annotator.core.comparison.anchors import Document
from annotator.core.comparison.case_alignment import Key, pairs, renamed, written


def align_tools(left: Document, right: Document) -> Document:
    """Return ``right`` with the ids of its new tools changed to those of the same tools in ``left``."""
    tools = renamed(right["tools"], pairs(left["tools"], right["tools"], _TOOL))
    return right if tools is right["tools"] else {**right, "tools": tools}


def _content(one: dict[str, Any]) -> Hashable:
    return written(one["tool"])


def _name(one: dict[str, Any]) -> Hashable:
    name: str = one["tool"].get("function", one["tool"])["name"]
    return name


_TOOL: tuple[Key, ...] = (_content, _name)
