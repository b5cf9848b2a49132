"""Documents and toolsets as data. Pure: no Django here, so notebooks can use it."""

from annotator.core.schema.canonical import canonical, content_hash, value_hash
from annotator.core.schema.constrained import Constrained
from annotator.core.schema.documents import MultiTurn
from annotator.core.schema.errors import Problem, SchemaProblem
from annotator.core.schema.reading import json_schema, load_text, read_document
