"""Editing a dialogue document: operations as data, and forms for arguments. Pure: no Django here."""

from annotator.editing.operations import CASE_OPERATIONS, OPERATIONS, apply
from annotator.editing.problems import EditProblem
from annotator.editing.rebasing import can_rebase

__all__ = ["CASE_OPERATIONS", "OPERATIONS", "EditProblem", "apply", "can_rebase"]
