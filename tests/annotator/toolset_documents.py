"""A small toolset in review for tests."""

from typing import Any

from annotator.core.schema import read_document

F1, F2 = "/tools/f1/tool/function", "/tools/f2/tool/function"


def function(name: str, description: str, properties: dict[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = list(required)
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def described_toolset(**fields: Any) -> dict[str, Any]:
    """A toolset without findings: find_ferry (harbour, class) and book_ferry (ferry, passengers[].age)."""
    find = function(
        "find_ferry",
        "Find the next ferry from a harbour.",
        {
            "harbour": {"type": "string", "description": "Where it leaves."},
            "class": {"type": "string", "description": "Of the cabin.", "enum": ["first", "second"]},
        },
        ("harbour",),
    )
    age = {"type": "integer", "description": "In years."}
    passengers = {
        "type": "array",
        "description": "Who travels.",
        "items": {"type": "object", "properties": {"age": age}},
    }
    ferry = {"type": "string", "description": "Its name."}
    book = function("book_ferry", "Book places.", {"ferry": ferry, "passengers": passengers})
    tools = [{"id": "f1", "tool": find}, {"id": "f2", "tool": book}]
    return read_document({"kind": "toolset", "language": "en", "tools": tools} | fields)
