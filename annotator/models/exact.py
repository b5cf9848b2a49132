"""A field for JSON values that must not change."""

from typing import Any

from django.db import models

from annotator.core.schema.exact_json import dumps, load_stored


class ExactJSONField(models.TextField):
    """A JSON value stored as text, since PostgreSQL's jsonb changes 1e20 to an integer and -0.0 to 0. None is NULL."""

    # The types of values set and read.
    _pyi_private_set_type: Any
    _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Any:
        return None if value is None else load_stored(value)

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else dumps(value).decode()
