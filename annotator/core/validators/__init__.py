"""Validators of a final response: the built-in ones, mutations to try them on, and the results of the trials. Pure.

A built-in validator is a function with parameters (``ends_with``, ``json_object``). An export turns it into Python
code. Validators are tried on the reference: ``mutate`` breaks it in named ways, and ``judge`` reports whether the
validator tells right from wrong before people review it.
"""

from annotator.core.validators.aspects import Aspect, aspects_of
from annotator.core.validators.library import FORMS, Form, read_form
from annotator.core.validators.matrix import Judgement, Row, RowKind, judge, rows_for
from annotator.core.validators.mutations import Mutated, mutate
from annotator.core.validators.suggesting import Suggestion, fitting, suggest
from annotator.core.validators.trial import Outcome, Subject, subject_of, subjects_of
