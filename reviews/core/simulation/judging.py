"""Decides how a simulated person reviews an item: the submitted version and the verdict."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from annotator.core.schema import canonical, load_text
from reviews.core.protocols import Verdict
from reviews.core.simulation.documents import Document, InjectionPoint, put, value_at
from reviews.core.simulation.model import Item, Person


@dataclass(frozen=True, slots=True)
class Judgement:
    """One person's judgement of one version of an item."""

    verdict: Verdict
    #: The version they approve; the one they saw if they approve none.
    document: Document
    #: The places they changed.
    changed: tuple[InjectionPoint, ...]

    def kinds(self, seen: Document) -> list[tuple[InjectionPoint, str]]:
        """Return the changed places, each with the error type found there."""
        return [(point, point.kind_of(value_at(seen, point))) for point in self.changed]


def judge(
    *, person: Person, item: Item, seen: Document, offered: Sequence[Verdict], chance: random.Random
) -> Judgement:
    """Review one version. ``offered``: the verdicts to choose from."""
    if Verdict.REJECT in offered and item.unusable and chance.random() < person.detection["other"]:
        return Judgement(Verdict.REJECT, seen, ())
    document = load_text(canonical(seen))
    for point in item.original.points:
        _correct(person, point, document, chance)
    _introduce_error(person, item.original.points, document, chance)
    changed = tuple(p for p in item.original.points if value_at(document, p) != value_at(seen, p))
    if not changed:
        return Judgement(Verdict.APPROVE, seen, ())
    if Verdict.ESCALATE in offered and chance.random() < person.escalation:
        return Judgement(Verdict.ESCALATE, seen, changed)
    return Judgement(Verdict.FIX, document, changed)


def settle(
    *, person: Person, item: Item, base: Document, left: Document, right: Document, chance: random.Random
) -> Judgement:
    """Settle a dispute: choose the left, the right or a third value at each place. ``base``: the version both started
    from.

    Places that both sides changed in the same way are not disputed and stay.
    """
    if item.unusable and chance.random() < person.detection["other"]:
        return Judgement(Verdict.REJECT, base, ())
    document, free = load_text(canonical(base)), []
    for point in item.original.points:
        one, other, before = (value_at(version, point) for version in (left, right, base))
        if one == other:
            put(document, point, one)
            if one == before:
                free.append(point)
                _correct(person, point, document, chance)
            continue
        wrong = [value for value in (one, other) if value != point.right]
        sees = chance.random() < person.detection[point.kind_of(wrong[0])]
        put(document, point, point.right if sees else chance.choice(wrong))
    _introduce_error(person, free, document, chance)
    changed = tuple(p for p in item.original.points if value_at(document, p) != value_at(base, p))
    return Judgement(Verdict.FIX if changed else Verdict.APPROVE, document, changed)


def _correct(person: Person, point: InjectionPoint, document: Document, chance: random.Random) -> None:
    """Fix a place if it is wrong and the person notices it."""
    value = value_at(document, point)
    if value == point.right or chance.random() >= person.detection[point.kind_of(value)]:
        return
    others = [wrong.value for wrong in point.wrong_values if wrong.value != value]
    mistaken = bool(others) and chance.random() < person.mistaken_fix
    put(document, point, chance.choice(others) if mistaken else point.right)


def _introduce_error(
    person: Person, points: Sequence[InjectionPoint], document: Document, chance: random.Random
) -> None:
    """Introduce an error at a random correct place, with the person's false-alarm rate."""
    right = [point for point in points if value_at(document, point) == point.right]
    if right and chance.random() < person.false_alarm:
        point = chance.choice(right)
        put(document, point, chance.choice(point.wrong_values).value)
