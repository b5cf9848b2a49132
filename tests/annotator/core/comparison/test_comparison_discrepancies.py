"""Differences in meaning between two reviewers' versions."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.comparison import align, diff, discrepancies, same_content
from tests.annotator.case_documents import case
from tests.annotator.document_cases import answer, call, clarification, document, documents, on, task, trip


def found(edit):
    """{anchor: label} of what ``edit`` makes of the trip against the trip."""
    data = trip()
    edit(data)
    return {d.anchor: str(d.label) for d in discrepancies(trip(), data)}


def step(data, number):
    return data["tasks"][0]["steps"][number]


@pytest.mark.parametrize(
    ("edit", "anchor", "label"),
    [
        (lambda d: d["tasks"][0].update(policy="chat"), "/tasks/t1/policy", "policy"),
        (lambda d: d["tasks"][1].update(information="partial_information"), "/tasks/t2/information", "information"),
        (lambda d: d["tasks"][1].update(user_message="Bye"), "/tasks/t2/user_message", "message"),
        (lambda d: d["context"][0].update(content="Hey"), "/context/0/content", "message"),
        (lambda d: step(d, 1)["arguments"].update(city="Rome"), "/tasks/t1/steps/s2/arguments/city", "arguments"),
        (lambda d: step(d, 1).update(observation={}), "/tasks/t1/steps/s2/observation/rows", "observation"),
        (lambda d: step(d, 3).update(text="No."), "/tasks/t1/steps/s4/text", "answer"),
        (lambda d: step(d, 3).update(answer_type="chat"), "/tasks/t1/steps/s4/answer_type", "answer"),
        (lambda d: step(d, 2).update(depends_on=on(["s1"])), "/tasks/t1/steps/s3/depends_on", "dependencies"),
        (lambda d: step(d, 0).update(depends_on=None), "/tasks/t1/steps/s1/depends_on", "dependencies"),
        (lambda d: step(d, 0).update(inferable={"/city": "x"}), "/tasks/t1/steps/s1/inferable/~1city", "other"),
        (lambda d: step(d, 1).update(name="getAir"), "/tasks/t1/steps/s2", "call"),
        (lambda d: d["tasks"][0]["steps"].insert(0, call("s5")), "/tasks/t1/steps/s5", "call"),
        (lambda d: d["tasks"][0]["steps"].insert(0, clarification("s5")), "/tasks/t1/steps/s5", "clarification"),
        (lambda d: d["tasks"][1]["steps"].clear(), "/tasks/t2/steps/s1", "answer"),
        (lambda d: d["tasks"].append(task("t3")), "/tasks/t3", "other"),
        (lambda d: d["tasks"].reverse(), "/tasks#order", "other"),
        (lambda d: d.update(env_info=None), "/env_info", "other"),
        (lambda d: d.update(language="zh"), "/language", "other"),
    ],
)
def test_each_difference_has_its_place_and_label(edit, anchor, label):
    assert found(edit) == {anchor: label}


@pytest.mark.parametrize(
    "edit",
    [
        lambda d: d["tasks"][1].update(user_message="  Thanks!\n"),
        lambda d: step(d, 3).update(text="Booked   TP433."),
        lambda d: d["tasks"][0]["steps"].insert(0, d["tasks"][0]["steps"].pop(1)),
        lambda d: step(d, 2)["depends_on"].reverse(),
        lambda d: step(d, 0).update(arguments=dict(reversed(step(d, 0)["arguments"].items()))),
        lambda d: d["tasks"][0].update(chosen="m1"),
        lambda d: d["tasks"][0]["candidate_messages"].pop(),
    ],
)
def test_what_carries_no_meaning_is_no_discrepancy(edit):
    assert found(edit) == {}
    data = trip()
    edit(data)
    assert same_content(trip(), data)


def test_line_breaks_count_in_a_response_that_validators_judge():
    one = case(answer="- Gull\n- Tern")
    one["reference_trajectory"][-1]["final"] = "- Gull\n- Tern"
    other = copy.deepcopy(one)
    other["reference_trajectory"][-1]["final"] = other["answer"] = "- Gull - Tern"
    assert [place.anchor for place in discrepancies(one, other)] == ["/answer", "/reference_trajectory/r3/final"]
    other = copy.deepcopy(one)
    other["user_query"] = other["user_query"].replace(" ", "\n")
    assert same_content(one, other)


def test_spaces_count_where_a_tool_gets_them():
    assert found(lambda d: step(d, 1)["arguments"].update(city="Oslo ")) == {
        "/tasks/t1/steps/s2/arguments/city": "arguments"
    }


def test_the_edges_of_a_step_that_only_one_has_are_part_of_that_step():
    def edit(d):
        del d["tasks"][0]["steps"][1]
        step(d, 1)["depends_on"].pop()

    assert found(edit) == {"/tasks/t1/steps/s2": "call"}


def test_values_of_both_sides_are_given():
    right = trip()
    right["tasks"][0]["policy"] = None
    (difference,) = discrepancies(trip(), right)
    assert (difference.left, difference.right) == ("multi_tool", None)


def one_task(*steps):
    return document(task("t1", call("s1"), *steps, answer("s4", depends_on=["s1"])))


def test_the_same_calls_added_in_another_order_are_the_same():
    left = one_task(call("s5", "getA"), call("s6", "getB", depends_on=["s5"]))
    right = one_task(call("s5", "getB", depends_on=["s6"]), call("s6", "getA"))
    assert diff(left, right)
    assert same_content(left, right)


def test_calls_of_one_tool_added_in_another_order_are_the_same():
    oslo, rome = {"city": "Oslo"}, {"city": "Rome"}
    left = one_task(call("s5", arguments=oslo), call("s6", arguments=rome, depends_on=["s5"]))
    right = one_task(call("s5", arguments=rome, depends_on=["s6"]), call("s6", arguments=oslo))
    assert same_content(left, right)


def test_a_call_that_only_one_added_does_not_hide_the_one_that_both_did():
    left = one_task(call("s5", "getA"))
    right = one_task(call("s5", "getB"), call("s6", "getA", arguments={"x": 1}), call("s7", "getA"))
    named = {d.anchor: (d.left, d.right) for d in discrepancies(left, right)}
    assert [(place, mine, theirs["name"], theirs["arguments"]) for place, (mine, theirs) in named.items()] == [
        ("/tasks/t1/steps/s8", None, "getB", {"city": "Oslo"}),
        ("/tasks/t1/steps/s6", None, "getA", {"x": 1}),
    ]


def test_the_same_tool_with_other_arguments_is_compared_argument_by_argument():
    left, right = one_task(call("s5", "getA")), one_task(call("s6", "getA", arguments={"city": "Rome"}))
    assert [d.anchor for d in discrepancies(left, right)] == ["/tasks/t1/steps/s5/arguments/city"]


def test_two_answers_with_different_ids_are_compared_as_answers():
    left = document(task("t1", call("s1"), answer("s2", "Yes.")))
    right = document(task("t1", call("s1"), answer("s3", "No.")))
    assert [d.anchor for d in discrepancies(left, right)] == ["/tasks/t1/steps/s2/text"]


def test_steps_known_to_both_keep_their_ids():
    left = one_task(call("s5", "getA"))
    assert align(left, left) is left
    swapped = trip()
    swapped["tasks"][0]["steps"][0], swapped["tasks"][0]["steps"][1] = (
        swapped["tasks"][0]["steps"][1], swapped["tasks"][0]["steps"][0]
    )  # fmt: skip
    assert align(trip(), swapped) is swapped


@given(documents())
def test_a_version_has_the_same_content_as_itself(data):
    assert same_content(data, copy.deepcopy(data))


@given(documents(), documents())
def test_both_directions_see_as_many_places(left, right):
    """Ids given on the way may differ, the number of places cannot."""
    one, other = discrepancies(left, right), discrepancies(right, left)
    assert len(one) == len(other)
    assert sorted(str(d.label) for d in one) == sorted(str(d.label) for d in other)


@given(documents(), st.permutations(["s1", "s2", "s3", "s4", "s5", "s9"]))
def test_only_the_names_of_added_steps_differ(data, names):
    renamed = copy.deepcopy(data)
    new = dict(zip(["s1", "s2", "s3", "s4", "s5", "s9"], (f"{name}x" for name in names), strict=True))
    for item in renamed["tasks"]:
        for part in item["steps"]:
            part["id"] = new[part["id"]]
            for edge in part["depends_on"] or ():
                edge["id"] = new[edge["id"]]
    aligned = align(data, renamed)
    assert {t["id"]: {s["id"] for s in t["steps"]} for t in aligned["tasks"]} == {
        t["id"]: {s["id"] for s in t["steps"]} for t in data["tasks"]
    }
