"""The recorded answers of generations, as files from which they run again."""

from collections.abc import Iterator

from benchmark.core.generation.records import Recorded
from benchmark.core.scoring.transcripts import text_of
from benchmark.models import CallState, Generation


def recorded_answers(generation: Generation) -> Iterator[Recorded]:
    """Yield the answers of a generation, in order."""
    for call in generation.calls.filter(state=CallState.ANSWERED).order_by("number").iterator(200):
        yield Recorded(
            generation.name, call.number, call.request_sha256, text_of(call.answer), call.purpose, call.model,
            call.parameters, call.input_tokens, call.output_tokens, call.milliseconds,
        )  # fmt: skip
