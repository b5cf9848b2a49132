"""The categories of constraints. To add one, write a class and ``register`` it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import ValidationError

from annotator.core.constraints.model import Constraint, Dimension, Parameters
from annotator.core.constraints.rounds import Judgement, Limits, Past, Round
from annotator.core.schema.errors import Problem, SchemaProblem, in_words
from annotator.core.schema.exact_json import pointer

P = TypeVar("P", bound=Parameters)


class Category(ABC, Generic[P]):
    """One category: its parameters, its sentence, and how a round is judged."""

    id: ClassVar[str]
    dimension: ClassVar[Dimension]
    #: Pairs (first, second) by which native files name the category, in addition to (dimension, id).
    labels: ClassVar[tuple[tuple[str, str], ...]] = ()
    #: What judging requires in addition to the round: validator code, or the toolset.
    needs: ClassVar[Literal["", "validator", "toolset"]] = ""
    model: type[P]

    @abstractmethod
    def sentence(self, parameters: P) -> str:
        """Return the rule in words."""

    @abstractmethod
    def judge(self, parameters: P, past: Past, round_: Round) -> Judgement:
        """Return how ``round_`` affects the rule."""

    def open(self, parameters: P, past: Past) -> str:
        """Return a sentence about what is still required before the end; empty if nothing is."""
        return ""

    def limits(self, parameters: P, past: Past) -> Limits:
        """Return what the rule allows from now on."""
        return Limits()

    def usual(self, tools: Sequence[str]) -> dict[str, Any] | None:
        """Return parameters for a new constraint in a case with these tools: the model's own defaults, unless a
        category has better ones. None if the rule is defined elsewhere.
        """
        if self.needs:
            return None
        try:
            return self.model().model_dump(mode="json")
        except ValidationError:
            return {}

    def tools(self, parameters: P) -> tuple[str, ...]:
        """Return the tools the parameters name, each once."""
        return ()


#: Problems reported for one constraint's parameters.
_MAX_PROBLEMS = 20
_CATEGORIES: dict[str, Category[Any]] = {}


def register(category: type[Category[Any]]) -> type[Category[Any]]:
    """Add a category. Use it as a class decorator. Raises ValueError if the id is taken."""
    if category.id in _CATEGORIES:
        raise ValueError(f"There is already a category “{category.id}”. Choose another id.")
    _CATEGORIES[category.id] = category()
    return category


def forget(category: type[Category[Any]]) -> None:
    """Unregister a category."""
    del _CATEGORIES[category.id]


def find_category(name: str | None) -> Category[Any] | None:
    """Return the category of that id."""
    return _CATEGORIES.get(name) if name else None


def categories() -> tuple[Category[Any], ...]:
    """Return all categories: by dimension, then in the order of registration."""
    order = list(Dimension)
    return tuple(sorted(_CATEGORIES.values(), key=lambda category: order.index(category.dimension)))


def labelled(first: object, second: object) -> Category[Any] | None:
    """Return the category that a native file names by two words, in any case: its dimension and id, or an
    older pair.
    """
    if not isinstance(first, str) or not isinstance(second, str):
        return None
    wanted = (first.strip().casefold(), second.strip().casefold())
    for category in _CATEGORIES.values():
        pairs = ((category.dimension.value, category.id), *category.labels)
        if wanted in {(one.casefold(), other.casefold()) for one, other in pairs}:
            return category
    return None


def read_parameters(constraint: Constraint, first: tuple[str, ...] = ()) -> Parameters:
    """Return the parameters that apply if the tools ``first`` were called first: those of the first variant that names
    one.

    Raises SchemaProblem with pointers into the constraint.
    """
    category = find_category(constraint.category)
    if category is None:
        raise SchemaProblem([Problem("/category", _no_category(constraint.category))])
    place, given = "/parameters", constraint.parameters or {}
    for i, variant in enumerate(constraint.variants):
        if not set(first).isdisjoint(variant.first):
            place, given = f"/variants/{i}/parameters", variant.parameters
            break
    try:
        parameters: Parameters = category.model.model_validate(given)
    except ValidationError as error:
        raise SchemaProblem(
            [_problem(place, item) for item in error.errors(include_url=False)[:_MAX_PROBLEMS]]
        ) from None
    return parameters


def proposed_text(name: str | None, parameters: dict[str, Any] | None) -> str:
    """Return the sentence that a category makes from parameters; empty if it makes none (validator code), or if
    parameters are missing or cannot be read.
    """
    category = find_category(name)
    if category is None or category.needs == "validator" or (parameters is None and not category.needs):
        return ""
    try:
        return category.sentence(category.model.model_validate(parameters or {}))
    except ValidationError:
        return ""


def constraint_problems(constraint: Constraint) -> list[Problem]:
    """Return everything that cannot be read in a constraint, including its variants."""
    problems: list[Problem] = []
    for first in ((), *(tuple(variant.first) for variant in constraint.variants)):
        try:
            read_parameters(constraint, first)
        except SchemaProblem as problem:
            problems += [each for each in problem.problems if each not in problems]
    return problems


def _no_category(name: str | None) -> str:
    known = ", ".join(_CATEGORIES)
    if not name:
        return f"The constraint has no category. Choose one of: {known}."
    return f"“{name}” is not a category of constraints. Use one of: {known}."


_SENTENCES = {"missing": "This parameter is required."}


def _problem(place: str, item: Any) -> Problem:
    # For a number or "inf", pydantic names the branch it tried last.
    steps = [step for step in item["loc"] if not str(step).startswith(("constrained-int", "literal["))]
    return Problem(place + pointer(steps), in_words(item, _SENTENCES))
