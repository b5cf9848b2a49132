"""A model in which the truth is known: dialogues with planted errors, and people with known error rates.

Everything follows from the seed. How a person judges an item depends only on the seed, the person, the item and which
review of it this is. The order in which people take turns changes only who gets which item.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from annotator.core.schema import canonical, content_hash, read_document
from reviews.core.simulation.documents import Document, InjectionPoint, Original, put, value_at, write_original

#: Probability of noticing each error type, before a person's skill. Chosen so that C3-Bench's protocol leads from its
#: baseline roughly to the results in the paper (62, 78, 86, 94 and 100 %).
VISIBILITY: Mapping[str, float] = {
    "wrong_argument_value": 0.55,
    "hallucinated_value": 0.6,
    "missing_dependency": 0.5,
    "superfluous_dependency": 0.45,
    "wrong_policy_label": 0.6,
    "wrong_information_label": 0.4,
    "message_unnatural": 0.5,
    "information_not_hidden": 0.5,
    "observation_implausible": 0.45,
    "answer_wrong": 0.5,
    "clarification_wrong": 0.55,
    #: The whole item is unusable.
    "other": 0.55,
}


@dataclass(frozen=True, slots=True)
class Rates:
    """Probabilities of errors."""

    #: A candidate is correct.
    baseline: float = 0.62
    #: A candidate is unusable (part of those that are not correct).
    unusable: float = 0.02
    #: A wrong candidate has one more error, and so on.
    another_error: float = 0.35
    #: A candidate is as right or wrong as the one before: errors occur in groups.
    together: float = 0.0
    #: How much skill differs: people notice (1 - spread) to (1 + spread) times as much as usual.
    spread: float = 0.25
    #: A fix is wrong, at places with more than one wrong value.
    mistaken_fix: float = 0.05
    #: A review breaks something that was correct.
    false_alarm: float = 0.02
    #: Somebody who has found an error escalates instead of fixing it.
    escalation: float = 0.08
    #: Somebody whose dialogue is sent back checks it again, instead of approving it as it is.
    rework: float = 1.0
    #: For senior reviewers: noticing an error (or the right one of two versions), and breaking something correct.
    expert_detection: float = 0.99
    expert_false_alarm: float = 0.001

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be a probability from 0 to 1.")
        if self.unusable > 1 - self.baseline:
            raise ValueError("The share of unusable candidates cannot exceed the share of wrong ones.")


@dataclass(frozen=True, slots=True)
class Person:
    """A person with known error rates."""

    name: str
    expert: bool
    #: Error type → probability of noticing it in one review.
    detection: Mapping[str, float]
    false_alarm: float
    escalation: float
    mistaken_fix: float
    #: Whether they edit step by step, as in the browser, or submit whole documents, as through the API.
    edits: bool


@dataclass(frozen=True, slots=True)
class Item:
    """One candidate, with what only the simulation knows about it."""

    name: str
    original: Original
    candidate: str
    #: The places that are wrong in the candidate.
    planted: tuple[InjectionPoint, ...]
    unusable: bool

    @property
    def truth(self) -> str | None:
        """Return the hash of the right version; None if the item is unusable."""
        return None if self.unusable else content_hash(self.original.text)

    def errors(self, document: Document) -> list[InjectionPoint]:
        """Return the places at which a version is wrong."""
        return [point for point in self.original.points if value_at(document, point) != point.right]


@dataclass(frozen=True, slots=True)
class SimulationModel:
    """The items and people of a simulation at its start."""

    seed: int
    rates: Rates
    items: tuple[Item, ...]
    annotators: tuple[Person, ...]
    experts: tuple[Person, ...]
    _by_name: dict[str, Item] = field(repr=False, compare=False)

    @property
    def people(self) -> tuple[Person, ...]:
        return (*self.annotators, *self.experts)

    def item(self, name: str) -> Item:
        """Return the item with this external id. Raises KeyError."""
        return self._by_name[name]

    def chance(self, *what: object) -> random.Random:
        """Return a random generator for a purpose: the same for the same seed and words, whatever was drawn before."""
        return random.Random("\n".join(map(str, (self.seed, *what))))  # noqa: S311 - reproducible on purpose


def build_model(
    *, seed: int, dialogues: int, annotators: int, experts: int, rates: Rates | None = None
) -> SimulationModel:
    """Build a model of that many dialogues and people. Raises ValueError for fewer than one dialogue or person."""
    if dialogues < 1 or annotators + experts < 1 or min(annotators, experts) < 0:
        raise ValueError("A simulation needs at least one dialogue and one person.")
    rates = rates or Rates()
    empty = SimulationModel(seed, rates, (), (), (), {})
    items = tuple(_make_item(empty, number) for number in range(1, dialogues + 1))
    return SimulationModel(
        seed,
        rates,
        items,
        tuple(_make_annotator(empty, number) for number in range(1, annotators + 1)),
        tuple(_make_expert(empty, number) for number in range(1, experts + 1)),
        {item.name: item for item in items},
    )


def _make_item(model: SimulationModel, number: int) -> Item:
    name, rates = f"sim-{number:05}", model.rates
    chance = model.chance("item", number)
    original = write_original(chance, chance.choice((1, 2, 2, 3, 3, 4)))
    fate = chance.random()
    if rates.together:
        fate = _shared_fate(model, number)
    if fate < rates.baseline:
        return Item(name, original, original.text, (), unusable=False)
    unusable = fate < rates.baseline + rates.unusable
    count = 1
    while count < len(original.points) and chance.random() < rates.another_error:
        count += 1
    planted = tuple(chance.sample(original.points, count))
    document = original.document()
    for point in planted:
        put(document, point, chance.choice(point.wrong_values).value)
    return Item(name, original, canonical(read_document(document)), planted, unusable)


def _shared_fate(model: SimulationModel, number: int) -> float:
    while number > 1 and model.chance("together", number).random() < model.rates.together:
        number -= 1
    return model.chance("fate", number).random()


def _make_annotator(model: SimulationModel, number: int) -> Person:
    rates, chance = model.rates, model.chance("annotator", number)
    skill = 1 + rates.spread * chance.uniform(-1, 1)
    return Person(
        name=f"annotator-{number}",
        expert=False,
        detection={kind: min(1.0, seen * skill) for kind, seen in VISIBILITY.items()},
        false_alarm=min(1.0, rates.false_alarm * chance.uniform(0.5, 1.5)),
        escalation=rates.escalation,
        mistaken_fix=rates.mistaken_fix,
        edits=number % 2 == 1,
    )


def _make_expert(model: SimulationModel, number: int) -> Person:
    rates = model.rates
    return Person(
        name=f"expert-{number}",
        expert=True,
        detection=dict.fromkeys(VISIBILITY, rates.expert_detection),
        false_alarm=rates.expert_false_alarm,
        escalation=0.0,
        mistaken_fix=0.0,
        edits=number % 2 == 1,
    )
