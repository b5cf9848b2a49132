"""Adding, moving and deleting the parts of a case; what two people's new parts make of each other."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotator.core.comparison import (
    align,
    apply_changes,
    diff,
    discrepancies,
    in_reading_order,
    merge,
    readable,
    resolve_choices,
    same_content,
)
from annotator.core.constraints import categories
from annotator.core.editing import CASE_OPERATIONS, EditProblem, apply, can_rebase
from annotator.core.schema import canonical, read_document
from annotator.core.schema.constrained import MAX_CONSTRAINTS
from tests.annotator.case_documents import CODE, LIMIT, PROMPT, TOOLSET, call, case, with_constraint

Document = dict[str, Any]
R1 = "/reference_trajectory/r1"


def made(document: Document, op: str, anchor: str = "", **fields: Any) -> tuple[Document, str]:
    before = canonical(document)
    result, touched = apply(document, {"op": op, "anchor": anchor, **fields}, toolset=TOOLSET)
    assert canonical(document) == before
    return result, touched


def after(op: str, anchor: str = "", **fields: Any) -> Document:
    return made(case(), op, anchor, **fields)[0]


def refused(op: str, anchor: str = "", document: Document | None = None, **fields: Any) -> str:
    with pytest.raises(EditProblem) as raised:
        made(document or case(), op, anchor, **fields)
    return raised.value.message


def ids(document: Document, name: str = "constraints") -> list[str]:
    return [one["id"] for one in document[name] or ()]


# --- constraints


@pytest.mark.parametrize("category", [one.id for one in categories()])
def test_a_constraint_of_each_category_can_be_added(category: str) -> None:
    document, anchor = made(case(), "add_constraint", category=category, after="c0")
    added = document["constraints"][1]
    assert anchor == f"/constraints/{added['id']}"
    assert (added["category"], ids(document)[0]) == (category, "c0")
    needs = next(one.needs for one in categories() if one.id == category)
    assert (added["parameters"] is None) == bool(needs)
    assert (added["text"] is None) == (needs == "validator")
    assert refused("add_constraint", category="size") == "Choose one of the categories of constraints."


def test_two_people_who_add_a_constraint_have_added_two() -> None:
    assert len({made(case(), "add_constraint", category="length")[1] for _ in range(20)}) == 20


def test_there_is_a_most() -> None:
    full = case(constraints=[{"id": f"c{n}"} for n in range(MAX_CONSTRAINTS)])
    assert "the limit" in refused("add_constraint", document=full, category="length")
    one_left = case(constraints=[{"id": f"c{n}"} for n in range(MAX_CONSTRAINTS - 1)])
    mine, theirs = (made(one_left, "add_constraint", category="length")[0] for _ in range(2))
    merged = merge(one_left, mine, theirs)
    assert len(merged.conflicts) == 2


def test_constraints_are_moved_and_deleted() -> None:
    assert ids(after("move_constraint", "/constraints/c2", by=-1)) == ["c0", "c2", "c1", "c3", "c4"]
    assert ids(after("move_constraint", "/constraints/c0", by=-1)) == ["c0", "c1", "c2", "c3", "c4"]
    assert ids(after("move_constraint", "/constraints/c0", to=4)) == ["c1", "c2", "c3", "c4", "c0"]
    document, anchor = made(case(), "delete_constraint", "/constraints/c4")
    assert (ids(document), anchor) == (["c0", "c1", "c2", "c3"], "/constraints/c3")
    assert made(case(constraints=[{"id": "c0"}]), "delete_constraint", "/constraints/c0")[1] == "/constraints"
    assert "no longer exists" in refused("delete_constraint", "/constraints/c9")


def test_a_text_is_written_into_the_prompt_as_the_next_item_of_its_list() -> None:
    prompt = PROMPT.replace(f"- {LIMIT}\n", "")
    document, _ = made(case(system_prompt=prompt), "state_constraint", "/constraints/c0")
    assert document["system_prompt"] == f"{prompt}- {LIMIT}\n"
    for before, line in (("Rules:\n1. One.", f"\n2. {LIMIT}"), ("Rules.", f"\n{LIMIT}"), (None, LIMIT), ("", LIMIT)):
        document, _ = made(case(system_prompt=before), "state_constraint", "/constraints/c0")
        assert document["system_prompt"] == (before or "") + line
    anchored = with_constraint("c0", text="Four.", anchor="four times")
    assert made(anchored, "state_constraint", "/constraints/c0")[0]["constraints"][0]["anchor"] is None
    assert "already" in refused("state_constraint", "/constraints/c0")
    assert "no text" in refused("state_constraint", "/constraints/c0", with_constraint("c0", text=None))


def test_variants_by_what_is_called_first() -> None:
    document, anchor = made(case(), "add_variant", "/constraints/c0")
    assert anchor == "/constraints/c0/variants/0"
    assert document["constraints"][0]["variants"] == [
        {"first": ["find_ferry"], "parameters": {"min_callTimes": 0, "max_callTimes": 4}}
    ]
    document, _ = made(document, "add_variant", "/constraints/c0")
    assert document["constraints"][0]["variants"][1]["first"] == ["read_timetable"]
    assert "Every tool" in refused("add_variant", "/constraints/c0", document)
    document, _ = made(document, "set_variant", anchor, value={"parameters": {"max_callTimes": 9}})
    assert document["constraints"][0]["variants"][0] == {"first": ["find_ferry"], "parameters": {"max_callTimes": 9}}
    assert "at least one tool" in refused("set_variant", anchor, document, value={"first": []})
    assert "variant no longer exists" in refused("delete_variant", "/constraints/c0/variants/7", document)
    assert len(made(document, "delete_variant", anchor)[0]["constraints"][0]["variants"]) == 1


def test_a_category_given_to_a_constraint_without_parameters_brings_some() -> None:
    bare = with_constraint("c0", category=None, parameters=None)
    document, _ = made(bare, "set_category", "/constraints/c0", value="interaction rounds")
    assert document["constraints"][0]["parameters"] == {"min_round": 0, "max_round": 20}


# --- the trajectory


def test_rounds_are_added_moved_and_deleted() -> None:
    document, anchor = made(case(), "add_round", name="find_ferry")
    assert ids(document, "reference_trajectory")[:2] + ids(document, "reference_trajectory")[3:] == ["r1", "r2", "r3"]
    assert anchor.endswith(ids(document, "reference_trajectory")[2])
    document, _ = made(case(), "add_round", after="r1")
    assert document["reference_trajectory"][1]["final"] == ""
    moved = after("move_round", "/reference_trajectory/r3", by=-1)
    assert ids(moved, "reference_trajectory") == ["r1", "r3", "r2"]
    document, anchor = made(case(), "delete_round", R1)
    assert (ids(document, "reference_trajectory"), anchor) == (["r2", "r3"], "/reference_trajectory/r2")
    first, _ = made(case(reference_trajectory=None), "add_round", name="find_ferry")
    assert made(first, "delete_round", f"/reference_trajectory/{ids(first, 'reference_trajectory')[0]}")[0] == case(
        reference_trajectory=None
    )
    assert "no tool swim" in refused("add_round", name="swim")


def test_calls_made_at_once_are_added_moved_and_deleted() -> None:
    document, anchor = made(case(), "add_call", R1, name="read_timetable")
    calls = document["reference_trajectory"][0]["calls"]
    assert ([one["name"] for one in calls], calls[1]["arguments"]) == (["find_ferry", "read_timetable"], {})
    moved, _ = made(document, "move_call", anchor, by=-1)
    assert [one["name"] for one in moved["reference_trajectory"][0]["calls"]] == ["read_timetable", "find_ferry"]
    assert made(document, "delete_call", anchor) == (case(), R1)
    gone, place = made(case(), "delete_call", f"{R1}/calls/s1")
    assert (ids(gone, "reference_trajectory"), place) == (["r2", "r3"], "/reference_trajectory/r2")
    assert "final response" in refused("add_call", "/reference_trajectory/r3", name="find_ferry")


def test_an_observation_is_a_text_or_json_as_it_was() -> None:
    place = f"{R1}/calls/s1"

    def observed(before: Any, text: str, **fields: Any) -> Any:
        document = case(reference_trajectory=[{"id": "r1", "calls": [call("s1", "find_ferry", before)]}])
        found, _ = made(document, "set_observation", place, text=text, **fields)
        return found["reference_trajectory"][0]["calls"][0]["observation"]

    assert observed("a", "12") == "12"
    assert observed({"a": 1}, '{"a": 2}') == {"a": 2}
    assert observed(None, "[1]") == [1]
    assert observed(None, "12") == 12
    assert observed({"a": 1}, " ") is None
    assert observed("a", "", **{"as": "text"}) == ""
    assert "not JSON" in refused("set_observation", place, None, text="[", **{"as": "json"})


def test_the_unsolved_set_names_tools_and_texts() -> None:
    document, anchor = made(case(unsolved_set=None), "add_expected", name="find_ferry")
    assert (document["unsolved_set"], anchor) == ({"find_ferry": []}, "/unsolved_set/find_ferry")
    document, _ = made(document, "set_json", anchor, value=["Gull", "Tern"])
    assert document["unsolved_set"] == {"find_ferry": ["Gull", "Tern"]}
    assert "already" in refused("add_expected", "", document, name="find_ferry")
    assert made(document, "delete_expected", anchor)[0]["unsolved_set"] == {}
    assert "no longer exists" in refused("set_json", "/unsolved_set/swim", document, value=[])
    assert after("set_code", "/tool_codes/find_ferry", text="x")["tool_codes"]["find_ferry"] == "x"
    bare, _ = made(case(tool_codes={}), "set_code", "/tool_codes/find_ferry", text="y")
    assert bare["tool_codes"] == {"find_ferry": "y"}


# --- rebasing


@pytest.mark.parametrize(
    ("op", "between", "fits"),
    [
        (
            {"op": "add_constraint", "category": "length", "after": "c1"},
            ("delete_constraint", "/constraints/c1"),
            False,
        ),
        ({"op": "add_constraint", "category": "length"}, ("delete_constraint", "/constraints/c1"), True),
        (
            {"op": "move_constraint", "anchor": "/constraints/c1", "by": 1},
            ("delete_constraint", "/constraints/c4"),
            False,
        ),
        ({"op": "delete_constraint", "anchor": "/constraints/c1"}, ("delete_constraint", "/constraints/c4"), True),
        ({"op": "add_call", "anchor": R1, "name": "find_ferry"}, ("delete_round", R1), False),
        ({"op": "delete_call", "anchor": f"{R1}/calls/s1"}, ("add_call", R1), False),
        ({"op": "state_constraint", "anchor": "/constraints/c1"}, ("delete_constraint", "/constraints/c4"), True),
        ({"op": "add_variant", "anchor": "/constraints/c0"}, ("add_variant", "/constraints/c0"), False),
        ({"op": "set_json", "anchor": "/constraints/c0/parameters"}, ("set_category", "/constraints/c0"), False),
    ],
)
def test_an_edit_is_made_again_only_where_what_it_is_about_is_as_it_was(op: Any, between: Any, fits: bool) -> None:
    name, anchor = between
    now = after(name, anchor, **({"value": "length"} if name == "set_category" else {"name": "find_ferry"}))
    assert can_rebase(op, case(), now) is fits


@pytest.mark.parametrize("op", sorted(CASE_OPERATIONS))
def test_every_edit_of_a_case_says_what_it_is_about(op: str) -> None:
    _, about = CASE_OPERATIONS[op]
    assert about({"after": "c1"}, ("constraints", "c0"), case())


# --- two people


def places(left: Document, right: Document) -> dict[str, str]:
    return {place.anchor: place.label for place in discrepancies(left, right)}


def test_the_same_constraint_added_by_both_is_one() -> None:
    left, right = (after("add_constraint", category="interaction rounds") for _ in range(2))
    assert ids(left) != ids(right)
    assert same_content(left, right)
    right["constraints"][-1]["parameters"]["max_round"] = 9
    assert list(places(left, right)) == [f"/constraints/{ids(left)[-1]}/parameters/max_round"]


def test_different_constraints_added_by_both_are_two_places() -> None:
    left, right = (after("add_constraint", category=one) for one in ("length", "interaction rounds"))
    assert sorted(places(left, right)) == sorted(f"/constraints/{ids(one)[-1]}" for one in (left, right))
    merged = merge(case(), left, right)
    assert merged.conflicts == []
    assert ids(merged.document) == [*ids(case()), ids(left)[-1], ids(right)[-1]]


def test_two_pieces_of_code_are_never_mixed() -> None:
    left, right = (after("add_constraint", category="content") for _ in range(2))
    for one, text in ((left, "Name the boat."), (right, "Name the harbour.")):
        one["constraints"][-1] |= {"text": text}
    assert len(places(left, right)) == 2
    coded, formed = (deepcopy(case()) for _ in range(2))
    coded["constraints"][4]["validator"]["code"] = CODE + "\n\n"
    formed["constraints"][4]["validator"] |= {"code": None, "function": None, "form": "ends_with", "parameters": {}}
    assert list(places(coded, formed)) == ["/constraints/c4/validator"]
    assert [one.anchor for one in merge(case(), coded, formed).conflicts] == ["/constraints/c4/validator"]


def test_a_constraint_of_another_category_is_taken_as_a_whole() -> None:
    left = after("set_category", "/constraints/c3", value="interaction rounds")
    right = after("set_json", "/constraints/c3/parameters", value={"max_responseLength": 25})
    assert list(places(left, right)) == ["/constraints/c3"]
    assert [one.anchor for one in merge(case(), left, right).conflicts] == ["/constraints/c3"]


def test_the_order_of_constraints_says_nothing_that_of_rounds_does() -> None:
    left = after("move_constraint", "/constraints/c0", by=1)
    assert places(left, case()) == {}
    assert list(places(after("move_round", R1, by=1), case())) == ["/reference_trajectory#order"]
    one, other = after("move_constraint", "/constraints/c0", to=4), after("delete_constraint", "/constraints/c2")
    assert ids(merge(case(), one, other).document) == ["c1", "c3", "c4", "c0"]


def test_calls_and_rounds_added_by_both_are_recognised() -> None:
    left, right = (after("add_round", name="find_ferry", after="r2") for _ in range(2))
    right["reference_trajectory"][2]["calls"][0]["arguments"] = {"harbour": "Sund"}
    round_ = left["reference_trajectory"][2]
    call_ = round_["calls"][0]["id"]
    place = f"/reference_trajectory/{round_['id']}/calls/{call_}/arguments/harbour"
    assert list(places(left, right)) == [place]
    left, right = (after("add_call", R1, name="read_timetable") for _ in range(2))
    assert same_content(left, right)


def test_a_round_is_not_given_calls_by_one_and_an_answer_by_the_other() -> None:
    empty = case(reference_trajectory=[{"id": "r1"}])
    mine, _ = made(empty, "add_call", R1, name="find_ferry")
    theirs, _ = made(empty, "set", f"{R1}/final", value="At 21:40.")
    merged = merge(empty, mine, theirs)
    assert [one.anchor for one in merged.conflicts] == [R1]
    assert merge(empty, mine, theirs, choices={R1: "theirs"}).document == theirs


def test_what_is_taken_or_left_out_reads_as_words() -> None:
    constraint = case()["constraints"][0]
    assert readable(constraint).startswith("tool call count: Call tools at most four times in all.\nparameters:\n{")
    assert readable(case()["reference_trajectory"][0]).startswith("call find_ferry\narguments:\n{")
    assert readable(case()["reference_trajectory"][2]) == "final response:\nThe Gull leaves Norhavn at 21:40."


# --- algebra

OPS = (
    "add",
    "delete",
    "move",
    "round",
    "drop",
    "shift",
    "call",
    "uncall",
    "category",
    "parameters",
    "variant",
    "final",
)


@st.composite
def versions(draw: st.DrawFn) -> Document:
    """The case after some edits of the kind people make."""
    document = case()
    for name in draw(st.lists(st.sampled_from(OPS), max_size=6)):
        constraint = f"/constraints/{draw(st.sampled_from(ids(document) or ['c0']))}"
        round_ = f"/reference_trajectory/{draw(st.sampled_from(ids(document, 'reference_trajectory') or ['r1']))}"
        calls = [
            f"/reference_trajectory/{one['id']}/calls/{each['id']}"
            for one in document["reference_trajectory"] or ()
            for each in one["calls"]
        ]
        category, tool = (
            draw(st.sampled_from(["length", "content", "tool call count"])),
            draw(st.sampled_from(["find_ferry", "read_timetable"])),
        )
        number = draw(st.integers(1, 3))
        edits: dict[str, dict[str, Any]] = {
            "add": {"op": "add_constraint", "category": category},
            "delete": {"op": "delete_constraint", "anchor": constraint},
            "move": {"op": "move_constraint", "anchor": constraint, "by": draw(st.sampled_from([-1, 1]))},
            "round": {"op": "add_round", "name": tool},
            "drop": {"op": "delete_round", "anchor": round_},
            "shift": {"op": "move_round", "anchor": round_, "by": 1},
            "call": {"op": "add_call", "anchor": round_, "name": tool},
            "uncall": {"op": "delete_call", "anchor": draw(st.sampled_from(calls or [R1]))},
            "category": {"op": "set_category", "anchor": constraint, "value": category},
            "parameters": {"op": "set_json", "anchor": f"{constraint}/parameters", "value": {"max_callTimes": number}},
            "variant": {"op": "add_variant", "anchor": constraint, "name": tool},
            "final": {"op": "set", "anchor": f"{round_}/final", "value": draw(st.sampled_from(["A.", "B."]))},
        }
        try:
            document, _ = apply(document, edits[name], toolset=TOOLSET)
        except EditProblem:
            continue
    return document


@settings(max_examples=60)
@given(left=versions(), right=versions())
def test_versions_are_compared_merged_and_settled(left: Document, right: Document) -> None:
    base = case()
    # A change is what leads from one to the other, and undoing it leads back.
    assert apply_changes(left, diff(left, right)) == right
    assert apply_changes(right, diff(right, left)) == left
    # One side alone is that side; both are a document wherever nothing is in conflict.
    assert merge(base, left, base).document == left
    assert merge(base, base, right).document == right
    merged = merge(base, left, right)
    if not merged.conflicts:
        assert read_document(merged.document) == merged.document
    for side, document in (("mine", left), ("theirs", right)):
        decided = merge(base, left, right, choices={one.anchor: side for one in merged.conflicts})
        assert decided.conflicts == []
        assert read_document(decided.document) == decided.document
        assert document["kind"] == "constrained"
    # Aligning renames and changes nothing else; everything taken from one side says what that side says.
    aligned = align(left, right)
    assert read_document(aligned) == aligned
    found = discrepancies(left, right)
    assert sorted(map(repr, in_reading_order(left, aligned, found))) == sorted(map(repr, found))
    assert same_content(resolve_choices(base, left, right, {one.anchor: "left" for one in found}), left)
    assert same_content(resolve_choices(base, left, right, {one.anchor: "right" for one in found}), right)
