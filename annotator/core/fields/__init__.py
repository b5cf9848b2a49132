"""Custom fields: the questions that a project asks about its dialogues. Their values are the labels of a document."""

from annotator.core.fields.asking import Asked, asked, unknown_labels
from annotator.core.fields.definitions import (
    MAX_FIELDS,
    SCOPES_OF,
    TEXTS,
    CustomField,
    FieldType,
    Scope,
    read_fields,
    stored_fields,
)
from annotator.core.fields.values import span_problem, value_problem, value_words
