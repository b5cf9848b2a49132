"""Constraints on tool use: the taxonomy, the step checker, feasibility. Pure: no Django here.

Importing the package registers its twelve categories.
"""

from annotator.core.constraints.behavior import ParallelCallsCount, ParallelDependencies, SequentialDependencies
from annotator.core.constraints.model import Constraint, Dimension, Parameters, Variant
from annotator.core.constraints.native import read_constraint
from annotator.core.constraints.replay import ConstraintState, Ending, Replay, Status, Turn, replay
from annotator.core.constraints.resource import InteractionRounds, SpecificToolCallCount, ToolCallCount
from annotator.core.constraints.response import Content, Format, Length
from annotator.core.constraints.rounds import Breach, Call, Consequence, Limits, Round
from annotator.core.constraints.taxonomy import Category, categories, find_category, read_parameters, register
from annotator.core.constraints.toolset import (
    AvailableToolsAndParameters,
    ParameterTypes,
    RequiredParameters,
    toolset_constraints,
)
