"""Edit a dialogue document with operations that are data."""

from annotator.core.editing.operations import CASE_OPERATIONS, OPERATIONS, apply, can_rebase
from annotator.core.editing.problems import EditProblem
