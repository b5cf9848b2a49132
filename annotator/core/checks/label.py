"""label.*: what a task is said to be, against what it is."""

from collections.abc import Iterator

from annotator.core.checks.context import Context, TaskContext
from annotator.core.checks.registry import Check, register
from annotator.core.findings import Finding
from annotator.core.graph.dag import positions
from annotator.core.provenance.information import contradiction
from annotator.core.schema.value_words import listed

_WORDS = {
    "single_tool": "one call and no clarification",
    "multi_tool": "at least two calls and no clarification",
    "clarify": "at least one clarification",
    "chat": "neither a call nor a clarification",
}


@register
class PolicyMissing(Check):
    """Nobody has said yet which policy the task calls for."""

    id = "label.policy_missing"
    title = "A task has no policy."
    severity = "error"
    to_do = True

    def run(self, context: Context) -> Iterator[Finding]:
        for task in context.tasks:
            if task.task["policy"] is None:
                message = "Choose the policy: single_tool, multi_tool, clarify or chat."
                yield self.found(context, f"{task.anchor}/policy", None, message)


@register
class InformationMissing(Check):
    """Nobody has said yet how the task hides what it needs."""

    id = "label.information_missing"
    title = "It is not said how a task hides what it needs."
    severity = "error"
    to_do = True

    def run(self, context: Context) -> Iterator[Finding]:
        for task in context.tasks:
            if task.task["information"] is None:
                message = "Say how the task gives what it needs: explicit, or how it hides it."
                yield self.found(context, f"{task.anchor}/information", None, message)


@register
class PolicySteps(Check):
    """The policy and the steps must agree: single_tool has one call, multi_tool at least two, clarify a clarification,
    chat only an answer.
    """

    id = "label.policy_steps"
    title = "The policy of a task does not fit its steps."
    severity = "error"

    def run(self, context: Context) -> Iterator[Finding]:
        for task in context.tasks:
            policy = task.task["policy"]
            if policy is None or not task.steps:
                continue
            derived = derive_policy(len(task.calls), len(task.clarifications))
            if policy != derived:
                message = (
                    f"The policy is {policy}, which means {_WORDS[policy]}, but the task has {_steps(task)}: "
                    f"correct the steps, or the policy to {derived}."
                )
                yield self.found(context, f"{task.anchor}/policy", policy, message)


def derive_policy(calls: int, clarifications: int) -> str:
    """The policy that a finished task with so many calls and clarifications has."""
    if clarifications:
        return "clarify"
    return "chat" if not calls else "single_tool" if calls == 1 else "multi_tool"


def _steps(task: TaskContext) -> str:
    counts = ((len(task.calls), "call"), (len(task.clarifications), "clarification"))
    words = [f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count]
    return " and ".join(words) or "only an answer"


@register
class FirstExplicit(Check):
    """The first task of a dialogue has nothing to hide behind: it says all it needs. (A dialogue that comes with the
    talk so far does not begin with its first task.)
    """

    id = "label.first_explicit"
    title = "The first task of a dialogue is not explicit."
    severity = "warning"
    only_with = "tasks"

    def run(self, context: Context) -> Iterator[Finding]:
        information = context.document["tasks"][0]["information"]
        if information not in (None, "explicit") and not context.document["context"]:
            message = f"The first task is labelled {information}, but nothing comes before it; it should be explicit."
            yield self.found(context, f"{context.tasks[0].anchor}/information", information, message)


@register
class LaterHides(Check):
    """Every task but the first hides something: a part is left out, referred to, or stands far back."""

    id = "label.later_hides"
    title = "A later task hides nothing."
    severity = "warning"

    def run(self, context: Context) -> Iterator[Finding]:
        for task in context.tasks:
            if task.task["information"] == "explicit" and (task.index or context.document["context"]):
                message = "A task that follows others should hide something they said; this one is labelled explicit."
                yield self.found(context, f"{task.anchor}/information", "explicit", message)


@register
class LongRange(Check):
    """A long-range dependency reaches past the exchange just before (or, by the wild rule, past two user messages), so
    that many must come before it.
    """

    id = "label.long_range"
    title = "A long-range dependency has nothing far enough back."
    severity = "error"
    only_with = "tasks"

    def run(self, context: Context) -> Iterator[Finding]:
        if context.document["context"]:
            # Often only the end of the talk so far is given; how much came before is not known.
            return
        messages = 0
        for task in context.tasks:
            if task.task["information"] == "long_range_dependency":
                anchor = f"{task.anchor}/information"
                if context.settings.long_range_rule == "c3" and task.index < 2:
                    message = (
                        f"A long-range dependency reaches past the exchange just before, but only {task.index} "
                        f"task{'' if task.index == 1 else 's'} came before this one."
                    )
                    yield self.found(context, anchor, task.task["information"], message)
                elif context.settings.long_range_rule == "wild" and messages < 3:
                    message = (
                        "A long-range dependency reaches at least three user messages back, but only "
                        f"{messages} came before this one."
                    )
                    yield self.found(context, anchor, task.task["information"], message)
            messages += 1 + len(task.clarifications)


@register
class InformationEvidence(Check):
    """What the calls need must fit the label: explicit says it all in this message; a task that hides something leaves
    something out of it; a long-range dependency needs a value from farther back than the exchange just before (by the
    wild rule, than two user messages).
    """

    id = "label.information_evidence"
    title = "The values of the calls contradict the information label."
    severity = "warning"
    only_with = "tasks"

    def run(self, context: Context) -> Iterator[Finding]:
        finder, rule = context.provenance, context.settings.long_range_rule
        for index, task in enumerate(context.tasks):
            against = contradiction(finder, index, rule)
            if against:
                message = f"{against} Correct the label, the message, or the call."
                yield self.found(context, f"{task.anchor}/information", task.task["information"], message)


@register
class AnswerTypeMissing(Check):
    """Nobody has said yet whether the answer rests on tools or is chat."""

    id = "label.answer_type_missing"
    title = "An answer has no type."
    severity = "error"
    to_do = True

    def run(self, context: Context) -> Iterator[Finding]:
        for task in context.tasks:
            for step in task.answers:
                if step["answer_type"] is None:
                    message = "Say whether the answer rests on tools (tool) or not (chat)."
                    yield self.found(context, f"{task.step_anchor(step)}/answer_type", None, message)


@register
class AnswerType(Check):
    """A chat task ends with a chat answer, a task with calls with a tool answer. After a clarification both may be."""

    id = "label.answer_type"
    title = "The type of an answer does not fit the policy."
    severity = "error"

    def run(self, context: Context) -> Iterator[Finding]:
        for task in context.tasks:
            policy = task.task["policy"]
            if policy is None or policy == "clarify":
                continue
            wanted = "chat" if policy == "chat" else "tool"
            for step in task.answers:
                if step["answer_type"] not in (None, wanted):
                    message = (
                        f"The policy is {policy}, so the answer's type should be {wanted}, not {step['answer_type']}."
                    )
                    yield self.found(context, f"{task.step_anchor(step)}/answer_type", step["answer_type"], message)


@register
class Batch(Check):
    """The answer waits for every other step, and every clarification comes before or after each call: neither may ever
    stand in one batch with calls. Add the missing dependency (logical, where only the order counts).
    """

    id = "label.batch"
    title = "An answer or clarification could run in one batch with calls."
    severity = "error"

    def run(self, context: Context) -> Iterator[Finding]:
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
                    message = f"The answer does not wait for {listed(names)}; add that to what it depends on."
                    yield self.found(context, f"{task.step_anchor(answer)}/depends_on", answer["depends_on"], message)
            if task.clarifications:
                yield from self._clarifications(context, task, ids, above)

    def _clarifications(
        self, context: Context, task: TaskContext, ids: tuple[str, ...], above: tuple[int, ...]
    ) -> Iterator[Finding]:
        position = {node: index for index, node in enumerate(ids)}
        for step in task.clarifications:
            index = position[step["id"]]
            tied = above[index] | _waiting_for(index, above)
            free = [call.step["id"] for call in task.calls if not tied >> position[call.step["id"]] & 1]
            if free:
                message = f"{step['id']} asks the user while {listed(free)} could run: say which comes first."
                yield self.found(context, f"{task.step_anchor(step)}/depends_on", step["depends_on"], message)


def _waiting_for(position: int, above: tuple[int, ...]) -> int:
    """Bitset of the nodes that depend on the one at ``position``, directly or not."""
    return sum(1 << other for other, mask in enumerate(above) if mask >> position & 1)
