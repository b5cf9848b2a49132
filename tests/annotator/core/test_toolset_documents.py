"""Toolsets in review: their documents, checks, edits, differences and merges."""

from typing import Any

import pytest

from annotator.core.checks import CheckSettings, run_checks
from annotator.core.checks.similarity import dialogue_text
from annotator.core.comparison import (
    apply_changes,
    describe,
    diff,
    discrepancies,
    in_reading_order,
    merge,
    resolve,
    resolve_choices,
    same_content,
)
from annotator.core.editing import EditProblem, apply, can_rebase
from annotator.core.editing.operations import TOOLSET_OPERATIONS
from annotator.core.fields import read_fields
from annotator.core.schema import SchemaProblem, read_document
from annotator.core.schema.canonical import value_hash
from annotator.core.schema.toolset_documents import content_of, document_of
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.search import describe_document
from annotator.core.suggestion_shape import Suggested, SuggestionProblem
from annotator.core.suggestions import fitted
from tests.annotator.toolset_documents import F1, F2, described_toolset, function

NO_TOOLS = CompiledToolset.of('{"tools":[]}')
HARBOUR = f"{F1}/parameters/properties/harbour"


def after(op: str, anchor: str = "", document: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return apply(document or described_toolset(), {"op": op, "anchor": anchor, **fields}, toolset=NO_TOOLS)[0]


def refused(op: str, anchor: str = "", **fields: Any) -> EditProblem:
    with pytest.raises(EditProblem) as problem:
        after(op, anchor, **fields)
    return problem.value


def edited(anchor: str, value: Any) -> dict[str, Any]:
    """The toolset with another value at one place."""
    document = described_toolset()
    above, _, key = anchor.rpartition("/")
    resolve(document, above)[key] = value
    return document


def names(document: dict[str, Any]) -> list[str]:
    return [one["tool"].get("function", one["tool"])["name"] for one in document["tools"]]


def places(left: dict[str, Any], right: dict[str, Any]) -> dict[str, str]:
    return {one.anchor: one.label for one in discrepancies(left, right)}


# --- the document


def test_a_document_and_the_content_of_its_toolset_are_the_same_tools() -> None:
    content = content_of(described_toolset())
    assert content_of(read_document(document_of(content, "en"))) == content
    code = {"source": "def find_ferry(): ...", "class": None, "load": None}
    assert content_of(described_toolset(implementation={"source": code["source"]})) == content | {
        "implementation": code
    }


def test_what_is_wrong_with_a_document_is_said_at_its_place() -> None:
    nameless = {"id": "f1", "tool": {"function": {"name": " ", "parameters": []}}}
    wrong = {
        "kind": "toolset",
        "tools": [nameless, {"id": "f1", "tool": {"name": "x"}}],
        "implementation": {"class": 3},
    }
    with pytest.raises(SchemaProblem) as problem:
        read_document(wrong)
    assert [one.pointer for one in problem.value.problems] == [
        "/tools/1/id", "/tools/0/tool/function/name", "/tools/0/tool/function/parameters",
        "/implementation/source", "/implementation/class",
    ]  # fmt: skip
    for tools in ([], None, [{"id": "f1", "tool": []}]):
        with pytest.raises(SchemaProblem):
            read_document({"kind": "toolset", "tools": tools})


def test_lists_find_a_toolset_by_its_functions() -> None:
    labels = describe_document(described_toolset())
    assert (labels.title, labels.task_count, labels.call_count) == ("find_ferry, book_ferry", 0, 0)
    assert labels.tools == ["find_ferry", "book_ferry"]
    assert {"ferry", "harbour", "book"} <= set(labels.search_text.split())
    assert dialogue_text(described_toolset()) == ""


def test_nothing_is_suggested_for_a_toolset() -> None:
    with pytest.raises(SuggestionProblem, match="dialogues of tasks"):
        fitted(described_toolset(), Suggested("/language", "en", "script"))


# --- checks


def found(document: dict[str, Any], **settings: Any) -> list[tuple[str, str]]:
    return [(one.check, one.anchor) for one in run_checks(document, NO_TOOLS, stage="save", **settings)]


def test_a_sound_toolset_has_no_finding() -> None:
    assert found(described_toolset()) == []


def test_each_finding_is_at_its_parameter_in_the_order_of_the_document() -> None:
    document = described_toolset()
    passengers = resolve(document, f"{F2}/parameters/properties/passengers")
    passengers["items"] |= {"required": ["name"]}
    passengers["items"]["properties"]["age"] = {"type": "int"}
    resolve(document, HARBOUR).pop("description")
    document["tools"].append({"id": "f3", "tool": {"name": "find_ferry", "description": ""}})
    inside = f"{F2}/parameters/properties/passengers/items"
    assert found(read_document(document)) == [
        ("toolset.parameter_undescribed", HARBOUR),
        ("toolset.required_unknown", inside),
        ("toolset.dialect", f"{inside}/properties/age"),
        ("toolset.parameter_undescribed", f"{inside}/properties/age"),
        ("toolset.name_twice", "/tools/f3"),
        ("toolset.no_description", "/tools/f3"),
    ]


def test_parameters_without_a_schema_around_them_have_anchors_too() -> None:
    bare = {"name": "look_up", "description": "Look it up.", "parameters": {"a/b": {"type": "string"}}}
    document = described_toolset(tools=[{"id": "f1", "tool": bare}])
    assert found(document) == [("toolset.parameter_undescribed", "/tools/f1/tool/parameters/a~1b")]
    assert describe(document, "/tools/f1/tool/parameters/a~1b") == "function look_up, parameter a/b"


def test_only_custom_fields_are_checked_as_well() -> None:
    fields = [{"key": "fit", "title": "Fit", "scope": "dialogue", "type": "choice", "required": True,
               "options": [{"value": "yes", "title": "Yes"}]}]  # fmt: skip
    settings = CheckSettings(fields=read_fields(fields))
    assert found(described_toolset(), settings=settings) == [("field.missing", "/labels/fit")]


# --- edits


def test_a_function_is_changed_by_its_form() -> None:
    fields = {
        "name": "find_boat", "description": "Find a boat.", "p1-name": "port", "p1-required": "on",
        "new-name": "day", "new-type": "string", "new-description": "The date.",
    }  # fmt: skip
    shown = value_hash(resolve(described_toolset(), F1))
    document = after("set_function", "/tools/f1", value=fields, of=shown)
    assert names(document) == ["find_boat", "book_ferry"]
    assert list(resolve(document, f"{F1}/parameters/properties")) == ["class", "port", "day"]
    assert resolve(document, f"{F1}/parameters/required") == ["port"]
    assert after("set_function", "/tools/f1", value={}) == described_toolset()
    problem = refused("set_function", "/tools/f1", value={"p1-name": "class"}, of=shown)
    assert (problem.field, problem.anchor) == ("p1-name", "/tools/f1")
    assert "class already" in problem.message
    assert "changed in the meantime" in refused("set_function", "/tools/f2", value={}, of=shown).message


@pytest.mark.parametrize(
    ("op", "anchor", "fields", "sentence"),
    [
        ("set", f"{F1}/parameters", {"value": "x"}, "cannot be set as text"),
        ("set", "/env_info", {"value": "x"}, "cannot be set as text"),
        ("set", f"{F1}/name", {"value": " "}, "Give it a name"),
        ("set", f"{F1}/parameters/properties/gone/description", {"value": "x"}, "no longer exists"),
        ("set_json", f"{F1}/name", {"text": '"x"'}, "cannot be set as JSON"),
        ("set_json", "/tools/f1/tool", {"text": "{"}, "This is not JSON"),
        ("set_json", "/tools/f1/tool", {"text": "{}"}, "no name"),
        ("set_json", "/tools/f9/tool", {"text": "{}"}, "no longer exists"),
        ("set_function", "/tools/f9", {"value": {}}, "no longer exists"),
        ("set_function", "/tools/f1", {"value": ["x"]}, "must be the fields"),
        ("set_function", "/tools/f1", {"value": {"name": 3}}, "must be text"),
        ("add_tool", "", {"name": ""}, "Give it a name"),
        ("move_tool", "/tools", {"by": 1}, "anchor of a function"),
        ("add_task", "", {}, "no edit"),
    ],
)
def test_what_cannot_be_edited_is_refused_with_a_sentence(op: str, anchor: str, fields: Any, sentence: str) -> None:
    assert sentence in refused(op, anchor, **fields).message


def test_functions_are_added_copied_moved_and_deleted() -> None:
    document = after("add_tool", name="cancel_ferry", after="f1")
    assert names(document) == ["find_ferry", "cancel_ferry", "book_ferry"]
    document = after("duplicate_tool", "/tools/f1", document)
    assert names(document) == ["find_ferry", "find_ferry_2", "cancel_ferry", "book_ferry"]
    document = after("move_tool", "/tools/f2", document, by=-1)
    assert names(document) == ["find_ferry", "find_ferry_2", "book_ferry", "cancel_ferry"]
    document = after("delete_tool", "/tools/f1", document)
    assert names(document) == ["find_ferry_2", "book_ferry", "cancel_ferry"]
    one = after("delete_tool", "/tools/f2")
    with pytest.raises(EditProblem, match="at least one function"):
        after("delete_tool", "/tools/f1", one)


def test_texts_and_json_are_set_one_by_one() -> None:
    assert resolve(after("set", f"{HARBOUR}/description", value="A\r\nB"), f"{HARBOUR}/description") == "A\nB"
    assert names(after("set", f"{F2}/name", value=" reserve "))[1] == "reserve"
    assert after("set_language", value="zh")["language"] == "zh"
    changed = after("set_json", f"{F2}/parameters", text='{"type": "object", "properties": {}}')
    assert resolve(changed, f"{F2}/parameters/properties") == {}


@pytest.mark.parametrize(
    ("op", "between", "fits"),
    [
        ({"op": "set_function", "anchor": "/tools/f1"}, ("set", f"{F1}/description", {"value": "x"}), False),
        ({"op": "set_function", "anchor": "/tools/f1"}, ("set", f"{F2}/description", {"value": "x"}), True),
        ({"op": "set", "anchor": f"{F1}/description"}, ("set", f"{F1}/name", {"value": "x"}), True),
        ({"op": "delete_tool", "anchor": "/tools/f1"}, ("set", f"{F1}/name", {"value": "x"}), False),
        ({"op": "move_tool", "anchor": "/tools/f1"}, ("move_tool", "/tools/f2", {"by": -1}), False),
        ({"op": "add_tool", "after": "f2"}, ("delete_tool", "/tools/f2", {}), False),
        ({"op": "add_tool", "name": "x"}, ("delete_tool", "/tools/f2", {}), True),
    ],
)
def test_an_edit_is_repeated_only_where_what_it_is_about_is_unchanged(op: Any, between: Any, fits: bool) -> None:
    name, anchor, fields = between
    assert can_rebase(op, described_toolset(), after(name, anchor, **fields)) is fits


@pytest.mark.parametrize("op", sorted(TOOLSET_OPERATIONS))
def test_every_edit_of_a_toolset_says_what_it_is_about(op: str) -> None:
    _, about = TOOLSET_OPERATIONS[op]
    assert about({"after": "f1"}, ("tools", "f1"), described_toolset())


# --- two people


def test_differences_are_named_by_function_and_parameter() -> None:
    changed = edited(f"{HARBOUR}/description", "The harbour.")
    resolve(changed, f"{F2}/parameters/properties/passengers/items/properties/age")["minimum"] = 0
    changed["tools"].append({"id": "f3", "tool": function("x", "Do it.", {}), "extra": {}})
    found = diff(described_toolset(), changed)
    assert [describe(changed, one.anchor) for one in found] == [
        "function find_ferry, parameter harbour, description",
        "function book_ferry, parameter passengers[].age, minimum",
        "function x",
    ]
    assert [one.group for one in found] == ["/tools/f1", "/tools/f2", "/tools/f3"]
    assert apply_changes(described_toolset(), found) == changed
    assert set(places(described_toolset(), changed).values()) == {"tool"}


@pytest.mark.parametrize(
    ("anchor", "value", "same"),
    [
        (f"{HARBOUR}/description", "Where  it leaves. ", True),
        (f"{F1}/description", "Find the next\nferry from a harbour.", True),
        (f"{F1}/name", "find_ferry ", False),
        (f"{HARBOUR}/type", " string", False),
        (f"{F1}/parameters/properties/class/enum", ["first ", "second"], False),
        (f"{F1}/parameters/required", ["harbour"], True),
        ("/tools/f1/extra", {"source": "x"}, True),
        ("/language", "zh", False),
    ],
)
def test_white_space_counts_where_a_program_reads_it(anchor: str, value: Any, same: bool) -> None:
    assert same_content(described_toolset(), edited(anchor, value)) is same


def test_the_order_of_functions_and_of_required_names_means_nothing() -> None:
    document = described_toolset()
    assert same_content(document, {**document, "tools": document["tools"][::-1]})
    two = edited(f"{F1}/parameters/required", ["harbour", "class"])
    assert same_content(two, edited(f"{F1}/parameters/required", ["class", "harbour"]))
    assert [one.kind for one in diff(two, edited(f"{F1}/parameters/required", ["class", "harbour"]))] == ["changed"]


def test_the_same_function_added_by_both_is_one() -> None:
    left, right = (after("add_tool", name="cancel_ferry") for _ in range(2))
    assert left["tools"][2]["id"] != right["tools"][2]["id"]
    assert same_content(left, right)
    right["tools"][2]["tool"]["function"]["description"] = "Cancel it."
    assert list(places(left, right)) == [f"/tools/{left['tools'][2]['id']}/tool/function/description"]
    other = after("add_tool", name="list_ferries")
    assert len(places(left, other)) == 2


def test_changes_of_different_functions_and_parameters_merge() -> None:
    base, mine = described_toolset(), edited(f"{HARBOUR}/description", "The harbour.")
    theirs = after("add_tool", name="cancel_ferry", document=edited(f"{F2}/description", "Book a place."))
    merged = merge(base, mine, theirs)
    assert merged.conflicts == []
    assert names(merged.document) == ["find_ferry", "book_ferry", "cancel_ferry"]
    assert resolve(merged.document, f"{HARBOUR}/description") == "The harbour."
    assert resolve(merged.document, f"{F2}/description") == "Book a place."


def test_what_does_not_fit_together_is_a_conflict() -> None:
    base = described_toolset()
    required = f"{F1}/parameters/required"
    lists = merge(base, edited(required, []), edited(required, ["harbour", "class"]))
    assert [one.anchor for one in lists.conflicts] == [required]
    schema = f"{F1}/parameters/properties/class"
    typed = merge(base, edited(f"{schema}/type", "integer"), edited(f"{schema}/enum", ["third"]))
    assert [one.anchor for one in typed.conflicts] == [schema]
    texts = merge(base, edited(f"{schema}/type", "integer"), edited(f"{schema}/description", "A number."))
    assert texts.conflicts == []
    # Together, no function would be left.
    none = merge(base, after("delete_tool", "/tools/f1"), after("delete_tool", "/tools/f2"))
    assert {one.anchor for one in none.conflicts} == {"/tools/f1", "/tools/f2"}
    both = {"/tools/f1": "mine", "/tools/f2": "theirs"}
    still = merge(base, after("delete_tool", "/tools/f1"), after("delete_tool", "/tools/f2"), choices=both)
    assert still.conflicts
    assert still.document["tools"]


def test_a_dispute_is_resolved_place_by_place() -> None:
    base, left = described_toolset(), edited(f"{F1}/description", "Find a ferry.")
    right = after("delete_tool", "/tools/f2", edited(f"{F1}/description", "Find boats."))
    found = in_reading_order(left, right, discrepancies(left, right))
    assert [one.anchor for one in found] == [f"{F1}/description", "/tools/f2"]
    document = resolve_choices(base, left, right, {f"{F1}/description": "right", "/tools/f2": "left"})
    assert names(document) == ["find_ferry", "book_ferry"]
    assert resolve(document, f"{F1}/description") == "Find boats."
