"""Dependencies that values ask for, miss or do not support; and evidence about the information label."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from annotator.core.checks import CheckSettings
from annotator.core.graph import read_graph
from annotator.core.provenance import Suggestion, evidence_for_information, suggest_edges, trace
from annotator.core.schema import canonical, load_text
from tests.annotator.core.checks.check_cases import TOOLSET, answer, ask, call, document, of, task

HOTELS = {"hotels": [{"hotelId": "H-17", "name": "Mur"}, {"hotelId": "H-20", "name": "Uhrturm"}]}


def search(step: str = "s0", needs: str | None = None, observation: Any = HOTELS, city: str = "Graz") -> dict[str, Any]:
    return call(step, "searchHotels", needs, observation, city=city)


def book(step: str = "s1", needs: str | None = None, observation: Any = "done", **arguments: Any) -> dict[str, Any]:
    return call(step, "book_room", needs, observation, **{"hotelId": "H-17", "nights": 1, **arguments})


def one_task(*steps: dict[str, Any], message: str = "In Graz.", **more: Any) -> dict[str, Any]:
    return document(task("t1", "multi_tool", "explicit", *steps, message=message), **more)


def edges(document: dict[str, Any], *, weak: bool = False) -> list[tuple[str, str]]:
    return [(one.step, one.needs) for one in suggest_edges(document, TOOLSET, "t1") if one.weak is weak]


def test_a_suggestion_says_which_value_came_from_where() -> None:
    assert suggest_edges(one_task(search(), book()), TOOLSET, "t1") == [
        Suggestion(
            step="s1",
            needs="s0",
            argument="/tasks/t1/steps/s1/arguments/hotelId",
            path="/hotels/0/hotelId",
            why="s0 (searchHotels) returned “H-17” at /hotels/0/hotelId.",
        )
    ]


def test_what_is_there_already_is_not_suggested() -> None:
    assert edges(one_task(search(needs=""), book(needs="s0"))) == []
    between = call("s2", "translate", "s0", "x y", text="x")
    assert edges(one_task(search(needs=""), between, book(needs="s2"))) == []


@pytest.mark.parametrize(
    ("message", "more"),
    [
        ("Book H-17 in Graz.", {}),
        ("In Graz.", {"env_info": "The house is H-17."}),
        ("In Graz.", {"context": [{"role": "assistant", "content": "There is H-17."}]}),
    ],
)
def test_what_is_visible_without_the_call_needs_no_dependency(message: str, more: dict[str, Any]) -> None:
    assert edges(one_task(search(), book(), message=message, **more)) == []


def test_a_reply_before_the_call_needs_no_dependency_on_an_observation() -> None:
    assert edges(one_task(search(), ask("q", reply="H-17, please"), book())) == []
    assert edges(one_task(search(), book(), ask("q", reply="H-17, please"))) == [("s1", "s0")]


def test_the_call_that_gave_a_value_comes_before_calls_that_repeat_it() -> None:
    details = call("s1", "book_room", None, {"hotelId": "H-17", "stars": 4}, hotelId="H-17", nights=1)
    assert edges(one_task(search(), details, book("s2"))) == [("s1", "s0"), ("s2", "s0")]


def test_keys_that_fit_the_name_come_before_the_nearest() -> None:
    other = call("s1", "translate", None, {"text": "H-17"}, text="x")
    assert edges(one_task(search(), other, book("s2"))) == [("s2", "s0")]
    same = search("s1", city="Linz")
    assert edges(one_task(search(), same, book("s2"))) == [("s2", "s1")]


def test_a_whole_value_comes_before_a_part_of_a_text() -> None:
    text = call("s1", "translate", None, {"hotelId": "one of H-17 and others"}, text="x")
    assert edges(one_task(search(), text, book("s2"))) == [("s2", "s0")]
    assert edges(one_task(text, book("s2"))) == [("s2", "s1")]


def test_values_of_several_calls_ask_for_several_dependencies() -> None:
    names = call("s1", "translate", None, {"name": "Anastasia"}, text="x")
    assert edges(one_task(search(), names, book("s2", guests=[{"name": "Anastasia"}]))) == [("s2", "s0"), ("s2", "s1")]


def test_a_number_inside_an_expression_is_found() -> None:
    rate = call("s0", "searchHotels", None, {"rate": "3123.42"}, city="Graz")
    total = call("s1", "translate", None, text="5 * 3123.42")
    assert edges(one_task(rate, total, message="What are 5 of them in Graz?")) == [("s1", "s0")]


def test_a_small_id_is_certain_if_only_one_observation_has_it_under_such_a_key() -> None:
    observed = {"provinces": [{"id": 3}], "stars": 4}
    found = call("s0", "searchHotels", None, observed, city="Graz")
    asked = call("s1", "x", None, provinceId=3)
    assert edges(one_task(found, asked)) == [("s1", "s0")]
    assert edges(one_task(found, call("s1", "x", None, stars=4))) == []
    assert edges(one_task(found, call("s1", "x", None, stars=4)), weak=True) == [("s1", "s0")]
    assert edges(one_task(found, call("s1", "x", None, townId=3)), weak=True) == []
    again = call("s2", "searchHotels", None, observed, city="Graz")
    assert edges(one_task(found, again, call("s1", "x", None, provinceId=3))) == []
    one = call("s0", "searchHotels", None, {"provinces": [{"id": 1}]}, city="Graz")
    assert edges(one_task(one, call("s1", "x", None, provinceId=1)), weak=True) == [("s1", "s0")]


@pytest.mark.parametrize(
    ("observed", "arguments", "certain"),
    [
        # A word, a common number or a part of a code needs a key that fits.
        ({"mood": "cheerful"}, {"mood": "cheerful"}, True),
        ({"theme": {"note": "cheerful"}}, {"mood": "cheerful"}, False),
        ({"age": 42}, {"battery": 42}, False),
        ({"teamId": 42}, {"team": 42}, True),
        ({"founded": 2019}, {"year": 2019}, False),
        ({"sku": "AX-2019-15"}, {"year": 2019}, False),
        ({"code": 500}, {"amount": 500}, False),
        ({"opens": "09:00"}, {"time": "09:00"}, False),
        ({"opens": "09:40"}, {"time": "09:40"}, True),
        # A setting is never certain.
        ({"status": "active"}, {"status": "active"}, False),
        ({"limit": 20}, {"limit": 20}, False),
        ({"page": {"size": 25}}, {"pageSize": 25}, False),
        ({"units": "metric"}, {"units": "metric"}, False),
        # Ids, names and longer numbers are, under any key.
        ({"sum": 48213}, {"x": 48213}, True),
        ({"text": "Booking KX-48213 is made."}, {"x": "KX-48213"}, True),
        ({"link": "https://example.org/items/48213"}, {"x": 48213}, True),
        ({"who": "Anastasia"}, {"x": "Anastasia"}, True),
        ({"rates": {"Graz-Linz": 2.5}}, {"x": "Graz-Linz"}, True),
        ({"weekly": {"x": 4}}, {"interval": "weekly"}, False),
        # A day, unless it only says when the reply was made.
        ({"departs": "2024-07-05T10:00"}, {"x": "2024-07-05"}, True),
        ({"created_at": "2024-07-05T10:00"}, {"x": "2024-07-05"}, False),
    ],
)
def test_a_common_value_is_certain_only_where_its_key_fits(
    observed: dict[str, Any], arguments: dict[str, Any], certain: bool
) -> None:
    found = call("s0", "searchHotels", None, observed, city="Graz")
    assert edges(one_task(found, call("s1", "x", None, **arguments))) == ([("s1", "s0")] if certain else [])


def test_suggestions_never_run_in_a_circle() -> None:
    # s0 waits for s1 by hand; its value is what s1 needs.
    assert edges(one_task(search(needs="s1"), book(needs=""))) == []
    first = call("s0", "translate", None, {"x": "A-100"}, text="B-200")
    second = call("s1", "translate", "s0", {"x": "B-200"}, text="A-100")
    assert edges(one_task(first, second)) == []


def test_a_task_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(KeyError):
        suggest_edges(one_task(search()), TOOLSET, "t9")
    with pytest.raises(KeyError):
        evidence_for_information(one_task(search()), TOOLSET, "t9")


names = st.sampled_from(["A-100", "B-200", "C-300", 7, 4711, "Graz"])
needs = st.none() | st.lists(st.sampled_from(["s0", "s1", "s2", "s3"]), unique=True, max_size=2).map(" ".join)
calls = st.tuples(needs, names, st.dictionaries(st.sampled_from(["x", "y", "id"]), names, max_size=3))


@given(st.lists(calls, min_size=1, max_size=4))
@example(
    [(None, "A-100", {"x": "A-100"}), ("s3", "A-100", {"x": 7}), (None, 7, {"x": "A-100"}), (None, "A-100", {})]
)  # The best source closes a circle; the next best does not.
def test_accepting_all_suggestions_leaves_a_graph_that_asks_for_nothing(steps: list[Any]) -> None:
    given = [call(f"s{i}", "tool", need, seen, x=value) for i, (need, value, seen) in enumerate(steps)]
    document = one_task(*given, message="Please.")
    before = canonical(document)
    suggested = suggest_edges(document, TOOLSET, "t1")
    assert canonical(document) == before
    reading = read_graph(document["tasks"][0]["steps"])
    position = {step["id"]: i for i, step in enumerate(given)}
    changed = load_text(before)
    for one in suggested:
        if reading.graph is not None:
            above = reading.graph.ancestors[position[one.step]]
            assert not above >> position[one.needs] & 1
        step = changed["tasks"][0]["steps"][position[one.step]]
        step["depends_on"] = [*(step["depends_on"] or []), {"id": one.needs, "kind": one.kind}]
    after = read_graph(changed["tasks"][0]["steps"])
    assert (after.graph is None) is (reading.graph is None)
    assert after.graph is None or suggest_edges(changed, TOOLSET, "t1") == []


# Checks


def test_a_value_without_a_source_is_a_finding() -> None:
    assert of("provenance.no_source", one_task(search(), message="In Linz.")) == [
        (
            "/tasks/t1/steps/s0/arguments/city",
            "city “Graz” does not appear earlier in the conversation. Correct it, or mark it as inferable and give the "
            "reason.",
        )
    ]
    marked = {**search(), "inferable": {"/city": "The capital of Styria."}}
    assert of("provenance.no_source", one_task(marked, message="In Linz.")) == []
    # Said already by another check: a placeholder, a value that its schema refuses.
    assert of("provenance.no_source", one_task(search(city="<city>"))) == []
    assert of("provenance.no_source", one_task(call("s0", "book_room", "", hotelId=77, nights=1))) == []


def test_a_missing_dependency_is_a_finding_where_dependencies_are_annotated() -> None:
    assert of("provenance.missing_dependency", one_task(search(needs=""), book(needs=""))) == [
        (
            "/tasks/t1/steps/s1/depends_on",
            "s0 (searchHotels) returned “H-17” at /hotels/0/hotelId. Add s0 to the dependencies of s1.",
        )
    ]
    assert of("provenance.missing_dependency", one_task(search(needs=""), book(needs=None))) == []
    assert of("provenance.missing_dependency", one_task(search(needs=""), book(needs="s0"))) == []
    between = call("s2", "translate", None, "x y", text="x")
    assert of("provenance.missing_dependency", one_task(search(needs=""), between, book(needs="s2"))) == []


def test_a_dependency_without_a_value_is_a_finding_unless_logical() -> None:
    first, later = search(needs=""), search("s1", "s0", city="Graz")
    assert of("provenance.unsupported_dependency", one_task({**first, "observation": {"x": [12]}}, later)) == [
        (
            "/tasks/t1/steps/s1/depends_on",
            "s1 is marked as using a value from “s0”, but uses none. Choose “order only” if the "
            "order matters, or remove the dependency.",
        )
    ]
    logical = {**later, "depends_on": [{"id": "s0", "kind": "logical"}]}
    assert of("provenance.unsupported_dependency", one_task({**first, "observation": {"x": [12]}}, logical)) == []
    assert of("provenance.missing_dependency", one_task({**first, "observation": {"x": [12]}}, logical)) == []


@pytest.mark.parametrize(
    "observation", [None, "", {}, [], "done", {"status": "success"}, {"response": {"message": "ok"}}]
)
def test_nothing_is_said_of_a_dependency_when_nothing_came_back(observation: Any) -> None:
    doubtful = one_task(search(needs="", observation=observation), search("s1", "s0"))
    assert of("provenance.unsupported_dependency", doubtful) == []


@pytest.mark.parametrize(
    "arguments",
    [{"text": "concluded"}, {"text": "H-20"}, {"text": "the inn called Uhrturm"}],
)
def test_a_dependency_may_explain_what_stands_nowhere_or_in_part(arguments: dict[str, Any]) -> None:
    doubtful = one_task(search(needs=""), call("s1", "translate", "s0", **arguments))
    assert of("provenance.unsupported_dependency", doubtful) == []


def test_a_choice_may_follow_from_an_observation() -> None:
    doubtful = one_task(search(needs="", observation={"x": 12}), book(needs="s0", board="full"), message="H-17 in Graz")
    assert of("provenance.unsupported_dependency", doubtful) == []


# Information


def dialogue(*messages: tuple[str, str, str], **more: Any) -> dict[str, Any]:
    """Tasks of one call each from triples (label, user message, city asked for)."""
    return document(
        *(
            task(
                f"t{i}",
                "single_tool",
                label,
                call("s0", "searchHotels", observation={"x": [4711]}, city=city),
                answer("s0", "Nothing there."),
                message=message,
            )
            for i, (label, message, city) in enumerate(messages, 1)
        ),
        **more,
    )


PARTIAL, FAR = "partial_information", "long_range_dependency"


def contradicted(document: dict[str, Any], rule: Any = "c3") -> list[tuple[str, str]]:
    return of("label.information_evidence", document, settings=CheckSettings(long_range_rule=rule))


def test_explicit_means_that_this_message_says_it() -> None:
    hidden = dialogue(("explicit", "In Graz.", "Graz"), ("explicit", "And there?", "Graz"))
    assert contradicted(hidden) == [
        (
            "/tasks/t2/information",
            "The label is explicit, but city (“Graz”) appears only before this message. Correct the "
            "label, the message or the call.",
        )
    ]
    assert contradicted(dialogue(("explicit", "In Graz.", "Graz"), ("explicit", "And Linz?", "Linz"))) == []
    # Found nowhere: that is another finding.
    assert contradicted(dialogue(("explicit", "Hello.", "Graz"))) == []


def test_what_hides_something_leaves_something_out() -> None:
    plain = dialogue(("explicit", "In Graz.", "Graz"), (PARTIAL, "And Linz?", "Linz"))
    assert contradicted(plain) == [
        (
            "/tasks/t2/information",
            "The label is partial_information, but this message has every value that the task needs from the user. "
            "Correct the label, the message or the call.",
        )
    ]
    assert contradicted(dialogue(("explicit", "In Graz.", "Graz"), (PARTIAL, "And there?", "Graz"))) == []


def test_what_the_user_says_when_asked_was_hidden() -> None:
    asked = task(
        "t2", "clarify", PARTIAL, ask("q", reply="Two."), book("s0", "q", hotelId="H-17", nights=2), answer("s0"),
        message="Book H-17.",
    )  # fmt: skip
    assert contradicted(document(dialogue(("explicit", "In Graz.", "Graz"))["tasks"][0], asked)) == []


def test_a_choice_of_the_schema_may_have_been_said_before() -> None:
    first = task("t1", "single_tool", "explicit", book("s0", "", hotelId="H-17", nights=2, board="full"), answer("s0"),
                 message="Book H-17 for two nights, full board.")  # fmt: skip
    then = task("t2", "single_tool", PARTIAL, book("s0", "", hotelId="H-20", nights=3, board="full"), answer("s0"),
                message="The same in H-20 for three nights.")  # fmt: skip
    assert contradicted(document(first, then)) == []


def test_long_range_means_that_something_lies_far_back() -> None:
    near = dialogue(("explicit", "In Graz.", "Graz"), (PARTIAL, "And Linz, again?", "Graz"), (FAR, "Linz?", "Linz"))
    assert [anchor for anchor, _ in contradicted(near)] == ["/tasks/t3/information"]
    near = dialogue(("explicit", "In Wels.", "Wels"), ("explicit", "In Graz.", "Graz"), (FAR, "There?", "Graz"))
    assert [message for _, message in contradicted(near)] == [
        "The label is long_range_dependency, but city (“Graz”) can be found within the previous exchange, and the task "
        "needs nothing from farther back. Correct the label, the message or the call."
    ]
    far = dialogue(("explicit", "In Graz.", "Graz"), ("explicit", "In Wels.", "Wels"), (FAR, "The first?", "Graz"))
    assert contradicted(far) == []


def test_by_the_wild_rule_three_user_messages_lie_between() -> None:
    tasks = [("explicit", "In Graz.", "Graz"), ("explicit", "In Wels.", "Wels"), ("explicit", "In Enns.", "Enns")]
    three = dialogue(*tasks, (FAR, "The first?", "Graz"))
    assert contradicted(three, "wild") == []
    assert contradicted(dialogue(*tasks, (FAR, "The second?", "Wels")), "c3") == []
    assert [anchor for anchor, _ in contradicted(dialogue(*tasks, (FAR, "The second?", "Wels")), "wild")] == [
        "/tasks/t4/information"
    ]


def test_evidence_lists_the_values_by_what_it_takes_to_know_them() -> None:
    far = dialogue(("explicit", "In Graz.", "Graz"), ("explicit", "In Wels.", "Wels"), (FAR, "The first?", "Graz"))
    evidence = evidence_for_information(far, TOOLSET, "t3")
    assert evidence.far == ("/tasks/t3/steps/s0/arguments/city",)
    assert (evidence.here, evidence.near, evidence.open, evidence.against) == ((), (), (), "")
    assert evidence.suits == (FAR,)
    traced = trace(far, TOOLSET)
    assert traced.tasks[2].information == evidence
    assert [one.information.suits for one in traced.tasks[:2]] == [("explicit",), ("explicit",)]


def test_chat_says_nothing_about_information() -> None:
    chat = document(task("t1", "chat", "explicit", answer(kind="chat")))
    assert contradicted(chat) == []
    assert evidence_for_information(chat, TOOLSET, "t1").suits == ()
