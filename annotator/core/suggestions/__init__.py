"""Suggestions: values that a program proposes for places of a dialogue, for people to accept or refuse.

A place is an anchor (``/tasks/t1/policy``, ``/tasks/t1/steps/s2/arguments/city``). A dependency has a place of its own:
``/tasks/t1/steps/s2/depends_on/s1`` with its kind as the value; ``/tasks/t1/steps/s2/depends_on`` with ``[]`` says that
the step depends on nothing. A suggestion is never part of the document: it has the value only when somebody accepts it.
"""

from annotator.core.suggestions.content import (
    OF_IMPORT,
    current_value,
    edge_of,
    is_taken,
    operation_of,
    take_dependencies,
)
from annotator.core.suggestions.places import kind_of
from annotator.core.suggestions.shape import (
    MAX_PLACE,
    MAX_SOURCE,
    MAX_VALUE,
    PlaceKind,
    Suggested,
    SuggestionProblem,
    read_suggestion,
)

__all__ = [
    "MAX_PLACE",
    "MAX_SOURCE",
    "MAX_VALUE",
    "OF_IMPORT",
    "PlaceKind",
    "Suggested",
    "SuggestionProblem",
    "current_value",
    "edge_of",
    "is_taken",
    "kind_of",
    "operation_of",
    "read_suggestion",
    "take_dependencies",
]
