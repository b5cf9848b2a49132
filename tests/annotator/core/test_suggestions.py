"""Places and values of suggestions: what is possible, and what is refused with a sentence."""

from typing import Any

import pytest

from annotator.core.editing import apply
from annotator.core.fields import read_fields
from annotator.core.suggestion_content import current_value, is_taken, operation_of, take_dependencies
from annotator.core.suggestion_shape import Suggested, SuggestionProblem, read_suggestion
from annotator.core.suggestions import fitted, kind_of
from tests.annotator.core.test_custom_fields import FIELDS
from tests.factories import make_document
from tests.journeys.graph_tasks import coast

STEPS = "/tasks/t1/steps"
POSSIBLE = [
    ("/language", "zh", "language"),
    ("/env_info", "It is Monday.", "text"),
    ("/tasks/t1/policy", "chat", "policy"),
    ("/tasks/t1/information", "explicit", "information"),
    ("/tasks/t1/user_message", "And in Ghent?", "text"),
    (f"{STEPS}/s0/name", "find_trains", "tool"),
    (f"{STEPS}/s0/arguments/city", "Bruges", "argument"),
    (f"{STEPS}/s0/arguments/new", [1, None], "argument"),
    (f"{STEPS}/s0/observation", {"celsius": 40.0}, "observation"),
    (f"{STEPS}/s1/text", "It rains.", "text"),
    (f"{STEPS}/s1/answer_type", "tool", "answer_type"),
    (f"{STEPS}/s1/depends_on", [], "dependency"),
    (f"{STEPS}/s1/depends_on/s0", "logical", "dependency"),
]
REFUSED = [
    ("/tasks/t9/policy", "chat", "place", "no task “t9”"),
    ("/tasks/t1/policy", "sing", "value", "single_tool, multi_tool, clarify, chat"),
    ("/tasks/t1/policy", ["chat"], "value", "Use one of"),
    ("/tasks/t1/id", "t2", "place", "A task has"),
    ("/context/0/content", "Hi", "place", "Nothing can be suggested"),
    (f"{STEPS}/s9/name", "get_weather", "place", "no step “s9”"),
    (f"{STEPS}/s0/name", "fly", "value", "no tool fly"),
    (f"{STEPS}/s0/arguments/city/deep", 1, "place", "Suggest the value around it"),
    (f"{STEPS}/s0/text", "Hello", "place", "This step has"),
    (f"{STEPS}/s1/text", "  ", "value", "isn’t blank"),
    (f"{STEPS}/s1/depends_on", ["s0"], "value", "only [] is possible"),
    (f"{STEPS}/s1/depends_on/s1", "logical", "place", "can’t depend on s1"),
    (f"{STEPS}/s1/depends_on/s0", "both", "value", "parameter, logical"),
]


@pytest.mark.parametrize(("place", "value", "kind"), POSSIBLE)
def test_a_possible_suggestion_becomes_the_value_by_one_edit(place: str, value: Any, kind: str) -> None:
    document = make_document()
    one = read_suggestion({"place": place, "value": value, "source": "model"})
    assert kind_of(document, one, {"get_weather", "find_trains"}) == kind
    changed, _ = apply(document, operation_of(place, value))
    assert is_taken(changed, place, value)
    assert current_value(changed, place) == value


@pytest.mark.parametrize(("place", "value", "field", "words"), REFUSED)
def test_an_impossible_suggestion_is_refused_with_its_field(place: str, value: Any, field: str, words: str) -> None:
    with pytest.raises(SuggestionProblem) as refusal:
        kind_of(make_document(), Suggested(place, value, "model"), {"get_weather", "find_trains"})
    assert refusal.value.field == field
    assert words in refusal.value.message


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ("text", ""),
        ({"place": "/language", "value": "en"}, "source"),
        ({"place": "/language", "value": None, "source": "m"}, "value"),
        ({"place": "language", "value": "en", "source": "m"}, "place"),
        ({"place": "/language", "value": "en", "source": "m" * 121}, "source"),
        ({"place": "/language", "value": "en", "source": "m", "score": 1.1}, "score"),
        ({"place": "/language", "value": "en", "source": "m", "score": True}, "score"),
        ({"place": "/language", "value": "en", "source": "m", "score": 10**400}, "score"),
        ({"place": "/env_info", "value": "x" * 20_000, "source": "m"}, "value"),
        ({"place": "/env_info", "value": "\0", "source": "m"}, "value"),
        ({"place": "/language", "value": "en", "source": "m", "more": 1}, ""),
    ],
)
def test_the_shape_of_a_suggestion_is_checked(raw: Any, field: str) -> None:
    with pytest.raises(SuggestionProblem) as refusal:
        read_suggestion(raw)
    assert refusal.value.field == field


def test_the_dependencies_of_a_dialogue_become_suggestions_that_make_it_again() -> None:
    document = coast()
    bare, found = take_dependencies(document)
    assert all(step["depends_on"] is None for task in bare["tasks"] for step in task["steps"])
    again = bare
    for one in found:
        assert kind_of(bare, one) == "dependency"
        again, _ = apply(again, operation_of(one.place, one.value))
    wanted = {step["id"]: step["depends_on"] for task in document["tasks"] for step in task["steps"]}
    made = {step["id"]: step["depends_on"] for task in again["tasks"] for step in task["steps"]}
    assert made == wanted


@pytest.mark.parametrize(
    ("place", "value", "stored"),
    [
        ("/labels/quality", 4, 4),
        ("/tasks/t1/labels/difficulty", "hard", "hard"),
        # The members of a set are stored in order, each once.
        (f"{STEPS}/s0/labels/why", ["vague", "long", "vague"], ["long", "vague"]),
    ],
)
def test_an_answer_to_a_custom_field_can_be_suggested(place: str, value: Any, stored: Any) -> None:
    document = make_document()
    one = fitted(document, Suggested(place, value, "model"), fields=read_fields(FIELDS))
    assert (one.kind, one.value, current_value(document, place)) == ("label", stored, None)
    changed, _ = apply(document, operation_of(place, one.value))
    assert is_taken(changed, place, one.value)


@pytest.mark.parametrize(
    ("place", "value", "field", "words"),
    [
        ("/labels/difficulty", "hard", "place", "Its fields there: quality"),
        ("/tasks/t1/labels/difficulty", "medium", "value", "is not among the options"),
        ("/tasks/t1/labels/difficulty", 1.5, "value", "must be a text"),
        ("/labels/quality", 9, "value", "not on the scale"),
        ("/tasks/t9/labels/difficulty", "hard", "place", "no dialogue, task, call or answer"),
        ("/tasks/t1/labels/evidence", [{"start": 0, "end": 1, "text": "ß"}], "value", "mark it again"),
    ],
)
def test_what_does_not_answer_a_custom_field_is_refused(place: str, value: Any, field: str, words: str) -> None:
    with pytest.raises(SuggestionProblem) as refusal:
        kind_of(make_document(), Suggested(place, value, "model"), fields=read_fields(FIELDS))
    assert (refusal.value.field, words in refusal.value.message) == (field, True)
