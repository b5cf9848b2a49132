"""label.*: whether the labels of a task fit its content."""

from collections.abc import Iterator

from annotator.core.checks.context import Context, TaskContext
from annotator.core.checks.registry import Found, check
from annotator.core.graph.dag import positions
from annotator.core.provenance.information import contradiction
from annotator.core.schema.value_words import listed

_STEPS_OF_POLICY = {
    "single_tool": "one call and no clarification",
    "multi_tool": "at least two calls and no clarification",
    "clarify": "at least one clarification",
    "chat": "neither a call nor a clarification",
}


@check("label.policy_missing", "A task has no policy", "error", to_do=True)
def policy_missing(context: Context) -> Iterator[Found]:
    """Every task needs a policy."""
    for task in context.tasks:
        if task.task["policy"] is None:
            yield f"{task.anchor}/policy", None, "Choose the policy: single_tool, multi_tool, clarify or chat."


@check("label.information_missing", "A task has no information label", "error", to_do=True)
def information_missing(context: Context) -> Iterator[Found]:
    """Every task needs an information label: how the user gives what the task needs."""
    for task in context.tasks:
        if task.task["information"] is None:
            message = "Choose the information label: explicit, or how the message hides what it needs."
            yield f"{task.anchor}/information", None, message


@check("label.policy_steps", "The policy of a task does not fit its steps", "error")
def policy_steps(context: Context) -> Iterator[Found]:
    """The policy must fit the steps: single_tool has one call, multi_tool at least two, clarify a clarification, chat
    only an answer.
    """
    for task in context.tasks:
        policy = task.task["policy"]
        if policy is None or not task.steps:
            continue
        derived = derive_policy(len(task.calls), len(task.clarifications))
        if policy != derived:
            message = (
                f"The policy is {policy} ({_STEPS_OF_POLICY[policy]}), but the task has {_steps_in_words(task)}. "
                f"Correct the steps, or change the policy to {derived}."
            )
            yield f"{task.anchor}/policy", policy, message


def derive_policy(calls: int, clarifications: int) -> str:
    """Return the policy of a finished task with this many calls and clarifications."""
    if clarifications:
        return "clarify"
    return "chat" if not calls else "single_tool" if calls == 1 else "multi_tool"


def _steps_in_words(task: TaskContext) -> str:
    counts = ((len(task.calls), "call"), (len(task.clarifications), "clarification"))
    words = [f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count]
    return " and ".join(words) or "only an answer"


@check("label.first_explicit", "The first task of a dialogue is not explicit", "warning", only_with="tasks")
def first_explicit(context: Context) -> Iterator[Found]:
    """The first task of a dialogue has nothing to refer back to, so it must be explicit. (In a dialogue with an
    imported context, the first task may refer to that context.)
    """
    information = context.document["tasks"][0]["information"]
    if information not in (None, "explicit") and not context.document["context"]:
        message = f"The first task is labelled {information}, but nothing comes before it. It should be explicit."
        yield f"{context.tasks[0].anchor}/information", information, message


@check("label.later_hides", "A later task hides nothing", "warning")
def later_hides(context: Context) -> Iterator[Found]:
    """Every task except the first must hide something: it omits a part, refers back, or needs a value from far back."""
    for task in context.tasks:
        if task.task["information"] == "explicit" and (task.index or context.document["context"]):
            message = (
                "Every task after the first should leave out something that was said before, but this one is "
                "labelled explicit."
            )
            yield f"{task.anchor}/information", "explicit", message


@check("label.long_range", "Too little comes before a long-range dependency", "error", only_with="tasks")
def long_range(context: Context) -> Iterator[Found]:
    """A long-range dependency goes back beyond the previous exchange (or, under the wild rule, beyond two user
    messages), so at least that many must come before it.
    """
    if context.document["context"]:
        # Often only the end of the context is given, so how much came before is not known.
        return
    messages = 0
    for task in context.tasks:
        if task.task["information"] == "long_range_dependency":
            anchor = f"{task.anchor}/information"
            if context.settings.long_range_rule == "c3" and task.index < 2:
                message = (
                    "A long-range dependency goes back beyond the previous exchange, but "
                    f"only {task.index} task{'' if task.index == 1 else 's'} came before this one. "
                    "Correct the label."
                )
                yield anchor, task.task["information"], message
            elif context.settings.long_range_rule == "wild" and messages < 3:
                message = (
                    f"A long-range dependency goes back at least three user messages, but only {messages} "
                    "came before this one. Correct the label."
                )
                yield anchor, task.task["information"], message
        messages += 1 + len(task.clarifications)


@check(
    "label.information_evidence", "The argument values contradict the information label", "warning", only_with="tasks"
)
def information_evidence(context: Context) -> Iterator[Found]:
    """The label must match where the calls get their values. Explicit: everything is in this message. A label that
    hides something: this message omits something. Long-range dependency: a value comes from before the previous
    exchange (under the wild rule, from more than two user messages back).
    """
    finder, rule = context.provenance, context.settings.long_range_rule
    for index, task in enumerate(context.tasks):
        against = contradiction(finder, index, rule)
        if against:
            message = f"{against} Correct the label, the message or the call."
            yield f"{task.anchor}/information", task.task["information"], message


@check("label.answer_type_missing", "An answer has no type", "error", to_do=True)
def answer_type_missing(context: Context) -> Iterator[Found]:
    """Every answer needs a type: based on tool results, or chat."""
    for task in context.tasks:
        for step in task.answers:
            if step["answer_type"] is None:
                message = "Choose the answer type: tool if the answer is based on tool results, otherwise chat."
                yield f"{task.step_anchor(step)}/answer_type", None, message


@check("label.answer_type", "The type of an answer does not fit the policy", "error")
def answer_type(context: Context) -> Iterator[Found]:
    """A chat task ends with a chat answer, a task with calls ends with a tool answer. After a clarification, both are
    fine.
    """
    for task in context.tasks:
        policy = task.task["policy"]
        if policy is None or policy == "clarify":
            continue
        wanted = "chat" if policy == "chat" else "tool"
        for step in task.answers:
            if step["answer_type"] not in (None, wanted):
                message = f"The policy is {policy}, so the answer type should be {wanted}, not {step['answer_type']}."
                yield f"{task.step_anchor(step)}/answer_type", step["answer_type"], message


@check("label.batch", "An answer or clarification could run in the same batch as calls", "error")
def batch(context: Context) -> Iterator[Found]:
    """The answer waits for every other step. A clarification comes before or after each call. Neither may run in the
    same batch as a call. Add the missing dependency (“order only” if it passes no value).
    """
    for task in context.tasks:
        reading = task.reading
        if len(task.steps) < 2 or reading.graph is None or reading.problems or reading.unannotated:
            continue
        ids, above = reading.graph.ids, reading.graph.ancestors
        if len(task.answers) == 1:
            answer = task.answers[0]
            position = ids.index(answer["id"])
            free = ((1 << len(ids)) - 1) & ~(1 << position) & ~above[position]
            if free:
                free &= ~_waiting_for(position, above)
            if free:
                names = [ids[j] for j in positions(free)]
                message = f"The answer does not wait for {listed(names)}. Add the missing dependency."
                yield f"{task.step_anchor(answer)}/depends_on", answer["depends_on"], message
        if task.clarifications:
            yield from _clarifications(task, ids, above)


def _clarifications(task: TaskContext, ids: tuple[str, ...], above: tuple[int, ...]) -> Iterator[Found]:
    position = {node: index for index, node in enumerate(ids)}
    for step in task.clarifications:
        index = position[step["id"]]
        tied = above[index] | _waiting_for(index, above)
        free = [call.step["id"] for call in task.calls if not tied >> position[call.step["id"]] & 1]
        if free:
            message = (
                f"{step['id']} asks the user while {listed(free)} could run. Add a dependency that "
                "says which comes first."
            )
            yield f"{task.step_anchor(step)}/depends_on", step["depends_on"], message


def _waiting_for(position: int, above: tuple[int, ...]) -> int:
    """Return the bitset of the nodes that depend on the one at ``position``, directly or indirectly."""
    return sum(1 << other for other, mask in enumerate(above) if mask >> position & 1)
