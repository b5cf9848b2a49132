"""Tool graphs: the steps of one task and their dependencies. Pure: no Django here."""

from annotator.core.graph.counting import STEPS, TOO_MANY, Count, PathCounter, Tally, count_paths
from annotator.core.graph.dag import Graph
from annotator.core.graph.enumeration import (
    Batch,
    Branch,
    DecisionTree,
    NotLegal,
    Path,
    after,
    legal_batches,
    optimal_batches,
    optimal_paths,
    paths,
    ready_calls,
)
from annotator.core.graph.evaluators import PublishedLint, argument_kinds, lint_published
from annotator.core.graph.matching import Deviation, Matcher, MatchState, Obstacle, Report, Waiting, same_call
from annotator.core.graph.published import PublishedCode
from annotator.core.graph.reading import MAX_CALLS, MAX_STEPS, GraphProblem, GraphProblemKind, GraphReading, read_graph
from annotator.core.graph.topology import Topology, call_graph, derive_topology, topology_of
