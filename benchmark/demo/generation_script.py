"""Scripted roles for a small toolset about city trips: plausible answers without a model, for the demo and for tests.

The same setup always gets the same answers. They hide what later tasks hide: the city is in the first message only.
"""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchmark.core.generation.cells import cell_name
from benchmark.core.generation.pipeline import advance, begin, choose, first_usable
from benchmark.core.generation.purposes import Purpose, shipped_template
from benchmark.core.generation.records import Recorded, request_hash
from benchmark.core.generation.state import Setup, Source, State
from benchmark.core.generation.templates import render, template_hash
from benchmark.core.generation.turns import waits_for

#: The name under which the script answers.
MODEL = "scripted-roles"


def _function(name: str, description: str, parameters: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": parameters, "required": list(parameters)}
    returned = {"type": "object", "properties": response, "required": list(response)}
    function = {"name": name, "description": description, "parameters": schema, "response": returned}
    return {"type": "function", "function": function}


_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}
TOOLS: list[dict[str, Any]] = [
    _function(
        "get_forecast",
        "The weather in a city on a day of this week.",
        {"city": _TEXT | {"description": "Name of the city."}, "day": _TEXT | {"description": "Day of the week."}},
        {"sky": _TEXT, "degrees": _NUMBER},
    ),
    _function(
        "find_museums",
        "Museums of a city.",
        {"city": _TEXT | {"description": "Name of the city."}},
        {
            "museums": {
                "type": "array",
                "items": {"type": "object", "properties": {"museum_id": _TEXT, "name": _TEXT}},
            }
        },
    ),
    _function(
        "book_visit",
        "Books a visit of a museum.",
        {"museum_id": _TEXT | {"description": "Id of the museum."}, "day": _TEXT | {"description": "Day of the week."}},
        {"confirmation": _TEXT},
    ),
]

_CITIES = ("Ghent", "Porto", "Leipzig", "Bergen", "Lucca", "Utrecht", "Girona", "Graz")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SKIES = ("clear", "cloudy", "rainy", "windy")
_OPENINGS = {
    "single_tool": (
        "What will the weather be like in {city} on {day}?",
        "Please look up the forecast for {city} on {day}.",
        "I am off to {city} on {day} and wonder what weather to expect there.",
    ),
    "multi_tool": (
        "Find me a museum in {city} and book a visit on {day}.",
        "On {day} I would like to see a museum in {city}. Could you pick one and book it?",
        "Book any museum in {city} for {day}, please; I don't mind which.",
    ),
    "clarify": (
        "What will the weather be like in {city} when I go there?",
        "Check the forecast for my day in {city}.",
        "I have a day off this week for {city}. Will the weather be good?",
    ),
    "chat": (
        "I am going to {city} for the first time. How do I plan a day in a city I don't know?",
        "Give me some general advice for a short trip to {city}.",
        "My friends say {city} is lovely. What makes a city pleasant to walk in?",
    ),
}
_LATER = {
    "single_tool": ("And the weather there on {day}?", "How about {day}, will it rain there?", "Same place, on {day}?"),
    "multi_tool": (
        "Now book me a museum there on {day}.",
        "Could you find a museum there and reserve it for {day}?",
        "I want to see a museum in that city on {day}; please arrange it.",
    ),
    "clarify": (
        "What weather should I expect there on the other day?",
        "Check the forecast there for the next day I have free.",
        "Will it be dry there when my sister comes?",
    ),
    "chat": ("Thank you. What should I pack?", "Good to know. Any advice for rainy days?", "Thanks, that helps a lot!"),
}


class _Theme:
    """What one dialogue is about: a city, and a day for each task."""

    def __init__(self, setup: Setup) -> None:
        self._draw = random.Random(f"{setup.seed}:{cell_name(setup.policies)}")  # noqa: S311 - no secret
        drawn = self._draw.choice(_CITIES)
        # The city of what is continued, which is in its first message.
        said = setup.past[0]["user_message"] if setup.past else ""
        self.city = next((city for city in _CITIES if city in said), drawn)
        self.days = self._draw.sample(_DAYS, len(setup.policies))
        self.degrees = self._draw.randint(4, 30)


def scripted_answer(state: State) -> str:
    """Return what the role whose turn it is answers."""
    turn = waits_for(state)
    if turn is None or turn.purpose is None:
        raise ValueError("It is no role's turn.")
    return _ANSWERS[turn.purpose](state, _Theme(state.setup), turn.values)


def _requests(state: State, theme: _Theme, values: dict[str, Any]) -> str:
    texts = (_LATER if state.tasks else _OPENINGS)[state.policy]
    filled = [text.format(city=theme.city, day=theme.days[state.task]) for text in texts]
    if not state.tasks:
        return json.dumps({"requests": filled})
    relations = [one["name"] for one in values["relations"]]
    return json.dumps({"requests": [{"relation": one, "text": text} for one in relations for text in filled]})


def _actions(state: State, theme: _Theme, values: dict[str, Any]) -> str:
    steps, day = state.tasks[-1]["steps"], theme.days[state.task]
    if state.policy == "clarify" and not steps:
        return "I need the day.\n" + json.dumps({"action": "ask", "missing": "the day of the week"})
    calls = [step for step in steps if step["type"] == "call"]
    if state.policy == "multi_tool" and len(calls) == 1:
        museum = calls[0]["observation"]["museums"][0]["museum_id"]
        arguments, needs = {"museum_id": museum, "day": day}, {"uses": ["s1"]}
        return json.dumps({"action": "call", "calls": [{"name": "book_visit", "arguments": arguments, **needs}]})
    if state.policy == "chat" or calls:
        return json.dumps({"action": "finish"})
    if state.policy == "multi_tool":
        call: dict[str, Any] = {"name": "find_museums", "arguments": {"city": theme.city}}
    else:
        uses = [step["id"] for step in steps]
        call = {"name": "get_forecast", "arguments": {"city": theme.city, "day": day}, "uses": uses}
    return "```json\n" + json.dumps({"action": "call", "calls": [call]}) + "\n```"


def _results(state: State, theme: _Theme, values: dict[str, Any]) -> str:
    return json.dumps({"results": [_result(state, theme, call) for call in values["calls"]]})


def _result(state: State, theme: _Theme, call: dict[str, Any]) -> dict[str, Any]:
    if call["name"] == "get_forecast":
        sky = _SKIES[(state.task + theme.degrees) % len(_SKIES)]
        return {"sky": sky, "degrees": theme.degrees + state.task}
    if call["name"] == "find_museums":
        kinds = ("city history", "photography", "design")
        museums = [
            {"museum_id": f"M{theme.degrees}{state.task}{place}", "name": f"Museum of {kind}"}
            for place, kind in enumerate(kinds)
        ]
        return {"museums": museums}
    return {"confirmation": f"V{theme.degrees}{state.task}-{call['arguments']['day'][:3].upper()}"}


def _answer(state: State, theme: _Theme, values: dict[str, Any]) -> str:
    calls = [step for step in state.tasks[-1]["steps"] if step["type"] == "call"]
    if not calls:
        return "Walk, take a map and an umbrella, and leave time for a long lunch. Tell me if you need anything else."
    last = calls[-1]["observation"]
    if calls[-1]["name"] == "get_forecast":
        return f"On {theme.days[state.task]} it will be {last['sky']}, at {last['degrees']} degrees."
    museum = calls[0]["observation"]["museums"][0]
    return (
        f"I booked {museum['name']} ({museum['museum_id']}) for {theme.days[state.task]}. "
        f"Your confirmation is {last['confirmation']}."
    )


_ANSWERS: dict[Purpose, Callable[[State, _Theme, dict[str, Any]], str]] = {
    Purpose.FIRST_TASK: _requests,
    Purpose.FOLLOW_UP: _requests,
    Purpose.REPLY: lambda state, theme, values: f"On {theme.days[state.task]}, please.",
    Purpose.ACTIONS: _actions,
    Purpose.VERDICT: lambda state, theme, values: json.dumps({"correct": True}),
    Purpose.OBSERVATIONS: _results,
    Purpose.QUESTION: lambda state, theme, values: "Gladly. For which day of the week shall I check?",
    Purpose.ANSWER: _answer,
}


def scripted_records(setup: Setup, slips: Mapping[int, str] | None = None) -> Iterator[Recorded]:
    """Yield the recorded answers of a whole dialogue with the shipped templates and the first usable candidates.

    ``slips``: number of an answer → what is said instead; it should be refused, since the role is then asked again.
    """
    state, number = begin(setup), 0
    while (turn := waits_for(state)) is not None:
        if turn.purpose is None:
            state = choose(state, first_usable(state), Source("program"))
            continue
        number += 1
        source = shipped_template(turn.purpose)
        prompt = render(turn.purpose, source, turn.values)
        text = (slips or {}).get(number) or scripted_answer(state)
        yield Recorded(
            setup.name, number, request_hash(MODEL, prompt, {}), text, turn.purpose.value, MODEL,
            input_tokens=len(prompt) // 4, output_tokens=len(text) // 4,
        )  # fmt: skip
        state = advance(state, text, Source("model", MODEL, template_hash(source), number))
