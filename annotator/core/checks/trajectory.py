"""trajectory.*: the results of a task's calls, and how the answer uses them."""

from collections.abc import Iterator

import orjson

from annotator.core.checks.context import Context, TaskContext
from annotator.core.checks.observations import error_in, is_empty, lost_ids
from annotator.core.checks.placeholders import is_placeholder
from annotator.core.checks.registry import Check, register
from annotator.core.findings import Finding
from annotator.core.schema.exact_json import dumps
from annotator.core.schema.value_words import cut, listed, path_name


@register
class RepeatedCall(Check):
    """A task calls the same tool twice with the same arguments. Delete one call, or explain why both are needed. In the
    trajectory of a constrained case, trial and error is expected.
    """

    id = "trajectory.repeated_call"
    title = "A task makes the same call twice"
    severity = "warning"
    in_cases = "info"

    def run(self, context: Context) -> Iterator[Finding]:
        for calls in context.call_groups:
            if len(calls) < 2 or len({call.step["name"] for call in calls}) == len(calls):
                continue
            first: dict[bytes, str] = {}
            for call in calls:
                key = dumps([call.step["name"], call.step["arguments"]], option=orjson.OPT_SORT_KEYS)
                earlier = first.setdefault(key, call.step["id"])
                if earlier != call.step["id"]:
                    message = (
                        f"{call.step['id']} repeats {earlier}: same tool, same arguments. Delete one, or explain why "
                        "both are needed."
                    )
                    yield self.finding(context, f"{call.anchor}/arguments", call.step["arguments"], message)


@register
class ObservationMissing(Check):
    """A call needs an observation: what the tool returned."""

    id = "trajectory.observation_missing"
    title = "A call has no observation"
    severity = "error"
    to_do = True
    in_cases = "info"

    def run(self, context: Context) -> Iterator[Finding]:
        for call in context.calls:
            if call.step["observation"] is None:
                message = f"Add what {cut(call.step['name'])} returned."
                yield self.finding(context, f"{call.anchor}/observation", None, message)


@register
class ObservationEmpty(Check):
    """A tool returned nothing: an empty text, list or object. If that is intended, say so in a waiver."""

    id = "trajectory.observation_empty"
    title = "An observation is empty"
    severity = "warning"
    in_cases = "info"

    def run(self, context: Context) -> Iterator[Finding]:
        for call in context.calls:
            observation = call.step["observation"]
            if observation is not None and is_empty(observation):
                message = (
                    f"{cut(call.step['name'])} returned nothing. Fill in the observation, or explain why it is empty."
                )
                yield self.finding(context, f"{call.anchor}/observation", observation, message)


@register
class ToolError(Check):
    """A tool returned an error. A reference trajectory normally shows calls that work."""

    id = "trajectory.tool_error"
    title = "An observation reports an error"
    severity = "warning"
    in_cases = "info"

    def run(self, context: Context) -> Iterator[Finding]:
        for call in context.calls:
            error = error_in(call.step["observation"])
            if error is not None:
                message = f"{cut(call.step['name'])} returned an error ({cut(error)}). Use a call that works."
                yield self.finding(context, f"{call.anchor}/observation", call.step["observation"], message)


@register
class Placeholder(Check):
    """An argument is a placeholder from a template: <city>, {{date}}, your_api_key, TODO. Enter the real value."""

    id = "trajectory.placeholder"
    title = "An argument is a placeholder"
    severity = "warning"

    def run(self, context: Context) -> Iterator[Finding]:
        for call in context.calls:
            for path, value in call.leaves:
                if type(value) is str and is_placeholder(value):
                    message = f"“{path_name(path)}” is the placeholder “{cut(value)}”. Enter the real value."
                    yield self.finding(context, call.anchor_of(path), value, message)


@register
class NoAnswer(Check):
    """A task ends with an answer to the user."""

    id = "trajectory.no_answer"
    title = "A task has no answer"
    severity = "error"
    to_do = True

    def run(self, context: Context) -> Iterator[Finding]:
        for task in context.tasks:
            if not task.answers:
                message = "The task has no answer. Add one as its last step."
                yield self.finding(context, f"{task.anchor}/steps", task.steps, message)


@register
class AnswerTextMissing(Check):
    """An answer needs text."""

    id = "trajectory.answer_text_missing"
    title = "An answer has no text"
    severity = "error"
    to_do = True

    def run(self, context: Context) -> Iterator[Finding]:
        for task in context.tasks:
            for step in task.answers:
                if not (step["text"] or "").strip():
                    message = "Write the answer."
                    yield self.finding(context, f"{task.step_anchor(step)}/text", step["text"], message)


@register
class ClarificationIncomplete(Check):
    """A clarification needs the question to the user and the user's reply."""

    id = "trajectory.clarification_incomplete"
    title = "A clarification lacks its question or its reply"
    severity = "error"
    to_do = True

    def run(self, context: Context) -> Iterator[Finding]:
        for task in context.tasks:
            for step in task.clarifications:
                for field, message in (
                    ("question", "Write the question to the user."),
                    ("user_reply", "Write the user's reply."),
                ):
                    if not (step[field] or "").strip():
                        yield self.finding(context, f"{task.step_anchor(step)}/{field}", step[field], message)


@register
class IdsLost(Check):
    """A tool returned a list of items with ids (order_id, showId …), and the answer lists the items but omits ids. A
    later task can only refer to what the user was told.
    """

    id = "trajectory.ids_lost"
    title = "The answer lists items without their ids"
    severity = "warning"

    def run(self, context: Context) -> Iterator[Finding]:
        for task in context.tasks:
            if not task.calls or len(task.answers) != 1 or not task.answers[0]["text"]:
                continue
            answer = task.answers[0]
            for step_id, lost in _lost_ids_of_calls(task, answer["text"]):
                message = f"The answer lists the result of {step_id} but omits the ids {listed(lost)}. Add them."
                yield self.finding(context, f"{task.step_anchor(answer)}/text", answer["text"], message)


def _lost_ids_of_calls(task: TaskContext, text: str) -> Iterator[tuple[str, list[str]]]:
    """Return the ids that the answer omits, for each call whose result no other call uses."""
    used = {needed["id"] for call in task.calls for needed in call.step["depends_on"] or ()}
    for call in task.calls:
        observation = call.step["observation"]
        if call.step["id"] not in used and isinstance(observation, dict | list):
            lost = lost_ids(observation, text)
            if lost:
                yield call.step["id"], lost
