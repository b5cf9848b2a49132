"""Predictions that are the messages of a conversation, as the OpenAI chat API has them.

``{"dialogue", "task", "messages"}`` is one task, ``{"dialogue", "messages"}`` a whole dialogue, ``{"composite",
"delay", "messages"}`` a composite; ``id`` may name the entry instead (``dialogue#task``, also with ``@challenge_2`` as
in the files of a release, and ``composite@delay``).
A task's replies are the assistant's messages after the user's message that begins it; a conversation without messages
of the user has only replies.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmark.core.scoring.challenges import entry_of
from benchmark.core.scoring.predictions import NAME, NotAPrediction, Prediction, Round, is_name
from benchmark.core.scoring.published_results import read_replies
from benchmark.core.scoring.references import ReferenceDialogue
from benchmark.core.scoring.transcripts import MAX_MESSAGES, text_of

#: What records of other formats have, perhaps beside messages.
_OTHERS = frozenset(("rounds", "turns", "result", "predict_result"))


def is_messages(record: Any) -> bool:
    """Return whether a record has messages, and no answers in another format."""
    return isinstance(record, Mapping) and "messages" in record and not record.keys() & _OTHERS


def read_tasks(
    record: Mapping[str, Any], run: str, references: Mapping[str, ReferenceDialogue]
) -> Iterator[Prediction]:
    """Yield the predictions of a conversation; one of a dialogue that is not in ``references`` has no rounds.

    Raises NotAPrediction.
    """
    messages = _messages(record)
    run = record.get("run", run)
    dialogue, task = _entry(record, references)
    if not is_name(run):
        raise NotAPrediction(f"/run must be {NAME}.")
    reference = references.get(dialogue)
    if reference is None or (task is not None and task >= len(reference.tasks)):
        yield Prediction(run, dialogue, task or 0, ())
        return
    failed = (Round(error="request_failed"),) if record.get("failed") is True else ()
    asked = [(place, text_of(one).strip()) for place, one in enumerate(messages) if one.get("role") == "user"]
    if task is not None:
        begin = _last(asked, reference.tasks[task].user_message.strip())
        if begin is None and asked:
            raise NotAPrediction(
                f"/messages has no message of the user with the text of task {task}, so where the replies to it begin "
                "is not known."
            )
        yield Prediction(run, dialogue, task, _rounds(messages[begin or 0 :]) + failed)
        return
    begins = _begins(asked, reference)
    if not begins:
        raise NotAPrediction(f"/messages has no message of the user with the text of a task of {dialogue}.")
    ends = [*(place for _, place in begins[1:]), len(messages)]
    for (index, begin), end in zip(begins, ends, strict=True):
        last = failed if end == len(messages) else ()
        yield Prediction(run, dialogue, index, _rounds(messages[begin:end]) + last)


def as_turns(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a composite with the turns of its conversation. Raises NotAPrediction."""
    messages = _messages(record)
    name = str(record.get("id", ""))
    composite, _, delay = name.rpartition("@")
    found = {"composite": composite, "delay": delay} | dict(record)
    turns = [{"assistant": text_of(one)} for one in messages if one.get("role") == "assistant"]
    return found | {"id": name or f"{found['composite']}@{found['delay']}", "turns": turns}


def _messages(record: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    messages = record["messages"]
    if not isinstance(messages, list) or not all(isinstance(one, Mapping) for one in messages):
        raise NotAPrediction("/messages must be a list of messages.")
    if len(messages) > MAX_MESSAGES:
        raise NotAPrediction(f"/messages has {len(messages):,} messages. The limit is {MAX_MESSAGES:,}.")
    return messages


def _entry(record: Mapping[str, Any], references: Mapping[str, ReferenceDialogue]) -> tuple[str, int | None]:
    """Return the dialogue of a record and its task; None for the whole dialogue."""
    dialogue, task = record.get("dialogue"), record.get("task")
    if dialogue is None:
        dialogue = record.get("id", record.get("entry"))
        if isinstance(dialogue, str) and dialogue not in references:
            name, _, number = entry_of(dialogue).rpartition("#")
            if name and number.isascii() and number.isdecimal() and len(number) < 10:
                dialogue, task = name, int(number)
    if not isinstance(dialogue, str) or not dialogue:
        raise NotAPrediction("/dialogue must be the id of a dialogue; /id is “dialogue#task”.")
    if task is not None and (type(task) is not int or task < 0):
        raise NotAPrediction("/task must be a whole number, counted from 0.")
    return dialogue, task


def _last(asked: Sequence[tuple[int, str]], text: str) -> int | None:
    return next((place for place, said in reversed(asked) if said == text), None)


def _begins(asked: Sequence[tuple[int, str]], reference: ReferenceDialogue) -> list[tuple[int, int]]:
    """Return each task that the user begins, with the place of the message that begins it."""
    found, left = [], list(asked)
    for index, task in enumerate(reference.tasks):
        text = task.user_message.strip()
        at = next((at for at, (_place, said) in enumerate(left) if said == text), None)
        if at is not None:
            found.append((index, left[at][0]))
            left = left[at + 1 :]
    return found


def _rounds(messages: Sequence[Mapping[str, Any]]) -> tuple[Round, ...]:
    replies = [{**one, "content": text_of(one)} for one in messages if one.get("role") == "assistant"]
    return read_replies(replies, "/messages")
