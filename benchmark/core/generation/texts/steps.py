"""The steps of translating or rewriting texts. Pure, so the same events give the same bytes.

Texts that wait are asked for in batches. Of an answer, what is accepted is kept, and the rest is asked for again, with
the reasons, in smaller batches. After the last retry a text waits for a person, or stays as it is if it is a sentence.
"""

from typing import Any

from annotator.core.schema.value_words import cut
from annotator.core.text import message
from benchmark.core.generation.problems import Problem
from benchmark.core.generation.state import Source, Turn, Unusable
from benchmark.core.generation.texts.reading import judge, read_answer, terms_in
from benchmark.core.generation.texts.state import SENTENCE, VALUE, Text, TextSetup, TextState
from benchmark.core.generation.turns import LANGUAGES

#: Texts of one prompt, and characters of them, after which no other is added.
BATCH, BATCH_LENGTH = 20, 8_000
#: Characters of a refused answer that are kept, and terms that one prompt lists.
_KEPT, _TERMS = 500, 100


def begin(setup: TextSetup) -> TextState:
    """Return the state before the first answer."""
    return TextState(setup)


def waits_for(state: TextState) -> Turn | None:
    """Return whose turn it is; None if the texts are accepted."""
    if state.accepted:
        return None
    batch = batch_of(state)
    if batch:
        return Turn(state.setup.purpose, _values(state, batch))
    stuck = state.waiting()
    if not stuck:
        return Turn(None)
    why = state.problems(stuck[0].key)[0].text
    text = message("No usable answer for “%(text)s”. %(why)s", text=cut(stuck[0].text), why=why)
    return Turn(None, why=text)


def batch_of(state: TextState) -> list[Text]:
    """Return the texts to ask for next: as often refused as the first one, and the fewer the more often."""
    left = [one for one in state.waiting() if state.tried(one.key) <= state.setup.retries]
    if not left:
        return []
    tries = state.tried(left[0].key)
    batch: list[Text] = []
    length = 0
    for one in left:
        if len(batch) >= max(1, BATCH >> tries) or (batch and length + len(one.text) > BATCH_LENGTH):
            break
        if state.tried(one.key) == tries:
            batch.append(one)
            length += len(one.text)
    return batch


def advance(state: TextState, text: str, source: Source) -> TextState:
    """Return the state after a model's answer to the batch that the state waits for."""
    batch = batch_of(state)
    if state.accepted or not batch:
        raise ValueError("The state waits for no answer.")
    new = state.copy()
    new.answers += source.by == "model"
    new.events.append({"kind": "answer", "text": text, "source": source.to_json()})
    found = read_answer(text, batch)
    terms = terms_of(state)
    for one in batch:
        written = None if isinstance(found, Problem) else found.get(one.key)
        problem = found if isinstance(found, Problem) else judge(state.setup, one, written, terms)
        if problem is None:
            _finish(new, one.key, str(written), source)
        else:
            _refuse(new, one, problem, text[:_KEPT] if written is None else written)
    return new


def write(state: TextState, key: str, text: str, source: Source) -> TextState:
    """Return the state after a person wrote a text, perhaps again. Raises Unusable."""
    one = state.setup.by_key.get(key)
    if one is None or state.accepted:
        raise Unusable(Problem("unknown_text", message("There is no text “%(name)s” to write.", name=cut(key))))
    text = text.strip()
    problem = judge(state.setup, one, text, {}, person=True)
    if problem is not None:
        raise Unusable(problem)
    new = state.copy()
    new.events.append({"kind": "write", "key": key, "text": text, "source": source.to_json()})
    _finish(new, key, text, source)
    return new


def retry(state: TextState, source: Source) -> TextState:
    """Return the state with all retries left again. Raises Unusable unless none were left."""
    if not state.stuck:
        raise Unusable(Problem("retry", message("Retries are left.")))
    new = state.copy()
    new.events.append({"kind": "retry", "source": source.to_json()})
    new.refusals.update({one.key: {**state.refusals[one.key], "count": 0} for one in state.waiting()})
    return new


def accept(state: TextState, source: Source) -> TextState:
    """Return the state in which the texts will be used. Raises Unusable while one is not written."""
    if state.waiting() or state.accepted:
        raise Unusable(Problem("missing", message("Not all texts are written yet.")))
    new = state.copy()
    new.events.append({"kind": "accept", "source": source.to_json()})
    new.accepted = True
    return new


def terms_of(state: TextState) -> dict[str, str]:
    """Return the values of arguments and their translations, so far: messages must use the same words."""
    values = [(one, text) for one, text in state.results() if one.kind == VALUE]
    written = {one.text: text for one, text in values if any("/arguments" in place for place in one.places)}
    return state.setup.terms | written


def _finish(state: TextState, key: str, text: str, source: Source) -> None:
    state.done[key] = {"text": text, "source": source.to_json()}


def _refuse(state: TextState, one: Text, problem: Problem, text: str) -> None:
    count = state.tried(one.key) + 1
    kept = text[:_KEPT].encode("utf-8", "replace").decode().replace("\0", "�")
    state.refusals[one.key] = {"count": count, "problems": [problem.to_json()], "text": kept}
    if one.kind == SENTENCE and count > state.setup.retries:
        state.done[one.key] = {"text": one.text, "source": Source("program").to_json(), "kept": True}


def _values(state: TextState, batch: list[Text]) -> dict[str, Any]:
    setup, terms = state.setup, terms_of(state)
    used: dict[str, str] = {}
    for one in batch:
        used.update(terms_in(one.text, terms) if one.kind != VALUE else ())
    return {
        "language": LANGUAGES[setup.target],
        "source_language": LANGUAGES[setup.source],
        "texts": [_shown(state, one) for one in batch],
        "terms": [{"text": text, "translation": words} for text, words in list(used.items())[:_TERMS]],
    }


def _shown(state: TextState, one: Text) -> dict[str, Any]:
    return {
        "key": one.key,
        "about": one.about,
        "text": one.text,
        "keep": list(one.keep),
        "problems": [problem.english for problem in state.problems(one.key)],
        "refused": str(state.refusals.get(one.key, {}).get("text", "")),
    }
