"""Mappings: which fields of a file are the ID, the messages, the tools and so on, if they have other names.

A mapping is ``{role: field}``; an empty field means that no field has it, whatever its name. Applying it gives a record
with the names that the format reads. In the format ``openai``, a record may also have a prompt and an answer in two
fields; they become messages.
"""

from collections.abc import Mapping
from typing import Any

from annotator.core.schema import Problem, SchemaProblem
from annotator.core.schema.canonical import escape
from annotator.core.schema.exact_json import dumps
from benchmark.core.formats import FORMATS
from benchmark.core.formats.interface import describe

#: The roles that become messages if a record has no list of them, in their order.
EXCHANGE = ("system", "user", "assistant")
_MESSAGES = "openai"


def roles_of(format_name: str) -> tuple[str, ...]:
    """Return the roles to which fields of a file may be mapped in a format."""
    return (*FORMATS[format_name].roles, *(EXCHANGE if format_name == _MESSAGES else ()))


def apply_mapping(record: dict[str, Any], mapping: Mapping[str, str], format_name: str) -> dict[str, Any]:
    """Return a record with the field names of the format.

    A field with such a name that is not wanted is kept under another one. Raises SchemaProblem if a field for a message
    is not text.
    """
    if not mapping:
        return record
    roles = FORMATS[format_name].roles
    taken = set(mapping.values())
    out = {name: value for name, value in record.items() if name not in taken}
    wanted = {role: mapping.get(role, name) for role, name in roles.items()}
    for role, name in roles.items():
        if wanted[role] != name and name in out:
            out[_apart(name, record)] = out.pop(name)
    for role, name in roles.items():
        if wanted[role] in record:
            out[name] = record[wanted[role]]
    if format_name == _MESSAGES and "user" in mapping:
        if "messages" in out:
            out[_apart("messages", record)] = out["messages"]
        out["messages"] = _exchange(record, mapping)
    return out


def pointer_in_file(pointer: str, record: Mapping[str, Any], mapping: Mapping[str, str], format_name: str) -> str:
    """Return where the file has a place of a record to which ``mapping`` was applied: the field by its name there.

    ``record``: as it is in the file.
    """
    if not mapping or not pointer:
        return pointer
    head, _, rest = pointer[1:].partition("/")
    role = next((role for role, name in FORMATS[format_name].roles.items() if name == head), "")
    column, below = mapping.get(role), f"/{rest}" if rest else ""
    if role == "messages" and format_name == _MESSAGES and "user" in mapping:
        said = [mapping[one] for one in EXCHANGE if record.get(mapping.get(one, "")) not in (None, "")]
        number = rest.partition("/")[0]
        column, below = said[int(number)] if number.isdigit() and int(number) < len(said) else mapping["user"], ""
    return f"/{escape(column)}{below}" if column else pointer


def _exchange(record: dict[str, Any], mapping: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the messages of a question and its answer."""
    messages = []
    for role in EXCHANGE:
        text = record.get(mapping.get(role, ""))
        if text is None or text == "":
            continue
        if type(text) in (dict, list):
            # A cell of a table with JSON was read as that value.
            text = dumps(text).decode()
        if type(text) is not str:
            pointer = f"/{mapping[role]}"
            raise SchemaProblem([Problem(pointer, f"The {role} message must be text, not {describe(text)}.")])
        messages.append({"role": role, "content": text})
    return messages


def _apart(name: str, record: Mapping[str, Any]) -> str:
    """Return a name for a field of the record that has the name of another one."""
    apart = f"record_{name}"
    while apart in record:
        apart += "_"
    return apart


def read_mapping(value: Any, format_name: str) -> dict[str, str]:
    """Return a mapping from untrusted input. Raises ValueError, with a sentence, if it does not fit the format."""
    if type(value) is not dict:
        raise ValueError(f"A mapping must be an object of roles and fields, not {describe(value)}.")
    roles = roles_of(format_name)
    for role, column in value.items():
        if role not in roles:
            raise ValueError(f"The format {format_name} has no role {role!r}. Use one of: {', '.join(roles)}.")
        if type(column) is not str or len(column) > 200:
            raise ValueError(f"The field for {role} must be a name of at most 200 characters.")
        if not column and role not in FORMATS[format_name].roles:
            raise ValueError(f"Leave out {role} if no field has it.")
    columns = [column for column in value.values() if column]
    twice = next((column for column in columns if columns.count(column) > 1), None)
    if twice is not None:
        raise ValueError(f"Two roles have the same field, {twice!r}. Choose another one for one of them.")
    if value.get("messages") and "user" in value:
        raise ValueError("Map either the messages or the user’s message, not both.")
    if value.keys() & {"assistant", "system"} - set(FORMATS[format_name].roles) and "user" not in value:
        raise ValueError("An answer or a system prompt needs a field for the user’s message.")
    return dict(value)
