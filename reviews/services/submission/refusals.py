"""The refusals of one submission, collected so that a person sees all of them at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.utils.translation import ngettext

from annotator.errors import Invalid

#: Refusals that the sentence repeats.
MAX_SENTENCES = 5


class Refusals:
    """Collects what is wrong with a submission."""

    def __init__(self) -> None:
        self.found: list[Invalid] = []

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Collect what the block refuses instead of raising it; the rest of the block does not run."""
        try:
            yield
        except Invalid as refusal:
            self.found.append(refusal)

    def raise_found(self) -> None:
        """Raise Invalid with the sentences and details of all refusals; of several, also one by one in ``refusals``."""
        if not self.found:
            return
        if len(self.found) == 1:
            raise self.found[0]
        details: dict[str, Any] = {}
        for refusal in self.found:
            details = refusal.details | details
        sentences = [one.sentence for one in self.found[:MAX_SENTENCES]]
        if rest := len(self.found) - len(sentences):
            sentences.append(
                ngettext("And %(count)s more problem.", "And %(count)s more problems.", rest) % {"count": rest}
            )
        raise Invalid(" ".join(sentences), **details, refusals=as_rows(self.found))


def as_rows(refusals: list[Invalid]) -> list[dict[str, Any]]:
    """Return refusals as data: the sentence and the details of each."""
    return [{"sentence": one.sentence, "details": one.details} for one in refusals]


def refusals_of(error: Exception) -> list[dict[str, Any]]:
    """Return the refusals of a submission as data; none if it was refused for another reason than its content."""
    if not isinstance(error, Invalid):
        return []
    found: list[dict[str, Any]] = error.details.get("refusals") or as_rows([error])
    return found
