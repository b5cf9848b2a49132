"""The demo's one wrong reference that everybody approved: an annotator's slip that scores of models bring to light.

In ``night-sky-01``, the user asks for the larger of two telescopes. The annotator picks the smaller one.
"""

import json
from collections.abc import Mapping
from typing import Any

NAME = "night-sky-01"
_PAIRS = (("dobson_12", "refractor_5"), ("12-inch Dobson", "5-inch refractor"))
#: The task that is wrong, from 0.
TASK = 2


def with_slip(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the native record as the annotator submits it."""
    answers = list(record["english_answer_list"])
    answers[TASK] = _replaced(answers[TASK], 0)
    return {**record, "english_answer_list": answers}


def without_slip(name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document as it should be: what scripted models answer."""
    if name != NAME:
        return dict(document)
    tasks = list(document["tasks"])
    tasks[TASK] = {**tasks[TASK], "steps": _replaced(tasks[TASK]["steps"], 1)}
    return {**document, "tasks": tasks}


def _replaced(steps: Any, wrong: int) -> Any:
    text = json.dumps(steps, ensure_ascii=False)
    for pair in _PAIRS:
        text = text.replace(pair[wrong], pair[1 - wrong])
    return json.loads(text)
