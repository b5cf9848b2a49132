"""The OpenAPI description, with the server's rules as far as JSON Schema can express them."""

from typing import Any

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from annotator.api.inputs import BoundedDictField, Input
from annotator.api.scopes import scope_of
from annotator.core.schema.openapi import DOCUMENT, document_schemas

#: A text with visible characters and without NUL.
_WORDS = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
_REFUSAL = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
#: Responses of every address.
_ANYWHERE = {
    "400": "The request is not valid, or it has an unknown parameter or field; the message says which.",
    "401": "Not signed in. Send a token.",
    "403": "You can see this but are not allowed to do it.",
    "406": "The requested response format is not available.",
}
_SECONDS = {"description": "Seconds to wait.", "schema": {"type": "integer"}}
#: The response of every address while the site is busy or part of it is unavailable.
_LATER = {
    "description": "Too many requests are running, or the database does not respond. Nothing was changed. Try again "
    "after the number of seconds in Retry-After.",
    "headers": {"Retry-After": _SECONDS},
    "content": _REFUSAL,
}
#: The response of every address to those who have used up a rate limit.
_TOO_MANY = {
    "description": "A rate limit is used up; the message says which. Nothing was changed. Try again after the number "
    "of seconds in Retry-After.",
    "headers": {
        "Retry-After": _SECONDS,
        "RateLimit-Policy": {
            "description": "The limits that apply: q requests in a window of w seconds.",
            "schema": {"type": "string"},
            "example": '"token";q=20000;w=60, "person";q=30000;w=60',
        },
        "RateLimit": {
            "description": "For each limit: r requests are left, and its window ends in t seconds.",
            "schema": {"type": "string"},
            "example": '"token";r=0;t=17, "person";r=10000;t=17',
        },
    },
    "content": _REFUSAL,
}
_WITH_BODY = {
    "413": "The body is too large or has too many values.",
    "415": "The body format is not supported.",
}
_OF_PAGES = {"422": "The size or the cursor is not valid; the message gives the reason."}
#: For ``extend_schema_field``: a whole document.
DOCUMENT_SCHEMA = {"$ref": f"#/components/schemas/{DOCUMENT}"}


class StrictSchema(AutoSchema):
    """Adds the rules of serializers to request schemas, and the scope that each operation needs."""

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        operation = super().get_operation(*args, **kwargs)
        if operation is not None:
            operation["x-scope"] = scope_of(self.view, self.method).value
        return operation

    def get_description(self) -> str:  # type: ignore[override]  # as in the class above
        scope = scope_of(self.view, self.method).value
        return f"{super().get_description()}\n\nNeeds a token with the scope “{scope}”."

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
    """Add the refusals of the framework to every operation, and the schema of documents."""
    schemas = result["components"]["schemas"]
    schemas |= document_schemas()
    result["components"]["schemas"] = dict(sorted(schemas.items()))
    for methods in result["paths"].values():
        for method, operation in methods.items():
            in_pages = any(one["name"] == "cursor" for one in operation.get("parameters", ()))
            refusals = _ANYWHERE | ({} if method == "get" else _WITH_BODY) | (_OF_PAGES if in_pages else {})
            answers = operation["responses"]
            for status, words in refusals.items():
                answers.setdefault(status, {"description": words, "content": _REFUSAL})
            answers.setdefault("429", _TOO_MANY)
            answers.setdefault("503", _LATER)
            operation["responses"] = dict(sorted(answers.items()))
    return result
