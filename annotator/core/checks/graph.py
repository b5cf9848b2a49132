"""graph.*: the dependencies between the steps of a task."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from annotator.core.checks.context import Context, TaskContext
from annotator.core.checks.registry import Found, check
from annotator.core.graph import (
    MAX_CALLS,
    MAX_STEPS,
    Graph,
    GraphProblem,
    GraphProblemKind,
    PublishedCode,
    argument_kinds,
    call_graph,
    lint_published,
)
from annotator.core.schema import canonical
from annotator.core.schema.value_words import listed


def _graph_problems(context: Context, kind: GraphProblemKind) -> Iterator[tuple[GraphProblem, str, Any]]:
    """Yield the problems of one kind that reading the graphs found, each with the anchor and value of its
    ``depends_on``.
    """
    for task, problem in context.graph_problems:
        if problem.kind == kind:
            step = next(step for step in task.steps if step["id"] == problem.step)
            yield problem, f"{task.anchor}/steps/{problem.step}/depends_on", step["depends_on"]


@check("graph.cycle", "Steps depend on each other in a cycle", "error", only_with="graph_problems")
def cycle(context: Context) -> Iterator[Found]:
    """Steps depend on each other in a cycle, so none of them can run. Remove one of the dependencies."""
    for problem, anchor, needs in _graph_problems(context, GraphProblemKind.CYCLE):
        circle = " → ".join((*problem.ids, problem.ids[0]))
        yield anchor, needs, f"These steps depend on each other in a cycle: {circle}. Remove one of the dependencies."


@check("graph.dangling", "A step depends on a step that does not exist", "error", only_with="graph_problems")
def dangling(context: Context) -> Iterator[Found]:
    """A step depends on an id that no step of its task has."""
    for problem, anchor, needs in _graph_problems(context, GraphProblemKind.UNKNOWN_ID):
        yield anchor, needs, f"{problem.step} depends on “{problem.ids[0]}”, but this task has no such step."


@check("graph.self_dependency", "A step depends on itself", "error", only_with="graph_problems")
def self_dependency(context: Context) -> Iterator[Found]:
    """A step depends on itself."""
    for problem, anchor, needs in _graph_problems(context, GraphProblemKind.SELF_DEPENDENCY):
        yield anchor, needs, f"{problem.step} depends on itself. Remove that dependency."


@check("graph.duplicate_dependency", "A step lists a dependency twice", "warning", only_with="graph_problems")
def duplicate_dependency(context: Context) -> Iterator[Found]:
    """A step lists the same dependency twice. Remove one of the two."""
    for problem, anchor, needs in _graph_problems(context, GraphProblemKind.DUPLICATE_DEPENDENCY):
        yield anchor, needs, f"{problem.step} lists its dependency on {problem.ids[0]} twice. Remove one."


@check("graph.too_many_steps", "A task has too many steps", "error", only_with="graph_problems")
def too_many_steps(context: Context) -> Iterator[Found]:
    """The task has too many steps, so its graph is not checked. Split the task."""
    for task, problem in context.graph_problems:
        if problem.kind is GraphProblemKind.TOO_MANY_STEPS:
            message = (
                f"The task has {len(task.calls)} calls in {len(task.steps)} steps. The limit "
                f"is {MAX_CALLS} calls and {MAX_STEPS} steps. Split the task."
            )
            yield f"{task.anchor}/steps", task.steps, message


@check("graph.not_annotated", "The dependencies of a step are not annotated", "error", to_do=True)
def not_annotated(context: Context) -> Iterator[Found]:
    """The dependencies of a step must be annotated. “Depends on nothing” is an answer, too."""
    for task in context.tasks:
        for step in task.steps:
            if step["depends_on"] is None:
                message = f"Choose what {step['id']} depends on, or “nothing”."
                yield f"{task.step_anchor(step)}/depends_on", None, message


@check("graph.redundant_edge", "A dependency is implied by others", "info")
def redundant_edge(context: Context) -> Iterator[Found]:
    """A dependency is implied by others, so the order of steps is the same without it. Keep it if it passes a value."""
    for task in context.tasks:
        graph = task.reading.graph
        # An edge can only follow from two others, so this needs at least three steps.
        if graph is None or len(graph.ids) < 3 or not any(graph.implied):
            continue
        spare: dict[str, list[str]] = {}
        for node, needed in graph.redundant_edges():
            spare.setdefault(node, []).append(needed)
        for step in task.steps:
            if step["id"] in spare:
                message = (
                    f"The dependency of {step['id']} on {listed(spare[step['id']])} is implied by its "
                    "other dependencies. Remove it unless it passes a value."
                )
                yield f"{task.step_anchor(step)}/depends_on", step["depends_on"], message


@check("graph.answer_last", "The answer is not the last step of its task", "error")
def answer_last(context: Context) -> Iterator[Found]:
    """A task ends with its one answer: no step comes after it or depends on it."""
    for task in context.tasks:
        if not task.answers:
            continue
        answer = task.answers[-1]
        if task.steps[-1] is not answer:
            message = f"The answer {answer['id']} must be the last step, but {task.steps[-1]['id']} comes after it."
            yield task.step_anchor(answer), answer, message
        yield from _depending_on_answer(task)


def _depending_on_answer(task: TaskContext) -> Iterator[Found]:
    needed = task.reading.needed
    if len(task.answers) == 1 and not needed >> (len(task.steps) - 1) and task.steps[-1] is task.answers[0]:
        return
    ends = {step["id"] for i, step in enumerate(task.steps) if step["type"] == "answer" and needed >> i & 1}
    for step in task.steps if ends else ():
        if any(need["id"] in ends and need["id"] != step["id"] for need in step["depends_on"] or ()):
            message = f"{step['id']} depends on the answer, which ends the task. Remove that dependency."
            yield f"{task.step_anchor(step)}/depends_on", step["depends_on"], message


@check("graph.several_answers", "A task has more than one answer", "error")
def several_answers(context: Context) -> Iterator[Found]:
    """A task has exactly one answer."""
    for task in context.tasks:
        for answer in task.answers[:-1]:
            message = f"The task has {len(task.answers)} answers. Keep one, as its last step."
            yield task.step_anchor(answer), answer, message


#: Elementary steps for each count; a longer count stops, and the finding says that paths may be rejected.
_MAX_COUNT_STEPS = 40_000


@check(
    "graph.published_evaluator",
    "The published evaluators reject some legal paths",
    "info",
    audience="administrators",
)
def published_evaluator(context: Context) -> Iterator[Found]:
    """The evaluators published with C3-Bench and WildToolBench merge calls to the same tool and so reject some legal
    paths. The task is fine; this only matters if you score with them. The task's decision tree shows the paths.
    """
    for task in context.tasks:
        names = [call.step["name"] for call in task.calls]
        if len(set(names)) == len(names):
            continue
        graph = call_graph(task.steps, task.reading)
        # Replace names and arguments by positions, so that tasks of one shape are counted once; there are few shapes.
        tools = argument_kinds(names, [""] * len(names))
        if graph is None or not _merges(graph.needs, tools):
            continue
        kinds = argument_kinds(names, [canonical(call.step["arguments"]) for call in task.calls])
        message = _rejected_paths(graph.needs, tools, kinds)
        if message:
            yield f"{task.anchor}/steps", task.steps, message


@lru_cache(maxsize=4096)
def _merges(needs: tuple[int, ...], tools: tuple[int, ...]) -> bool:
    """Return whether two calls of one tool can be ready together in a graph of this shape."""
    return PublishedCode(Graph(tuple(map(str, range(len(needs)))), needs), tuple(map(str, tools))).merges


@lru_cache(maxsize=4096)
def _rejected_paths(needs: tuple[int, ...], tools: tuple[int, ...], kinds: tuple[int, ...]) -> str:
    """Return how many legal paths of one shape each published evaluator rejects, as sentences; empty if none."""
    graph = Graph(tuple(map(str, range(len(needs)))), needs)
    found = lint_published(graph, tuple(map(str, tools)), kinds, bound=_MAX_COUNT_STEPS, examples=0)
    if found.clean:
        return ""
    wild, legal = f"{found.wild}", f"{found.legal} legal paths"
    merge = "because they merge calls to the same tool."
    if found.wild.value is None:
        said = f"The published evaluators may reject some legal paths of this task, {merge}"
    elif found.alike:
        said = f"The published evaluators of C3-Bench and WildToolBench reject the same {wild} of {legal}, {merge}"
    elif found.c3.value is None:
        said = (
            f"WildToolBench’s published evaluator rejects {wild} of {legal}. How many C3-Bench’s rejects is not known."
        )
    elif found.c3.value:
        said = f"Of {legal}, C3-Bench’s published evaluator rejects {found.c3} and WildToolBench’s {wild}, {merge}"
    else:
        said = (
            f"WildToolBench’s published evaluator rejects {wild} of {legal}, because it takes calls to the same tool "
            "in file order. C3-Bench’s accepts all."
        )
    return f"{said} The decision tree shows these paths."
