"""What became of the texts of an answer, for counting."""

from collections.abc import Iterator

from benchmark.core.generation.outcomes import Judged, Outcome
from benchmark.core.generation.texts.state import TextState
from benchmark.core.generation.texts.steps import batch_of


def text_outcomes(before: TextState, after: TextState) -> Iterator[Judged]:
    """Yield what the latest event decided: each text of an answer is accepted or refused; a person's is accepted."""
    event, purpose = after.events[-1], before.setup.purpose
    if event["kind"] == "write":
        yield Judged(purpose, 0, Outcome.ACCEPTED)
    elif event["kind"] == "answer":
        for one in batch_of(before):
            tries = before.tried(one.key) + 1
            refused = after.tried(one.key) == tries
            problems = after.problems(one.key) if refused else []
            yield Judged(
                purpose, 0, Outcome.REFUSED if refused else Outcome.ACCEPTED, event["source"].get("model", ""),
                tries=tries, code=problems[0].code if problems else "",
            )  # fmt: skip
