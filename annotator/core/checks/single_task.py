"""task.* and execution.*: single tasks, and the results of running their trajectories."""

from collections.abc import Iterator

from annotator.core.checks.registry import Found, check
from annotator.core.checks.single_context import SingleContext
from annotator.core.execution.call_text import write_call
from annotator.core.execution.findings import is_first_call_unused
from annotator.core.execution.running import is_error_result
from annotator.core.execution.static_findings import FEWEST_CALLS, named_functions, static_findings
from annotator.core.execution.subjects import read_moment
from annotator.core.sandbox.results import Status
from annotator.core.schema.value_words import cut, listed

_STEPS = "/tasks/{}/steps"


@check("task.too_short", "A single task has fewer than two calls", "error", to_do=True, only_with="single")
def too_short(context: SingleContext) -> Iterator[Found]:
    """A single task needs at least two calls, so that their order and what flows between them matter."""
    if len(context.calls) < FEWEST_CALLS:
        anchor = _STEPS.format(context.document["tasks"][0]["id"])
        yield anchor, len(context.calls), f"There are fewer than {FEWEST_CALLS} calls. Add the missing ones."


@check("task.no_category", "A single task has no category", "error", to_do=True, only_with="single")
def no_category(context: SingleContext) -> Iterator[Found]:
    """Composites are drawn by category."""
    if context.document["category"] is None:
        yield "/category", None, "The task has no category. Enter one."


@check("task.function_named", "The question names a function", "error", only_with="single")
def function_named(context: SingleContext) -> Iterator[Found]:
    """The question must say what to do, not which function does it. Names that are ordinary words are allowed."""
    named = named_functions(context.question, context.toolset.names)
    if named:
        anchor = f"/tasks/{context.document['tasks'][0]['id']}/user_message"
        yield anchor, context.question, f"The question names {listed(named)}. Say what to do instead."


@check("task.repeated_call", "A call is repeated at once", "error", only_with="single")
def repeated_call(context: SingleContext) -> Iterator[Found]:
    """Two neighbouring calls are equal."""
    for kind, index in static_findings("", context.tool_calls, ()):
        if kind == "repeated_call" and index is not None:
            message = "This call is equal to the one before it. Delete one of them."
            yield context.anchor_of(index), context.calls[index].arguments, message


@check("task.time", "The time of a single task cannot be read", "error", only_with="single")
def unreadable_time(context: SingleContext) -> Iterator[Found]:
    """The time at which the clock stands must be a date and time in ISO 8601."""
    now = context.document["now"]
    if now is not None:
        try:
            read_moment(now)
        except (ValueError, OverflowError):
            yield "/now", now, f"“{cut(now)}” is not a date and time such as 2026-02-03T09:30:00."


@check("execution.cannot_run", "A trajectory cannot be run", "error", to_do=True, only_with="single")
def cannot_run(context: SingleContext) -> Iterator[Found]:
    """What was not run cannot be verified: the tools need an implementation, and the calls arguments."""
    if context.executions is not None and isinstance(context.subject, str) and context.calls:
        yield "", context.subject, context.subject


@check("execution.signature", "The code of a called function does not fit its schema", "warning", only_with="single")
def signature_differs(context: SingleContext) -> Iterator[Found]:
    """The implementation lacks a parameter of the schema, needs another one, or has a different default."""
    problems = {problem.place.partition(".")[0]: problem for problem in reversed(context.signature_problems)}
    told: set[str] = set()
    for call in context.calls:
        name = call.step["name"]
        if name in problems and name not in told:
            told.add(name)
            yield f"{call.anchor}/name", name, problems[name].message


@check(
    "execution.not_run", "The current version of a trajectory has not been run", "error", to_do=True, only_with="single"
)
def not_run(context: SingleContext) -> Iterator[Found]:
    """Any change to the trajectory, the initial state or the tools requires a new run."""
    if context.executions is not None and not isinstance(context.subject, str) and context.record is None:
        yield "", context.subject.key, "This version of the trajectory has not been run. Run it first."


@check("execution.failed", "A call does not return", "error", only_with="single")
def call_failed(context: SingleContext) -> Iterator[Found]:
    """When the trajectory was run, a call raised an exception, was refused, or did not end."""
    for index, outcome in enumerate(context.execution.outcomes if context.execution else ()):
        if outcome.status is not Status.OK:
            why = outcome.message.rpartition("\n")[2] or outcome.status.words
            message = (
                f"Run: {cut(why, 300)}" if outcome.status is not Status.NOT_RUN else f"Run: {outcome.status.words}"
            )
            message += _missing(context, index)
            yield context.anchor_of(index), [outcome.status.value, outcome.message], message


@check("execution.error_result", "A call returns an error", "error", only_with="single")
def error_result(context: SingleContext) -> Iterator[Found]:
    """When the trajectory was run, the result of a call was an object with the key “error”."""
    for index, outcome in enumerate(context.execution.outcomes if context.execution else ()):
        if outcome.status is Status.OK and is_error_result(outcome.result):
            message = f"Run: the call returns {cut(outcome.response, 300)}.{_missing(context, index)}"
            yield context.anchor_of(index), outcome.result, message


def _missing(context: SingleContext, index: int) -> str:
    """Return what the call needs before it, as a further sentence; blank if that is not known."""
    found = context.record.prerequisite if context.record else None
    if found is None or found[0] != index:
        return ""
    return f" It succeeds after {cut(write_call(found[1].name, found[1].arguments), 200)}. Add that call before it."


@check("execution.nondeterministic", "A trajectory gives something else each time", "error", only_with="single")
def nondeterministic(context: SingleContext) -> Iterator[Found]:
    """Two runs of the same trajectory differ: the tool depends on the order of a set, the clock, or chance."""
    if context.execution and context.execution.differs is not None:
        index = context.execution.differs
        if index < 0:
            yield "", index, "Two runs differ: the tool’s state after loading is not the same."
        else:
            yield context.anchor_of(index), index, "Two runs differ from this call on: its result or the state."


@check("execution.state", "The state of a tool cannot be written", "error", only_with="single")
def unwritable_state(context: SingleContext) -> Iterator[Found]:
    """After the last call, the tool has an attribute that is no JSON value, so there is nothing to compare."""
    if context.execution and context.execution.state_error:
        yield "", context.execution.state_error, f"Run: {context.execution.state_error}"


@check("execution.first_call_unused", "Nothing uses the first call", "warning", only_with="single")
def first_call_unused(context: SingleContext) -> Iterator[Found]:
    """The first call changes nothing, and no later call needs it or uses its result."""
    if context.execution and context.dependencies and is_first_call_unused(context.execution, context.dependencies):
        message = "This call changes nothing, and nothing later uses it. Delete it, unless the question asks for it."
        yield context.anchor_of(0), context.calls[0].step["name"], message


@check("execution.ambiguous", "Another call does the same", "warning", only_with="single")
def ambiguous(context: SingleContext) -> Iterator[Found]:
    """With another call in its place, the final state and all results are the same, so the question must decide."""
    found = context.record.alternative if context.record else None
    if found is not None:
        index, other = found
        text = write_call(other.name, other.arguments)
        message = f"{cut(text)} would do the same here. Check that the question says which one is meant."
        yield context.anchor_of(index), text, message


@check("execution.order_free", "Only the question decides an order", "warning", only_with="single")
def order_free(context: SingleContext) -> Iterator[Found]:
    """Two neighbouring calls can be exchanged without any difference, so the question must say which comes first."""
    for first, forced in enumerate(context.dependencies.order_forced if context.dependencies else ()):
        if not forced:
            names = [context.calls[first].step["name"], context.calls[first + 1].step["name"]]
            message = f"{names[0]} and {names[1]} can be exchanged. Check that the question gives their order."
            yield context.anchor_of(first + 1), names, message
