"""The document of a toolset in review: its tools, each with an id, so that a renamed function keeps its place.

A toolset revision (``annotator.core.schema.toolsets``) has the tools only; ``document_of`` and ``content_of`` translate
between the two.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from annotator.core.schema.documents import Id, Part
from annotator.core.schema.labels import Labelled
from annotator.core.schema.toolsets import MAX_TOOLS, toolset_content

KIND = "toolset"


class DescribedTool(Part):
    """One tool: an OpenAI function object, or the bare function, as it was read."""

    id: Id
    tool: dict[str, Any]


class ToolsetDocument(Part, Labelled):
    """A toolset. ``implementation``: the code of stateful tools, as ``read_implementation`` returns it."""

    kind: Literal["toolset"] = "toolset"
    language: Literal["en", "zh"] | None = None
    tools: list[DescribedTool] = Field(min_length=1, max_length=MAX_TOOLS)
    implementation: dict[str, Any] | None = None


def document_of(content: Mapping[str, Any], language: str | None = None) -> dict[str, Any]:
    """Return the document of the content of a toolset revision; the ids of its tools are f1, f2, …"""
    tools = [{"id": f"f{number}", "tool": tool} for number, tool in enumerate(content["tools"], 1)]
    implementation = content.get("implementation")
    return {"kind": KIND, "language": language, "tools": tools, "implementation": implementation}


def content_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a toolset revision. Raises SchemaProblem with pointers into that content."""
    return toolset_content([one["tool"] for one in document["tools"]], document["implementation"])
