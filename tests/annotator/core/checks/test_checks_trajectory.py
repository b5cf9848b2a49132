"""trajectory.*: what the calls did and what the answer makes of it."""

from typing import Any

import pytest

from annotator.core.checks.observations import error_in, is_empty, lost_ids
from annotator.core.checks.placeholders import is_placeholder
from tests.annotator.core.checks.check_cases import answer, ask, call, document, findings, good, of, task


def with_steps(*steps: dict[str, Any]) -> dict[str, Any]:
    return document(task("t1", "single_tool", "explicit", *steps))


def with_observation(observation: Any, text: str = "Done.") -> dict[str, Any]:
    return with_steps(call("s0", "searchHotels", observation=observation, city="Graz"), answer("s0", text))


def test_a_sound_trajectory_has_no_finding() -> None:
    assert [one for one in findings(good()) if one.check.startswith("trajectory.")] == []


def test_the_same_call_twice_in_one_task() -> None:
    twice = [call("s0", "book_room", hotelId="H", nights=1), call("s1", "book_room", nights=1, hotelId="H")]
    bad = with_steps(*twice, answer("s0 s1"))
    assert of("trajectory.repeated_call", bad) == [
        (
            "/tasks/t1/steps/s1/arguments",
            "s1 repeats s0: same tool, same arguments. Delete one, or explain why both are needed.",
        )
    ]
    twice[1]["arguments"]["nights"] = 2
    assert of("trajectory.repeated_call", with_steps(*twice, answer("s0 s1"))) == []


def test_the_same_call_in_another_task_is_no_repetition() -> None:
    again = call("s0", "translate", text="x")
    tasks = [task(name, "single_tool", "explicit", again, answer("s0")) for name in ("t1", "t2")]
    assert of("trajectory.repeated_call", document(*tasks)) == []


def test_an_observation_that_is_missing_and_one_that_is_empty_differ() -> None:
    missing, empty = with_observation(None), with_observation({"response": []})
    assert of("trajectory.observation_missing", missing) == [
        ("/tasks/t1/steps/s0/observation", "Add what searchHotels returned.")
    ]
    assert of("trajectory.observation_empty", missing) == []
    assert of("trajectory.observation_missing", empty) == []
    assert of("trajectory.observation_empty", empty) == [
        (
            "/tasks/t1/steps/s0/observation",
            "searchHotels returned nothing. Fill in the observation, or explain why it is empty.",
        )
    ]
    severities = {(one.check, one.severity) for one in [*findings(missing, "import"), *findings(empty, "import")]}
    assert ("trajectory.observation_missing", "info") in severities
    assert ("trajectory.observation_empty", "warning") in severities


@pytest.mark.parametrize(
    "nothing", ["", " \n", [], {}, {"response": {}}, {"status_code": 200, "result": []}, {"data": None}]
)
def test_empty_observations(nothing: Any) -> None:
    assert is_empty(nothing)


@pytest.mark.parametrize(
    "something", [0, False, "none", [0], {"count": 0}, {"status": 200}, {"response": {"hits": []}}]
)
def test_observations_that_say_something(something: Any) -> None:
    assert not is_empty(something)


@pytest.mark.parametrize(
    ("observation", "error"),
    [
        ("Error: no such city", "Error: no such city"),
        ("ValueError: city", "ValueError: city"),
        ("Traceback (most recent call last): …", "Traceback (most recent call last): …"),
        ("错误：城市不存在", "错误：城市不存在"),
        ('{"error": "no such city"}', "no such city"),
        ({"error": "no such city"}, "no such city"),
        ({"errors": [{"code": 3}]}, '[{"code":3}]'),
        ({"error": True}, "error is true"),
        ({"status_code": 404, "response": {}}, "status_code 404"),
        ({"status": 500}, "status 500"),
        ({"status": "error", "message": "down"}, "down"),
        ({"success": False}, "success is false"),
        ({"response": {"error": "down"}, "status_code": 200}, "down"),
    ],
)
def test_observations_that_report_an_error(observation: Any, error: str) -> None:
    assert error_in(observation) == error
    bad = with_observation(observation)
    assert of("trajectory.tool_error", bad) == [
        ("/tasks/t1/steps/s0/observation", f"searchHotels returned an error ({error}). Use a call that works.")
    ]


@pytest.mark.parametrize(
    "observation",
    [
        None,
        "Errors are rare here.",
        "No error was found.",
        '{"error": null}',
        '{"rror',
        {"error": None},
        {"error": ""},
        {"error": 0},
        {"errors": []},
        {"error": False},
        {"error_rate": 0.2},
        {"status_code": 200},
        {"status": "failed"},
        {"status": 3},
        {"success": True},
        {"response": {"items": [{"error": "E404"}]}},
    ],
)
def test_observations_that_merely_speak_of_errors(observation: Any) -> None:
    assert error_in(observation) is None


@pytest.mark.parametrize(
    "value",
    [
        *("<city>", "<YOUR-API-KEY>", "{{city}}", "{city}", "${CITY}", "[your name]", "your_api_key", "YOUR-TOKEN"),
        *(
            "xxx",
            "XXXX",
            "TBD",
            "todo",
            "placeholder",
            "$var1.field$",
            "lorem ipsum dolor",
            "待定",
            "【请填写】",
            "undefined",
        ),
    ],
)
def test_placeholders(value: str) -> None:
    assert is_placeholder(value)
    bad = with_steps(call("s0", "book_room", hotelId=value, nights=1), answer("s0"))
    assert of("trajectory.placeholder", bad) == [
        ("/tasks/t1/steps/s0/arguments/hotelId", f"“hotelId” is the placeholder “{value}”. Enter the real value.")
    ]


@pytest.mark.parametrize(
    "value",
    [
        *("", "Graz", "your name", "Your Song", "x", "xx", "Todos Santos", "$100", '{"a": 1}', "a < b > c", "[1, 2]"),
        *(
            "https://example.com/<id>",
            "tbd.com",
            "none",
            "unknown",
            "N/A",
            "[link](https://x.org)",
            "待定的人",
            "x" * 300,
        ),
    ],
)
def test_values_that_only_look_like_placeholders(value: str) -> None:
    assert not is_placeholder(value)


def test_placeholders_deep_in_the_arguments() -> None:
    bad = with_steps(call("s0", "book_room", hotelId="H", nights=1, guests=[{"name": "<name>"}]), answer("s0"))
    assert [anchor for anchor, _ in of("trajectory.placeholder", bad)] == ["/tasks/t1/steps/s0/arguments/guests/0/name"]


def test_a_task_ends_with_an_answer_that_says_something() -> None:
    without = with_steps(call("s0", "translate", text="x"))
    assert of("trajectory.no_answer", without) == [
        ("/tasks/t1/steps", "The task has no answer. Add one as its last step.")
    ]
    assert [one.severity for one in findings(without, "save")] == ["info"]
    assert [one.severity for one in findings(without, "submit")] == ["error"]
    for text in (None, " "):
        silent = with_steps(call("s0", "translate", text="x"), answer("s0", text))
        assert of("trajectory.answer_text_missing", silent) == [("/tasks/t1/steps/a/text", "Write the answer.")]
        assert of("trajectory.no_answer", silent) == []


def test_a_clarification_needs_question_and_reply() -> None:
    half = document(task("t1", "clarify", "explicit", ask("s0", question=None, reply=""), answer("s0")))
    assert of("trajectory.clarification_incomplete", half) == [
        ("/tasks/t1/steps/s0/question", "Write the question to the user."),
        ("/tasks/t1/steps/s0/user_reply", "Write the user's reply."),
    ]
    assert {one.severity for one in findings(half, "import")} == {"info"}


SHOWS = {"response": {"shows": [{"showId": f"show{i}", "name": f"Opera {i}"} for i in range(1, 6)]}}


@pytest.mark.parametrize(
    ("observation", "text", "lost"),
    [
        # All listed with their ids, or none listed at all.
        (SHOWS, "show1, show2, show3, show4 and show5 are on.", []),
        (SHOWS, "There are five shows.", []),
        # Listed by name, ids dropped.
        (SHOWS, "Opera 1, Opera 2, Opera 3, Opera 4, Opera 5.", ["show1", "show2", "show3", "show4", "show5"]),
        # One of five forgotten.
        (SHOWS, "show1, show2, show3 and show5 are on.", ["show4"]),
        # A choice among them.
        (SHOWS, "show1 is the best, then show2.", []),
        (SHOWS, "show1, show2 and show3 are free of charge.", []),
        # show10 does not contain the name show1.
        ([{"show_id": "show1"}, {"show_id": "show2"}, {"show_id": "show3"}], "show10, show2, show3", []),
        ([{"show_id": n, "title": f"Act {n}"} for n in (71, 72)], "Act 71 (71) and Act 72", []),
        ([{"show_id": n, "title": f"The {w}"} for n, w in ((71, "a"), (72, "b"))], "The a (71) and The b", ["72"]),
        # A running number is no id anybody needs.
        ([{"id": 1, "name": "Huye"}, {"id": 2, "name": "Nyanza"}], "Huye and Nyanza.", []),
        ([{"id": "D-1", "name": "Huye"}, {"id": "D-2", "name": "Nyanza"}], "Huye and Nyanza.", ["D-1", "D-2"]),
        # Not every item has an id of its own.
        ([{"showId": "s-1", "name": "A1"}, {"showId": "s-1", "name": "B1"}], "A1 and B1", []),
        ([{"showId": "s-1", "name": "A1"}, {"name": "B1"}], "A1 and B1", []),
        ([{"showId": "s-1", "name": "A1"}, "B1"], "A1 and B1", []),
        ([{"showId": "s-1", "name": "A1"}], "A1", []),
        ("text", "A1", []),
        ([], "A1", []),
    ],
)
def test_ids_of_a_list_that_the_answer_repeats(observation: Any, text: str, lost: list[str]) -> None:
    if isinstance(observation, dict | list):
        assert lost_ids(observation, text) == lost
    assert bool(of("trajectory.ids_lost", with_observation(observation, text))) is bool(lost)


def test_the_lost_ids_are_named_at_the_answer() -> None:
    bad = with_observation(SHOWS, "show1, show2, show3 and show5 are on.")
    assert of("trajectory.ids_lost", bad) == [
        ("/tasks/t1/steps/a/text", "The answer lists the result of s0 but omits the ids “show4”. Add them.")
    ]


def test_ids_that_another_call_goes_on_with_need_not_be_told() -> None:
    names = "Opera 1, Opera 2, Opera 3, Opera 4, Opera 5."
    used = with_steps(
        call("s0", "searchHotels", observation=SHOWS, city="Graz"),
        call("s1", "translate", "s0", text="show1"),
        answer("s1", names),
    )
    assert of("trajectory.ids_lost", used) == []
