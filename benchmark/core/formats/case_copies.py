"""Copies of a constraint's own words and of the prompt in its parameters.

Besides the values for a checker, published parameters contain the constraint's entry (``constraint``) and the passage
of the prompt that states it (``refine_constraint``). When these words are edited, the copies are wrong. Only fields
that the category does not use are checked.
"""

from collections.abc import Iterator
from typing import Any

from annotator.core.constraints.taxonomy import find_category, labelled
from annotator.core.schema.exact_json import same

#: Characters that are compared; a longer text counts as an outdated copy, because searching for many texts is
#: superlinear.
_STEPS = 100_000_000


def forget_copies(document: dict[str, Any], before: dict[str, Any]) -> None:
    """Remove from a case's constraints, in place, copies of edited words in parameters unchanged since ``before``."""
    old = {constraint["id"]: constraint for constraint in before["constraints"]}
    steps = _STEPS
    for constraint in document["constraints"]:
        was = old.get(constraint["id"])
        if was is None:
            continue
        texts, now = _words(was, before), _words(constraint, document)
        if texts == now and was["category"] == constraint["category"]:
            continue
        for _, parameters in _parameters(constraint):
            for name in _unknown(parameters, was, constraint):
                steps -= sum(map(len, (*texts, *now))) * sum(1 for _ in _sentences(parameters[name]))
                if steps < 0 or _is_outdated(parameters[name], (was, texts), (constraint, now)):
                    del parameters[name]


def _words(constraint: dict[str, Any], document: dict[str, Any]) -> list[str]:
    return [constraint["text"] or "", document["system_prompt"] or "", document["user_query"]]


def _parameters(constraint: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the constraint's own parameters and those of its variants, which began as these, each under its place."""
    if constraint["parameters"] is not None:
        yield "parameters", constraint["parameters"]
    for n, variant in enumerate(constraint["variants"]):
        yield f"variants/{n}/parameters", variant["parameters"]


def _unknown(parameters: dict[str, Any], was: dict[str, Any], constraint: dict[str, Any]) -> list[str]:
    """Return unedited fields that neither category uses."""
    held = was["parameters"] or {}
    known: set[str] = set()
    for category in (find_category(was["category"]), find_category(constraint["category"])):
        known |= set(category.model.model_fields) if category is not None else set()
    return [name for name in parameters if name not in known and same(parameters[name], held.get(name))]


def _is_outdated(value: Any, was: tuple[dict[str, Any], list[str]], now: tuple[dict[str, Any], list[str]]) -> bool:
    (old, texts), (new, others) = was, now
    if isinstance(value, list) and len(value) > 1:
        label = labelled(*value[:2])
        if label is not None and label.id == old["category"] != new["category"]:
            return True
    for sentence in _sentences(value):
        said = next((n for n, text in enumerate(texts) if sentence in text), None)
        # The constraint's own text must be unchanged; a passage of the prompt may have moved to the query.
        if said is not None and not any(sentence in text for text in (others[:1] if said == 0 else others[1:])):
            return True
    return False


def _sentences(value: Any) -> Iterator[str]:
    """Yield the texts in a value. One word is not a copy: it appears in many places by chance."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list):
            waiting += one.values() if isinstance(one, dict) else one
        elif isinstance(one, str) and (text := one.strip()) and len(text.split(maxsplit=1)) > 1:
            yield text
