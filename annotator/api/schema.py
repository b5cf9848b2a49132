"""The API's description: it refuses what the server refuses, where JSON Schema can say it, and knows each answer."""

from typing import Any

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from annotator.api.inputs import BoundedDictField, Input

#: A text that holds something to read, and no NUL.
_WORDS = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
_REFUSAL = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
#: Answers that every address may give; some of them only to requests with a body.
_ANYWHERE = {
    "400": "The request cannot be read, or names a parameter or field that does not exist; the sentence says which.",
    "401": "Nobody is signed in: send a token.",
    "403": "You may see this but not do it.",
    "406": "This comes in another format than the one asked for.",
}
#: Any address may also refuse for a moment: the site is busy, or something that it needs is out of order.
_LATER = {
    "description": "Not now: too much is under way, or the database does not answer. Nothing was changed; try again "
    "after the seconds that Retry-After says.",
    "headers": {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}},
    "content": _REFUSAL,
}
_WITH_BODY = {
    "413": "The body is larger, or holds more values, than the server takes.",
    "415": "The body is in another format than the server reads.",
}
_OF_PAGES = {"422": "The size or the cursor is not valid; the sentence says why."}


class StrictSchema(AutoSchema):
    """Adds to the shapes of requests what their serializers refuse."""

    def _map_serializer(self, serializer: Any, direction: str, bypass_extensions: bool = False) -> Any:
        schema = super()._map_serializer(serializer, direction, bypass_extensions)
        if direction == "request" and isinstance(serializer, Input):
            schema["additionalProperties"] = False
        return schema

    def _map_serializer_field(self, field: Any, direction: str, bypass_extensions: bool = False) -> Any:
        schema = super()._map_serializer_field(field, direction, bypass_extensions)
        if direction == "request" and "$ref" not in schema:
            if isinstance(field, serializers.CharField) and not field.allow_blank:
                schema.setdefault("pattern", _WORDS)
            elif isinstance(field, serializers.ListField) and not field.allow_empty:
                schema["minItems"] = 1
            elif isinstance(field, BoundedDictField):
                schema["maxProperties"] = field.most
        return schema


def complete(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Put the refusals that the framework makes before any view on every operation."""
    for methods in result["paths"].values():
        for operation in methods.values():
            in_pages = any(one["name"] == "cursor" for one in operation.get("parameters", ()))
            refusals = _ANYWHERE | (_WITH_BODY if "requestBody" in operation else {}) | (_OF_PAGES if in_pages else {})
            answers = operation["responses"]
            for status, words in refusals.items():
                answers.setdefault(status, {"description": words, "content": _REFUSAL})
            answers.setdefault("503", _LATER)
            operation["responses"] = dict(sorted(answers.items()))
    return result
