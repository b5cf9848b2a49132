"""A function as a form: what it shows, and what a changed form changes."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.tools.editing import EditProblem, edited, rows_of

BOOK: dict[str, Any] = {
    "name": "book",
    "description": "Book a trip.",
    "strict": True,
    "parameters": {
        "type": "object",
        "required": ["legs", "ghost"],
        "properties": {
            "legs": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "required": ["to"],
                    "properties": {"to": {"type": "string", "pattern": "^[A-Z]{3}$"}, "stops": {"type": "integer"}},
                },
            },
            "board": {"type": "string", "enum": ["full", "half", '"odd"'], "default": "half"},
            "nights": {"type": "integer", "default": 2, "enum": [1, 2, 7]},
            "guest": {"type": "dict", "properties": {"age": "integer"}},
            "any": {},
            "outer": {"type": "object", "properties": {"inner": {"type": "object", "properties": {}}}},
            "bare": "object",
        },
    },
}


def as_sent(text: str, *, several: bool) -> str:
    """A text as a browser sends it, from a field of several lines or one."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return lines.replace("\n", "\r\n") if several else lines.replace("\n", "")


def form_of(function: dict[str, Any], **changes: str) -> dict[str, str]:
    """What a browser sends if nothing but ``changes`` is changed."""
    description = as_sent(function.get("description", ""), several=True)
    sent = {"name": as_sent(function["name"], several=False), "description": description, "new-name": ""}
    for row in rows_of(deepcopy(function)):
        for name in ("name", "type", "description", "choices", "default"):
            sent[row.field(name)] = as_sent(getattr(row, name), several=name in ("description", "choices"))
        if row.required:
            sent[row.field("required")] = "on"
    return sent | {key.replace("_", "-"): value for key, value in changes.items()}


def test_rows_show_parameters_at_any_depth() -> None:
    rows = [
        (row.key, row.full_name, row.type, row.required, row.choices, row.default) for row in rows_of(deepcopy(BOOK))
    ]
    assert rows == [
        ("p0", "legs", "array", True, "", ""),
        ("p1", "legs[].to", "string", True, "", ""),
        ("p2", "legs[].stops", "integer", False, "", ""),
        ("p3", "board", "string", False, 'full\nhalf\n"\\"odd\\""', "half"),
        ("p4", "nights", "integer", False, "1\n2\n7", "2"),
        ("p5", "guest", "dict", False, "", ""),
        ("p6", "guest.age", "integer", False, "", ""),
        ("p7", "any", "", False, "", ""),
        ("p8", "outer", "object", False, "", ""),
        ("p9", "outer.inner", "object", False, "", ""),
        ("p10", "bare", "object", False, "", ""),
    ]
    assert [row.key for row in rows_of(deepcopy(BOOK)) if row.holds] == ["p0", "p5", "p8", "p9"]


ODD: dict[str, Any] = {
    "name": "odd\nname",
    "description": "One\rtwo.",
    "parameters": {
        "type": "object",
        "properties": {
            "never": False,
            "list": ["string"],
            "word": "string",
            "lines\nin": {"type": "string", "enum": ["a\rb", " c", "", "null", None, 1], "default": "a\nb"},
        },
    },
}


@pytest.mark.parametrize(
    "function",
    [
        BOOK,
        ODD,
        {"name": "now"},
        {"name": "now", "parameters": None},
        {"name": "map", "parameters": {"x": {"type": "string"}, "y": {"type": "integer"}}},
        {"name": "none", "parameters": {"type": "object", "properties": []}},
    ],
)
def test_a_form_without_changes_changes_nothing(function: dict[str, Any]) -> None:
    assert edited(function, form_of(function)) == function


def test_what_the_form_does_not_show_and_values_of_other_types_stay() -> None:
    parts = edited(ODD, form_of(ODD, p0_description="A word.", p1_choices="null\r\n1\r\nnew"))["parameters"]
    assert parts["properties"] == {
        "never": False,
        "list": ["string"],
        "word": {"type": "string", "description": "A word."},
        "lines\nin": {"type": "string", "enum": [None, 1, "new"], "default": "a\nb"},
    }


def test_a_map_of_parameters_keeps_them_when_one_is_added() -> None:
    function = {"name": "map", "parameters": {"x": {"type": "string"}, "y": {"type": "integer"}}}
    assert edited(function, form_of(function, new_name="z"))["parameters"] == {
        "type": "object",
        "properties": {"x": {"type": "string"}, "y": {"type": "integer"}, "z": {"type": "string"}},
    }
    broken = {"name": "none", "parameters": {"type": "object", "properties": []}}
    assert edited(broken, form_of(broken, new_name="z"))["parameters"]["properties"] == {"z": {"type": "string"}}


def test_another_type_reads_choices_and_default_again_and_drops_rules_of_the_old_type() -> None:
    size = {"type": "string", "enum": ["1", "2"], "default": "1", "pattern": "^[0-9]$", "description": "Size."}
    function = {"name": "buy", "parameters": {"type": "object", "properties": {"size": size}}}
    found = edited(function, form_of(function, p0_type="integer"))["parameters"]["properties"]["size"]
    assert found == {"type": "integer", "enum": [1, 2], "default": 1, "description": "Size."}
    function["parameters"]["properties"]["size"] = found  # type: ignore[index]
    back = edited(function, form_of(function, p0_type="string"))["parameters"]["properties"]["size"]
    assert back == {"type": "string", "enum": ["1", "2"], "default": "1", "description": "Size."}


def test_each_field_changes_its_keyword_and_nothing_else() -> None:
    sent = form_of(
        BOOK, name="bookTrip", description="Book.", p1_name="destination", p1_required="", p2_required="on",
        p2_description="How many.", p3_choices="full\r\nnone\r\n", p3_default="", p4_default="7", p5_type="string",
        p7_type="array", p6_delete="on",
    )  # fmt: skip
    wanted = deepcopy(BOOK) | {"name": "bookTrip", "description": "Book."}
    parts = wanted["parameters"]["properties"]
    parts["legs"]["items"] = {
        "type": "object",
        "required": ["stops"],
        "properties": {
            "destination": {"type": "string", "pattern": "^[A-Z]{3}$"},
            "stops": {"type": "integer", "description": "How many."},
        },
    }
    parts["board"] = {"type": "string", "enum": ["full", "none"]}
    parts["nights"]["default"] = 7
    parts["guest"] = {"type": "string"}
    parts["any"] = {"type": "array", "items": {"type": "string"}}
    assert edited(BOOK, sent) == wanted


def test_parameters_are_added_to_the_function_an_object_or_the_items_of_a_list() -> None:
    new = {
        "new_name": " class ",
        "new_type": "integer",
        "new_required": "on",
        "new_choices": "1\n2",
        "new_default": "1",
    }
    made = {"type": "integer", "enum": [1, 2], "default": 1}
    own = edited(BOOK, form_of(BOOK, **new))["parameters"]
    assert own["properties"]["class"] == made
    assert own["required"] == ["legs", "ghost", "class"]
    inside = edited(BOOK, form_of(BOOK, **new, new_inside="p0"))["parameters"]["properties"]["legs"]["items"]
    assert inside["properties"]["class"] == made
    assert inside["required"] == ["to", "class"]
    bare = edited({"name": "now"}, form_of({"name": "now"}, new_name="zone", new_description="Where."))
    assert bare["parameters"]["properties"] == {"zone": {"type": "string", "description": "Where."}}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": " "}, "name"),
        ({"p3_name": "nights"}, "p3-name"),
        ({"p3_name": "x" * 201}, "p3-name"),
        ({"p4_default": "two"}, "p4-default"),
        ({"p4_choices": "1\ntwo"}, "p4-choices"),
        ({"new_name": "legs"}, "new-name"),
        ({"new_name": "in", "new_inside": "p1"}, "new-inside"),
        ({"new_name": "in", "new_inside": "p99"}, "new-inside"),
        ({"new_name": "in", "new_inside": "p0", "p0_delete": "on"}, "new-inside"),
        ({"new_name": "in", "new_inside": "p0", "p0_type": "string"}, "new-inside"),
        # Of an object around it, and of a type that is written without a schema.
        ({"new_name": "in", "new_inside": "p9", "p8_delete": "on"}, "new-inside"),
        ({"new_name": "in", "new_inside": "p10"}, "new-inside"),
        ({"p3_type": "integer"}, "p3-choices"),
    ],
)
def test_what_cannot_be_applied_names_its_field(changes: dict[str, str], field: str) -> None:
    with pytest.raises(EditProblem) as refused:
        edited(BOOK, form_of(BOOK, **changes))
    assert refused.value.field == field


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "items", "properties", "enum"]), inner)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["type", "properties", "items", "required"]), _JSON))
def test_any_schema_has_a_form(parameters: dict[str, Any]) -> None:
    function = {"name": "any", "parameters": parameters}
    assert edited(function, form_of(function)) == function
