"""A task's decision tree as a page shows it: the steps taken, what each pruned, and trajectories followed. Pure."""

from annotator.decisions.lint import LintView, look_at_published
from annotator.decisions.replay import Replay, ReplayRow, replay
from annotator.decisions.task import Blocked, CallCard, TaskGraph, read_task
from annotator.decisions.trajectories import (
    MAX_TRAJECTORY_CALLS,
    Trajectory,
    TrajectoryProblem,
    read_trajectory,
    write_trajectory,
)
from annotator.decisions.tree import (
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
from annotator.decisions.wording import counted

__all__ = [
    "BRANCHES_SHOWN",
    "MAX_TRAJECTORY_CALLS",
    "Blocked",
    "BranchRow",
    "CallCard",
    "Level",
    "LintView",
    "OptimalList",
    "Replay",
    "ReplayRow",
    "TaskGraph",
    "Trajectory",
    "TrajectoryProblem",
    "TreeView",
    "counted",
    "explore",
    "look_at_published",
    "optimal_list",
    "read_path",
    "read_task",
    "read_trajectory",
    "replay",
    "write_path",
    "write_trajectory",
]
