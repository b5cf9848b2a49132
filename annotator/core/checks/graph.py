"""graph.*: the dependencies between the steps of a task."""

from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

from annotator.core.checks.context import Context, TaskContext
from annotator.core.checks.registry import Check, register
from annotator.core.findings import Finding, Severity
from annotator.core.graph import (
    MAX_CALLS,
    MAX_STEPS,
    Count,
    Graph,
    GraphProblem,
    GraphProblemKind,
    PublishedCode,
    call_graph,
    count_paths,
)
from annotator.core.schema.value_words import listed


class _GraphProblems(Check):
    """The problems of one kind that reading the graph found."""

    kind: ClassVar[GraphProblemKind]
    only_with = "graph_problems"
    severity: ClassVar[Severity] = "error"

    def run(self, context: Context) -> Iterator[Finding]:
        for task, problem in context.graph_problems:
            if problem.kind == self.kind:
                step = next(step for step in task.steps if step["id"] == problem.step)
                anchor = f"{task.anchor}/steps/{problem.step}/depends_on"
                yield self.finding(context, anchor, step["depends_on"], self.sentence(problem))

    def sentence(self, problem: GraphProblem) -> str:
        """Return a sentence about the problem and what to do."""
        raise NotImplementedError


@register
class Cycle(_GraphProblems):
    """Steps depend on each other in a cycle, so none of them can run. Remove one of the dependencies."""

    id = "graph.cycle"
    title = "Steps depend on each other in a cycle"
    kind = GraphProblemKind.CYCLE

    def sentence(self, problem: GraphProblem) -> str:
        circle = " → ".join((*problem.ids, problem.ids[0]))
        return f"These steps depend on each other in a cycle: {circle}. Remove one of the dependencies."


@register
class Dangling(_GraphProblems):
    """A step depends on an id that no step of its task has."""

    id = "graph.dangling"
    title = "A step depends on a step that does not exist"
    kind = GraphProblemKind.UNKNOWN_ID

    def sentence(self, problem: GraphProblem) -> str:
        return f"{problem.step} depends on “{problem.ids[0]}”, but this task has no such step."


@register
class SelfDependency(_GraphProblems):
    """A step depends on itself."""

    id = "graph.self_dependency"
    title = "A step depends on itself"
    kind = GraphProblemKind.SELF_DEPENDENCY

    def sentence(self, problem: GraphProblem) -> str:
        return f"{problem.step} depends on itself. Remove that dependency."


@register
class DuplicateDependency(_GraphProblems):
    """A step lists the same dependency twice. Remove one of the two."""

    id = "graph.duplicate_dependency"
    title = "A step lists a dependency twice"
    kind = GraphProblemKind.DUPLICATE_DEPENDENCY
    severity = "warning"

    def sentence(self, problem: GraphProblem) -> str:
        return f"{problem.step} lists its dependency on {problem.ids[0]} twice. Remove one."


@register
class TooManySteps(Check):
    """The task has too many steps, so its graph is not checked. Split the task."""

    id = "graph.too_many_steps"
    title = "A task has too many steps"
    severity = "error"
    only_with = "graph_problems"

    def run(self, context: Context) -> Iterator[Finding]:
        for task, problem in context.graph_problems:
            if problem.kind is GraphProblemKind.TOO_MANY_STEPS:
                message = (
                    f"The task has {len(task.calls)} calls in {len(task.steps)} steps. The limit "
                    f"is {MAX_CALLS} calls and {MAX_STEPS} steps. Split the task."
                )
                yield self.finding(context, f"{task.anchor}/steps", task.steps, message)


@register
class NotAnnotated(Check):
    """The dependencies of a step must be annotated. “Depends on nothing” is an answer, too."""

    id = "graph.not_annotated"
    title = "The dependencies of a step are not annotated"
    severity = "error"
    to_do = True

    def run(self, context: Context) -> Iterator[Finding]:
        for task in context.tasks:
            for step in task.steps:
                if step["depends_on"] is None:
                    message = f"Choose what {step['id']} depends on, or “nothing”."
                    yield self.finding(context, f"{task.step_anchor(step)}/depends_on", None, message)


@register
class RedundantEdge(Check):
    """A dependency is implied by others, so the order of steps is the same without it. Keep it if it passes a value."""

    id = "graph.redundant_edge"
    title = "A dependency is implied by others"
    severity = "info"

    def run(self, context: Context) -> Iterator[Finding]:
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
                    yield self.finding(context, f"{task.step_anchor(step)}/depends_on", step["depends_on"], message)


@register
class AnswerLast(Check):
    """A task ends with its one answer: no step comes after it or depends on it."""

    id = "graph.answer_last"
    title = "The answer is not the last step of its task"
    severity = "error"

    def run(self, context: Context) -> Iterator[Finding]:
        for task in context.tasks:
            if not task.answers:
                continue
            answer = task.answers[-1]
            if task.steps[-1] is not answer:
                message = f"The answer {answer['id']} must be the last step, but {task.steps[-1]['id']} comes after it."
                yield self.finding(context, task.step_anchor(answer), answer, message)
            yield from self._depending_on_answer(context, task)

    def _depending_on_answer(self, context: Context, task: TaskContext) -> Iterator[Finding]:
        needed = task.reading.needed
        if len(task.answers) == 1 and not needed >> (len(task.steps) - 1) and task.steps[-1] is task.answers[0]:
            return
        ends = {step["id"] for i, step in enumerate(task.steps) if step["type"] == "answer" and needed >> i & 1}
        for step in task.steps if ends else ():
            if any(need["id"] in ends and need["id"] != step["id"] for need in step["depends_on"] or ()):
                message = f"{step['id']} depends on the answer, which ends the task. Remove that dependency."
                yield self.finding(context, f"{task.step_anchor(step)}/depends_on", step["depends_on"], message)


@register
class SeveralAnswers(Check):
    """A task has exactly one answer."""

    id = "graph.several_answers"
    title = "A task has more than one answer"
    severity = "error"

    def run(self, context: Context) -> Iterator[Finding]:
        for task in context.tasks:
            for answer in task.answers[:-1]:
                message = f"The task has {len(task.answers)} answers. Keep one, as its last step."
                yield self.finding(context, task.step_anchor(answer), answer, message)


#: Elementary steps for each count; a longer count stops, and the finding says that paths may be rejected.
_MAX_COUNT_STEPS = 20_000


@register
class PublishedEvaluator(Check):
    """The evaluators published with C3-Bench and WildToolBench merge calls to the same tool and so reject some legal
    paths. The task is fine; this only matters if you score with them. The task's decision tree shows the paths.
    """

    id = "graph.published_evaluator"
    title = "The published evaluators reject some legal paths"
    severity = "info"

    def run(self, context: Context) -> Iterator[Finding]:
        for task in context.tasks:
            names = [call.step["name"] for call in task.calls]
            if len(set(names)) == len(names):
                continue
            graph = call_graph(task.steps, task.reading)
            # Replace names by positions, so that tasks of one shape are counted once; there are few shapes.
            message = graph and _rejected_paths(graph.needs, tuple(names.index(name) for name in names))
            if message:
                yield self.finding(context, f"{task.anchor}/steps", task.steps, message)


@lru_cache(maxsize=4096)
def _rejected_paths(needs: tuple[int, ...], tools: tuple[int, ...]) -> str:
    """Return how many legal paths of one shape the published evaluators reject, as a sentence; empty if none."""
    graph = Graph(tuple(map(str, range(len(needs)))), needs)
    code = PublishedCode(graph, tuple(map(str, tools)), _MAX_COUNT_STEPS)
    if not code.merges:
        return ""
    listed, _ = code.count()
    legal = count_paths(graph, _MAX_COUNT_STEPS).total
    why = "because they merge calls to the same tool. The decision tree shows these paths."
    if listed.value is None or legal.value is None:
        return f"The published evaluators may reject some legal paths of this task, {why}"
    missing = Count(legal.value - listed.value)
    return f"The published evaluators reject {missing} of {legal} legal paths, {why}" if missing.value else ""
