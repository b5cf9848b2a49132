"""Generate valid dialogues of about 8 KB for benchmarks. The same seed gives the same dialogues.

They are ``wild`` records in English and Chinese with ten toolsets, and contain no real data.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

Record = dict[str, Any]
Node = dict[str, Any]

WORDS = Path(__file__).with_name("bench_words.json")
#: Every third dialogue is in Chinese.
CHINESE_EVERY = 3


@dataclass(frozen=True)
class Service:
    """The subject of a toolset, and words about it."""

    key: str
    one: str
    many: str
    #: First and second half of the names of its offers.
    firsts: tuple[str, ...]
    seconds: tuple[str, ...]
    features: tuple[str, ...]
    unit: str
    advice: str


@dataclass(frozen=True)
class Language:
    """Words and phrases of one language, as templates for ``str.format``."""

    code: str
    prefix: str
    cities: tuple[str, ...]
    districts: tuple[str, ...]
    surnames: tuple[str, ...]
    given: tuple[str, ...]
    adjectives: tuple[str, ...]
    things: tuple[str, ...]
    doings: tuple[str, ...]
    services: tuple[Service, ...]
    phrases: dict[str, str]
    name: str
    sentences: tuple[str, ...]
    joiner: str


def write_records(path: Path, count: int, *, seed: int = 1) -> None:
    """Write ``count`` records, one for each line."""
    with path.open("w", encoding="utf-8") as file:
        for record in make_records(count, seed=seed):
            file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


def make_records(count: int, *, seed: int = 1) -> Iterator[Record]:
    """Yield ``count`` records. A record does not depend on ``count``."""
    for number in range(count):
        yield make_record(number, seed=seed)


def make_record(number: int, *, seed: int = 1) -> Record:
    """Return a record with four tasks."""
    chance = random.Random(f"{seed}:{number}")  # noqa: S311 - test data
    language = languages()["zh" if number % CHINESE_EVERY == 2 else "en"]
    return _Dialogue(language, chance.choice(language.services), chance).record(f"bench-{number:07}")


@cache
def languages() -> dict[str, Language]:
    """Return language code → its words."""
    found = {}
    for data in json.loads(WORDS.read_text(encoding="utf-8")):
        services = tuple(Service(**_tuples(service)) for service in data.pop("services"))
        found[data["code"]] = Language(services=services, **_tuples(data))
    return found


def _tuples(data: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}


@cache
def tools_of(service: Service, language: str) -> list[dict[str, Any]]:
    """Return the toolset of a service: five functions in the OpenAI format."""
    key = service.key
    the_id = {f"{key}_id": {"type": "string", "description": f"Id of the {key}, as the search gives it."}}
    date = {"type": "string", "description": "The day, as YYYY-MM-DD.", "format": "date"}
    search = {
        "city": {"type": "string", "description": "Name of the city."},
        "district": {"type": "string", "description": "A place in the city near which to look."},
        "feature": {"type": "string", "enum": list(service.features), "description": "What it has to offer."},
        "date": date,
        "people": {"type": "integer", "minimum": 1, "maximum": 20, "description": "How many people come."},
        "max_price": {"type": "float", "description": f"Highest price a {service.unit}, in EUR. Default is no limit."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 20, "description": "How many to return. Default is 5."},
    }
    contact = {
        "type": "object",
        "description": "Who makes the reservation.",
        "properties": {
            "name": {"type": "string", "description": "Full name."},
            "phone": {"type": "string", "description": "Telephone number with country code."},
        },
        "required": ["name", "phone"],
    }
    return [
        _tool(f"search_{key}", f"Find {key} offers near a place of a city.", search, ["city", "feature", "date"]),
        _tool(f"get_{key}_details", f"Read everything known about one {key}.", the_id, [f"{key}_id"]),
        _tool(
            f"get_{key}_reviews",
            f"Read what people say about one {key}.",
            {**the_id, "language": {"type": "string", "enum": ["en", "zh"], "description": "Language of the reviews."}},
            [f"{key}_id"],
        ),
        _tool(
            f"reserve_{key}",
            f"Make a reservation at one {key}.",
            {**the_id, "date": date, "people": search["people"], "contact": contact},
            [f"{key}_id", "date", "people", "contact"],
        ),
        _tool(
            f"get_route_to_{key}",
            f"Find the way from the main station to one {key}.",
            {**the_id, "on_foot": {"type": "boolean", "description": "Whether to walk. Default is false."}},
            [f"{key}_id"],
        ),
    ]


def _tool(name: str, description: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _node(name: str, arguments: dict[str, Any], observation: Any, needs: list[int]) -> Node:
    return {"action": {"name": name, "arguments": arguments}, "observation": observation, "dependency_list": needs}


class _Dialogue:
    """Builds one conversation: its people, offers and tasks."""

    def __init__(self, language: Language, service: Service, chance: random.Random) -> None:
        self.language, self.service, self.chance = language, service, chance
        self.city, self.district = chance.choice(language.cities), chance.choice(language.districts)
        self.given = chance.choice(language.given)
        self.surname = surname_of(language, chance)
        self.feature, self.people = chance.choice(service.features), chance.randint(1, 6)
        self.date = f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
        self.phone = f"+32 4{chance.randint(10_000_000, 99_999_999)}"
        names = [(first, second) for first in service.firsts for second in service.seconds]
        numbers = chance.sample(range(10_000, 99_999), 5)
        offers = [
            self.offer(f"{service.key[0].upper()}-{number}", first, second)
            for number, (first, second) in zip(numbers, chance.sample(names, 5), strict=True)
        ]
        self.offers = sorted(offers, key=lambda offer: -offer["rating"])

    def record(self, record_id: str) -> Record:
        first = self.ask()
        talk = self.chance.choice([self.ask_for_reviews, self.ask_for_one_review])()
        later = self.chance.choice([[self.reserve, self.chat], [self.reserve, self.route], [self.route, self.chat]])
        tasks = [first, talk, *(task() for task in later)]
        prefix = self.language.prefix
        answers = [_with_answer(nodes, text, kind) for _, kind, _, nodes, text in tasks]
        return {
            "id": record_id,
            f"{prefix}env_info": "2025-12-01",
            f"{prefix}tools": tools_of(self.service, self.language.code),
            f"{prefix}tasks": [message for message, *_ in tasks],
            f"{prefix}task_types": [kind for _, kind, *_ in tasks],
            f"{prefix}turn_subtypes": [information for _, _, information, *_ in tasks[1:]],
            f"{prefix}answer_list": answers,
        }

    # --- tasks: (message, type, subtype, calls, answer) --------------------------------------------------------------

    def ask(self) -> tuple[str, str, str, list[Node], str]:
        details = self.chance.random() < 0.7
        message = self.say("ask", why=self.say("why", other=self.chance.choice(self.language.things)))
        arguments = {"city": self.city, "district": self.district, "feature": self.feature, "date": self.date}
        shown = [
            {key: offer[key] for key in (f"{self.service.key}_id", "name", "rating", "price", "summary")}
            for offer in self.offers
        ]
        nodes = [_node(f"search_{self.service.key}", {**arguments, "people": self.people + 1}, {"found": shown}, [])]
        items = (self.say("item", **offer, id=offer[f"{self.service.key}_id"]) for offer in self.offers)
        answer = self.say("found", list="; ".join(items))
        if not details:
            return message, "Single-Tool", "", nodes, answer
        cheapest = min(self.offers[1:], key=lambda offer: offer["price"])
        for offer in (self.offers[0], cheapest):
            offer_id = offer[f"{self.service.key}_id"]
            found = {**offer, "description": self.text(6), "open": "09:00-21:00", "notes": [self.text(1), self.text(1)]}
            nodes.append(_node(f"get_{self.service.key}_details", {f"{self.service.key}_id": offer_id}, found, [0]))
            answer += self.say("more", name=offer["name"], id=offer_id, text=self.text(2), open="09:00-21:00")
        return message + self.say("ask_two"), "Mixed Multi-Tool", "", nodes, answer

    def ask_for_reviews(self) -> tuple[str, str, str, list[Node], str]:
        nodes = [self.reviews(offer) for offer in self.offers[:2]]
        answer = self.language.joiner.join(
            self.say("said", name=offer["name"], text=self.text(3)) for offer in self.offers[:2]
        )
        return self.say("reviews"), "Parallel Multi-Tool", "Coreferential Reference", nodes, answer

    def ask_for_one_review(self) -> tuple[str, str, str, list[Node], str]:
        answer = self.say("said", name=self.offers[0]["name"], text=self.text(4))
        return self.say("review_one"), "Single-Tool", "Coreferential Reference", [self.reviews(self.offers[0])], answer

    def reserve(self) -> tuple[str, str, str, list[Node], str]:
        key, offer, name = self.service.key, self.offers[0], self.full_name()
        question = _node("ask_user_for_required_parameters", {}, self.say("question"), [])
        question["user_input"] = self.say("reply", surname=self.surname, phone=self.phone)
        booking = f"R{self.chance.randint(100_000, 999_999)}"
        arguments = {
            f"{key}_id": offer[f"{key}_id"], "date": self.date, "people": self.people + 1,
            "contact": {"name": name, "phone": self.phone},
        }  # fmt: skip
        made = {"reservation": booking, "date": self.date, "confirmed": True, "hint": self.text(2)}
        answer = self.say("booked", name=offer["name"], surname=self.surname, booking=booking)
        return (
            self.say("book"),
            "Clarify",
            "Partial Information",
            [question, _node(f"reserve_{key}", arguments, made, [0])],
            answer,
        )

    def route(self) -> tuple[str, str, str, list[Node], str]:
        key, offer = self.service.key, self.offers[0]
        line, minutes = self.chance.randint(1, 40), self.chance.randint(5, 50)
        stop = self.chance.choice(self.language.districts)
        found = {"line": str(line), "stop": stop, "minutes": minutes, "steps": [self.text(1) for _ in range(3)]}
        nodes = [_node(f"get_route_to_{key}", {f"{key}_id": offer[f"{key}_id"]}, found, [])]
        answer = self.say("routed", line=line, stop=stop, minutes=minutes, text=self.text(1))
        return self.say("route"), "Single-Tool", "Long-Range Dependency", nodes, answer

    def chat(self) -> tuple[str, str, str, list[Node], str]:
        answer = self.say("chatted", advice=self.service.advice, text=self.text(4))
        return self.say("chat"), "Chat", "Coreferential Reference", [], answer

    # --- parts -------------------------------------------------------------------------------------------------------

    def offer(self, offer_id: str, first: str, second: str) -> dict[str, Any]:
        return {
            f"{self.service.key}_id": offer_id,
            "name": self.language.name.format(first=first, second=second),
            "rating": round(self.chance.uniform(2.5, 4.9), 1),
            "price": self.chance.randint(8, 240),
            "summary": self.text(2),
        }

    def reviews(self, offer: dict[str, Any]) -> Node:
        key = self.service.key
        written = [
            {
                "author": self.chance.choice(self.language.given),
                "stars": self.chance.randint(1, 5),
                "text": self.text(2),
            }
            for _ in range(5)
        ]
        observation = {"of": offer["name"], "count": self.chance.randint(4, 900), "reviews": written}
        return _node(f"get_{key}_reviews", {f"{key}_id": offer[f"{key}_id"]}, observation, [])

    def full_name(self) -> str:
        parts = (self.surname, self.given) if self.language.code == "zh" else (self.given, self.surname)
        return self.language.joiner.join(parts)

    def text(self, sentences: int) -> str:
        """Return random sentences."""
        return self.language.joiner.join(
            self.chance.choice(self.language.sentences).format(**self.words()) for _ in range(sentences)
        )

    def say(self, phrase: str, **values: Any) -> str:
        known = {
            "city": self.city, "district": self.district, "date": self.date, "people": self.people + 1,
            "given": self.given, "feature": self.feature, "many": self.service.many, "unit": self.service.unit,
            **self.words(),
        }  # fmt: skip
        return self.language.phrases[phrase].format(**{**known, **values})

    def words(self) -> dict[str, str]:
        language, choose = self.language, self.chance.choice
        return {
            "adjective": choose(language.adjectives),
            "thing": choose(language.things),
            "doing": choose(language.doings),
        }


def surname_of(language: Language, chance: random.Random) -> str:
    """Return a rare surname, for searches for a rare word."""
    parts = chance.sample(language.surnames, 2 if language.code == "zh" else 3)
    return "".join(parts) if language.code == "zh" else "".join(parts).capitalize()


def _with_answer(nodes: list[Node], text: str, kind: str) -> list[Node]:
    """Return the nodes of a task with its answer, which depends on the calls that nothing else depends on."""
    needed = {need for node in nodes for need in node["dependency_list"]}
    ends = [place for place in range(len(nodes)) if place not in needed]
    answer = _node("prepare_to_answer", {"answer_type": "chat" if kind == "Chat" else "tool"}, text, ends)
    return [{**node, "idx": place} for place, node in enumerate([*nodes, answer])]
