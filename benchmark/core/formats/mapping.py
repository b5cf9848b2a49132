"""Mappings: which fields of a file are the ID, the messages, the tools and so on, if they have other names.

A mapping is ``{role: field}``. Applying it gives a record with the names that the format reads. In the format
``openai``, a record may also have a prompt and an answer in two fields; they become messages.
"""

from collections.abc import Mapping
from typing import Any

from annotator.core.schema import Problem, SchemaProblem
from benchmark.core.formats import FORMATS
from benchmark.core.formats.interface import describe

#: The roles that become messages if a record has no list of them, in their order.
EXCHANGE = ("system", "user", "assistant")
_MESSAGES = "openai"


def roles_of(format_name: str) -> tuple[str, ...]:
    """Return the roles to which fields of a file may be mapped in a format."""
    return (*FORMATS[format_name].roles, *(EXCHANGE if format_name == _MESSAGES else ()))


def apply_mapping(record: dict[str, Any], mapping: Mapping[str, str], format_name: str) -> dict[str, Any]:
    """Return a record with the field names of the format. A field whose name is taken gets the name of the other one.

    Raises SchemaProblem if a field for a message is not text.
    """
    if not mapping:
        return record
    out = dict(record)
    for role, name in FORMATS[format_name].roles.items():
        column = mapping.get(role, name)
        if column != name and column in record:
            out[name] = record[column]
            if name in record and name not in mapping.values():
                out[column] = record[name]
            elif out.get(column) is record[column]:
                del out[column]
    if format_name == _MESSAGES and "messages" not in mapping and "user" in mapping:
        messages = []
        for role in EXCHANGE:
            text = out.pop(mapping[role], None) if role in mapping else None
            if text is None or text == "":
                continue
            if type(text) is not str:
                pointer = f"/{mapping[role]}"
                raise SchemaProblem([Problem(pointer, f"The {role} message must be text, not {describe(text)}.")])
            messages.append({"role": role, "content": text})
        out["messages"] = messages
    return out


def read_mapping(value: Any, format_name: str) -> dict[str, str]:
    """Return a mapping from untrusted input. Raises ValueError, with a sentence, if it does not fit the format."""
    if type(value) is not dict:
        raise ValueError(f"A mapping must be an object of roles and fields, not {describe(value)}.")
    roles = roles_of(format_name)
    for role, column in value.items():
        if role not in roles:
            raise ValueError(f"The format {format_name} has no role {role!r}. Use one of: {', '.join(roles)}.")
        if type(column) is not str or not column or len(column) > 200:
            raise ValueError(f"The field for {role} must be a name of 1 to 200 characters.")
    if "messages" in value and "user" in value:
        raise ValueError("Map either the messages or the user’s message, not both.")
    if value.keys() & {"assistant", "system"} - set(FORMATS[format_name].roles) and "user" not in value:
        raise ValueError("An answer or a system prompt needs a field for the user’s message.")
    return dict(value)
