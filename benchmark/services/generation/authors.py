"""Who wrote what a generation became, so that they do not review it."""

from collections.abc import Iterable
from typing import Any

from annotator.models import User
from benchmark.core.generation.kinds import AnyState
from benchmark.core.generation.texts.state import TextState
from benchmark.core.rewritten_cases import case_at
from benchmark.models import Generation
from reviews.models import CoAuthor


def authors_in(state: AnyState) -> frozenset[int]:
    """Return the keys of the people who chose a request or wrote an answer or a text."""
    return _keys(event for event in state.events if event["kind"] in ("choose", "answer", "write"))


def authors_of(generation: Generation, state: AnyState) -> frozenset[int]:
    """Return these people with those who wrote or chose a part of the earlier tasks that it continues."""
    if generation.past is None:
        return authors_in(state)
    earlier = CoAuthor.objects.filter(dialogue=generation.past.dialogue_id)
    return authors_in(state) | set(earlier.values_list("person_id", flat=True))


def writers_of_cases(state: TextState) -> dict[str, frozenset[int]]:
    """Return the keys of the people who wrote sentences of each case (by its id) of a rewriting."""
    wrote: dict[str, list[dict[str, Any]]] = {}
    for event in state.events:
        if event["kind"] == "write":
            wrote.setdefault(case_at(state.setup.by_key[event["key"]].places[0]), []).append(event)
    return {name: _keys(events) for name, events in wrote.items()}


def _keys(events: Iterable[dict[str, Any]]) -> frozenset[int]:
    wrote = {event["source"].get("who", "") for event in events}
    return frozenset(User.objects.filter(public_id__in=wrote - {""}).values_list("pk", flat=True))
