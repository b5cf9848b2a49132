"""Values in other forms: numbers and times in words, other units, other forms of an id, names and codes."""

from typing import Any

import pytest

from annotator.core.provenance import Origin, suggest_edges, trace
from annotator.core.provenance.dates_in_text import times_in
from annotator.core.provenance.named_codes import named_code
from annotator.core.provenance.number_words import written
from annotator.core.provenance.search_targets import Observation, Text
from annotator.core.provenance.value_forms import forms_of
from annotator.core.schema.toolsets import CompiledToolset
from tests.annotator.core.checks.check_cases import call, document, task, tool


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("the seventh floor", 7),
        ("the twenty-first", 21),
        ("the thirtieth time", 30),
        ("six dozen eggs", 72),
        ("a couple of tickets", 2),
        ("two and a half miles", 2.5),
        ("3 1/2 cups", 3.5),
        ("three quarters of it", 0.75),
        ("two thirds", 0.67),
        ("half a million", 500_000),
        ("twelve hundred dollars", 1200),
        ("four two eight six", 4286),
        ("叁仟元", 3000),
        ("壹万贰仟", 12_000),
        ("一个半小时", 1.5),
        ("五块五", 5.5),
        ("三点二五", 3.25),
        ("百分之二十", 20),
        ("打八折", 80),
        ("三分之二", 0.67),
        ("两打", 24),
    ],
)
def test_numbers_are_read_from_words(text: str, number: float) -> None:
    assert number in [found for found, _ in written(text)]
    assert Text(text).has(forms_of(number))


@pytest.mark.parametrize(
    ("value", "text", "there"),
    [
        (-40, "it is -40 outside", True),
        (40, "it is -40 outside", False),
        ("40", "it is -40 outside", False),
        (-40, "set it to 40 degrees", False),
        (-40, "forty below zero", True),
        (-8, "零下8度", True),
        (40, "20-40 people", True),
        (1234.5, "1.234,50 €", True),
        (980.5, "980,50 €", True),
        (2500, "at most 2.5k", True),
        (1_200_000, "1.2m", True),
    ],
)
def test_signs_and_marks_of_numbers(value: Any, text: str, there: bool) -> None:
    assert Text(text).has(forms_of(value)) is bool(Text(text).hits(forms_of(value))) is there


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("at half past seven", {"07:30", "19:30"}),
        ("quarter to nine in the morning", {"08:45"}),
        ("ten past three pm", {"15:10"}),
        ("seven in the evening", {"19:00"}),
        ("8:15 tonight", {"08:15", "20:15"}),
        ("in the afternoon", set()),
        ("three to 12,000 people", set()),
        ("晚上八点半", {"20:30"}),
    ],
)
def test_times_are_read_from_words(text: str, times: set[str]) -> None:
    assert {f"{hour:02}:{minute:02}" for (hour, minute), _ in times_in(text)} == times


@pytest.mark.parametrize(
    ("value", "text", "there"),
    [
        ("de", "in german, please", True),
        ("de", "news from germany", True),
        ("pt-br", "in portuguese", True),
        ("thb", "换成泰铢", True),
        ("ca", "homes in california", True),
        ("lhr", "from london", True),
        ("shanghai", "上海的天气", True),
        ("北京", "weather in beijing", True),
        ("fr", "news from germany", False),
        ("cdg", "from london", False),
        ("in", "indianapolis", False),
    ],
)
def test_codes_and_names_have_others(value: str, text: str, there: bool) -> None:
    assert bool(named_code(value, text)) is there


TOOLSET = CompiledToolset.of_tools([tool("look"), tool("act")])


def flow(observed: Any, name: str, value: Any) -> dict[str, Any]:
    steps = [call("s0", "look", None, observed), call("s1", "act", None, **{name: value})]
    return document(task("t1", None, None, *steps))


@pytest.mark.parametrize(
    ("observed", "name", "value"),
    [
        ({"number": 40384}, "orderNumber", "00040384"),
        ({"id": "00040384"}, "employee", 40384),
        ({"user": "user_81510"}, "user_id", 81510),
        ({"id": 81510}, "customer", "cust_81510"),
        ({"owner": "Maria Keller"}, "email", "maria.keller@example.org"),
        ({"email": "maria_keller@example.org"}, "full_name", "Maria Keller"),
        ({"first": "Maria", "last": "Keller"}, "guest", "Keller, Maria"),
        ({"directory": "/home/ann", "file": "plan.txt"}, "path", "/home/ann/plan.txt"),
        ({"latitude": 71.426821}, "lat", 71.43),
        ({"distance_km": 12.4}, "radius_m", 12_400),
        ({"distance": "12.4 km"}, "distance", 12_400),
        ({"duration_minutes": 150}, "hours", 2.5),
        ({"runtime": "1 hour 30 minutes"}, "duration", 90),
        ({"price_cents": 129_950}, "price", 1299.5),
        ({"discount": 0.68}, "percent", 68),
        ({"liter": 40}, "gallons", 10.57),
        ({"starts_at": 1_772_667_000}, "date", "2026-03-04"),
        ({"departure": "2026-03-04T23:30:00Z"}, "since", 1_772_667_000),
    ],
)
def test_a_value_follows_from_an_observation(observed: Any, name: str, value: Any) -> None:
    one = flow(observed, name, value)
    assert [(each.needs, each.weak) for each in suggest_edges(one, TOOLSET, "t1")] == [("s0", False)]
    (argument,) = trace(one, TOOLSET).tasks[0].calls[1].arguments
    assert argument.origin is Origin.OBSERVATION
    assert argument.sources[0].step == "s0"
    assert argument.sources[0].path


@pytest.mark.parametrize(
    ("observed", "name", "value"),
    [
        ({"distance_km": 12.4}, "radius_m", 12_500),
        ({"distance_km": 12.4}, "seats", 12_400),
        ({"duration_minutes": 150}, "hours", 3.5),
        ({"owner": "Maria Keller"}, "email", "maria.novak@example.org"),
        ({"user": "user_81510"}, "user_id", 8151),
        ({"first": "Maria", "last": "Keller"}, "guest", "Maria K. Keller"),
        ({"latitude": 71.426821}, "lat", 71.44),
        ({"starts_at": 1_772_667_000}, "date", "2026-03-06"),
    ],
)
def test_a_value_that_is_not_quite_the_same_does_not_follow(observed: Any, name: str, value: Any) -> None:
    assert suggest_edges(flow(observed, name, value), TOOLSET, "t1") == []


def test_parts_that_two_observations_give_alike_are_weak() -> None:
    steps = [call("s0", "look", None, {"km": 12.4}), call("s1", "look", None, {"km": 12.4})]
    one = document(task("t1", None, None, *steps, call("s2", "act", None, radius_m=12_400)))
    assert [(each.needs, each.weak) for each in suggest_edges(one, TOOLSET, "t1")] == [("s1", True)]


@pytest.mark.parametrize(
    ("message", "name", "value", "origin"),
    [
        ("An hour and a half.", "duration_minutes", 90, Origin.MESSAGE),
        ("An hour and a half.", "duration_minutes", 75, Origin.NOWHERE),
        ("Within 2 km.", "radius", 2000, Origin.MESSAGE),
        ("Within 2.5 km.", "seats", 2500, Origin.NOWHERE),
        ("Half a kilo of flour.", "grams", 500, Origin.MESSAGE),
        ("开一个半小时的会", "duration_minutes", 90, Origin.MESSAGE),
        ("Keep it for two days.", "hours", 48, Origin.MESSAGE),
    ],
)
def test_a_value_follows_from_what_the_user_says(message: str, name: str, value: Any, origin: Origin) -> None:
    one = document(task("t1", None, None, call("s0", "act", None, **{name: value}), message=message))
    (argument,) = trace(one, TOOLSET).tasks[0].calls[0].arguments
    assert argument.origin is origin


def test_the_numbers_of_an_observation_are_those_that_are_values() -> None:
    observed = Observation({"a": 1.5, "b": ["2", {"c/d": 3}]})
    assert sorted(observed.numbers(observed._work)) == [("/a", 1.5), ("/b/1/c~1d", 3)]
