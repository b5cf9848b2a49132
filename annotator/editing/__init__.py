"""Editing a dialogue document: operations as data, and forms for arguments. Pure: no Django here."""

from annotator.editing.operations import OPERATIONS, apply
from annotator.editing.problems import EditProblem
from annotator.editing.rebasing import can_rebase

__all__ = ["OPERATIONS", "EditProblem", "apply", "can_rebase"]
