"""Choices and defaults that a description states."""

from typing import Any

import pytest

from annotator.core.provenance.described_values import described
from annotator.core.provenance.schema_values import given_by_schema
from annotator.core.provenance.scope import SourceKind
from annotator.core.provenance.value_forms import forms_of
from annotator.core.schema.toolsets import CompiledToolset
from tests.annotator.core.checks.check_cases import tool


@pytest.mark.parametrize(
    ("description", "choices"),
    [
        ('The mode. [Enum]: ["auto", "cool", "heat"]', {"auto", "cool", "heat"}),
        ("The base currency. [Enum]: USD, RMB, EUR", {"usd", "rmb", "eur"}),
        ("How to go, one of fast, short or scenic. Not by bus.", {"fast", "short", "scenic"}),
        ("The grant type. Here are the options: read_write, read, write", {"read_write", "read", "write"}),
        ("Either 'in person' or 'online'.", {"in person", "online"}),
        ("Possible values: 1 (low), 2 (high)", {"1", "2"}),
        ("The available values are 'asc' or 'desc', and the default value is 'asc'.", {"asc", "desc"}),
        ("排序方式，可选值：升序、降序。", {"升序", "降序"}),
        ("实体类型，如'PERSON', 'ORGANIZATION'等。", {"person", "organization"}),
        ("Transportation, such as bus, train and taxi.", {"bus", "train", "taxi"}),
        # Examples of names, numbers and codes are no choices.
        ("A city, e.g. Oslo or Bergen", set()),
        ("The country, such as 'US' or 'DE'", set()),
        ("The unit to show.", set()),
    ],
)
def test_choices_are_read_from_a_description(description: str, choices: set[str]) -> None:
    assert described(description).choices == choices


@pytest.mark.parametrize(
    ("description", "value"),
    [
        ("How many. Defaults to 25.", 25),
        ("How many (default: 25)", "25"),
        ("How many. The default value is 25.0", 25),
        ("How many; 25 by default.", 25),
        ("How many. If omitted, 25 is used.", 25),
        ("metric (default) or imperial", "metric"),
        ("The group, with the default value being 'All taxonomic groups'", "All taxonomic groups"),
        ("每页显示的结果数量，默认值为25。", 25),
    ],
)
def test_a_default_is_read_from_a_description(description: str, value: Any) -> None:
    given = given_by_schema(*_argument({"description": description}), forms_of(value))
    assert given == (SourceKind.DEFAULT, "/t/parameters/properties/x/description")
    assert given_by_schema(*_argument({"description": description}), forms_of("another")) is None


def test_the_description_of_a_list_describes_its_items() -> None:
    doors = {"type": "array", "items": {"type": "string"}, "description": '[Enum]: ["driver", "rear_left"]'}
    one, path = _argument(doors)
    given = given_by_schema(one, (*path, 1), forms_of("rear_left"))
    assert given is not None
    assert given.kind is SourceKind.ENUM


def _argument(schema: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    toolset = CompiledToolset.of_tools([tool("t", x=schema)])
    return toolset.tools["t"], ("x",)
