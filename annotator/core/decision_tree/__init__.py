"""A task's decision tree for pages: steps taken, branches pruned, trajectories followed."""

from annotator.core.decision_tree.lint import LintView, look_at_published
from annotator.core.decision_tree.replay import Replay, ReplayRow, replay
from annotator.core.decision_tree.task import Blocked, CallCard, TaskGraph, read_task
from annotator.core.decision_tree.trajectories import (
    MAX_TRAJECTORY_CALLS,
    Trajectory,
    TrajectoryProblem,
    read_trajectory,
    write_trajectory,
)
from annotator.core.decision_tree.tree import (
    BRANCHES_SHOWN,
    BranchRow,
    Level,
    OptimalList,
    TreeView,
    explore,
    optimal_list,
    read_path,
    write_path,
)
