"""What users say, the values it means, and values that nothing says: tables of docs/provenance_synthetic.py."""

import random
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

from provenance_ways import CITIES, LAST, Made, Way, code, day, number, person

SPELT = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
HAN = "零一二三四五六七八九"
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _from_today(r: random.Random, texts: dict[str, Callable[[date], date]]) -> Made:
    message = r.choice(sorted(texts))
    now = day(r)
    return Made(r.choice(["date", "startDate"]), texts[message](now).isoformat(), message, today=now)


def _days(n: int) -> Callable[[date], date]:
    return lambda now: now + timedelta(days=n)


def _weekday(r: random.Random) -> Made:
    now, n = day(r), r.randint(1, 6)
    then = now + timedelta(days=n)
    return Made("date", then.isoformat(), f"A table for {DAYS[then.weekday()]}, please.", today=now)


def _month_end(now: date) -> date:
    return date(now.year + now.month // 12, now.month % 12 + 1, 1) - timedelta(days=1)


def _stay(r: random.Random) -> Made:
    first, nights = day(r), r.randint(2, 9)
    message = f"A room from {first:%B} {first.day} for {SPELT[nights]} nights."
    return Made("checkOut", (first + timedelta(days=nights)).isoformat(), message, today=first - timedelta(days=20))


def _choose(r: random.Random, argument: str, *options: tuple[str, Any], **more: Any) -> Made:
    message, value = r.choice(options)
    return Made(argument, value, message, **more)


def _listed(r: random.Random, written: Callable[[list[str]], str]) -> Made:
    words = r.sample(["fastest", "shortest", "scenic", "eco_friendly", "toll_free"], 3)
    return Made("routing", r.choice(words), "Plan the way to the office.", description=written(words))


def _default(r: random.Random, *texts: str) -> Made:
    value = r.choice([15, 25, 40, "standard", "compact"])
    return Made("mode", value, "Show it to me.", description=r.choice(texts).format(value))


def _spelt_digits(r: random.Random) -> Made:
    digits = [r.randint(2, 9) for _ in range(4)]
    return Made("pin", "".join(map(str, digits)), f"My pin is {' '.join(SPELT[digit] for digit in digits)}.")


def _chinese_count(r: random.Random) -> Made:
    n = r.randint(2, 9)
    return Made("count", 10 * n + 5, f"我要{HAN[n]}十五个。")


SAID: dict[str, Way] = {
    "tomorrow": lambda r: _from_today(r, {"What is on tomorrow?": _days(1), "明天有什么安排?": _days(1)}),
    "the day after tomorrow": lambda r: _from_today(r, {"And the day after tomorrow?": _days(2), "后天呢?": _days(2)}),
    "in so many days": lambda r: _from_today(
        r,
        {
            "I leave in three days.": _days(3),
            "I leave 5 days from now.": _days(5),
            "十天后出发。": _days(10),
            "In a fortnight, please.": _days(14),
        },
    ),
    "in so many weeks": lambda r: _from_today(
        r, {"We fly in two weeks.": _days(14), "A week from today.": _days(7), "三周后出发。": _days(21)}
    ),
    "so long ago": lambda r: _from_today(
        r,
        {
            "What did I spend a week ago?": _days(-7),
            "Show the log of 4 days ago.": _days(-4),
            "The order of two weeks ago.": _days(-14),
        },
    ),
    "a weekday": _weekday,
    "next week": lambda r: _from_today(r, {"Some day next week.": lambda n: n + timedelta(days=9 - n.weekday())}),
    "the end of the month": lambda r: _from_today(
        r, {"Due at the end of the month.": _month_end, "月底前交。": _month_end}
    ),
    "the first of next month": lambda r: _from_today(
        r, {"It starts next month.": lambda n: _month_end(n) + timedelta(days=1)}
    ),
    "the start of the year": lambda r: _from_today(
        r, {"My spending since the start of the year.": lambda n: n.replace(month=1, day=1)}
    ),
    "the last so many days": lambda r: _from_today(
        r,
        {
            "Sales of the last 30 days.": _days(-30),
            "过去7天的销量。": _days(-7),
            "News from the past two days.": _days(-2),
        },
    ),
    "a day without its year": lambda r: Made(
        "date",
        (d := (n := day(r)) + timedelta(days=r.randint(3, 200))).isoformat(),
        f"On {d:%B} {d.day}, please.",
        today=n,
    ),
    "the last day of a stay": _stay,
    "a year by its distance": lambda r: Made(
        "year",
        (n := day(r)).year + (k := r.choice([-1, 1])),
        f"The figures of {'last' if k < 0 else 'next'} year.",
        today=n,
    ),
    "a day with an ordinal word": lambda r: _choose(
        r,
        "date",
        ("On the seventh of March.", "2026-03-07"),
        ("On March twenty-first.", "2026-03-21"),
        today=date(2026, 1, 9),
    ),
    "half past": lambda r: _choose(
        r, "time", ("At half past seven.", "07:30"), ("At half past four in the afternoon.", "16:30")
    ),
    "a quarter": lambda r: _choose(r, "time", ("At quarter to nine.", "08:45"), ("At a quarter past ten.", "10:15")),
    "an hour in words": lambda r: _choose(
        r,
        "time",
        ("At seven in the evening.", "19:00"),
        ("At eight pm.", "20:00"),
        ("Let us meet at nine o'clock.", "09:00"),
    ),
    "a time in Chinese": lambda r: _choose(r, "time", ("晚上八点半见。", "20:30"), ("下午三点一刻", "15:15")),
    "dozens": lambda r: _choose(r, "quantity", ("Six dozen eggs.", 72), ("Two dozen of them.", 24)),
    "a pair and other names of numbers": lambda r: _choose(
        r, "tickets", ("A couple of tickets.", 2), ("A pair of them.", 2)
    ),
    "an ordinal": lambda r: _choose(
        r, "floor", ("A room on the seventh floor.", 7), ("The 3rd floor.", 3), ("The twelfth floor.", 12)
    ),
    "an ordinal in Chinese": lambda r: _choose(r, "episode", ("看第十二集。", 12), ("第三十五集", 35)),
    "a fraction": lambda r: _choose(
        r, "share", ("A quarter of it.", 0.25), ("Three quarters of it.", 0.75), ("Two thirds of it.", 0.67)
    ),
    "a number and a half": lambda r: _choose(
        r, "miles", ("Two and a half miles.", 2.5), ("One and a half miles.", 1.5)
    ),
    "words for a large number": lambda r: _choose(
        r,
        "budget",
        ("At most 2.5k.", 2500),
        ("Half a million.", 500_000),
        ("Twelve hundred dollars.", 1200),
        ("1.2m", 1_200_000),
    ),
    "a number without its sign": lambda r: _choose(
        r, "budget", ("Up to $1,250 is fine.", 1250), ("€ 980 or less", 980)
    ),
    "hours as minutes": lambda r: _choose(
        r,
        "duration_minutes",
        ("It takes an hour and a half.", 90),
        ("A call of two hours.", 120),
        ("Half an hour is enough.", 30),
        ("45 min", 45),
    ),
    "hours as minutes in Chinese": lambda r: _choose(
        r, "duration_minutes", ("开一个半小时的会。", 90), ("两小时", 120), ("半小时后提醒我", 30)
    ),
    "days as hours": lambda r: _choose(r, "hours", ("Keep it for two days.", 48), ("A full day.", 24)),
    "kilometres as metres, said": lambda r: _choose(
        r, "radius", ("Within 2 km of me.", 2000), ("Within 500 metres.", 500), ("三公里以内", 3000)
    ),
    "kilograms as grams": lambda r: _choose(r, "grams", ("Half a kilo of flour.", 500), ("1.5 kg of rice", 1500)),
    "numerals of banks": lambda r: _choose(
        r, "amount", ("转账叁仟元。", 3000), ("转账伍佰元", 500), ("壹万贰仟元整", 12_000)
    ),
    "a count in Chinese": _chinese_count,
    "amounts of money in Chinese": lambda r: _choose(
        r, "price", ("五块五", 5.5), ("三百二十块", 320), ("1.5万元", 15_000)
    ),
    "percent in Chinese": lambda r: _choose(r, "percent", ("百分之二十的折扣", 20), ("打八折", 80)),
    "a country": lambda r: _choose(
        r,
        "country",
        ("News from Germany.", "DE"),
        ("News from Brazil.", "br"),
        ("日本的新闻", "JP"),
        ("Holidays in the United Kingdom.", "GB"),
        ("French companies only.", "FR"),
    ),
    "an airport of a city": lambda r: _choose(
        r,
        "origin",
        ("From London to Rome.", "LHR"),
        ("From Tokyo.", "NRT"),
        ("Leaving from San Francisco.", "SFO"),
        ("从北京出发", "PEK"),
    ),
    "a language": lambda r: _choose(
        r,
        "lang",
        ("Translate it into Danish.", "da"),
        ("用法语", "fr"),
        ("In Greek.", "el"),
        ("In Brazilian Portuguese.", "pt-BR"),
    ),
    "a currency": lambda r: _choose(
        r,
        "currency",
        ("In Australian dollars.", "AUD"),
        ("换成泰铢", "THB"),
        ("50 zloty", "PLN"),
        ("In dollars.", "USD"),
    ),
    "a state": lambda r: _choose(r, "state", ("Homes in California.", "CA"), ("Taxes in Texas.", "TX")),
    "a country's own word": lambda r: _choose(
        r, "nationality", ("I am Italian.", "Italy"), ("I am Dutch.", "Netherlands")
    ),
    "a name in another script": lambda r: _choose(
        r, "city", ("上海的天气", "Shanghai"), ("去巴黎", "Paris"), ("Weather in Beijing.", "北京")
    ),
    "a unit's name": lambda r: _choose(
        r, "unit", ("How warm is it in Celsius?", "celsius"), ("Use Fahrenheit.", "F"), ("How many kilometres?", "km")
    ),
    "a choice in brackets": lambda r: _listed(r, lambda w: 'How to go. [Enum]: ["' + '", "'.join(w) + '"]'),
    "a choice of a few": lambda r: _listed(r, lambda w: f"How to go, one of {w[0]}, {w[1]} or {w[2]}."),
    "options": lambda r: _listed(r, lambda w: f"How to go. Options: {', '.join(w)}"),
    "either or": lambda r: _listed(r, lambda w: f"Either '{w[0]}', '{w[1]}' or '{w[2]}'."),
    "possible values": lambda r: _listed(r, lambda w: f"How to go. Possible values: {' | '.join(w)}."),
    "a choice in Chinese": lambda r: _listed(r, lambda w: f"路线，可选值：{'、'.join(w)}。"),
    "a default": lambda r: _default(r, "How to show it. Defaults to {}.", "How. Default is {}.", "How (default: {})."),
    "a default in other words": lambda r: _default(
        r, "How to show it; {} by default.", "How; if omitted, {} is used.", "显示方式，默认值为{}。"
    ),
    "spelt digits": _spelt_digits,
    "a telephone number": lambda r: Made("phone", f"415555{(n := r.randint(1000, 9999))}", f"Call (415) 555-{n}."),
    "another form of a word": lambda r: _choose(
        r,
        "genre",
        ("Something funny, a comedy.", "comedies"),
        ("Dystopian books", "dystopia"),
        ("I love running.", "run"),
    ),
    "a search composed of words": lambda r: _choose(
        r,
        "query",
        ("I want shoes that are red, for running.", "red running shoes"),
        ("Where can I eat vegan ramen downtown?", "vegan ramen restaurants downtown"),
    ),
    "an address in pieces": lambda r: Made(
        "address",
        f"{(n := r.randint(11, 99))} {(s := r.choice(LAST))} Street, {(c := r.choice(CITIES))}",
        f"Number {n} in {s} Street, that is in {c}.",
    ),
    "a minus in words": lambda r: _choose(
        r, "temperature", ("It is minus 12 outside.", -12), ("Twelve below zero.", -12), ("零下8度", -8)
    ),
}


def _unlike(r: random.Random, message: str, distances: list[int], argument: str = "date") -> Made:
    now = day(r)
    return Made(argument, (now + timedelta(days=r.choice(distances))).isoformat(), message, today=now)


INVENTED_DATES: dict[str, Way] = {
    "not tomorrow": lambda r: _unlike(r, r.choice(["What is on tomorrow?", "明天有什么?"]), [3, 5, -2, 300]),
    "not in three days": lambda r: _unlike(r, r.choice(["I leave in three days.", "三天后出发。"]), [2, 4, 9, -3]),
    "not in two weeks": lambda r: _unlike(r, "We fly in two weeks.", [3, 25, -14, 60]),
    "not a week ago": lambda r: _unlike(r, "What did I buy a week ago?", [-20, -3, 7, -90]),
    "not next week": lambda r: _unlike(r, r.choice(["Book it next week.", "下周开会。"]), [-5, 23, 40, 200]),
    "not this weekend": lambda r: _unlike(r, "What is on this weekend?", [11, 17, -9, 45]),
    "not this month": lambda r: _unlike(r, r.choice(["My bills of this month.", "本月账单"]), [75, -80, 400]),
    "not this year": lambda r: _unlike(r, "My income this year.", [800, -900, 500, -760]),
    "not a past day": lambda r: _unlike(r, "Something in the coming days, please.", [-9, -20, -400]),
    "not an old day": lambda r: _unlike(r, r.choice(["Any recent news?", "最近的新闻"]), [-500, -800, 200, 60]),
    "not a year before": lambda r: Made(
        "date",
        (d := (n := day(r)) + timedelta(days=30)).replace(year=d.year - 3, day=min(d.day, 28)).isoformat(),
        f"On {d:%B} {min(d.day, 28)}, please.",
        today=n,
    ),
    "not that weekday": lambda r: Made(
        "date", (n := day(r)).isoformat(), f"On {DAYS[(n.weekday() + 3) % 7]}, please.", today=n
    ),
    "not the end of the stay": lambda r: Made(
        "checkOut", ((n := day(r)) + timedelta(days=41)).isoformat(), f"Three nights from {n:%B} {n.day}.", today=n
    ),
    "no time word": lambda r: _unlike(r, "Book a table for the team.", [4, 30, -10]),
    "a daily habit": lambda r: _unlike(r, "I run every day and I like it. Where is a track?", [12, -12, 29]),
    "days of something else": lambda r: _unlike(r, "A 7-day trip to Porto.", [-20, 29, 12]),
}

INVENTED: dict[str, Way] = {
    "an id": lambda r: Made("orderId", code(r), "Cancel my order."),
    "a number": lambda r: Made("amount", number(r), "Send some money to Jonas."),
    "a city": lambda r: Made("city", r.choice(CITIES), "What is the weather like?"),
    "a name": lambda r: Made("name", " ".join(person(r)), "Send it to my sister."),
    "an address": lambda r: Made("email", f"{r.choice(LAST).lower()}@example.org", "Send it to my boss."),
    "a year": lambda r: Made(
        "year", 2019 + r.randint(0, 4), "Show my reports.", today=day(r).replace(year=2026, day=3)
    ),
    "another year": lambda r: Made("year", 2017 + r.randint(0, 4), "The report of last year.", today=date(2026, 5, 4)),
    "a negative number": lambda r: Made("temperature", -(n := r.randint(12, 60)), f"Set it to {n} degrees."),
    "a number without its minus": lambda r: Made(
        "temperature", (n := r.randint(12, 60)), f"It is -{n} degrees outside."
    ),
    "another time": lambda r: _choose(
        r, "time", ("At half past seven.", "09:15"), ("At nine in the evening.", "17:00")
    ),
    "another unit": lambda r: _choose(r, "radius_m", ("Within 2 km.", 2500), ("Within three kilometres.", 300)),
    "another duration": lambda r: _choose(r, "duration_minutes", ("An hour and a half.", 75), ("For two hours.", 45)),
    "another country": lambda r: _choose(r, "country", ("News from Germany.", "FR"), ("News from Japan.", "CN")),
    "another language": lambda r: _choose(r, "lang", ("Translate it into Danish.", "sv"), ("In French.", "es")),
    "another airport": lambda r: _choose(r, "origin", ("From London.", "CDG"), ("From Tokyo.", "SFO")),
    "no choice of the list": lambda r: Made(
        "routing", "cheapest", "Plan the way.", description="One of fastest, scenic."
    ),
    "not the default": lambda r: Made("size", r.choice([35, 60]), "Show it.", description="Defaults to 15."),
    "an example of a description": lambda r: Made(
        "city", "Oslo", "The weather, please.", description="A city, e.g. Oslo"
    ),
    "other digits": lambda r: Made("pin", "7391", "My pin is four two eight six."),
}
