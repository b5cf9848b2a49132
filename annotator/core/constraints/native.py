"""Read a constraint of the published collection: ``{dimension, category, text, parameters, …}``."""

from collections.abc import Mapping

from pydantic import ValidationError

from annotator.core.constraints.model import Constraint
from annotator.core.schema.errors import Problem, SchemaProblem, problems_of


def read_constraint(record: object) -> Constraint:
    """Return the constraint; other fields of the record are left out. Raises SchemaProblem with pointers into it."""
    if not isinstance(record, Mapping):
        raise SchemaProblem([Problem("", "A constraint must be a JSON object.")])
    known = {key: record[key] for key in Constraint.model_fields if record.get(key) is not None}
    try:
        return Constraint.model_validate(known)
    except ValidationError as error:
        raise problems_of(error) from None
