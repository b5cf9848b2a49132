"""A task's tool graph for pages: boxes and lines with their labels."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from textwrap import wrap
from typing import Any

from django.utils.translation import gettext as _

from annotator.core.graph import (
    Graph,
    GraphProblemKind,
    Tally,
    Topology,
    call_graph,
    count_paths,
    read_graph,
    topology_of,
)
from annotator.core.graph.dag import positions
from annotator.core.graph.layout import Box, Drawing, Line, lay_out
from annotator.core.provenance import Suggestion, TaskTrace
from annotator.core.text import gettext_noop
from annotator.presentation.components.labels import words_of

#: Steps of counting before a page shows "more than": a few milliseconds.
COUNTING_STEPS = 60_000
#: Characters of a tool's name that fit into a box.
NAME_LENGTH = 17

#: Characters of a line's note that fit between two columns.
NOTE_LENGTH = 11

#: What a step without a tool is called, by its type.
_STEPS = {
    "call": gettext_noop("call"),
    "clarification": gettext_noop("clarification"),
    "answer": gettext_noop("answer"),
}

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Node:
    """One step in the drawing. ``above``: the ids of all its direct and indirect dependencies.

    ``circle``: it depends on itself through others. ``open``: its dependencies are not annotated.
    """

    box: Box
    anchor: str
    type: str
    name: str
    batch: str
    needs: tuple[str, ...]
    above: tuple[str, ...]
    open: bool
    circle: bool
    selected: bool

    @property
    def id(self) -> str:
        return self.box.id

    @property
    def short_name(self) -> str:
        return self.name if len(self.name) <= NAME_LENGTH else f"{self.name[: NAME_LENGTH - 1]}…"

    @property
    def label(self) -> str:
        """The text for screen readers."""
        said = [f"{self.id} {self.name}", self.batch]
        if self.open:
            said.append(_("dependencies not annotated"))
        elif self.needs:
            said.append(_("depends on %(steps)s") % {"steps": ", ".join(self.needs)})
        else:
            said.append(_("no dependencies"))
        if self.box.critical:
            said.append(_("on the longest chain"))
        if self.circle:
            said.append(_("in a cycle"))
        return ", ".join(said)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A dependency that a model or script suggests. ``by``: its name; ``key``: the public id of the suggestion."""

    step: str
    needs: str
    kind: str
    by: str
    key: str

    @property
    def why(self) -> str:
        return _("Suggested by %(by)s.") % {"by": self.by}

    @property
    def weak(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Edge:
    """An existing or suggested dependency. ``state``: drawn, suggested, refused or circle.

    ``unsupported``: it is annotated to pass a value, but passes none. ``why``: the reason for a suggestion.
    ``covered``: the refused opposite edge is drawn on top of it with its note. ``proposal``: the public id of the
    suggestion that it is, if a model or script made it.
    """

    line: Line
    kind: str
    state: str = "drawn"
    unsupported: bool = False
    why: str = ""
    weak: bool = False
    covered: bool = False
    proposal: str = ""

    @property
    def step(self) -> str:
        return self.line.node

    @property
    def needs(self) -> str:
        return self.line.needs

    @property
    def note(self) -> str:
        """The text in the middle of the line: its style alone never tells a difference."""
        if self.state != "drawn":
            return {"suggested": _("suggested"), "refused": _("refused"), "circle": _("in a cycle")}[self.state]
        if self.covered:
            return ""
        if self.unsupported:
            return _("no value")
        order = _("order") if self.kind == "logical" else ""
        return " · ".join(word for word in (order, _("implied") if self.line.implied else "") if word)

    @property
    def note_lines(self) -> list[str]:
        return lines_of(self.note, self.line)

    @property
    def label(self) -> str:
        """The text for screen readers."""
        names = {"step": self.step, "needs": self.needs}
        if self.state == "suggested":
            sentence = _("Suggested: %(step)s depends on %(needs)s. %(why)s")
            return sentence % {**names, "why": self.why}
        said = [_("%(step)s depends on %(needs)s") % names, kind_label(self.kind)]
        if self.unsupported:
            said[1] = _("should pass a value but doesn’t")
        if self.line.implied:
            said.append(_("implied by others"))
        if self.line.critical:
            said.append(_("on the longest chain"))
        if self.state != "drawn":
            said.append(_("refused") if self.state == "refused" else _("in a cycle"))
        return ", ".join(said)


def kind_label(kind: str) -> str:
    """Return the label of a kind of dependency."""
    return words_of("dependency", kind)


def lines_of(note: str, line: Line) -> list[str]:
    """Return the note of a line as it is drawn: wrapped if it is between two columns."""
    return wrap(note, NOTE_LENGTH) if line.between else [note] if note else []


@dataclass(frozen=True, slots=True)
class Head:
    """The heading of a column."""

    text: str
    x: int


@dataclass
class GraphView:
    """The graph of one task. ``drawing`` is None if it can't be drawn; ``why_not`` says why.

    ``calls`` is None while the graph over the calls is unknown; then there is no topology and no ``tally``.
    ``twins``: (task id, its number, topology) of other tasks with a matching shape.
    """

    calls: Graph | None
    topology: Topology | None
    tally: Tally | None
    drawing: Drawing | None = None
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    heads: list[Head] = field(default_factory=list)
    open_steps: list[str] = field(default_factory=list)
    circle: tuple[str, ...] = ()
    why_not: str = ""
    twins: list[tuple[str, int, str]] = field(default_factory=list)

    @property
    def drawn(self) -> list[Edge]:
        """The existing dependencies, including those in a cycle."""
        return [edge for edge in self.edges if edge.state in ("drawn", "circle")]

    @property
    def suggested(self) -> list[Edge]:
        return [edge for edge in self.edges if edge.state == "suggested"]

    @property
    def sure(self) -> list[Edge]:
        """The suggestions that can be accepted together: those based on more than a small number.

        Those of models and scripts are decided one by one, since each decision counts.
        """
        return [edge for edge in self.computed if not edge.weak]

    @property
    def computed(self) -> list[Edge]:
        """The suggestions that follow from the values of the calls."""
        return [edge for edge in self.suggested if not edge.proposal]

    @property
    def proposed(self) -> list[Edge]:
        """The suggestions of models and scripts."""
        return [edge for edge in self.suggested if edge.proposal]


def view_graph(
    document: dict[str, Any],
    task_id: str,
    *,
    trace: TaskTrace | None = None,
    proposals: Iterable[Proposal] = (),
    selected: str = "",
    refused: Pair | None = None,
    circle: Collection[str] = (),
) -> GraphView:
    """Return the graph of one task of a valid document. Raises StopIteration if there is no such task.

    ``trace``: its provenance, for suggestions and unsupported edges. ``proposals``: suggestions of models and scripts,
    which take precedence; of several for one dependency, the first is drawn. ``selected``: the id of the selected step.
    ``refused``: an edge that was just refused, and ``circle``: the ids of the steps in the cycle it would have made.
    """
    task = next(task for task in document["tasks"] if task["id"] == task_id)
    steps = task["steps"]
    reading = read_graph(steps)
    calls = call_graph(steps, reading)
    view = GraphView(
        calls=calls,
        topology=topology_of(calls),
        tally=_tally(calls) if calls is not None and calls.ids else None,
        open_steps=list(reading.unannotated),
        circle=tuple(circle),
        twins=_twins(document, task),
    )
    if not steps:
        view.why_not = _("This task has no steps yet.")
        return view
    kinds = {problem.kind for problem in reading.problems}
    if GraphProblemKind.DUPLICATE_ID in kinds or GraphProblemKind.TOO_MANY_STEPS in kinds:
        view.why_not = _("The graph can’t be drawn. See the findings of the task.")
        return view
    graph, closing = (reading.graph, []) if reading.graph else _without_circles(steps)
    if not circle:
        view.circle = next((problem.ids for problem in reading.problems if problem.kind is GraphProblemKind.CYCLE), ())
    suggestions: dict[Pair, Suggestion | Proposal] = {}
    drawn = {(step["id"], edge["id"]) for step in steps for edge in step["depends_on"] or ()}
    found: list[Suggestion | Proposal] = [*proposals, *(trace.suggestions if trace else ())]
    for one in found:
        if (one.step, one.needs) not in drawn:
            suggestions.setdefault((one.step, one.needs), one)
    extra: dict[Pair, str] = dict.fromkeys(suggestions, "suggested")
    extra |= {pair: "circle" if set(pair) <= set(view.circle) else "drawn" for pair in closing}
    if refused and set(refused) <= set(graph.ids) and refused not in closing:
        extra[refused] = "refused"
    view.drawing = lay_out(graph, extra)
    view.nodes = _nodes(task, graph, view, selected)
    unsupported = set(trace.unsupported) if trace else set()
    view.edges = _edges(view.drawing, steps, extra, suggestions, unsupported)
    view.heads = _heads(view.drawing, steps, sure=not view.open_steps)
    return view


@lru_cache(maxsize=1024)
def _tally(calls: Graph) -> Tally:
    return count_paths(calls, COUNTING_STEPS)


def _without_circles(steps: list[dict[str, Any]]) -> tuple[Graph, list[Pair]]:
    """Return the graph of the backward edges, and the forward edges: each cycle has one of these."""
    place = {step["id"]: i for i, step in enumerate(steps)}
    back: list[Pair] = []
    forward: list[Pair] = []
    for i, step in enumerate(steps):
        for edge in step["depends_on"] or ():
            if edge["id"] in place and edge["id"] != step["id"]:
                (back if place[edge["id"]] < i else forward).append((step["id"], edge["id"]))
    return Graph.from_edges(list(place), back), forward


def _nodes(task: dict[str, Any], graph: Graph, view: GraphView, selected: str) -> list[Node]:
    steps = {step["id"]: step for step in task["steps"]}
    batches = {node: head for head, column in _named_columns(view.drawing, task["steps"]) for node in column}
    nodes = []
    for box, mask in zip(view.drawing.boxes if view.drawing else (), graph.ancestors, strict=True):
        step = steps[box.id]
        nodes.append(
            Node(
                box=box,
                anchor=f"/tasks/{task['id']}/steps/{box.id}",
                type=step["type"],
                name=step["name"] if step["type"] == "call" else _(_STEPS[step["type"]]),
                batch=batches[box.id],
                needs=tuple(edge["id"] for edge in step["depends_on"] or ()),
                above=tuple(graph.ids[j] for j in positions(mask)),
                open=step["depends_on"] is None,
                circle=box.id in view.circle,
                selected=box.id == selected,
            )
        )
    return nodes


def _edges(
    drawing: Drawing,
    steps: list[dict[str, Any]],
    extra: dict[Pair, str],
    suggestions: dict[Pair, Suggestion | Proposal],
    unsupported: set[Pair],
) -> list[Edge]:
    kinds = {(step["id"], edge["id"]): edge["kind"] for step in steps for edge in step["depends_on"] or ()}
    edges = []
    for line in drawing.lines:
        pair = (line.node, line.needs)
        state = "drawn" if line.drawn else extra[pair]
        one = suggestions.get(pair) if state == "suggested" else None
        kind = one.kind if one else kinds.get(pair, "parameter")
        bare = state == "drawn" and pair in unsupported
        covered = extra.get((line.needs, line.node)) == "refused"
        proposal = one.key if isinstance(one, Proposal) else ""
        why, weak = (one.why, one.weak) if one else ("", False)
        edges.append(Edge(line, kind, state, bare, why, weak, covered, proposal))
    # The last one is drawn on top and gets the click.
    return sorted(edges, key=lambda edge: edge.state != "suggested")


def _heads(drawing: Drawing, steps: list[dict[str, Any]], *, sure: bool) -> list[Head]:
    return [
        Head(text if sure else _("%(batch)s, so far") % {"batch": text.partition(" · ")[0]}, column.x)
        for (text, __), column in zip(_named_columns(drawing, steps), drawing.columns, strict=True)
        if column.ids
    ]


def _named_columns(drawing: Drawing | None, steps: list[dict[str, Any]]) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Yield each column with its name. Only columns with calls are counted as batches."""
    types = {step["id"]: step["type"] for step in steps}
    number = 0
    named = []
    for column in drawing.columns if drawing else ():
        held = [types[node] for node in column.ids]
        if "call" in held:
            number += 1
            count = held.count("call")
            name = _("batch %(number)d") % {"number": number}
            if count > 1:
                name += " · " + _("%(count)d parallel") % {"count": count}
            named.append((name, column.ids))
        else:
            named.append((_(_STEPS[held[0]]) if held else "", column.ids))
    return named


def _twins(document: dict[str, Any], task: dict[str, Any]) -> list[tuple[str, int, str]]:
    count = _calls(task)
    twins = []
    for number, other in enumerate(document["tasks"], 1):
        if other is task or count < 2 or _calls(other) != count:
            continue
        calls = call_graph(other["steps"], read_graph(other["steps"]))
        if calls is not None:
            twins.append((other["id"], number, str(topology_of(calls))))
    return twins


def _calls(task: dict[str, Any]) -> int:
    return sum(step["type"] == "call" for step in task["steps"])
