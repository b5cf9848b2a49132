"""Documents and toolsets as data. Pure: no Django here, so a notebook can use it."""

from annotator.schema.canonical import canonical, content_hash, value_hash
from annotator.schema.constrained import Constrained
from annotator.schema.documents import MultiTurn
from annotator.schema.errors import Problem, SchemaProblem
from annotator.schema.reading import json_schema, load_text, read_document

__all__ = [
    "Constrained",
    "MultiTurn",
    "Problem",
    "SchemaProblem",
    "canonical",
    "content_hash",
    "json_schema",
    "load_text",
    "read_document",
    "value_hash",
]
