"""What feeds what among tools, and the choice of tools that work together."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from annotator.core.schema.toolsets import read_tools
from annotator.core.tools.choosing import CannotChoose, choose_tools
from annotator.core.tools.feeds import MAX_FEEDS, Feed, find_feeds
from annotator.core.tools.parameters import words_of

TEXT = {"type": "string"}


def tool(name: str, parameters: dict[str, Any], response: Any = None) -> dict[str, Any]:
    found = {"name": name, "description": "", "parameters": {"type": "object", "properties": parameters}}
    return found if response is None else found | {"response": response}


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def listed(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


BOOKING = [
    tool(
        "search_flights", {"from": TEXT, "date": TEXT}, fields(flights=listed(fields(id=TEXT, price={"type": "float"})))
    ),
    tool("book_flight", {"flight_id": TEXT, "name": TEXT}, fields(bookingId=TEXT, status=TEXT)),
    tool("cancel_booking", {"booking_id": TEXT}, fields(status=TEXT, name=TEXT)),
    tool("weather", {"date": TEXT}, fields(date=TEXT, text=TEXT)),
]


def found(*tools: dict[str, Any]) -> list[str]:
    feeds = find_feeds(read_tools(list(tools)))
    return [f"{one.source} {one.output} → {one.target} {one.parameter}" for one in feeds]


def fits(output: Any, parameter: Any) -> bool:
    """Whether a tool that returns ``output`` feeds one that takes ``parameter``; both are properties."""
    return bool(found(tool("source", {}, fields(**output)), tool("target", parameter)))


def test_a_search_feeds_a_booking_that_feeds_its_cancellation() -> None:
    edges = [
        "search_flights flights[].id → book_flight flight_id",
        "book_flight bookingId → cancel_booking booking_id",
    ]
    assert found(*BOOKING) == edges
    wrapped = [{"type": "function", "function": one} for one in BOOKING]
    assert found(*wrapped) == edges
    assert found(*({key: part for key, part in one.items() if key != "response"} for one in BOOKING)) == []


@pytest.mark.parametrize(
    ("output", "parameter"),
    [
        ("flight_id", "flightId"),
        ("FlightID", "flight_ids"),
        ("flightIDs", "flightid"),
        ("city", "cities"),
        ("movie", "movies"),
        ("城市", "城市"),
    ],
)
def test_names_of_the_same_words_fit(output: str, parameter: str) -> None:
    assert fits({output: TEXT}, {parameter: TEXT})
    assert not fits({output: TEXT}, {f"{parameter}_old": TEXT})


def test_names_are_split_into_words() -> None:
    assert words_of("getHTTPResponse2") == ("get", "http", "response", "2")
    assert words_of("userIDs") == ("user", "id")
    assert words_of("address_cities") == ("address", "city")
    assert words_of("天气_id") == ("天气", "id")
    assert words_of("?!") == ("?!",)


@pytest.mark.parametrize(
    ("source", "output", "target", "parameter"),
    [
        # The noun of the object or list around the field; words such as “matching” and “list” may be around it.
        ("find", fields(user=fields(name=TEXT)), "greet", {"userName": TEXT}),
        ("find", fields(matching_tweets=listed(fields(id=TEXT))), "like", {"tweet_id": TEXT}),
        ("find", fields(order_list=listed(fields(id=TEXT))), "cancel", {"order_id": TEXT}),
        ("find", fields(order_id=TEXT), "cancel", {"order": fields(id=TEXT)}),
        # The noun of the tool, if what is around the field has none.
        ("get_ticket", fields(id=TEXT), "close", {"ticket_id": TEXT}),
        ("getTicketDetails", fields(data=fields(id=TEXT)), "close", {"ticket_id": TEXT}),
        ("get_ticket_by_number", fields(id=TEXT), "close", {"ticket_id": TEXT}),
        ("list_tickets", listed(fields(id=TEXT)), "close_ticket", {"id": TEXT}),
        ("tickets_list", listed(fields(public_id=TEXT)), "tickets_read", {"publicId": TEXT}),
        ("get_order", fields(id=TEXT), "place_order", {"id": TEXT}),
        ("plan", fields(trip=fields(start_date=TEXT)), "book", {"trip_start_date": TEXT}),
    ],
)
def test_a_generic_name_needs_a_noun(source: str, output: Any, target: str, parameter: dict[str, Any]) -> None:
    assert len(found(tool(source, {}, output), tool(target, parameter))) == 1
    others = dict.fromkeys(("plane_id", "id", "public_id", "name", "start_date"), TEXT)
    assert found(tool(source, {}, output), tool("fly", others)) == []


def test_the_nearest_noun_counts() -> None:
    response = fields(flights=listed(fields(id=TEXT, airline=fields(id=TEXT))))
    takers = tool("book", {"flight_id": TEXT, "airline_id": TEXT, "trip_id": TEXT})
    assert found(tool("plan_trip", {}, response), takers) == [
        "plan_trip flights[].id → book flight_id",
        "plan_trip flights[].airline.id → book airline_id",
    ]


@pytest.mark.parametrize(
    ("output", "parameter", "expected"),
    [
        (TEXT, TEXT, True),
        (TEXT, {"type": "integer"}, False),
        ({"type": "int"}, {"type": "float"}, True),
        ({"type": "float"}, {"type": "int"}, False),
        ({"enum": ["a", "b"]}, TEXT, True),
        ({"enum": ["a", "b"]}, {"type": "integer"}, False),
        ({"enum": [1, 2]}, {"type": "number"}, True),
        ({"const": True}, {"type": "boolean"}, True),
        (listed(TEXT), TEXT, True),
        (listed({"type": "integer"}), {"type": "number"}, True),
        (listed(TEXT), {"type": "integer"}, False),
        (listed(TEXT), listed(TEXT), True),
        (listed(TEXT), listed({"type": "integer"}), False),
        (TEXT, listed(TEXT), False),
        ({"type": ["integer", "null"]}, {"anyOf": [TEXT, {"type": "integer"}]}, True),
        ({"type": ["string", "null"]}, {"type": ["integer", "null"]}, False),
        # A schema without a type leaves all open.
        ({}, {"type": "integer"}, True),
        (TEXT, {}, True),
        ({"type": "array"}, TEXT, True),
        ({"type": "object"}, TEXT, False),
    ],
)
def test_types_must_fit(output: Any, parameter: Any, expected: bool) -> None:
    assert fits({"seat": output}, {"seat": parameter}) is expected


def test_references_are_followed_and_an_unusable_response_feeds_nothing() -> None:
    seat = fields(seat=TEXT, next={"$ref": "#/$defs/Seat"})
    taker = tool("sit", {"seat": TEXT, "deep": fields(seats=TEXT)})
    edges = found(tool("find", {}, {"$ref": "#/$defs/Seat", "$defs": {"Seat": seat}}), taker)
    assert edges[:3] == [
        "find seat → sit seat",
        "find seat → sit deep.seats",
        "find next.seat → sit seat",
    ]
    for response in ({"$ref": "#/nowhere"}, "a seat", [], {}, {"type": "string"}, {"type": "array", "items": True}):
        assert found(tool("find", {}, response), taker) == []


def test_the_number_of_feeds_is_bounded() -> None:
    ways = {f"way{number}": fields(seat=TEXT) for number in range(40)}
    many = find_feeds(read_tools([tool(f"tool{number}", ways, fields(**ways)) for number in range(512)]))
    assert len(many) == len(set(many)) == MAX_FEEDS
    assert all(one.source != one.target for one in many)


def test_the_functions_of_bfcl_feed_each_other(shared_data: Path) -> None:
    counts = {}
    for file in (shared_data / "bfcl").glob("func_doc_*.json"):
        tools = read_tools([json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()])
        feeds = find_feeds(tools)
        counts[file.stem.removeprefix("func_doc_")] = len(feeds)
        if "ticket" in file.stem:
            assert Feed("create_ticket", "id", "close_ticket", "ticket_id") in feeds
    assert counts == {
        "gorilla_file_system": 0,
        "math_api": 0,
        "message_api": 5,
        "posting_api": 43,
        "ticket_api": 25,
        "trading_bot": 14,
        "travel_booking": 46,
        "vehicle_control": 4,
    }


# --- the choice ------------------------------------------------------------------------------------------------------

NAMES = [f"tool{number}" for number in range(12)]
#: Tools 0 to 7 are a chain, 8 and 9 a pair; 10 and 11 are alone.
CHAIN = [Feed(f"tool{number}", "a", f"tool{number + 1}", "a") for number in (*range(7), 8)]
SEEDS = range(40)


def numbers(chosen: list[str]) -> list[int]:
    return [int(name.removeprefix("tool")) for name in chosen]


def test_the_choice_for_a_booking_is_the_chain() -> None:
    names = [one["name"] for one in BOOKING]
    feeds = find_feeds(BOOKING)
    for seed in SEEDS:
        assert choose_tools(names, feeds, count=3, seed=seed) == names[:3]
        assert choose_tools(names, feeds, count=2, seed=seed, must=["cancel_booking"]) == names[1:3]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_choice_has_its_size_its_order_and_what_it_must_have(seed: int) -> None:
    for connected in (True, False):
        for count in (1, 5, 12, 30):
            must = random.Random(seed).sample(NAMES, min(count, 2))
            chosen = choose_tools(NAMES, CHAIN, count=count, seed=seed, must=must, connected=connected)
            assert chosen == [name for name in NAMES if name in chosen]
            assert len(chosen) == min(count, len(NAMES))
            assert set(must) <= set(chosen)
            again = choose_tools(NAMES, CHAIN[::-1], count=count, seed=seed, must=must[::-1], connected=connected)
            assert again == chosen


def test_a_connected_choice_grows_along_feeds_then_takes_any_tool() -> None:
    starts = set()
    for seed in SEEDS:
        chosen = numbers(choose_tools(NAMES, CHAIN, count=2, seed=seed))
        assert chosen[1] - chosen[0] == 1
        starts.add(chosen[0])
        chosen = numbers(choose_tools(NAMES, CHAIN, count=5, seed=seed, must=["tool3"]))
        assert chosen == list(range(chosen[0], chosen[0] + 5))
        chosen = numbers(choose_tools(NAMES, CHAIN, count=9, seed=seed, must=["tool3"]))
        assert chosen[:8] == list(range(8))
    # Every start is drawn, but never a tool without feeds.
    assert starts == {*range(7), 8}
    apart = [numbers(choose_tools(NAMES, CHAIN, count=2, seed=seed, connected=False)) for seed in SEEDS]
    assert any(high - low > 1 for low, high in apart)


def test_a_choice_that_makes_no_sense_is_a_sentence() -> None:
    for count, must, words in (
        (0, [], "Choose at least %(count)s function."),
        (1, ["tool1", "tool2"], "Choose at least %(count)s function."),
        (3, ["nothing"], "There is no function named %(name)s."),
    ):
        with pytest.raises(CannotChoose) as error:
            choose_tools(NAMES, CHAIN, count=count, seed=1, must=must)
        assert error.value.message.text == words
