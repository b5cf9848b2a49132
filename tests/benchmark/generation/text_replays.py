"""States of texts, made again from their events."""

from collections.abc import Iterable, Mapping
from typing import Any

from benchmark.core.generation.state import Source
from benchmark.core.generation.texts.state import TextSetup, TextState
from benchmark.core.generation.texts.steps import accept, advance, begin, retry, write


def replay(setup: TextSetup, events: Iterable[Mapping[str, Any]]) -> TextState:
    """Return the state that events lead to."""
    state = begin(setup)
    for event in events:
        source = Source(**event["source"])
        if event["kind"] == "answer":
            state = advance(state, event["text"], source)
        elif event["kind"] == "write":
            state = write(state, event["key"], event["text"], source)
        else:
            state = retry(state, source) if event["kind"] == "retry" else accept(state, source)
    return state
