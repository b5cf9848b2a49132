"""Forms of parameters: made from a category's model, lossless, with what is wrong said at its field."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field as ModelField

from annotator.core.constraints import Category, Dimension, categories, find_category, register
from annotator.core.constraints.model import Count, Parameters, ToolName
from annotator.core.constraints.rounds import Judgement, Past, Round
from annotator.core.constraints.taxonomy import forget
from annotator.core.forms.fields import Field
from annotator.core.forms.parameters import parameter_fields, read_parameter_form
from annotator.core.forms.shapes import Kind
from annotator.core.schema.canonical import value_hash

TOOLS = ["find_ferry", "read_timetable"]


def posted(fields: Iterable[Field]) -> dict[str, str]:
    """Return what a browser posts from an unchanged form."""
    out: dict[str, str] = {}
    for field in fields:
        out |= posted(field.items) if field.items else {field.key: field.value}
    return out


def edited(category: str, parameters: dict[str, Any] | None, **texts: str) -> tuple[Any, str]:
    """The parameters after some inputs of their form were changed; ``__`` means a slash."""
    known = find_category(category)
    assert known
    form = posted(parameter_fields(known, parameters, TOOLS))
    for name, text in texts.items():
        path = f"/{name.replace('__', '/')}"
        form[f"json:{path}" if f"json:{path}" in form else path] = text
    return read_parameter_form(known, form, parameters)


def fields_of(category: str, parameters: dict[str, Any] | None) -> dict[str, Field]:
    known = find_category(category)
    assert known
    return {field.name: field for field in parameter_fields(known, parameters, TOOLS)}


def test_bounds_are_numbers_or_none() -> None:
    held = {"min_round": 0, "max_round": 6}
    assert edited("interaction rounds", held, max_round="8") == ({"min_round": 0, "max_round": 8}, "")
    assert edited("interaction rounds", held, max_round="") == ({"min_round": 0, "max_round": "inf"}, "")
    assert edited("interaction rounds", held, min_round=" ") == ({"min_round": 0, "max_round": 6}, "")
    assert edited("interaction rounds", held, min_round="２")[0]["min_round"] == 2
    assert fields_of("interaction rounds", {"max_round": "inf"})["max_round"].value == ""
    labels = [field.label for field in fields_of("interaction rounds", held).values()]
    assert labels == ["At least", "At most"]


def test_a_number_of_another_kind_is_another_number() -> None:
    held = {"max_calls_per_tool": {"find_ferry": 4.0}}
    value, problem = edited("specific tool call count", held, max_calls_per_tool__0__value="4")
    assert (repr(value), problem) == ("{'max_calls_per_tool': {'find_ferry': 4}}", "")


def test_what_is_no_number_is_refused_and_what_an_import_brought_has_a_sentence_at_its_field() -> None:
    value, problem = edited("interaction rounds", {"max_round": 6}, max_round="six", min_round="-1")
    assert (value, problem) == ({"max_round": 6, "min_round": -1}, "At most: Enter a whole number, such as 12.")
    fields = fields_of("interaction rounds", {"max_round": "six", "min_round": -1})
    assert fields["max_round"].error == "Must be a whole number."
    assert fields["min_round"].error == "Must be 0 or more."


def test_a_unit_is_chosen() -> None:
    unit = fields_of("length", {"max_responseLength": 30, "unit": "words"})["unit"]
    assert [value for value, _ in unit.options] == ["words", "characters"]
    assert edited("length", {"unit": "words"}, unit="characters") == ({"unit": "characters"}, "")
    strange = fields_of("length", {"unit": "pages"})["unit"]
    assert strange.error == "Choose one of the offered values."
    words = fields_of("parallel calls count", {"unit": "num"})["unit"]
    assert ("num", "calls") in words.options


def test_ceilings_for_tools_are_rows_of_a_tool_and_a_number() -> None:
    held = {"max_calls_per_tool": {"find_ferry": 2}}
    rows = fields_of("specific tool call count", held)["max_calls_per_tool"].items
    assert [[one.value for one in row.items] for row in rows] == [["find_ferry", "2"], ["", ""]]
    assert [value for value, _ in rows[1].items[0].options] == ["", "read_timetable"]
    more, _ = edited("specific tool call count", held, max_calls_per_tool__1__key="read_timetable")
    assert more == {"max_calls_per_tool": {"find_ferry": 2, "read_timetable": 1}}
    assert edited("specific tool call count", held, max_calls_per_tool__0__key="") == ({"max_calls_per_tool": {}}, "")
    _, problem = edited("specific tool call count", held, max_calls_per_tool__1__key="find_ferry")
    assert problem == "Maximum calls: find_ferry is listed twice. Remove one of the two."
    assert "whole number" in edited("specific tool call count", held, max_calls_per_tool__0__value="often")[1]
    (row, _) = fields_of("specific tool call count", {"max_calls_per_tool": {"find_ferry": "often"}})[
        "max_calls_per_tool"
    ].items
    assert row.items[1].error == "Must be a whole number."


def test_chains_are_rows_of_tools_in_order() -> None:
    held = {"order_constraints": [["find_ferry", "read_timetable"]]}
    rows = fields_of("sequential dependencies", held)["order_constraints"].items
    assert [[one.value for one in row.items] for row in rows] == [["find_ferry", "read_timetable", ""], ["", ""]]
    assert [row.label for row in rows] == ["Chain 1", "Chain 2"]
    value, _ = edited("sequential dependencies", held, order_constraints__1__0="read_timetable")
    assert value == {"order_constraints": [["find_ferry", "read_timetable"], ["read_timetable"]]}
    assert fields_of("sequential dependencies", value)["order_constraints"].items[1].error == "Enter at least 2."
    value, _ = edited(
        "sequential dependencies", held, order_constraints__0__0="read_timetable", order_constraints__0__1="find_ferry"
    )
    assert value == {"order_constraints": [["read_timetable", "find_ferry"]]}
    value, _ = edited("sequential dependencies", held, order_constraints__0__0="", order_constraints__0__1="")
    assert value == {"order_constraints": []}
    assert edited("parallel dependencies", None, parallel_groups__0__0="find_ferry") == (
        {"parallel_groups": [["find_ferry"]]},
        "",
    )


def test_a_tool_that_the_case_lacks_is_offered_and_named_as_such() -> None:
    rows = fields_of("parallel dependencies", {"parallel_groups": [["swim"]]})["parallel_groups"].items
    assert ("swim", "swim (not in the toolset)") in rows[0].items[0].options


def test_what_a_category_does_not_know_is_kept_and_shown_as_json() -> None:
    held = {"max_round": 6, "note": [1], "min_round": None}
    fields = fields_of("interaction rounds", held)
    assert (fields["note"].kind, fields["note"].value) == (Kind.JSON, "[\n  1\n]")
    assert fields["min_round"].kind is Kind.JSON
    assert edited("interaction rounds", held, note="") == ({"max_round": 6, "min_round": None}, "")
    _, problem = edited("interaction rounds", held, note="[")
    assert problem.startswith("note: This is not JSON")


def test_no_parameters_stay_none_until_something_is_filled_in() -> None:
    assert edited("length", None) == (None, "")
    assert edited("length", {}) == ({}, "")
    assert edited("length", None, max_responseLength="9") == ({"max_responseLength": 9}, "")


class Colours(Parameters):
    hue: Literal["red", "blue"] = "red"
    loud: bool = False
    share: float = ModelField(0.5, title="Share of the answer", description="From 0 to 1.", le=1)
    painter: ToolName
    words: list[str] = ModelField(default_factory=list)
    weights: dict[ToolName, float] = ModelField(default_factory=dict)
    shades: list[list[Count]] = ModelField(default_factory=list, json_schema_extra={"row": "Shade"})
    deep: dict[str, dict[str, int]] = ModelField(default_factory=dict)


class Colour(Category[Colours]):
    """A category that nobody has heard of."""

    id: ClassVar[str] = "colour"
    dimension = Dimension.RESPONSE
    model = Colours

    def sentence(self, parameters: Colours) -> str:
        return f"Answer in {parameters.hue}."

    def judge(self, parameters: Colours, past: Past, round_: Round) -> Judgement:
        return Judgement()


@pytest.fixture
def colour() -> Iterator[Category[Any]]:
    register(Colour)
    yield find_category("colour")  # type: ignore[misc]
    forget(Colour)


def test_a_new_category_has_its_form_from_its_model(colour: Category[Any]) -> None:
    fields = {field.name: field for field in parameter_fields(colour, {}, TOOLS)}
    kinds = {name: str(field.kind) for name, field in fields.items()}
    assert kinds == {
        "hue": "enum", "loud": "boolean", "share": "number", "painter": "tool", "words": "list",
        "weights": "map", "shades": "list", "deep": "json",
    }  # fmt: skip
    assert (fields["share"].label, fields["share"].description) == ("Share of the answer", "From 0 to 1.")
    assert fields["painter"].error == "This parameter is required."
    texts = {
        "/hue": "blue", "/loud": "true", "/share": "0.25", "/painter": "find_ferry", "/words/0": "sea",
        "/weights/0/key": "find_ferry", "/weights/0/value": "1.5", "/shades/0/0": "3", "/deep": '{"a": {"b": 1}}',
    }  # fmt: skip
    value, problem = read_parameter_form(colour, texts, {})
    assert problem == ""
    assert value == {
        "hue": "blue", "loud": True, "share": 0.25, "painter": "find_ferry", "words": ["sea"],
        "weights": {"find_ferry": 1.5}, "shades": [[3]], "deep": {"a": {"b": 1}},
    }  # fmt: skip
    assert not [field for field in parameter_fields(colour, value, TOOLS) if field.error]
    assert colour.usual(TOOLS) == {}


@pytest.mark.parametrize("category", categories(), ids=lambda one: one.id)
def test_what_a_new_constraint_begins_with_can_be_read(category: Category[Any]) -> None:
    for tools in ([], TOOLS[:1], TOOLS):
        usual = category.usual(tools)
        assert (usual is None) == bool(category.needs)
        if usual is not None:
            assert category.sentence(category.model.model_validate(usual)).endswith(".")


scalars = (
    st.none() | st.booleans() | st.integers(-3, 30) | st.sampled_from(["", "inf", "find_ferry", " x ", "a\nb", "words"])
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["find_ferry", "", " b", "c"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    category=st.sampled_from(categories()),
    parameters=st.none()
    | st.dictionaries(
        st.sampled_from(
            [
                "min_round",
                "max_round",
                "max_callTimes",
                "max_calls_per_tool",
                "order_constraints",
                "parallel_groups",
                "unit",
                "x",
            ]
        ),
        values,
        max_size=4,
    ),
)
def test_an_untouched_form_gives_back_what_was_there(
    category: Category[Any], parameters: dict[str, Any] | None
) -> None:
    form = posted(parameter_fields(category, parameters, TOOLS))
    value, problem = read_parameter_form(category, form, parameters)
    assert problem == ""
    assert value_hash(value) == value_hash(parameters)
