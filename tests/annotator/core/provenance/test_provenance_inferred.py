"""What people infer from a user's words: abbreviations, dates in parts, numbers computed or rounded, another day."""

from typing import Any

import pytest

from annotator.core.provenance import Origin, suggest_edges, trace
from annotator.core.provenance.inferences import DateParts, abbreviated, asks_to_round, computed, is_initials
from annotator.core.provenance.named_codes import named_code
from annotator.core.schema.toolsets import CompiledToolset
from tests.annotator.core.checks.check_cases import call, document, task, tool

TOOLSET = CompiledToolset.of_tools([tool("look"), tool("act")])


@pytest.mark.parametrize(
    ("code", "text", "name"),
    [
        ("RMS", "a flight from Rivermist, please", "Rivermist"),
        ("SBK", "I fly to Stonebrook.", "Stonebrook"),
        ("CRH", "an adventure from Crescent Hollow", "Crescent Hollow"),
        ("CRH", "From Crescent Hollow to Rivermist", "Crescent Hollow"),
        ("HLW", "an adventure from Crescent Hollow", "Crescent Hollow"),
        ("NVDA", "the price of Nvidia", "Nvidia"),
        ("NH", "a room in New Hope", "New Hope"),
        # The letters are not in order, are not all there or begin elsewhere.
        ("RSM", "from Rivermist", None),
        ("RSI", "from Rivermist", None),
        ("RMX", "from Rivermist", None),
        ("VMS", "from Rivermist", None),
        # Two letters that are no initials, a word that is no name, the first word of a sentence.
        ("RM", "from Rivermist", None),
        ("RMS", "from rivermist", None),
        ("FRM", "Fly me. From me to you", None),
    ],
)
def test_a_code_abbreviates_a_capitalised_name(code: str, text: str, name: str | None) -> None:
    span = abbreviated(code, text)
    assert (text[slice(*span)] if span else None) == name


def test_a_code_of_a_table_is_only_an_abbreviation_as_initials() -> None:
    assert is_initials("LA", "from Los Angeles")
    assert is_initials("CDG", "from Cardington") is None
    assert origin("CDG", "A flight from Cardington.", name="airport") is Origin.NOWHERE


@pytest.mark.parametrize(
    ("value", "text", "there"),
    [
        ("jfk", "From NYC to Graz", True),
        ("us", "from the USA", True),
        # In small letters or among capitals only, it may be a word; one airport is no other.
        ("jfk", "from nyc to graz", False),
        ("cdg", "ON PAR WITH IT", False),
        ("jfk", "From LGA to Graz", False),
    ],
)
def test_a_code_of_a_whole_city_in_capitals_names_its_airports(value: str, text: str, there: bool) -> None:
    assert bool(named_code(value, text.lower(), text)) is there


def origin(
    value: Any, message: str, *observed: Any, name: str = "x", env: str | None = "Today is 2026-03-04."
) -> Origin:
    steps = [call(f"s{i}", "look", None, one) for i, one in enumerate(observed)]
    one = task("t1", None, None, *steps, call("s9", "act", None, **{name: value}), message=message)
    return trace(document(one, env_info=env), TOOLSET).tasks[0].calls[-1].arguments[0].origin


def test_an_abbreviation_is_inferable_with_the_name_as_its_place_and_no_dependency() -> None:
    message = "A flight from Rivermist."
    steps = [call("s0", "look", None, {"city": "Rivermist"}), call("s1", "act", None, origin="RMS", status="RMS")]
    one = document(task("t1", None, None, *steps, message=message))
    named, setting = trace(one, TOOLSET).tasks[0].calls[1].arguments
    assert (named.origin, setting.origin) == (Origin.INFERABLE, Origin.NOWHERE)
    assert [(source.anchor, source.span) for source in named.sources] == [("/tasks/t1/user_message", (14, 23))]
    assert suggest_edges(one, TOOLSET, "t1") == []
    # An observation alone is no name that the user says.
    assert origin("RMS", "Book it.", {"city": "Rivermist"}) is Origin.NOWHERE


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("the 15th of next month, which is november of 2026", True),
        ("the 15th of the year 2026's eleventh month", True),
        ("next month at 2026, 11/15", True),
        ("15/11 of the year 2026", True),
        ("the 15th of november", False),
        ("november of 2026", False),
        ("the 16th, in november of 2026", False),
        ("the 15th floor, in november of 2026", False),
        ("11/15, a quarter of it, in 2025", False),
    ],
)
def test_a_date_is_said_in_parts(text: str, there: bool) -> None:
    assert bool(DateParts(text, []).place_of([(2026, 11, 15)])) is there


def test_parts_of_whole_dates_are_not_combined() -> None:
    message = "From July 15th, 2026; before, in November of 2025."
    assert origin("2026-07-15", message) is Origin.MESSAGE
    assert origin("2025-11-15", message) is Origin.NOWHERE


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Round it to the nearest integer", True),
        ("a whole number, please", True),
        ("结果取整", True),
        ("a round trip to Graz", False),
        ("a round table", False),
    ],
)
def test_words_ask_for_a_whole_number(text: str, asked: bool) -> None:
    assert asks_to_round(text.lower()) is asked


def test_a_small_number_is_rounded_only_if_the_user_asks() -> None:
    observed = {"gallon": 39.6258}
    assert origin(40, "Round it and fill up to the nearest integer.", observed) is Origin.OBSERVATION
    assert origin(40, "Fill it up.", observed) is Origin.NOWHERE
    assert origin(39, "Round it and fill up to the nearest integer.", observed) is Origin.NOWHERE


@pytest.mark.parametrize(
    ("number", "text", "at"),
    [
        # 10 shares at 220.34; 220.34 + 10; 220.34 - 10.
        (2203.4, "10 shares", 1),
        (230.34, "10 more", 1),
        (210.34, "10 less", 1),
        (15, "double that", 0),
        (22.5, "three times as much", 0),
        # Too few figures for chance to be out of play; no words for it; another result.
        (75, "10 of them", None),
        (15, "that much", None),
        (2203.5, "10 shares", None),
    ],
)
def test_a_number_is_computed_from_two(number: float, text: str, at: int | None) -> None:
    assert computed(number, [10], [7.5, 220.34], text) == at


def test_a_computed_number_is_inferable_without_a_dependency() -> None:
    steps = [call("s0", "look", None, {"price": 220.34}), call("s1", "act", None, amount=2203.4)]
    one = document(task("t1", None, None, *steps, message="Buy 10 shares."))
    (argument,) = trace(one, TOOLSET).tasks[0].calls[1].arguments
    assert argument.origin is Origin.INFERABLE
    assert [(source.step, source.path) for source in argument.sources] == [("s0", "/price")]
    assert suggest_edges(one, TOOLSET, "t1") == []
    assert origin(2204.3, "Buy 10 shares.", {"price": 220.34}) is Origin.NOWHERE


@pytest.mark.parametrize(
    ("message", "name", "origin_of_it"),
    [
        # 2026-03-04, a Wednesday, is today.
        ("On Friday, please.", "date", Origin.NOWHERE),
        ("I leave in three days.", "date", Origin.NOWHERE),
        ("On July 5.", "date", Origin.NOWHERE),
        ("星期五出发。", "date", Origin.NOWHERE),
        ("On Wednesday, please.", "date", Origin.ENV_INFO),
        ("Today or on Friday.", "date", Origin.ENV_INFO),
        ("This evening, not on Friday.", "date", Origin.ENV_INFO),
        ("What is on until Friday?", "date", Origin.ENV_INFO),
        ("This week, but not on Friday.", "date", Origin.ENV_INFO),
        ("Book a table.", "date", Origin.ENV_INFO),
        ("On Friday, please.", "start_date", Origin.ENV_INFO),
        ("On Friday, please.", "created_at", Origin.ENV_INFO),
    ],
)
def test_today_is_no_source_if_the_user_names_another_day(message: str, name: str, origin_of_it: Origin) -> None:
    assert origin("2026-03-04", message, name=name) is origin_of_it


def test_today_is_a_source_beside_the_day_that_the_user_names_or_if_env_info_has_several() -> None:
    steps = [call("s0", "act", None, date="2026-03-04", last="2026-03-06")]
    one = document(task("t1", None, None, *steps, message="On Friday, please."), env_info="Today is 2026-03-04.")
    assert {each.origin for each in trace(one, TOOLSET).tasks[0].calls[0].arguments} == {Origin.ENV_INFO}
    env = "Today is 2026-03-04. Open until 2026-12-31."
    assert origin("2026-03-04", "On Friday, please.", env=env) is Origin.ENV_INFO


@pytest.mark.parametrize("huge", [10**400, -(10**400), 1e308, 5e-324], ids=["whole", "negative", "large", "small"])
@pytest.mark.parametrize("name", ["radius_m", "duration_minutes", "amount", "id", "date", "ratio_percent"])
def test_numbers_too_large_for_a_float_stop_nothing(huge: float, name: str) -> None:
    """Units, rounding, dates and sums divide and add; a file may hold any number at any place."""
    message = f"Double it: {huge} km for {huge} hours, then round 12345.678 to the nearest integer."
    steps = [
        call("s0", "look", None, {"distance_km": huge, "start": huge, "total": 12345.678, "share": huge}),
        call("s1", "act", None, **{name: huge}),
        call("s2", "act", None, **{name: 12346}),
        call("s3", "act", None, **{name: 24691.356}),
    ]
    traced = trace(document(task("t1", None, None, *steps, message=message)), TOOLSET).tasks[0]
    assert [len(one.arguments) for one in traced.calls] == [0, 1, 1, 1]
