"""Two versions of a task's tool graph side by side, with their differences."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotator.presentation.graph import Edge, GraphView, Node, kind_label, lines_of, view_graph


@dataclass(frozen=True, slots=True)
class PairedEdge:
    """A line of one side. ``differs``: the other side lacks it or has another kind."""

    edge: Edge
    differs: bool
    note: str

    @property
    def note_lines(self) -> list[str]:
        return lines_of(self.note, self.edge.line)

    @property
    def label(self) -> str:
        """The text for screen readers."""
        return f"{self.edge.label}, {self.note}" if self.differs else self.edge.label


@dataclass(frozen=True, slots=True)
class PairedNode:
    """A step of one side. ``differs``: the other side lacks it or has another tool with this id."""

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
    """Both graphs of one task, and their differences as sentences."""

    left: GraphSide
    right: GraphSide
    differences: list[str]


def pair_graphs(
    left: dict[str, Any], right: dict[str, Any], task_id: str, *, titles: tuple[str, str] = ("Left", "Right")
) -> GraphPair | None:
    """Return the graphs of a task in two aligned documents; None if one lacks the task or they do not differ."""
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
                sentence = _("%(side)s only: %(step)s %(tool)s.")
                sentences.append(sentence % {"side": titles[own], "step": key, "tool": name})
            elif own == 0 and steps[other][key] != name:
                values = {"step": key, "tool": name, "other_tool": steps[other][key]}
                values |= {"side": titles[0], "other_side": titles[1]}
                sentences.append(_("%(step)s: %(tool)s (%(side)s), %(other_tool)s (%(other_side)s).") % values)
            if key in open_steps[mine] and key not in open_steps[other] and key in steps[other]:
                sentence = _("Dependencies of %(step)s not annotated (%(side)s).")
                sentences.append(sentence % {"step": key, "side": titles[own]})
        for (step, needs), kind in kinds[mine].items():
            theirs = kinds[other].get((step, needs))
            if theirs is None:
                values = {"side": titles[own], "step": step, "needs": needs, "kind": kind_label(kind)}
                sentences.append(_("%(side)s only: %(step)s depends on %(needs)s (%(kind)s).") % values)
            elif own == 0 and theirs != kind:
                values = {"step": step, "needs": needs, "kind": kind_label(kind), "other_kind": kind_label(theirs)}
                values |= {"side": titles[0], "other_side": titles[1]}
                sentence = _("%(step)s depends on %(needs)s: %(kind)s (%(side)s), %(other_kind)s (%(other_side)s).")
                sentences.append(sentence % values)
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
        note = _("only here") if there is None else _("other tool") if there != own_steps[node.id] else ""
        nodes.append(PairedNode(node, bool(note), note))
    edges = []
    for edge in view.edges:
        kind = other_edges.get((edge.step, edge.needs))
        note = _("only here") if kind is None else _("other kind") if kind != edge.kind else edge.note
        edges.append(PairedEdge(edge, kind != edge.kind, note))
    return GraphSide(title, view, nodes, sorted(edges, key=lambda one: one.differs))


def _called(step: dict[str, Any]) -> str:
    return str(step["name"]) if step["type"] == "call" else str(step["type"])


def _edges(task: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {(step["id"], one["id"]): one["kind"] for step in task["steps"] for one in step["depends_on"] or ()}
