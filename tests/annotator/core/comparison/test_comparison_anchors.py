"""Places in a document."""

import itertools

import pytest

from annotator.core.comparison import AnchorMissing, describe, from_pointer, leaves, owner, resolve
from annotator.core.comparison.anchors import AnchorIndex, covers, join, split
from tests.annotator.document_cases import call, document, task, trip


@pytest.mark.parametrize(
    ("anchor", "value"),
    [
        ("/env_info", "2026-05-01"),
        ("/tasks/t2/user_message", "Thanks!"),
        ("/tasks/t1/steps/s1/arguments/filters/cabin/1", "biz"),
        ("/tasks/t1/steps/s4/depends_on", [{"id": "s3", "kind": "parameter"}]),
        ("/tasks/t1/candidate_messages/m2/text", "Oslo, please."),
        ("/context/1/content", "Hello"),
        ("/tasks#order", ["t1", "t2"]),
        ("/tasks/t1/steps#order", ["s1", "s2", "s3", "s4"]),
    ],
)
def test_an_anchor_leads_to_its_value(anchor, value):
    assert resolve(trip(), anchor) == value


def test_the_empty_anchor_is_the_whole_document():
    whole = trip()
    assert resolve(whole, "") is whole


@pytest.mark.parametrize(
    "anchor",
    [
        "tasks", "#order", "/nothing", "/tasks/0", "/tasks/t9", "/tasks/t1/steps/0", "/context/2", "/context/-1",
        "/context/01", "/context/٣", "/tasks/t1/steps/s4/depends_on/0", "/env_info/x", "/env_info#order",
        "/tasks/t1/steps/s1/arguments/filters/cabin/99999999999999999999999",
    ],
)  # fmt: skip
def test_what_is_not_there_is_missing(anchor):
    with pytest.raises(AnchorMissing, match="nothing at"):
        resolve(trip(), anchor)


def test_names_inside_arguments_are_plain_names():
    data = document(
        task("t1", call("s1", arguments={"steps": [{"id": "a"}], "depends_on": [1], "x#order": 3, "a/~": 4}))
    )
    step = "/tasks/t1/steps/s1/arguments"
    assert resolve(data, f"{step}/steps/0/id") == "a"
    assert resolve(data, f"{step}/depends_on/0") == 1
    assert resolve(data, f"{step}/x#order") == 3
    assert resolve(data, f"{step}/a~1~0") == 4


def test_the_places_around_one_are_those_that_cover_it_or_lie_below():
    anchors = ["", "/a", "/a/b", "/a/b/c", "/ab", "/a#order", "/a/b/c/d", "/x/y"]
    for chosen in itertools.chain.from_iterable(itertools.combinations(anchors, size) for size in range(4)):
        places = AnchorIndex(chosen)
        for anchor in anchors:
            near = {one for one in chosen if covers(one, anchor) or covers(anchor, one)}
            assert places.touching(anchor) in (near or {None})


def test_split_and_join_are_each_others_inverse():
    parts = ("tasks", "t1", "a/b", "~1", "", "x y")
    assert split(join(parts)) == parts


def test_leaves_name_every_single_value_once():
    data = trip()
    found = dict(leaves(data))
    assert len(found) == len(list(leaves(data)))
    assert found["/tasks/t1/steps/s1/arguments/filters/cabin/0"] == "eco"
    assert found["/tasks/t1/steps/s3/depends_on"] == resolve(data, "/tasks/t1/steps/s3/depends_on")
    assert found["/extra"] == {}
    for anchor, value in found.items():
        assert resolve(data, anchor) is value


@pytest.mark.parametrize(
    ("anchor", "expected"),
    [
        ("", ""),
        ("/env_info", ""),
        ("/tasks#order", ""),
        ("/tasks/t1", "/tasks/t1"),
        ("/tasks/t1/policy", "/tasks/t1"),
        ("/tasks/t1/steps#order", "/tasks/t1"),
        ("/tasks/t1/steps/s2", "/tasks/t1/steps/s2"),
        ("/tasks/t1/steps/s2/arguments/a/b", "/tasks/t1/steps/s2"),
    ],
)
def test_owner(anchor, expected):
    assert owner(anchor) == expected


@pytest.mark.parametrize(
    ("pointer", "anchor"),
    [
        ("", ""),
        ("/tasks/0/steps/2/arguments/flight", "/tasks/t1/steps/s3/arguments/flight"),
        ("/tasks/1/user_message", "/tasks/t2/user_message"),
        ("/tasks/0/steps/9/arguments", "/tasks/t1/steps"),
        ("/tasks/0/steps/0/nothing", "/tasks/t1/steps/s1"),
        ("/context/0/role", "/context/0"),
    ],
)
def test_a_pointer_becomes_the_nearest_anchor(pointer, anchor):
    data = trip()
    if pointer.endswith("role"):
        del data["context"][0]["role"]
    assert from_pointer(data, pointer) == anchor


@pytest.mark.parametrize(
    ("anchor", "words"),
    [
        ("", "the dialogue"),
        ("/env_info", "environment information"),
        ("/context/1", "message 2 of the dialogue so far"),
        ("/context/0/content", "message 1 of the dialogue so far, content"),
        ("/tasks/t2", "task 2"),
        ("/tasks/t1/user_message", "task 1, user message"),
        ("/tasks/t1/candidate_messages/m1/text", "task 1, candidate message m1, text"),
        ("/tasks/t1/steps/s1", "task 1, call s1 searchFlights"),
        ("/tasks/t1/steps/s1/arguments/city", "task 1, call s1 searchFlights, argument city"),
        ("/tasks/t1/steps/s1/arguments/filters/cabin/0", "task 1, call s1 searchFlights, argument filters › cabin › 0"),
        ("/tasks/t1/steps/s1/observation/rows/0", "task 1, call s1 searchFlights, observation rows › 0"),
        ("/tasks/t1/steps/s1/inferable/~1city", "task 1, call s1 searchFlights, reason why city is inferable"),
        ("/tasks/t1/steps/s4/depends_on", "task 1, answer s4, dependencies"),
        ("/tasks/t1/steps#order", "task 1, order of steps"),
        ("/tasks#order", "order of tasks"),
        ("/tasks/t7/steps/s1/name", "task t7 (missing), step s1 (missing), tool"),
        ("/tasks/t1/steps/s8", "task 1, step s8 (missing)"),
        ("nonsense", "nonsense"),
    ],
)
def test_places_in_words(anchor, words):
    assert describe(trip(), anchor) == words
