"""Some tools of a toolset for a scenario, drawn so that they work together."""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence

from annotator.core.text import Message, counted_message, message
from annotator.core.text import gettext_noop as _
from annotator.core.tools.feeds import Feed


class CannotChoose(ValueError):
    """The request makes no sense. ``message`` is a sentence that says why."""

    def __init__(self, message: Message) -> None:
        super().__init__(message.text)
        self.message = message


def choose_tools(
    names: Sequence[str],
    feeds: Iterable[Feed],
    *,
    count: int,
    seed: int | str,
    must: Iterable[str] = (),
    connected: bool = True,
) -> list[str]:
    """Return ``count`` of a toolset's ``names`` in their order, or all if it has no more; the same for the same seed.

    ``must``: names that are among them. With ``connected``, each further tool feeds a chosen one or is fed by it, as
    long as there is such a tool; where there is none, any tool comes next. Raises CannotChoose.
    """
    names = list(dict.fromkeys(names))
    chosen = set(must)
    if unknown := sorted(chosen.difference(names)):
        raise CannotChoose(message(_("There is no function named %(name)s."), name=unknown[0]))
    if count < max(1, len(chosen)):
        words = counted_message(
            _("Choose at least %(count)s function."), _("Choose at least %(count)s functions."), max(1, len(chosen))
        )
        raise CannotChoose(words)
    neighbours = _neighbours(feeds) if connected else {}
    chance = random.Random(f"tools {seed}")  # noqa: S311 - a draw that can be repeated
    while len(chosen) < min(count, len(names)):
        near = {other for name in chosen for other in neighbours.get(name, ())}
        if not chosen:
            near = set(neighbours)
        left = [name for name in names if name not in chosen]
        chosen.add(chance.choice([name for name in left if name in near] or left))
    return [name for name in names if name in chosen]


def _neighbours(feeds: Iterable[Feed]) -> dict[str, set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for feed in feeds:
        found[feed.source].add(feed.target)
        found[feed.target].add(feed.source)
    return dict(found)
