"""The schema of documents in the dialect of OpenAPI 3.0, made from the models."""

from collections.abc import Mapping
from typing import Any

from annotator.core.schema.reading import KINDS, json_schema

#: The name of the schema of any document; those of its parts begin with it.
DOCUMENT = "Document"
_PLACE = "#/components/schemas/"
_DEFS = "#/$defs/"


def document_schemas() -> dict[str, Any]:
    """Return name → schema, for the components of an OpenAPI 3.0 description. ``Document`` is one of the kinds."""
    schemas: dict[str, Any] = {}
    kinds: dict[str, str] = {}
    for kind, model in KINDS.items():
        schema = json_schema(kind)
        parts = {model.__name__: schema, **schema.pop("$defs", {})}
        # Generators name the type of a field after its owner: AnswerType would be that of “type” in Answer, too.
        names = {_DEFS + name: DOCUMENT + name + ("Enum" if "enum" in part else "") for name, part in parts.items()}
        kinds[kind] = _PLACE + names[_DEFS + model.__name__]
        for name, part in parts.items():
            schemas[names[_DEFS + name]] = _converted(part, names)
    schemas[DOCUMENT] = {
        "description": "A dialogue: docs/formats.md describes the neutral format.",
        "oneOf": [{"$ref": place} for place in kinds.values()],
        "discriminator": {"propertyName": "kind", "mapping": kinds},
    }
    return dict(sorted(schemas.items()))


def _converted(schema: Any, names: Mapping[str, str]) -> Any:
    """Return a JSON Schema without what OpenAPI 3.0 lacks: constants, the type null, and keywords beside ``$ref``.

    ``names``: the place of a part in the JSON Schema → its name here.
    """
    if isinstance(schema, list):
        return [_converted(one, names) for one in schema]
    if not isinstance(schema, dict):
        return _PLACE + names[schema] if isinstance(schema, str) and schema in names else schema
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "const":
            made["enum"] = [value]
        elif key == "properties":
            made[key] = {name: _converted(one, names) for name, one in value.items()}
        elif key == "patternProperties":
            # OpenAPI 3.0 has no patterns for names.
            made["additionalProperties"] = _union(list(value.values()), names)
        elif key == "anyOf":
            made |= _union(value, names)
        elif key == "default":
            made[key] = value
        elif key != "title":
            made[key] = _converted(value, names)
    if "properties" in made:
        # A constant says which of several parts it is, so it has a default in the model but not in a document.
        tags = [name for name, one in schema["properties"].items() if "const" in one]
        made["required"] = sorted({*made.get("required", ()), *tags})
        for name in tags:
            made["properties"][name].pop("default", None)
        made = {key: value for key, value in made.items() if key != "required" or value}
    if "$ref" in made and len(made) > 1:
        made["allOf"] = [{"$ref": made.pop("$ref")}]
    return made


def _union(options: list[Any], names: Mapping[str, str]) -> dict[str, Any]:
    others = [_converted(one, names) for one in options if one != {"type": "null"}]
    nullable = {"nullable": True} if len(others) < len(options) else {}
    return (others[0] if len(others) == 1 else {"anyOf": others}) | nullable
