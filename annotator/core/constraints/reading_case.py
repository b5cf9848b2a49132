"""A constrained document as the pure modules see it: its constraints, its case, its trajectory as rounds."""

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
    """The constraints of a document, in its order."""
    return [Constraint.model_validate({key: each[key] for key in _TAKEN}) for each in document["constraints"]]


def case_of(document: Mapping[str, Any], tools: Sequence[str] | None = None) -> Case:
    """What feasibility asks of a document. ``tools`` are the names in its toolset; None where that is not known."""
    return Case(
        constraints=constraints_of(document),
        scenario=document["scenario"],
        tools=tools,
        unsolved_set=document["unsolved_set"],
        system_prompt=document["system_prompt"],
    )


def rounds_of(document: Mapping[str, Any]) -> list[Round]:
    """The reference trajectory; empty where there is none."""
    return [
        Round(tuple(Call(call["name"], call["arguments"]) for call in each["calls"]), each["final"])
        for each in document["reference_trajectory"] or ()
    ]


def replay_of(
    document: Mapping[str, Any], toolset: CompiledToolset | None = None, constraints: Sequence[Constraint] | None = None
) -> Replay | None:
    """The reference trajectory judged by the constraints, as far as that takes no code.

    None without a trajectory, and where parameters cannot be read: that is a finding of its own.
    """
    rounds = rounds_of(document)
    if not rounds:
        return None
    try:
        return replay(constraints_of(document) if constraints is None else constraints, rounds, toolset=toolset)
    except SchemaProblem:
        return None
