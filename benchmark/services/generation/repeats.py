"""Proposed requests that nearly repeat what is there: people see it before they choose."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from annotator.core.checks.similarity import Likeness, Traits, compare, traits_of
from annotator.core.schema.value_words import cut
from annotator.models import Dialogue, Project, User
from benchmark.services.similarity.pairs import matches_of
from benchmark.services.similarity.settings import threshold_of

#: The newest dialogues in the language whose first requests are compared.
_NEWEST = 300
#: Characters of its first request that a dialogue stores as its title.
_TITLE = 160


@dataclass(frozen=True, slots=True)
class Repeat:
    """What a request nearly repeats: a dialogue, or (None) a request that was proposed before it."""

    percent: int
    dialogue: Dialogue | None = None


def find_repeats(
    *, actor: User, project: Project, language: str, texts: Sequence[str], first: bool, earlier: Iterable[str] = ()
) -> list[Repeat | None]:
    """Return what each proposed request nearly repeats, by the project's threshold; None for nothing.

    ``first``: they are first requests, so that they are compared with those of the newest dialogues that the actor may
    see, and with dialogues of a single request; ``earlier``: what was proposed before.
    """
    least = threshold_of(project)
    traits = [traits_of(text) for text in texts]
    before: list[Traits] = [one for text in earlier if (one := traits_of(text)) is not None]
    found: list[Repeat | None] = [None] * len(texts)
    if first:
        found = _dialogues(actor, project, language, texts, least)
    for place, own in enumerate(traits):
        if own is not None and found[place] is None:
            best = max((compare(own, other) for other in before), default=Likeness(0, "overlap"))
            found[place] = Repeat(best.percent) if best.percent >= least else None
        if own is not None:
            before.append(own)
    return found


def _dialogues(actor: User, project: Project, language: str, texts: Sequence[str], least: int) -> list[Repeat | None]:
    shown = Dialogue.objects.filter(project=project, published=True).counted().shown_to(actor)
    matches = matches_of(project.pk, texts)
    keys = {key for found in matches for key, likeness in found if likeness.percent >= least}
    alike = {one.pk: one for one in shown.filter(pk__in=keys).defer("search_text")}
    newest = shown.filter(language=language).order_by("-created_at", "-public_id").defer("search_text")
    titles = [(one, traits) for one in newest[:_NEWEST] if (traits := traits_of(one.title)) is not None]
    out: list[Repeat | None] = []
    for text, found in zip(texts, matches, strict=True):
        best = next((Repeat(one.percent, alike[key]) for key, one in found if key in alike), None)
        if best is None:
            best = _best_title(text, titles, least)
        out.append(best)
    return out


def _best_title(text: str, titles: Sequence[tuple[Dialogue, Traits]], least: int) -> Repeat | None:
    own = traits_of(cut(text, _TITLE))
    if own is None:
        return None
    found = [Repeat(compare(own, traits).percent, dialogue) for dialogue, traits in titles]
    best = max(found, key=lambda one: one.percent, default=None)
    return best if best is not None and best.percent >= least else None
