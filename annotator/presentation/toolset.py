"""A toolset in review for pages: its functions with their parameters and findings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from annotator.core.comparison.anchors import covers
from annotator.presentation.dialogue import DialogueView, FindingView, Placing, pretty, worst
from annotator.presentation.tool_parameters import ShownFunction, ShownParameter, shown_functions


@dataclass
class FunctionView:
    """A function as a card. ``data``: its part of the document."""

    type: ClassVar[str] = "function"

    anchor: str
    id: str
    number: int
    data: dict[str, Any]
    shown: ShownFunction
    findings: list[FindingView] = field(default_factory=list)
    #: Whether it is the part being edited.
    is_current: bool = False

    @property
    def function(self) -> dict[str, Any]:
        function: dict[str, Any] = self.data["tool"].get("function", self.data["tool"])
        return function

    @property
    def name(self) -> str:
        return self.shown.spec.name

    @property
    def parameters(self) -> list[ShownParameter]:
        """The parameters that the page shows."""
        return self.shown.parameters

    @property
    def text(self) -> str:
        """The whole tool as JSON, for a field."""
        return pretty(self.data["tool"])

    @property
    def worst(self) -> str:
        return worst(self.findings)


@dataclass
class ToolsetView(DialogueView):
    """A whole toolset, ready for a template. It has no tasks."""

    template: ClassVar[str] = "components/toolset.html"

    functions: list[FunctionView] = field(default_factory=list)

    @property
    def parts(self) -> Iterator[FunctionView]:
        yield from self.functions

    @property
    def shown(self) -> list[ShownFunction]:
        """The functions as lists of them show them."""
        return [one.shown for one in self.functions]

    @property
    def blocks(self) -> Sequence[Any]:
        return self.functions

    def select(self, at: str | None) -> tuple[Any, str]:
        """See ``DialogueView``. The default is the first function."""
        for one in self.functions:
            if at is None or covers(one.anchor, at):
                one.is_current = True
                return one, one.anchor
        return None, "/"


def present_toolset(document: dict[str, Any], views: list[FindingView]) -> ToolsetView:
    """Arrange a toolset with its findings for pages."""
    placing = Placing(views)
    tools = document["tools"]
    functions = []
    for number, (one, shown) in enumerate(zip(tools, shown_functions(tool["tool"] for tool in tools), strict=True), 1):
        anchor = f"/tools/{one['id']}"
        functions.append(FunctionView(anchor, one["id"], number, one, shown, placing.take(anchor)))
    return ToolsetView(data=document, tasks=[], findings=views, general=placing.rest(), functions=functions)
