"""What runs answered to an entry, as text: the evidence of an erratum."""

from collections import Counter

from annotator.core.schema.exact_json import dumps
from benchmark.models import EntryStatistic, Score
from benchmark.services.runs import suspects

#: Characters of an answer, and names of runs.
_ANSWER, _RUNS = 4_000, 20


def fill_from_entry(statistic: EntryStatistic | None, key: str = "") -> dict[str, str]:
    """Return the item and the evidence of an erratum that an entry gives rise to; nothing if it has no item.

    ``key``: as for ``describe_evidence``. Raises Hidden.
    """
    if statistic is None or statistic.item is None:
        return {}
    return {"item": statistic.item.dialogue.external_id, "evidence": describe_evidence(statistic, key)}


def describe_evidence(statistic: EntryStatistic, key: str = "") -> str:
    """Return how many runs have an entry right, and the answer of one run (``key`` of its score) or, without one, the
    answer that most runs that are wrong share. Raises Hidden.
    """
    if key:
        shown = [suspects.load_answer(statistic, key)]
    else:
        shown = [one for one in suspects.answers_to(statistic, with_predictions=True) if not one.right]
    lines = [f"Entry {statistic.entry}: right in {statistic.right} of {statistic.runs} runs."]
    if shown:
        said = Counter(one.said or one.pk for one in shown).most_common(1)[0][0]
        same = [one for one in shown if (one.said or one.pk) == said]
        lines.append(f"{', '.join(_name(one) for one in same[:_RUNS])}: {_outcome(same[0])}. The answer:")
        lines.append(_answer(same[0]))
    return "\n".join(lines)


def _name(score: Score) -> str:
    run = score.score_set.run
    return f"run “{run.model}” #{run.attempt}"


def _outcome(score: Score) -> str:
    if score.right:
        return "right"
    return f"wrong ({score.error})" if score.error else "wrong"


def _answer(score: Score) -> str:
    if score.prediction is None:
        return "none"
    text = dumps(score.prediction.content).decode()
    return text if len(text) <= _ANSWER else f"{text[: _ANSWER - 1]}…"
