"""The result files that the published code of WildToolBench and of C3-Bench write, read as predictions.

WildToolBench: an object per dialogue, ``result`` has a log per task. C3-Bench: an object per entry, with
``predict_result``. Neither names its run.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmark.core.scoring.predictions import (
    MAX_CALLS,
    MAX_ROUNDS,
    NotAPrediction,
    PredictedCall,
    Prediction,
    Round,
    argument_text,
    read_prediction,
)

_STEP = re.compile(r"step_(\d{1,6})")


def read_predictions(record: Any, run: str) -> Iterator[Prediction]:
    """Yield the predictions of a neutral or published record. ``run``: its run if it names none.

    Raises NotAPrediction.
    """
    if isinstance(record, Mapping) and "result" in record and "rounds" not in record:
        yield from _read_wild(record, run)
    elif isinstance(record, Mapping) and "predict_result" in record:
        yield _read_c3(record, run)
    elif isinstance(record, Mapping) and "run" not in record and run:
        yield read_prediction({**record, "run": run})
    else:
        yield read_prediction(record)


def _read_wild(record: Mapping[str, Any], run: str) -> Iterator[Prediction]:
    dialogue, results = record.get("id"), record["result"]
    if not isinstance(dialogue, str) or not dialogue:
        raise NotAPrediction("/id must be a text.")
    if isinstance(results, str):
        # The published handler writes the text of an error in place of a dialogue's results.
        yield Prediction(run, dialogue, 0, (Round(error="request_failed"),))
        return
    if not isinstance(results, list):
        raise NotAPrediction("/result must be a list with a result per task.")
    for number, result in enumerate(results):
        if isinstance(result, str):
            yield Prediction(run, dialogue, number, (Round(error="request_failed"),))
            continue
        log = result.get("inference_log") if isinstance(result, Mapping) else None
        if not isinstance(log, Mapping):
            raise NotAPrediction(f"/result/{number}/inference_log must be an object.")
        steps = sorted((int(found[1]), log[key]) for key in log if (found := _STEP.fullmatch(key)))
        replies = [step.get("inference_output") if isinstance(step, Mapping) else None for _, step in steps]
        yield Prediction(run, dialogue, number, read_replies(replies, f"/result/{number}"))


def _read_c3(record: Mapping[str, Any], run: str) -> Prediction:
    name = record.get("id")
    dialogue = "".join(name) if isinstance(name, list) and all(isinstance(one, str) for one in name) else name
    if not isinstance(dialogue, str) or not dialogue:
        raise NotAPrediction("/id must be a text.")
    if type(record.get("idx")) is not int or record["idx"] < 0:
        raise NotAPrediction("/idx must be a whole number, counted from 0.")
    replies = record["predict_result"]
    if not isinstance(replies, list):
        raise NotAPrediction("/predict_result must be a list of replies.")
    return Prediction(run, dialogue, record["idx"], read_replies(replies, "/predict_result"))


def read_replies(replies: Sequence[Any], where: str) -> tuple[Round, ...]:
    """Return the rounds that assistant's messages are. Raises NotAPrediction."""
    if len(replies) > MAX_ROUNDS:
        raise NotAPrediction(f"{where} has {len(replies):,} replies. The limit is {MAX_ROUNDS}.")
    return tuple(_round(reply, where) for reply in replies)


def _round(reply: Any, where: str) -> Round:
    if not isinstance(reply, Mapping):
        raise NotAPrediction(f"{where} must have replies with content and tool_calls.")
    content, calls = reply.get("content"), reply.get("tool_calls")
    text = content if isinstance(content, str) else None
    if not calls:
        return Round(content=text)
    if not isinstance(calls, list) or len(calls) > MAX_CALLS:
        return Round(content=text, error="malformed_calls")
    functions = [call.get("function") if isinstance(call, Mapping) else None for call in calls]
    if any(
        not isinstance(one, Mapping) or not isinstance(one.get("name"), str) or "arguments" not in one
        for one in functions
    ):
        return Round(content=text, error="malformed_calls")
    return Round(tuple(PredictedCall(one["name"], argument_text(one["arguments"])) for one in functions if one), text)
