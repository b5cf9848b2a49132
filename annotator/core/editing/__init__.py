"""Edit a dialogue document with operations that are data."""

from annotator.core.editing.operations import CASE_OPERATIONS, OPERATIONS, apply
from annotator.core.editing.problems import EditProblem
from annotator.core.editing.rebasing import can_rebase

__all__ = ["CASE_OPERATIONS", "OPERATIONS", "EditProblem", "apply", "can_rebase"]
