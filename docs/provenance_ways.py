"""Ways in which an observation's value reaches a call, and traps: tables of docs/provenance_synthetic.py.

Each entry maps a plain name to a function of a random generator that makes one dialogue, see ``Made``. They were
written before the rules they test, from what people and tools write, not from what the rules can read.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any


@dataclass(frozen=True)
class Made:
    """One value: ``argument`` of the last call is ``value``. ``observation``: what the call before returned, None if
    there was none. ``today``: the date in env_info. ``description``: of the argument, in the tool.
    """

    argument: str
    value: Any
    message: str = "Please go on with that one."
    observation: Any = None
    today: date | None = None
    description: str = ""


Way = Callable[[random.Random], Made]

FIRST = ("Maria", "Jonas", "Amélie", "Wei", "Priya", "Oskar", "Lucia", "Tomás")
LAST = ("Keller", "Novak", "Laurent", "Zhang", "Raman", "Lindqvist", "Moretti", "Silva")
CITIES = ("Graz", "Lyon", "Porto", "Leeds", "Turin", "Ghent", "Aarhus", "Brno")
THINGS = ("lamp", "kettle", "desk", "backpack", "tripod", "toaster")


def code(r: random.Random) -> str:
    """An id such as KX-48213."""
    return f"{r.choice('ABDHKPRX')}{r.choice('CEMQTX')}-{r.randint(10_000, 99_999)}"


def number(r: random.Random) -> int:
    """An id of five or six digits."""
    return r.randint(21_000, 890_000)


def day(r: random.Random) -> date:
    """A day of 2025 or 2026."""
    return date(2025, 1, 1) + timedelta(days=r.randint(0, 700))


def _flow(observation: Any, argument: str, value: Any, **more: Any) -> Made:
    return Made(argument, value, observation=observation, **more)


def person(r: random.Random) -> tuple[str, str]:
    return r.choice(FIRST[:2] + FIRST[3:7]), r.choice(LAST)


def _in_list(r: random.Random) -> Made:
    items = [{"productId": code(r), "title": f"{r.choice(THINGS)} {i}"} for i in range(4)]
    return _flow({"items": items}, "productId", r.choice(items)["productId"])


def _email_to_name(r: random.Random) -> Made:
    first, last = person(r)
    email = r.choice([f"{first}.{last}", f"{first}_{last}", f"{first}{last}"]).lower() + "@example.org"
    return _flow({"contact": {"email": email}}, "full_name", f"{first} {last}")


def _name_to_email(r: random.Random) -> Made:
    first, last = person(r)
    return _flow({"owner": f"{first} {last}"}, "email", f"{first}.{last}@example.org".lower())


def _joined_name(r: random.Random) -> Made:
    first, last = person(r)
    value = r.choice([f"{first} {last}", f"{last}, {first}"])
    return _flow({"first_name": first, "last_name": last}, "passenger", value)


def _moment(r: random.Random) -> datetime:
    return datetime(2025, 1, 1, tzinfo=UTC) + timedelta(minutes=15 * r.randint(0, 60_000))


def _price(r: random.Random, written: Callable[[int, int], str]) -> Made:
    euros, cents = r.randint(1_100, 9_800), r.randint(11, 98)
    return _flow({"total": written(euros, cents)}, "amount", euros + cents / 100)


def _padded(r: random.Random) -> Made:
    plain = r.randint(417, 98_000)
    return _flow({"order": {"number": plain}}, "orderNumber", f"{plain:08}")


def _unpadded(r: random.Random) -> Made:
    plain = r.randint(417, 98_000)
    return _flow({"employee_id": f"{plain:08}"}, "employee_id", plain)


def _prefixed(r: random.Random) -> Made:
    plain = number(r)
    return _flow({"user": f"user_{plain}"}, "user_id", r.choice([plain, str(plain)]))


def _with_prefix(r: random.Random) -> Made:
    plain = number(r)
    return _flow({"id": plain}, "customer", f"{r.choice(['cust', 'user', 'customer'])}_{plain}")


def _small_id(r: random.Random) -> Made:
    small = r.randint(2, 9)
    return _flow({"rooms": [{"id": small, "name": r.choice(CITIES)}]}, "room_id", small)


def _two_digit_id(r: random.Random) -> Made:
    small = r.randint(11, 89)
    return _flow({"teamId": small, "label": r.choice(CITIES)}, "teamId", small)


def _rounded(r: random.Random) -> Made:
    degrees = r.randint(11_000_000, 79_000_000) / 1_000_000 + 0.000_003
    return _flow({"latitude": degrees}, "latitude", round(degrees, r.choice([2, 3])))


def _in_sentence(r: random.Random) -> Made:
    one = code(r)
    return _flow({"message": f"Your booking {one} has been received."}, "reference", one)


def _in_link(r: random.Random) -> Made:
    one = number(r)
    return _flow({"url": f"https://shop.example.org/items/{one}"}, "item_id", r.choice([one, str(one)]))


def _coordinates(r: random.Random) -> Made:
    north, east = r.randint(31_000, 59_000) / 1_000 + 0.0007, r.randint(3_000, 29_000) / 1_000 + 0.0003
    return _flow({"position": f"{north:.4f}, {east:.4f}"}, "latitude", round(north, 4))


def _path(r: random.Random) -> Made:
    folder, file = f"/home/{r.choice(FIRST[:2]).lower()}/{r.choice(THINGS)}s", f"{r.choice(THINGS)}_{number(r)}.txt"
    return _flow({"directory": folder, "file": file}, "path", f"{folder}/{file}")


def _converted(key: str, argument: str, one: float, other: float) -> Made:
    plain = [int(each) if float(each).is_integer() else each for each in (one, other)]
    return _flow({key: plain[0], "ok": True}, argument, plain[1])


def _epoch(r: random.Random) -> Made:
    moment = _moment(r)
    return _flow({"starts_at": int(moment.timestamp())}, "start_date", moment.date().isoformat())


def _to_epoch(r: random.Random) -> Made:
    moment = _moment(r)
    return _flow({"departure": moment.strftime("%Y-%m-%dT%H:%M:%SZ")}, "since", int(moment.timestamp()))


EDGES: dict[str, Way] = {
    "an id as it is": lambda r: _flow({"bookingId": (one := code(r)), "state": "new"}, "bookingId", one),
    "one id of a list": _in_list,
    "a number as an id": lambda r: _flow({"movie": {"id": (one := number(r))}}, "movie_id", one),
    "a number as a text": lambda r: _flow({"accountId": (one := number(r))}, "account", str(one)),
    "a number padded with zeros": _padded,
    "a padded number without its zeros": _unpadded,
    "the number of a prefixed id": _prefixed,
    "a number with a prefix": _with_prefix,
    "a small id": _small_id,
    "an id of two digits": _two_digit_id,
    "an amount with a dollar sign": lambda r: _price(r, lambda e, c: f"${e:,}.{c}"),
    "an amount with a decimal comma": lambda r: _price(r, lambda e, c: f"{e // 1000}.{e % 1000:03},{c} €"),
    "an amount in cents": lambda r: _converted("price_cents", "price", (c := r.randint(1_211, 99_999)), c / 100),
    "a name from an address": _email_to_name,
    "an address from a name": _name_to_email,
    "a first and a last name": _joined_name,
    "a rounded number": _rounded,
    "a reference in a sentence": _in_sentence,
    "an id in a link": _in_link,
    "one of two coordinates": _coordinates,
    "a folder and a file": _path,
    "kilometres as metres": lambda r: _converted("distance_km", "radius_m", (k := r.randint(12, 480) / 4), 1000 * k),
    "metres as kilometres": lambda r: _converted("length_m", "length_km", (m := r.randint(11, 480) * 250), m / 1000),
    "minutes as hours": lambda r: _converted("duration_minutes", "hours", 60 * (h := r.randint(3, 40) / 2), h),
    "hours as seconds": lambda r: _converted("runtime_hours", "timeout_seconds", (h := r.randint(2, 40)), 3600 * h),
    "grams as kilograms": lambda r: _converted("weight_g", "weight_kg", (g := r.randint(11, 480) * 50), g / 1000),
    "a share as a percentage": lambda r: _converted("discount", "percent", (p := r.randint(11, 89)) / 100, p),
    "a day from seconds": _epoch,
    "seconds from a moment": _to_epoch,
    "a day of a moment": lambda r: _flow(
        {"departs": f"{(m := _moment(r)):%Y-%m-%dT%H:%M:%S}Z"}, "date", m.date().isoformat()
    ),
    "a day in words": lambda r: _flow({"arrival": f"{(d := day(r)):%B} {d.day}, {d.year}"}, "date", d.isoformat()),
    "a time of twelve hours": lambda r: _flow(
        {"opens": (h := r.randint(1, 11)) and f"{h}:40 PM"}, "time", f"{h + 12}:40"
    ),
    "a telephone number without marks": lambda r: _flow(
        {"phone": f"+49 {(n := r.randint(30, 89))} {(m := number(r))}"}, "phone", f"+49{n}{m}"
    ),
    "a key of an object": lambda r: _flow({"rates": {(k := f"{r.choice(CITIES)}-{r.choice(LAST)}"): 2.5}}, "name", k),
    "a title as a slug": lambda r: _flow(
        {"title": (t := f"{r.choice(CITIES)} {r.choice(THINGS)} {r.randint(300, 900)}")},
        "slug",
        t.lower().replace(" ", "-"),
    ),
    "a place from a profile": lambda r: _flow({"profile": {"city": (c := r.choice(CITIES))}}, "city", c),
    "a title": lambda r: _flow({"title": (t := f"The {r.choice(LAST)} {r.choice(THINGS)}")}, "query", t),
    "an address of a page": lambda r: _flow({"link": (u := f"https://example.org/p/{r.choice(THINGS)}")}, "url", u),
}


def _trap(observation: Any, argument: str, value: Any, message: str = "Please go on.", **more: Any) -> Made:
    return Made(argument, value, message, observation=observation, **more)


TRAPS: dict[str, Way] = {
    "a status word": lambda r: _trap({"status": "active", "name": r.choice(CITIES)}, "status", "active"),
    "an open state": lambda r: _trap({"tickets": [{"state": "open"}]}, "state", "open", "Which tickets are unsolved?"),
    "a limit": lambda r: _trap({"limit": (n := r.choice([10, 20, 50])), "rows": []}, "limit", n),
    "a page size": lambda r: _trap({"page_size": (n := r.choice([25, 100])), "total": 412}, "page_size", n),
    "the total as a limit": lambda r: _trap({"total": (n := r.choice([15, 25, 40]))}, "limit", n),
    "an offset": lambda r: _trap({"paging": {"offset": (n := r.choice([20, 40]))}}, "offset", n),
    "success": lambda r: _trap({"status": "success"}, "outcome", "success"),
    "a result word": lambda r: _trap({"result": "ok", "detail": "saved"}, "result", "ok"),
    "metric": lambda r: _trap({"units": "metric", "temp": 21.5}, "units", "metric"),
    "a unit": lambda r: _trap({"weather": {"unit": "celsius"}}, "unit", "celsius"),
    "a count of people": lambda r: _trap({"guests": (n := r.randint(2, 6))}, "seats", n, "For my family."),
    "a rating": lambda r: _trap({"rating": (n := r.randint(3, 5))}, "min_rating", n, "Something good."),
    "stars and nights": lambda r: _trap({"stars": (n := r.randint(2, 5)), "id": code(r)}, "nights", n),
    "a small number twice": lambda r: _trap({"chapter": (n := r.randint(11, 40)), "shelf": "B"}, "max_price", n),
    "an age": lambda r: _trap({"age": (n := r.randint(18, 70))}, "battery", n),
    "a minute": lambda r: _trap({"delay": (n := r.choice([15, 30, 45]))}, "reminder_minutes", n),
    "the year in a code": lambda r: _trap({"sku": f"AX-{(y := r.randint(2019, 2026))}-15"}, "year", y),
    "the end of a code": lambda r: _trap({"sku": f"{code(r)}-{(n := r.randint(31, 99))}"}, "quantity", n),
    "a word of a code": lambda r: _trap(
        {"sku": f"SHIRT-{(c := r.choice(['RED', 'BLUE']))}-{number(r)}"}, "colour", c.lower()
    ),
    "a size in a code": lambda r: _trap(
        {"model": f"T{r.randint(2, 9)}-{(n := r.choice([128, 256, 512]))}-B"}, "max_mb", n
    ),
    "a year": lambda r: _trap({"founded": (y := r.randint(2018, 2025))}, "year", y),
    "a day of a log": lambda r: _trap(
        {"generated_at": f"{(d := day(r)).isoformat()}T08:00:00Z"}, "date", d.isoformat(), "And for today?", today=d
    ),
    "a language": lambda r: _trap({"lang": (c := r.choice(["en", "de", "fr"])), "text": "…"}, "language", c),
    "a currency": lambda r: _trap({"currency": "USD", "rate": 1.08}, "currency", "USD"),
    "a country": lambda r: _trap({"headers": {"country": "US"}}, "market", "US"),
    "an order": lambda r: _trap({"sort": "asc", "items": [1]}, "sort", "asc"),
    "a class": lambda r: _trap({"fare": {"type": "economy"}}, "cabin", "economy", "The cheapest seat."),
    "a priority": lambda r: _trap({"priority": (p := r.choice(["high", "low", "normal"]))}, "urgency", p),
    "a format": lambda r: _trap({"format": "json", "size": 12}, "format", "json"),
    "a colour": lambda r: _trap({"theme": {"color": (c := r.choice(["red", "green", "dark"]))}}, "background", c),
    "a time of day": lambda r: _trap({"opens": "09:00", "closes": "18:00"}, "time", "09:00", "Wake me up."),
    "a code of a reply": lambda r: _trap({"code": 200, "data": [4]}, "amount", 200),
    "a version": lambda r: _trap({"version": "v2", "items": []}, "version", "v2"),
    "a part of a telephone number": lambda r: _trap({"phone": f"555-{(n := r.randint(101, 989))}-12"}, "points", n),
    "a word of a sentence": lambda r: _trap({"message": "The medium package was sent."}, "size", "medium"),
    "said by the user, too": lambda r: _trap({"city": (c := r.choice(CITIES))}, "city", c, f"The weather in {c}."),
    "said in other words": lambda r: _trap({"seats": 30, "name": "Kino"}, "duration_minutes", 30, "For half an hour."),
    "the default": lambda r: _trap({"shown": 25}, "size", 25, description="How many. Defaults to 25."),
    "a choice": lambda r: _trap(
        {"last": "scenic"}, "routing", "scenic", description="One of fastest, scenic or short."
    ),
    "a key": lambda r: _trap({"weekly": {"mon": 4}}, "interval", "weekly", "Remind me often."),
}
