"""Predictions of models for multi-turn dialogues, in the neutral format.

One object per line: ``{"run", "dialogue", "task", "rounds"}``, a round ``{"calls": [{"name", "arguments"}], "content",
"error"}``. ``task`` counts from 0. ``arguments`` is an object, or a text that keeps the model's own spelling. ``error``
is null, ``malformed_calls`` or ``request_failed``.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from annotator.core.constraints.rounds import without_thinking

#: Bounds of one prediction: more is a bad record, not a model's answer.
MAX_ROUNDS = 200
MAX_CALLS = 500
ERRORS = ("malformed_calls", "request_failed")


class NotAPrediction(ValueError):
    """A record that is no prediction, with a sentence."""


@dataclass(frozen=True, slots=True)
class PredictedCall:
    """A call of a model. ``arguments``: the JSON text that the model wrote, or that stands for its object."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Round:
    """One reply of a model."""

    calls: tuple[PredictedCall, ...] = ()
    content: str | None = None
    error: str | None = None

    @property
    def is_text(self) -> bool:
        return not self.calls and not self.error and bool(self.content)


#: What a name must be, for sentences.
NAME = "a text without NUL"
#: What a round that is not there counts as.
EMPTY = Round()


@dataclass(frozen=True, slots=True)
class Prediction:
    """A model's rounds for one entry: task ``task`` (from 0) of ``dialogue``."""

    run: str
    dialogue: str
    task: int
    rounds: tuple[Round, ...]


def is_name(value: Any) -> TypeGuard[str]:
    """Return whether a value can name a run or a dialogue: databases store no NUL."""
    return isinstance(value, str) and value != "" and "\0" not in value


def argument_text(arguments: Any) -> str:
    """Return the JSON text of arguments as the published handlers write it; a text stays as it is."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def read_prediction(record: Any) -> Prediction:
    """Return the prediction of a record. Raises NotAPrediction with pointer and sentence."""
    if not isinstance(record, Mapping):
        raise NotAPrediction("A prediction must be an object with run, dialogue, task and rounds.")
    for key in ("run", "dialogue"):
        if not is_name(record.get(key)):
            raise NotAPrediction(f"/{key} must be {NAME}.")
    if type(record.get("task")) is not int or record["task"] < 0:
        raise NotAPrediction("/task must be a whole number, counted from 0.")
    return Prediction(record["run"], record["dialogue"], record["task"], read_rounds(record.get("rounds")))


def read_rounds(rounds: Any) -> tuple[Round, ...]:
    """Return the rounds of a prediction. Raises NotAPrediction."""
    if not isinstance(rounds, Sequence) or isinstance(rounds, str):
        raise NotAPrediction("/rounds must be a list of replies.")
    if len(rounds) > MAX_ROUNDS:
        raise NotAPrediction(f"/rounds has {len(rounds):,} replies. The limit is {MAX_ROUNDS}.")
    return tuple(_read_round(one, f"/rounds/{number}") for number, one in enumerate(rounds))


def rounds_json(rounds: Sequence[Round]) -> list[dict[str, Any]]:
    """Return rounds as a neutral prediction has them; arguments are the model's own text."""
    return [
        {
            "calls": [{"name": call.name, "arguments": call.arguments} for call in one.calls],
            "content": one.content,
            "error": one.error,
        }
        for one in rounds
    ]


def without_thoughts(rounds: Sequence[Round]) -> tuple[Round, ...]:
    """Return rounds without what the model wrote between ``<think>`` and ``</think>``."""
    return tuple(replace(one, content=without_thinking(one.content)) if one.content else one for one in rounds)


def _read_round(value: Any, where: str) -> Round:
    if not isinstance(value, Mapping):
        raise NotAPrediction(f"{where} must be an object with calls and content.")
    content, error, calls = value.get("content"), value.get("error"), value.get("calls") or ()
    if content is not None and not isinstance(content, str):
        raise NotAPrediction(f"{where}/content must be a text or null.")
    if error is not None and error not in ERRORS:
        raise NotAPrediction(f"{where}/error must be null, {' or '.join(ERRORS)}.")
    if not isinstance(calls, Sequence) or isinstance(calls, str):
        raise NotAPrediction(f"{where}/calls must be a list.")
    if len(calls) > MAX_CALLS:
        raise NotAPrediction(f"{where}/calls has {len(calls):,} calls. The limit is {MAX_CALLS}.")
    return Round(tuple(_read_call(call, f"{where}/calls/{n}") for n, call in enumerate(calls)), content, error)


def _read_call(value: Any, where: str) -> PredictedCall:
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        raise NotAPrediction(f"{where} must be an object whose name is a text.")
    if not isinstance(value.get("arguments"), Mapping | str):
        raise NotAPrediction(f"{where}/arguments must be an object, or a text with the model's own spelling.")
    return PredictedCall(value["name"], argument_text(value["arguments"]))
