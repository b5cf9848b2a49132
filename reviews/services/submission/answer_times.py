"""How long a reviewer took for each question of the checklist, as their browser measured it.

The figures describe a checklist and its reading, and are never a proof: a browser can send anything. So nothing depends
on them, what is malformed is left out, and each time has an upper bound.
"""

from collections.abc import Mapping
from typing import Any

from annotator.core.schema.exact_json import loads
from reviews.services.submission.checklists import Answers

#: A longer pause is no reading time.
MAX_TENTHS = 6_000
#: Characters that are read, and answers in them; a dialogue has at most 64 tasks.
_MAX_TEXT = 100_000
_MAX_ANSWERS = 2_000

#: (task id or "dialogue", item key) → (tenths of a second, whether one key answered several questions).
AnswerTimes = dict[tuple[str, str], tuple[int, bool]]


def read_times(text: str) -> AnswerTimes:
    """Return the times that a page sent as JSON: [[place, item key, seconds, together], …]. Malformed ones are left
    out.
    """
    if not text or len(text) > _MAX_TEXT:
        return {}
    try:
        rows = loads(text)
    except ValueError:
        return {}
    out: AnswerTimes = {}
    for row in rows[:_MAX_ANSWERS] if isinstance(rows, list) else ():
        match row:
            case [str(place), str(key), int() | float() as seconds, bool(together)] if not isinstance(seconds, bool):
                # A number such as 1e400 is infinite.
                out[place, key] = (int(min(max(float(seconds), 0.0) * 10, MAX_TENTHS)), together)
    return out


def stored_times(times: Mapping[tuple[str, str], tuple[int, bool]], answers: Answers) -> dict[str, Any] | None:
    """Return the times of the answers that a review has, as they are stored; None if none is known.

    {"tenths": {place: {item key: tenths of a second}}, "together": {place: [item keys]}}.
    """
    tenths: dict[str, dict[str, int]] = {}
    together: dict[str, list[str]] = {}
    for (place, key), (time, at_once) in times.items():
        if answers.get(place, {}).get(key) is None:
            continue
        tenths.setdefault(place, {})[key] = time
        if at_once:
            together.setdefault(place, []).append(key)
    return {"tenths": tenths, "together": together} if tenths else None
