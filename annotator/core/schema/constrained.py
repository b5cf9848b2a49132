"""The document of a constrained case (cctu): a query, and rules for solving it.

Parts with ids (constraints, rounds, calls) are named by their ids everywhere, like tasks and steps. Null is “not
annotated”: a case without a reference trajectory is not a case with an empty trajectory.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from annotator.core.schema.documents import Id, Part
from annotator.core.schema.labels import Labelled

#: Longest source text, in characters: what the sandbox accepts.
MAX_CODE = 256 * 1024
#: Total length of the different sources of a case, in characters: parsing them takes two seconds at most.
MAX_CODES = 2 * MAX_CODE
MAX_CONSTRAINTS = 200
MAX_ROUNDS = 1_000
MAX_EXAMPLES = 100

Code = Annotated[str, StringConstraints(max_length=MAX_CODE)]
Word = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class Scenario(StrEnum):
    """How the calls of a solution depend on each other."""

    SINGLE_HOP = "single_hop"
    PARALLEL_SINGLE_HOP = "parallel_single_hop"
    MULTI_HOP = "multi_hop"
    PARALLEL_MULTI_HOP = "parallel_multi_hop"


class ParameterVariant(BaseModel):
    """Other parameters, which apply if one of ``first`` is among the tools called first."""

    model_config = ConfigDict(extra="forbid")

    first: list[Word] = Field(min_length=1)
    parameters: dict[str, Any]


class Validator(BaseModel):
    """Judges a final response: Python code, or a built-in validator with parameters (``annotator.core.validators``).

    ``function`` is the function in the code that judges this constraint; the code may define others, such as helpers
    and functions for other constraints of the case. ``good`` and ``bad`` are responses that must pass and must fail.
    """

    model_config = ConfigDict(extra="forbid")

    code: Code | None = None
    function: Word | None = None
    form: Word | None = None
    parameters: dict[str, Any] | None = None
    good: list[str] = Field(default_factory=list, max_length=MAX_EXAMPLES)
    bad: list[str] = Field(default_factory=list, max_length=MAX_EXAMPLES)


class CaseConstraint(Part):
    """One rule. ``dimension`` and ``category`` are terms of the taxonomy (docs/constraints.md), null if lost.

    Most rules have ``parameters``, some a ``validator``. ``anchor`` quotes the span of the system prompt that states
    the rule; without it, the prompt must contain the text itself.
    """

    id: Id
    dimension: Word | None = None
    category: Word | None = None
    text: str | None = None
    parameters: dict[str, Any] | None = None
    variants: list[ParameterVariant] = Field(default_factory=list)
    anchor: str | None = None
    validator: Validator | None = None


class RoundCall(Part, Labelled):
    """One call of a round; its id is unique in the trajectory."""

    id: Id
    name: str
    #: A string if the arguments could not be read as a JSON object; a check reports it.
    arguments: dict[str, Any] | str
    observation: Any = None


class TrajectoryRound(Part):
    """One output of the model: calls made in parallel, or the final response."""

    id: Id
    calls: list[RoundCall] = Field(default_factory=list)
    final: str | None = None


class Constrained(Part, Labelled):
    kind: Literal["constrained"] = "constrained"
    language: Literal["en", "zh"] | None = None
    system_prompt: str | None = None
    user_query: str
    scenario: Scenario | None = None
    constraints: list[CaseConstraint] = Field(default_factory=list, max_length=MAX_CONSTRAINTS)
    answer: str | None = None
    #: Tool → the texts that its calls must return to solve the query.
    unsolved_set: dict[str, list[Any]] | None = None
    reference_trajectory: list[TrajectoryRound] | None = Field(default=None, max_length=MAX_ROUNDS)
    #: Tool → its Python source.
    tool_codes: dict[str, Code] = Field(default_factory=dict)
