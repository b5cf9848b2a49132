"""Read a constrained document for the other modules: its constraints, its case and its rounds."""

from collections.abc import Mapping, Sequence
from typing import Any

from annotator.core.constraints.case import Case
from annotator.core.constraints.model import Constraint
from annotator.core.constraints.replay import Replay, replay
from annotator.core.constraints.rounds import Call, Round
from annotator.core.schema.errors import SchemaProblem
from annotator.core.schema.toolsets import CompiledToolset

_TAKEN = ("dimension", "category", "text", "parameters", "variants", "anchor")


def constraints_of(document: Mapping[str, Any]) -> list[Constraint]:
    """Return the constraints of a document, in its order."""
    return [Constraint.model_validate({key: each[key] for key in _TAKEN}) for each in document["constraints"]]


def case_of(document: Mapping[str, Any], tools: Sequence[str] | None = None) -> Case:
    """Return the case for the feasibility checks. ``tools`` are the names in its toolset; None if not known."""
    return Case(
        constraints=constraints_of(document),
        scenario=document["scenario"],
        tools=tools,
        unsolved_set=document["unsolved_set"],
        system_prompt=document["system_prompt"],
    )


def rounds_of(document: Mapping[str, Any]) -> list[Round]:
    """Return the reference trajectory; empty if there is none."""
    return [
        Round(tuple(Call(call["name"], call["arguments"]) for call in each["calls"]), each["final"])
        for each in document["reference_trajectory"] or ()
    ]


def replay_of(
    document: Mapping[str, Any], toolset: CompiledToolset | None = None, constraints: Sequence[Constraint] | None = None
) -> Replay | None:
    """Return the reference trajectory judged by the constraints that need no code.

    None without a trajectory, or if parameters cannot be read; that has its own finding.
    """
    rounds = rounds_of(document)
    if not rounds:
        return None
    try:
        return replay(constraints_of(document) if constraints is None else constraints, rounds, toolset=toolset)
    except SchemaProblem:
        return None
