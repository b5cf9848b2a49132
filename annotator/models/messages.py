"""A field for sentences that are stored in English and translated for their reader."""

from typing import Any

from annotator.core.text import Message
from annotator.models.exact import ExactJSONField


class MessageField(ExactJSONField):
    """A Message as JSON."""

    # The types of values set and read.
    _pyi_private_set_type: Message
    _pyi_private_get_type: Message

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Message | None:
        stored = super().from_db_value(value, expression, connection)
        return None if stored is None else Message.from_json(stored)

    def get_prep_value(self, value: Message | None) -> str | None:
        return None if value is None else super().get_prep_value(value.to_json())
