"""The graph of one task with its calls, or the reason why it has none."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from annotator.core.graph import (
    MAX_CALLS,
    DecisionTree,
    Graph,
    GraphProblem,
    GraphProblemKind,
    Matcher,
    Tally,
    Topology,
    call_graph,
    read_graph,
    topology_of,
)
from annotator.core.text import gettext_noop

#: Elementary steps of one count: of the whole graph, and of each of the about twenty states and branches of a page.
#: Together they take at most about two seconds on a slow machine.
WHOLE_BOUND = 1_000_000
STATE_BOUND = 60_000
#: Ids named in one sentence.
_NAMED = 8


@dataclass(frozen=True)
class CallCard:
    """A reference call as the page names it. ``anchor`` is its place in the document."""

    id: str
    name: str
    arguments: Any
    anchor: str


@dataclass(frozen=True)
class Blocked:
    """Why a task has no decision tree: a title, sentences, and the places (anchor, words) to fix."""

    title: str
    sentences: tuple[str, ...]
    places: tuple[tuple[str, str], ...]


class TaskGraph:
    """The calls of a task and the order they may run in."""

    def __init__(self, graph: Graph, cards: Mapping[str, CallCard]) -> None:
        self.graph = graph
        self.cards = dict(cards)
        self.tree = DecisionTree(graph, WHOLE_BOUND)
        #: All paths, counted first with the larger bound.
        self.tally: Tally = self.tree.tally()
        self.tree.counter.bound = STATE_BOUND

    @property
    def topology(self) -> Topology | None:
        return topology_of(self.graph)

    @property
    def columns(self) -> list[list[CallCard]]:
        """The calls by the earliest batch in which they can run."""
        out: list[list[CallCard]] = [[] for _ in range(self.graph.fewest_batches)]
        for call in self.graph.ids:
            out[self.graph.columns[call]].append(self.cards[call])
        return out

    @cached_property
    def matcher(self) -> Matcher:
        return Matcher(
            self.graph,
            [{"id": card.id, "name": card.name, "arguments": card.arguments} for card in self.cards.values()],
        )

    @property
    def names(self) -> list[str]:
        """The tools of the calls, at the positions of the graph."""
        return [self.cards[call].name for call in self.graph.ids]

    @property
    def repeats(self) -> bool:
        """Whether some tool is called more than once."""
        return len(set(self.names)) < len(self.names)


def read_task(task: Mapping[str, Any]) -> TaskGraph | Blocked:
    """Return the graph over the calls of a document's task, or Blocked."""
    steps = task["steps"]
    place = f"/tasks/{task['id']}"
    calls = [step for step in steps if step["type"] == "call"]
    if not calls:
        sentence = gettext_noop("Without calls there is no order to check.")
        return Blocked(gettext_noop("This task has no calls"), (sentence,), ((place, gettext_noop("Task")),))
    reading = read_graph(steps)
    if reading.problems:
        problems = reading.problems
        places = {f"{place}/steps/{problem.step}": problem.step for problem in problems}
        sentences = tuple(_sentence(problem) for problem in problems[:_NAMED])
        return Blocked(gettext_noop("The tool graph has errors"), sentences, tuple(places.items())[:_NAMED])
    graph = call_graph(steps, reading)
    if graph is None:
        ids = reading.unannotated
        named = ", ".join(ids[:_NAMED]) + (f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else "")
        sentence = f"Annotate the dependencies of {named}, even if there are none. They define the order of the calls."
        places = {f"{place}/steps/{step}": step for step in ids[:_NAMED]}
        return Blocked(gettext_noop("The tool graph isn’t annotated"), (sentence,), tuple(places.items()))
    cards = {
        step["id"]: CallCard(step["id"], step["name"], step["arguments"], f"{place}/steps/{step['id']}")
        for step in calls
    }
    return TaskGraph(graph, cards)


def _sentence(problem: GraphProblem) -> str:
    match problem.kind:
        case GraphProblemKind.CYCLE:
            return f"These steps depend on each other in a cycle: {' → '.join((*problem.ids, problem.ids[0]))}."
        case GraphProblemKind.UNKNOWN_ID:
            return f"{problem.step} depends on “{problem.ids[0]}”, which is not a step of this task."
        case GraphProblemKind.SELF_DEPENDENCY:
            return f"{problem.step} depends on itself."
        case GraphProblemKind.DUPLICATE_DEPENDENCY:
            return f"{problem.step} lists its dependency on {problem.ids[0]} twice."
        case GraphProblemKind.DUPLICATE_ID:
            return f"The id {problem.step} is used twice."
        case GraphProblemKind.TOO_MANY_STEPS:
            return f"The task has more than {MAX_CALLS} calls or too many steps. Split it."
