"""A constrained case for the feasibility checks, and their findings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from annotator.core.constraints.model import Constraint, Parameters
from annotator.core.constraints.taxonomy import find_category, read_parameters
from annotator.core.findings import Finding, Severity
from annotator.core.schema.canonical import value_hash
from annotator.core.schema.errors import SchemaProblem

P = TypeVar("P", bound=Parameters)

SINGLE_HOP, PARALLEL_SINGLE_HOP = "single_hop", "parallel_single_hop"
MULTI_HOP, PARALLEL_MULTI_HOP = "multi_hop", "parallel_multi_hop"
SCENARIOS = (SINGLE_HOP, PARALLEL_SINGLE_HOP, MULTI_HOP, PARALLEL_MULTI_HOP)


@dataclass(frozen=True)
class Case:
    """The known parts of a case; None for the others.

    ``scenario`` is one of SCENARIOS, ``tools`` are the names that may be called, ``unsolved_set`` gives for each tool
    the texts that its calls must return.
    """

    constraints: Sequence[Constraint]
    scenario: str | None = None
    tools: Sequence[str] | None = None
    unsolved_set: Mapping[str, Sequence[Any]] | None = None
    system_prompt: str | None = None

    def of(self, model: type[P]) -> list[tuple[int, P]]:
        """Return position and parameters of every constraint with readable parameters of that kind."""
        return [(i, parameters) for i, parameters in enumerate(self.parameters) if isinstance(parameters, model)]

    @cached_property
    def parameters(self) -> list[Parameters | None]:
        """The parameters of every constraint; None if they cannot be read."""
        return [parameters_of(constraint) for constraint in self.constraints]

    def finding(self, check: str, position: int, message: str, severity: Severity = "error") -> Finding:
        """Return a finding at one constraint. Pages name its place before the message, so the message does not."""
        return Finding(check, severity, f"/constraints/{position}", message, value_hash(self.content(position)))

    def content(self, position: int) -> dict[str, Any]:
        """Return what a finding at one constraint is about."""
        return self.constraints[position].model_dump(mode="json", exclude={"extra"})


def parameters_of(constraint: Constraint) -> Parameters | None:
    """Return the parameters, or None if there is no category or they cannot be read."""
    if find_category(constraint.category) is None:
        return None
    try:
        return read_parameters(constraint)
    except SchemaProblem:
        return None
