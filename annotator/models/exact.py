"""A field for JSON values that people or models gave."""

from typing import Any

from django.db import models

from annotator.core.schema.exact_json import dumps, load_stored


class ExactJSONField(models.TextField):
    """A JSON value, kept as text: PostgreSQL's jsonb makes an integer of 1e20 and drops the sign of -0.0.

    None is NULL.
    """

    # The types of what is set and read: a TextField's are texts.
    _pyi_private_set_type: Any
    _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Any:
        return None if value is None else load_stored(value)

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else dumps(value).decode()
