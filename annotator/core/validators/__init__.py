"""Validators of a final response: built-in forms that need no code, mutations to try them on, the matrix of both. Pure.

A form is a function with parameters (``ends_with``, ``json_object``); exported it becomes Python code of its own. The
reference provides what a validator is tried on: ``mutate`` breaks it in named ways, and ``judge`` says whether the
validator tells right from wrong, before people look at it.
"""

from annotator.core.validators.aspects import Aspect, aspects_of
from annotator.core.validators.library import FORMS, Form, read_form
from annotator.core.validators.matrix import Judgement, Row, RowKind, judge, rows_for
from annotator.core.validators.mutations import Mutated, mutate
from annotator.core.validators.suggesting import Suggestion, fitting, suggest
from annotator.core.validators.trial import Outcome, Subject, subject_of, subjects_of

__all__ = [
    "FORMS",
    "Aspect",
    "Form",
    "Judgement",
    "Mutated",
    "Outcome",
    "Row",
    "RowKind",
    "Subject",
    "Suggestion",
    "aspects_of",
    "fitting",
    "judge",
    "mutate",
    "read_form",
    "rows_for",
    "subject_of",
    "subjects_of",
    "suggest",
]
