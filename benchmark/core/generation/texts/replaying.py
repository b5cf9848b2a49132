"""Texts written from recorded answers, without a database."""

from benchmark.core.generation.purposes import shipped_template
from benchmark.core.generation.records import Records, request_hash
from benchmark.core.generation.state import Source
from benchmark.core.generation.templates import render, template_hash
from benchmark.core.generation.texts.state import TextSetup, TextState
from benchmark.core.generation.texts.steps import accept, advance, begin, waits_for


def replayed(setup: TextSetup, records: Records, model: str = "recorded") -> TextState:
    """Return the complete state that recorded answers lead to, with the shipped prompts.

    Raises LookupError with a sentence if an answer is lacking, Unusable if a person would have to write a text.
    """
    state = begin(setup)
    while (turn := waits_for(state)) is not None:
        if turn.purpose is None:
            state = accept(state, Source("program"))
            continue
        template, number = shipped_template(turn.purpose), state.answers + 1
        prompt = render(turn.purpose, template, turn.values)
        found = records.find(generation=setup.name, number=number, request=request_hash(model, prompt, {}))
        if found is None:
            raise LookupError(f"The file has no answer to request {number} of {setup.name} ({turn.purpose.value}).")
        state = advance(state, found.answer, Source("model", found.model or model, template_hash(template), number))
    return state
