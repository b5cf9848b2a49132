"""Two versions of a task's tool graph side by side: what one has drawn and the other has not. Pure."""

from dataclasses import dataclass
from typing import Any

from annotator.presentation.graph import Edge, GraphView, Node, lines_of, view_graph

_KINDS = {"parameter": "a value flows", "logical": "order alone"}


@dataclass(frozen=True, slots=True)
class PairedEdge:
    """A line of one side. ``differs``: the other side lacks it, or has it of another kind."""

    edge: Edge
    differs: bool
    note: str

    @property
    def note_lines(self) -> list[str]:
        return lines_of(self.note, self.edge.line)

    @property
    def label(self) -> str:
        """What a screen reader says of it."""
        return f"{self.edge.label}, {self.note}" if self.differs else self.edge.label


@dataclass(frozen=True, slots=True)
class PairedNode:
    """A step of one side. ``differs``: the other side has no such step, or another tool under its id."""

    node: Node
    differs: bool
    note: str

    @property
    def label(self) -> str:
        return f"{self.node.label}, {self.note}" if self.differs else self.node.label


@dataclass(frozen=True, slots=True)
class GraphSide:
    title: str
    view: GraphView
    nodes: list[PairedNode]
    edges: list[PairedEdge]


@dataclass(frozen=True, slots=True)
class GraphPair:
    """Both graphs of one task, and their differences as sentences; none where the graphs are the same."""

    left: GraphSide
    right: GraphSide
    differences: list[str]


def pair_graphs(
    left: dict[str, Any], right: dict[str, Any], task_id: str, *, titles: tuple[str, str] = ("Left", "Right")
) -> GraphPair | None:
    """The graphs of a task in two aligned documents; None where one of them lacks the task, or they do not differ."""
    tasks = [next((task for task in one["tasks"] if task["id"] == task_id), None) for one in (left, right)]
    if tasks[0] is None or tasks[1] is None:
        return None
    steps = [{step["id"]: _called(step) for step in task["steps"]} for task in tasks if task]
    kinds = [_edges(task) for task in tasks if task]
    open_steps = [{step["id"] for step in task["steps"] if step["depends_on"] is None} for task in tasks if task]
    sentences = []
    for own, (mine, other) in enumerate(((0, 1), (1, 0))):
        for key, name in steps[mine].items():
            if key not in steps[other]:
                sentences.append(f"Only {titles[own]} has {key} {name}.")
            elif own == 0 and steps[other][key] != name:
                sentences.append(f"{key} is {name} on {titles[0]}, {steps[other][key]} on {titles[1]}.")
            if key in open_steps[mine] and key not in open_steps[other] and key in steps[other]:
                sentences.append(f"{titles[own]} has not annotated what {key} depends on.")
        for (step, needs), kind in kinds[mine].items():
            theirs = kinds[other].get((step, needs))
            if theirs is None:
                sentences.append(f"Only {titles[own]}: {step} depends on {needs} ({_KINDS.get(kind, kind)}).")
            elif own == 0 and theirs != kind:
                sentences.append(
                    f"{step} depends on {needs}: {_KINDS.get(kind, kind)} on {titles[0]}, "
                    f"{_KINDS.get(theirs, theirs)} on {titles[1]}."
                )
    if not sentences:
        return None
    sides = [
        _side(document, task_id, titles[own], steps[1 - own], steps[own], kinds[1 - own])
        for own, document in enumerate((left, right))
    ]
    return GraphPair(sides[0], sides[1], sentences)


def _side(
    document: dict[str, Any],
    task_id: str,
    title: str,
    other_steps: dict[str, str],
    own_steps: dict[str, str],
    other_edges: dict[tuple[str, str], str],
) -> GraphSide:
    view = view_graph(document, task_id)
    nodes = []
    for node in view.nodes:
        there = other_steps.get(node.id)
        note = "only here" if there is None else "another tool" if there != own_steps[node.id] else ""
        nodes.append(PairedNode(node, bool(note), note))
    edges = []
    for edge in view.edges:
        kind = other_edges.get((edge.step, edge.needs))
        note = "only here" if kind is None else "other kind" if kind != edge.kind else edge.note
        edges.append(PairedEdge(edge, kind != edge.kind, note))
    return GraphSide(title, view, nodes, sorted(edges, key=lambda one: one.differs))


def _called(step: dict[str, Any]) -> str:
    return str(step["name"]) if step["type"] == "call" else str(step["type"])


def _edges(task: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {(step["id"], one["id"]): one["kind"] for step in task["steps"] for one in step["depends_on"] or ()}
