"""Make constrained cases from queries with a reference trajectory: CCTU's Algorithm 1 (3.2, C) without a model. Pure.

    from annotator.core.case_construction import construct, read_query

    case = construct(read_query(document, toolset), name="berth-01", seed=7)
    case.document     # a constrained document, stated in our own sentences
    case.left_out     # which categories it lacks, and why
    case.changes      # what the filter drew again or dropped, and why

Each category is drawn with the same probability; its parameters come from the trajectory, so that the trajectory
satisfies them. The filter (``filtering``) then looks for contradictions, constraints that cannot be met, violations by
the trajectory, and validators that fail their trial.
"""

from annotator.core.case_construction.context import context_of
from annotator.core.case_construction.expanding import Change, Constructed, LeftOut, construct
from annotator.core.case_construction.query import CannotConstruct, Query, read_query
from annotator.core.case_construction.rules import DRAWN

__all__ = [
    "DRAWN", "CannotConstruct", "Change", "Constructed", "LeftOut", "Query", "construct", "context_of", "read_query"
]  # fmt: skip
