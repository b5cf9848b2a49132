"""What a person makes of an item: the version they would hand in, and their verdict."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from annotator.core.schema import canonical, load_text
from reviews.core.protocols import Verdict
from reviews.core.simulation.documents import Document, Place, put, value_at
from reviews.core.simulation.world import Item, Person


@dataclass(frozen=True, slots=True)
class Judgement:
    """One person's word on one version of an item."""

    verdict: Verdict
    #: What they vouch for: the version they saw where they do not vouch for any.
    document: Document
    #: The places they changed.
    changed: tuple[Place, ...]

    def kinds(self, seen: Document) -> list[tuple[Place, str]]:
        """The changed places with the error type that was found at each."""
        return [(place, place.kind_of(value_at(seen, place))) for place in self.changed]


def judge(
    *, person: Person, item: Item, seen: Document, offered: Sequence[Verdict], chance: random.Random
) -> Judgement:
    """One look at one version. ``offered``: the verdicts there are to choose from."""
    if Verdict.REJECT in offered and item.hopeless and chance.random() < person.detection["other"]:
        return Judgement(Verdict.REJECT, seen, ())
    document = load_text(canonical(seen))
    for place in item.original.places:
        _look(person, place, document, chance)
    _alarm(person, item.original.places, document, chance)
    changed = tuple(p for p in item.original.places if value_at(document, p) != value_at(seen, p))
    if not changed:
        return Judgement(Verdict.APPROVE, seen, ())
    if Verdict.ESCALATE in offered and chance.random() < person.escalation:
        return Judgement(Verdict.ESCALATE, seen, changed)
    return Judgement(Verdict.FIX, document, changed)


def settle(
    *, person: Person, item: Item, base: Document, left: Document, right: Document, chance: random.Random
) -> Judgement:
    """One look at a dispute: which of two versions, or a third, holds at each place. ``base``: what both began from.

    Where both changed ``base`` in the same way there is nothing to rule on, so it stays.
    """
    if item.hopeless and chance.random() < person.detection["other"]:
        return Judgement(Verdict.REJECT, base, ())
    document, free = load_text(canonical(base)), []
    for place in item.original.places:
        one, other, before = (value_at(version, place) for version in (left, right, base))
        if one == other:
            put(document, place, one)
            if one == before:
                free.append(place)
                _look(person, place, document, chance)
            continue
        wrong = [value for value in (one, other) if value != place.right]
        sees = chance.random() < person.detection[place.kind_of(wrong[0])]
        put(document, place, place.right if sees else chance.choice(wrong))
    _alarm(person, free, document, chance)
    changed = tuple(p for p in item.original.places if value_at(document, p) != value_at(base, p))
    return Judgement(Verdict.FIX if changed else Verdict.APPROVE, document, changed)


def _look(person: Person, place: Place, document: Document, chance: random.Random) -> None:
    """Mend a place, if it is wrong and that is seen."""
    value = value_at(document, place)
    if value == place.right or chance.random() >= person.detection[place.kind_of(value)]:
        return
    others = [wrong.value for wrong in place.wrongs if wrong.value != value]
    mistaken = bool(others) and chance.random() < person.mistaken_fix
    put(document, place, chance.choice(others) if mistaken else place.right)


def _alarm(person: Person, places: Sequence[Place], document: Document, chance: random.Random) -> None:
    """Perhaps spoil something that is right."""
    right = [place for place in places if value_at(document, place) == place.right]
    if right and chance.random() < person.false_alarm:
        place = chance.choice(right)
        put(document, place, chance.choice(place.wrongs).value)
