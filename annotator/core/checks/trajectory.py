"""trajectory.*: the results of a task's calls, and how the answer uses them."""

from collections.abc import Iterator

import orjson

from annotator.core.checks.context import Context, TaskContext
from annotator.core.checks.observations import error_in, is_empty, lost_ids
from annotator.core.checks.placeholders import is_placeholder
from annotator.core.checks.registry import Found, check
from annotator.core.schema.exact_json import dumps
from annotator.core.schema.native_notes import is_failed
from annotator.core.schema.value_words import cut, listed, path_name


@check("trajectory.repeated_call", "A task makes the same call twice", "warning", in_cases="info")
def repeated_call(context: Context) -> Iterator[Found]:
    """A task calls the same tool twice with the same arguments. Delete one call, or explain why both are needed. In the
    trajectory of a constrained case, trial and error is expected.
    """
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
                yield f"{call.anchor}/arguments", call.step["arguments"], message


@check("trajectory.observation_missing", "A call has no observation", "error", to_do=True, in_cases="info")
def observation_missing(context: Context) -> Iterator[Found]:
    """A call needs an observation: what the tool returned."""
    for call in context.calls:
        if call.step["observation"] is None:
            yield f"{call.anchor}/observation", None, f"Add what {cut(call.step['name'])} returned."


@check("trajectory.observation_empty", "An observation is empty", "warning", in_cases="info")
def observation_empty(context: Context) -> Iterator[Found]:
    """A tool returned nothing: an empty text, list or object. If that is intended, say so in a waiver."""
    for call in context.calls:
        observation = call.step["observation"]
        if observation is not None and is_empty(observation):
            message = f"{cut(call.step['name'])} returned nothing. Fill in the observation, or explain why it is empty."
            yield f"{call.anchor}/observation", observation, message


@check("trajectory.tool_error", "An observation reports an error", "warning", in_cases="info")
def tool_error(context: Context) -> Iterator[Found]:
    """A tool returned an error. A reference trajectory normally shows calls that work."""
    for call in context.calls:
        observation = call.step["observation"]
        error = error_in(observation)
        if error is None and is_failed(call.step) and observation is not None:
            error = observation if isinstance(observation, str) else dumps(observation).decode()
        if error is not None:
            message = f"{cut(call.step['name'])} returned an error ({cut(error)}). Use a call that works."
            yield f"{call.anchor}/observation", observation, message


@check("trajectory.placeholder", "An argument is a placeholder", "warning")
def placeholder(context: Context) -> Iterator[Found]:
    """An argument is a placeholder from a template: <city>, {{date}}, your_api_key, TODO. Enter the real value."""
    for call in context.calls:
        for path, value in call.leaves:
            if type(value) is str and is_placeholder(value):
                message = f"“{path_name(path)}” is the placeholder “{cut(value)}”. Enter the real value."
                yield call.anchor_of(path), value, message


@check("trajectory.no_answer", "A task has no answer", "error", to_do=True)
def no_answer(context: Context) -> Iterator[Found]:
    """A task ends with an answer to the user."""
    for task in context.tasks:
        if not task.answers:
            yield f"{task.anchor}/steps", task.steps, "The task has no answer. Add one as its last step."


@check("trajectory.answer_text_missing", "An answer has no text", "error", to_do=True)
def answer_text_missing(context: Context) -> Iterator[Found]:
    """An answer needs text."""
    for task in context.tasks:
        for step in task.answers:
            if not (step["text"] or "").strip():
                yield f"{task.step_anchor(step)}/text", step["text"], "Write the answer."


@check("trajectory.clarification_incomplete", "A clarification lacks its question or its reply", "error", to_do=True)
def clarification_incomplete(context: Context) -> Iterator[Found]:
    """A clarification needs the question to the user and the user's reply."""
    for task in context.tasks:
        for step in task.clarifications:
            for field, message in (
                ("question", "Write the question to the user."),
                ("user_reply", "Write the user's reply."),
            ):
                if not (step[field] or "").strip():
                    yield f"{task.step_anchor(step)}/{field}", step[field], message


@check("trajectory.ids_lost", "The answer lists items without their ids", "warning")
def ids_lost(context: Context) -> Iterator[Found]:
    """A tool returned a list of items with ids (order_id, showId …), and the answer lists the items but omits ids. A
    later task can only refer to what the user was told.
    """
    for task in context.tasks:
        if not task.calls or len(task.answers) != 1 or not task.answers[0]["text"]:
            continue
        answer = task.answers[0]
        for step_id, lost in _lost_ids_of_calls(task, answer["text"]):
            message = f"The answer lists the result of {step_id} but omits the ids {listed(lost)}. Add them."
            yield f"{task.step_anchor(answer)}/text", answer["text"], message


def _lost_ids_of_calls(task: TaskContext, text: str) -> Iterator[tuple[str, list[str]]]:
    """Return the ids that the answer omits, for each call whose result no other call uses."""
    used = {needed["id"] for call in task.calls for needed in call.step["depends_on"] or ()}
    for call in task.calls:
        observation = call.step["observation"]
        if call.step["id"] not in used and isinstance(observation, dict | list):
            lost = lost_ids(observation, text)
            if lost:
                yield call.step["id"], lost
