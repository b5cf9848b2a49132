"""What models generate: dialogues, translations and sentences. Each kind has its own states, with the same steps."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from benchmark.core.generation import pipeline, turns
from benchmark.core.generation.outcomes import Judged, outcomes_of
from benchmark.core.generation.state import Setup, Source, Stage, State, Turn
from benchmark.core.generation.texts import steps
from benchmark.core.generation.texts.outcomes import text_outcomes
from benchmark.core.generation.texts.state import TextSetup, TextState
from benchmark.core.generation.tracing import Traced


class Kind(StrEnum):
    DIALOGUE = "dialogue"
    #: A variant of a dialogue in another language.
    TRANSLATION = "translation"
    #: The stale places of a variant, translated again.
    RENEWAL = "renewal"
    #: The sentences of constrained cases in other words.
    REWRITING = "rewriting"


class AnyState(Protocol):
    """``answers``: of models, used so far. ``events``: everything that happened."""

    answers: int
    events: list[dict[str, Any]]

    def to_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Core:
    """The steps of a kind. ``read``: from its setup and state as JSON, and the tools. ``decide``: the state after the
    decision of a scripted run; None if a person must act. ``outcomes``: what the latest event decided, given the states
    before and after.
    """

    read: Callable[[Mapping[str, Any], Mapping[str, Any], list[Any]], Any]
    waits_for: Callable[[Any], Turn | None]
    advance: Callable[[Any, str, Source], Any]
    decide: Callable[[Any], Any]
    retry: Callable[[Any, Source], Any]
    outcomes: Callable[[Any, Any], Iterable[Judged]]


def core_of(kind: str) -> Core:
    """Return the steps of a kind of generation."""
    return _DIALOGUE if kind == Kind.DIALOGUE else _TEXTS


def _read_state(setup: Mapping[str, Any], state: Mapping[str, Any], tools: list[Any]) -> State:
    return State.from_json(dict(state), Setup.from_json(dict(setup), tools))


def _read_texts(setup: Mapping[str, Any], state: Mapping[str, Any], tools: list[Any]) -> TextState:
    return TextState.from_json(dict(state), TextSetup.from_json(dict(setup), tools))


def _choose_first(state: State) -> State | None:
    if state.stage is not Stage.CHOOSE:
        return None
    return pipeline.choose(state, pipeline.first_usable(state), Source("program"))


def _accept(state: TextState) -> TextState | None:
    return None if state.waiting() else steps.accept(state, Source("program"))


_DIALOGUE = Core(
    read=_read_state,
    waits_for=turns.waits_for,
    advance=lambda state, text, source: pipeline.advance(state, text, source, state.setup.settings),
    decide=_choose_first,
    retry=pipeline.retry,
    outcomes=lambda before, after: outcomes_of(Traced(len(before.events), after.events[-1], before, after)),
)
_TEXTS = Core(
    read=_read_texts,
    waits_for=steps.waits_for,
    advance=steps.advance,
    decide=_accept,
    retry=steps.retry,
    outcomes=text_outcomes,
)
