"""Generates correct dialogues, and the places where errors can be planted.

The same seed generates the same text. Each place (``InjectionPoint``) has an anchor, the right value and at least one
wrong value. Places do not overlap, so the values at its places identify a version of a dialogue.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from annotator.core.comparison import resolve
from annotator.core.schema import canonical, load_text, read_document

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class WrongValue:
    """A wrong value, and its error type (a key of the taxonomy)."""

    kind: str
    value: Any


@dataclass(frozen=True, slots=True)
class InjectionPoint:
    """A place where an error can be planted."""

    anchor: str
    right: Any
    wrong_values: tuple[WrongValue, ...]

    def kind_of(self, value: Any) -> str:
        """Return the error type of a value; the type of the first wrong value if it is right or unknown."""
        return next((wrong.kind for wrong in self.wrong_values if wrong.value == value), self.wrong_values[0].kind)


@dataclass(frozen=True, slots=True)
class Original:
    """A correct dialogue, and its places for errors."""

    text: str
    points: tuple[InjectionPoint, ...]

    def document(self) -> Document:
        """Return a copy of the dialogue."""
        return load_text(self.text)


def value_at(document: Document, point: InjectionPoint) -> Any:
    """Return a version's value at a place."""
    return resolve(document, point.anchor)


def put(document: Document, point: InjectionPoint, value: Any) -> None:
    """Write a value at a place of a version."""
    above, _, key = point.anchor.rpartition("/")
    resolve(document, above)[key] = value


TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {key: {"type": kind, "description": words} for key, (kind, words) in properties.items()},
                "required": list(properties),
            },
        },
    }
    for name, description, properties in (
        (
            "look_up_weather",
            "The weather of a city on a day.",
            {"city": ("string", "Name of the city."), "date": ("string", "The day, as YYYY-MM-DD.")},
        ),
        (
            "find_train",
            "The next train between two cities on a day.",
            {
                "origin": ("string", "Where the trip begins."),
                "destination": ("string", "Where it ends."),
                "date": ("string", "The day, as YYYY-MM-DD."),
            },
        ),
        (
            "reserve_seats",
            "Reserve seats in one train.",
            {"train": ("string", "Number of the train."), "seats": ("integer", "How many seats.")},
        ),
        (
            "book_table",
            "Book a table in a restaurant of a city.",
            {
                "city": ("string", "Name of the city."),
                "date": ("string", "The day, as YYYY-MM-DD."),
                "guests": ("integer", "How many come."),
            },
        ),
    )
]

_CITIES = (
    "Aarhus", "Bergen", "Coimbra", "Dresden", "Exeter", "Florence", "Gdansk", "Heidelberg", "Innsbruck", "Jena",
    "Krakow", "Leuven", "Modena", "Nantes", "Odense", "Porto", "Rennes", "Salzburg", "Toulouse", "Uppsala", "Verona",
)  # fmt: skip
_SKIES = ("clear", "cloudy", "rainy", "misty", "windy")
_POLICIES = ("single_tool", "multi_tool", "clarify", "chat")


class _Talk:
    """A dialogue that is being generated."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.home, self.city, self.other, self.third = chance.sample(_CITIES, 4)
        self.month, first = chance.randint(1, 12), chance.randint(1, 13)
        self.date, self.late = f"2026-{self.month:02}-{first:02}", f"2026-{self.month:02}-{first + 14:02}"
        self.guests = chance.randint(2, 7)
        self.train = f"IC{chance.randint(1000, 9999)}"
        self.tasks: list[Document] = []
        self.at = ""
        self.points: list[InjectionPoint] = []

    def task(self, message: str, policy: str, information: str, steps: list[Document]) -> None:
        """Add a task; places of the following points are in it."""
        task_id = f"t{len(self.tasks) + 1}"
        self.tasks.append(
            {"id": task_id, "user_message": message, "policy": policy, "information": information, "steps": steps}
        )
        self.at = f"/tasks/{task_id}"
        self.point("policy", policy, "wrong_policy_label", *(one for one in _POLICIES if one != policy))
        hiding = (one for one in ("partial_information", "coreferential_reference") if one != information)
        self.point("information", information, "wrong_information_label", *hiding)

    def point(self, place: str, right: Any, kind: str, *values: Any) -> None:
        """Add a place; values without an error type of their own are of this ``kind``."""
        wrong = tuple(one if isinstance(one, WrongValue) else WrongValue(kind, one) for one in values)
        self.points.append(InjectionPoint(f"{self.at}/{place}", right, wrong))

    # --- tasks -------------------------------------------------------------------------------------------------------

    def weather(self) -> None:
        """Add a first task: one call, with all details given."""
        degrees, sky = self.chance.randint(3, 27), self.chance.choice(_SKIES)
        message = (
            f"I cannot decide between {self.city} and {self.other}, nor between {self.date} and {self.late}. "
            f"What will the weather be like in {self.city} on {self.date}?"
        )
        forecast = f"It will be {sky} in {self.city}, with {{}} degrees."
        call = self.weather_call("s1", self.city, degrees, sky)
        self.task(message, "single_tool", "explicit", [call, _answer("s2", forecast.format(degrees), "tool", "s1")])
        self.point(
            "user_message", message, "message_unnatural",
            f"{message} Execute the retrieval of the meteorological data forthwith.", f"Query. {message} End of query.",
        )  # fmt: skip
        self.point("steps/s1/arguments/city", self.city, "wrong_argument_value", self.other)
        invented = WrongValue("hallucinated_value", f"2027-{self.month:02}-28")
        self.point("steps/s1/arguments/date", self.date, "wrong_argument_value", self.late, invented)
        self.point("steps/s1/observation/degrees", degrees, "observation_implausible", degrees + 70)
        wrong = (forecast.format(degrees + 2), f"It will be {sky} in {self.city}.")
        self.point("steps/s2/text", forecast.format(degrees), "answer_wrong", *wrong)

    def weather_twice(self) -> None:
        """Add a first task with two parallel calls."""
        degrees, sky = self.chance.randint(3, 27), self.chance.choice(_SKIES)
        warm = degrees + self.chance.randint(1, 6)
        message = (
            f"Please compare the weather in {self.city} and in {self.other} on {self.date}; "
            f"{self.third} on {self.late} can wait."
        )
        answer = f"It is {sky} in both: {{}} degrees in {self.city}, {{}} in {self.other}."
        right = answer.format(degrees, warm)
        calls = [self.weather_call("s1", self.city, degrees, sky), self.weather_call("s2", self.other, warm, sky)]
        self.task(message, "multi_tool", "explicit", [*calls, _answer("s3", right, "tool", "s1", "s2")])
        unnatural = f"{message} Compile both outputs into one comparison."
        self.point("user_message", message, "message_unnatural", unnatural)
        self.point("steps/s1/arguments/city", self.city, "wrong_argument_value", self.third)
        self.point("steps/s2/arguments/date", self.date, "wrong_argument_value", self.late)
        self.point("steps/s2/depends_on", [], "superfluous_dependency", _edges("s1"))
        self.point("steps/s3/text", right, "answer_wrong", answer.format(warm, degrees), f"It is {sky} in both.")

    def trip(self) -> None:
        """Add a task that finds a train and reserves seats; the second call depends on the result of the first."""
        minutes = self.chance.randint(10, 50)
        message = f"Take me there from {self.home}, then; there will be {self.guests} of us. Reserve the seats as well."
        answer = f"Train {self.train} leaves at 8:{minutes}; {self.guests} seats are reserved."
        found, leaves = {"origin": self.home, "destination": self.city, "date": self.date}, f"8:{minutes}"
        seats = {"train": self.train, "seats": self.guests}
        self.task(
            message,
            "multi_tool",
            "coreferential_reference",
            [
                _call("s1", "find_train", found, {"train": self.train, "leaves": leaves}),
                _call("s2", "reserve_seats", seats, {"confirmed": True}, "s1"),
                _answer("s3", answer, "tool", "s1", "s2"),
            ],
        )
        told = WrongValue("information_not_hidden", message.replace("there from", f"to {self.city} from"))
        self.point("user_message", message, "message_unnatural", f"{message} This is my second instruction.", told)
        self.point("steps/s1/arguments/destination", self.city, "wrong_argument_value", self.other)
        self.point("steps/s1/arguments/date", self.date, "wrong_argument_value", self.late)
        self.point("steps/s2/arguments/seats", self.guests, "hallucinated_value", self.guests + 11, self.guests + 23)
        self.point("steps/s2/depends_on", _edges("s1"), "missing_dependency", [])
        short = f"Train {self.train} leaves at 8:{minutes}."
        self.point("steps/s3/text", answer, "answer_wrong", answer.replace("at 8:", "at 9:"), short)

    def table(self) -> None:
        """Add a task in which the assistant asks for missing information."""
        message = "Could you also book us a table for the evening there?"
        question, reply = "For how many people shall I book?", f"For {self.guests}, please."
        answer = f"A table for {self.guests} in {self.city} is booked."
        wanted = {"city": self.city, "date": self.date, "guests": self.guests}
        self.task(
            message,
            "clarify",
            "partial_information",
            [
                {"id": "s1", "type": "clarification", "question": question, "user_reply": reply, "depends_on": []},
                _call("s2", "book_table", wanted, {"booked": True, "hour": self.chance.randint(18, 21)}, "s1"),
                _answer("s3", answer, "tool", "s1", "s2"),
            ],
        )
        self.point("user_message", message, "message_unnatural", "Booking of table. Evening. Same place. Now.")
        wrong = ("Which cuisine do you like best?", "In which city are you?")
        self.point("steps/s1/question", question, "clarification_wrong", *wrong)
        self.point("steps/s2/arguments/city", self.city, "wrong_argument_value", self.other)
        self.point("steps/s3/text", answer, "answer_wrong", f"A table for {self.guests + 1} is booked.")

    def thanks(self) -> None:
        """Add a task that is only chat."""
        message, answer = "Thank you, that is all for now.", f"You are welcome; have a good time in {self.city}."
        self.task(message, "chat", "coreferential_reference", [_answer("s1", answer, "chat")])
        self.point("user_message", message, "message_unnatural", "Acknowledged. Terminate the conversation.")
        wrong = f"You are welcome; have a good time in {self.other}."
        self.point("steps/s1/text", answer, "answer_wrong", wrong)

    # --- parts -------------------------------------------------------------------------------------------------------

    def weather_call(self, step: str, city: str, degrees: int, sky: str) -> Document:
        return _call(step, "look_up_weather", {"city": city, "date": self.date}, {"sky": sky, "degrees": degrees})


def write_original(chance: random.Random, tasks: int) -> Original:
    """Generate a dialogue of 1 to 4 tasks, with its places for errors."""
    talk = _Talk(chance)
    openings: tuple[Callable[[], None], ...] = (talk.weather, talk.weather_twice)
    later = [talk.trip, talk.table, talk.thanks]
    chosen = sorted(chance.sample(range(3), tasks - 1))
    for write in (chance.choice(openings), *(later[point] for point in chosen)):
        write()
    document = {"kind": "multi_turn", "language": "en", "env_info": "2026-01-01", "tasks": talk.tasks}
    return Original(canonical(read_document(document)), tuple(talk.points))


def _edges(*ids: str) -> list[dict[str, str]]:
    return [{"id": step, "kind": "parameter"} for step in ids]


def _call(step: str, name: str, arguments: Document, observation: Any, *needs: str) -> Document:
    return {
        "id": step,
        "type": "call",
        "name": name,
        "arguments": arguments,
        "observation": observation,
        "depends_on": _edges(*needs),
    }


def _answer(step: str, text: str, kind: str, *needs: str) -> Document:
    return {"id": step, "type": "answer", "text": text, "answer_type": kind, "depends_on": _edges(*needs)}
