"""How often the search for near-duplicates finds what it should, and how often it is wrong: made texts, by family.

Run from the root of the project, in a few seconds: ``.venv/bin/python docs/near_duplicates.py``. With files of neutral
or native records as arguments, it also prints the pairs of these that are found: ``… FILE wild``, ``… FILE c3``.
"""

# ruff: noqa: S311 - reproducible on purpose

import random
import re
import sys
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from annotator.core.checks.similarity import THRESHOLD, Traits, bands, compare, dialogue_text, jaccard, traits_of
from benchmark.core.files.reading import parse_record
from benchmark.core.formats import FORMATS

SEED, PAIRS = 7, 400

VALUES: dict[str, list[str]] = {
    "city": ["Porto", "Nantes", "Graz", "Lyon", "Bergen", "Turin", "Riga", "Malmö", "Gdańsk", "New York", "San José"],
    "person": ["Amina Diallo", "Jonas Weber", "Li Na", "Sofia", "Marta Kowalska", "Tom O'Neil", "Yuki"],
    "firm": ["Acme", "Northwind Traders", "Kite & Sons", "Globex", "Blue Harbour Ltd"],
    "date": ["2026-03-01", "2026-05-12", "12 April 2026", "May 3", "3 June", "21/07/2026"],
    "day": ["Monday", "Friday", "Sunday", "tomorrow", "tonight"],
    "number": ["2", "3", "4", "6", "8", "12", "19", "40", "125", "1,200", "3.5", "two", "seven", "twelve"],
    "time": ["10:30", "7 pm", "14:00", "9:15 am", "23:45"],
    "id": ["ORD-4417", "A7-99310", "INV 20931", "TK421", "#88213", "FA-3018"],
    "mail": ["amina@example.org", "j.weber@example.com", "info+x@mail.example.net"],
    "url": ["https://example.org/a?b=1", "www.example.com/shop", "http://docs.example.net/v2/start"],
    "quoted": ["“Summer list”", '"to do"', "“Q3 budget, final”", "'holiday photos'", '"Groceries"'],
    "zhcity": ["上海", "北京", "哈尔滨", "成都", "乌鲁木齐", "西安"],
    "zhnumber": ["两", "三", "十二", "5", "40", "二十"],
    "zhdate": ["3月1日", "2026年5月12日", "十二月二十日", "明天", "周五"],
    "zhquoted": ["「夏日清单」", "《三体》", "“季度预算”", "《红楼梦》"],
}

TEMPLATES = [
    "Book a table in {city} for {number} on {date}",
    "What is the weather in {city} on {day}?",
    "Please send the invoice {id} to {mail} before {day}.",
    "Can you find a direct flight from {city} to {city} on {date} for {number} people?",
    "Create a list called {quoted} and share it with {person}.\nThen remind me about it at {time}.",
    "How much is {number} euros in Swiss francs today, and how was it on {date}?",
    "Cancel my order {id} and tell me when I get the {number} euros back.",
    "I need a hotel near the station in {city} with at least {number} stars, from {date} for {number} nights.",
    "Open {url}, copy the first table, and mail it to {mail} with the subject {quoted}.",
    "Set the alarm to {time} every day except {day}, please.",
    "Find me the shares of {firm} and say whether they rose by more than {number} percent since {date}.",
    "Show the route from {city} to {city}, but avoid toll roads.\nHow long does it take with {number} stops?",
    "Add {person} to the meeting on {day} at {time} and move it to the large room.",
    "Translate the title {quoted} into French and add it to the file of {firm}.",
    "Which museums in {city} are open on {day} after {time}, and what does a ticket for {number} children cost?",
    "Transfer {number} euros to {person}. The reference is {id}.\nIs there enough left for the rent?",
]
ZH_MARKED = [
    "请帮我预订{zhdate}晚上的餐厅座位一共{zhnumber}个人谢谢",
    "帮我查一下订单{id}的物流状态如果{zhdate}之前到不了就取消",
    "把{zhquoted}加入我的书单然后提醒我{zhdate}去图书馆还书",
    "我想知道{zhnumber}欧元可以换多少人民币再帮我换算成美元",
    "请把附件发到{mail}标题写{zhquoted}并抄送给我的经理",
]
ZH_NAMES = [
    "请帮我查询{zhcity}下周的天气并告诉我需不需要带雨伞出门",
    "帮我订一张去{zhcity}的火车票要靠窗的座位最好是早上出发的",
    "我想在{zhcity}找一家离地铁站近的酒店要求有免费的早餐",
]
#: Two ways to say one thing.
PARAPHRASES = [
    ("Book a table in {city} for {number} on {date}", "On {date} we are {number} and would like to eat out in {city}"),
    ("What is the weather in {city} on {day}?", "Will I need an umbrella in {city} when I am there on {day}?"),
    ("Cancel my order {id} please, I changed my mind.", "I no longer want what I bought as {id}. Stop it."),
    (
        "Find a direct flight from {city} to {city} on {date}.",
        "I want to fly nonstop to {city}, leaving {city} {date}.",
    ),
    ("Set the alarm to {time} every day except {day}.", "Wake me daily at {time}, only not on {day}."),
    ("Transfer {number} euros to {person}.", "{person} should get {number} euros from my account."),
]
#: Much the same words, and another request.
OTHER_REQUESTS = [
    ("Book a table in {city} for {number} on {date}", "Cancel the table in {city} for {number} on {date}"),
    ("What is the weather in {city} on {day}?", "What is the time in {city} on {day} then?"),
    ("Please send the invoice {id} to {mail} before {day}.", "Please delete the invoice {id} of {mail} before {day}."),
    ("Set the alarm to {time} every day except {day}, please.", "Set the heating to {number} every day after {time}."),
    ("Find a hotel near the station in {city} with a pool.", "Find a hotel near the airport in {city} with a gym."),
    ("Which museums in {city} are open on {day}?", "Which shops in {city} are closed on {day}?"),
    ("请帮我查询{zhcity}明天的天气", "请帮我查询{zhcity}明天的航班"),
    ("把{zhquoted}加入我的书单", "把{zhquoted}从我的书单删除"),
]
COMMON = [
    "And the second one?", "And the first one?", "Yes, please do that.", "Yes, do it please.", "No, thank you.",
    "How much does it cost?", "How long does it take?", "What about tomorrow?", "What about the weather there?",
    "Can you check that again?", "Can you do it again for me?", "OK, book it.", "OK, cancel it.", "好的", "好的，谢谢",
    "那第二个呢", "那第一个呢", "Send it to me as well.", "Thanks, and the price?", "Thanks, and the address?",
]  # fmt: skip
SHORT = ["hi", "Help", "好的", "👍", "Cancel it", "What now?", "C++", "再来一次", "ok", "And the second one?"]
FILLERS = ["please", "by the way,", "thank you", "if you can", "as soon as possible", "once more"]


def fill(template: str, chance: random.Random) -> str:
    """Fill in a template's values by chance."""
    return re.sub(r"\{(\w+)\}", lambda found: chance.choice(VALUES[found[1]]), template)


def talk(chance: random.Random) -> list[str]:
    """Return the templates of a dialogue with one to three tasks."""
    return chance.sample(TEMPLATES, chance.choice([1, 1, 2, 3]))


def families(chance: random.Random) -> dict[str, tuple[bool, list[tuple[str, str]]]]:
    """Return pairs of texts by family, each with whether it should be found."""

    def several(make: Callable[[], tuple[str, str]]) -> list[tuple[str, str]]:
        return [make() for _ in range(PAIRS)]

    def refilled(templates: Sequence[str]) -> tuple[str, str]:
        one = "\n".join(templates)
        return fill(one, chance), fill(one, chance)

    def edited() -> tuple[str, str]:
        text = "\n".join(fill(one, chance) for one in chance.sample(TEMPLATES, 3))
        words = text.split(" ")
        words.insert(chance.randrange(len(words)), chance.choice(FILLERS))
        return text, " ".join(words)

    def unlike(templates: list[str]) -> tuple[str, str]:
        first, second = chance.sample(templates, 2)
        return fill(first, chance), fill(second, chance)

    def of(pairs: list[tuple[str, str]]) -> tuple[str, str]:
        first, second = chance.choice(pairs)
        return fill(first, chance), fill(second, chance)

    return {
        "the same, short": (True, [(text, text) for text in SHORT]),
        "template, other values: English, one task": (True, several(lambda: refilled([chance.choice(TEMPLATES)]))),
        "template, other values: English, one to three tasks": (True, several(lambda: refilled(talk(chance)))),
        "the same with names in small letters": (
            True, several(lambda: (lambda pair: (pair[0].lower(), pair[1].lower()))(refilled(talk(chance)))),
        ),
        "template, other values: Chinese, with marks or digits": (
            True, several(lambda: refilled([chance.choice(ZH_MARKED)])),
        ),
        "template, other values: Chinese, names of places": (
            True, several(lambda: refilled([chance.choice(ZH_NAMES)])),
        ),
        "some words added": (True, several(edited)),
        "paraphrase": (True, several(lambda: of(PARAPHRASES))),
        "other request in much the same words": (False, several(lambda: of(OTHER_REQUESTS))),
        "unrelated": (False, several(lambda: unlike([*TEMPLATES, *ZH_MARKED, *ZH_NAMES]))),
        "common phrases that differ": (False, list(combinations(COMMON, 2))),
    }  # fmt: skip


def by_words(first: Traits, second: Traits) -> bool:
    """Return whether the rule without masks finds a pair: shingles of the words, eight of them at least."""
    enough = min(len(first.shingles), len(second.shingles)) >= 8
    return enough and 100 * jaccard(first.shingles, second.shingles) >= THRESHOLD


def by_traits(first: Traits, second: Traits) -> bool:
    """Return whether Assay finds a pair: they share a band, and are alike enough."""
    share = any(one == two for one, two in zip(bands(first), bands(second), strict=False))
    return share and compare(first, second).percent >= THRESHOLD


def rate(rule: Callable[[Traits, Traits], bool], pairs: list[tuple[Traits, Traits]]) -> str:
    return f"{100 * sum(rule(*pair) for pair in pairs) / len(pairs):.0f} %"


def print_rates() -> None:
    print(f"{'family':60}{'should':>8}{'pairs':>7}{'words':>8}{'masked':>8}")
    for name, (wanted, pairs) in families(random.Random(SEED)).items():
        # Values drawn twice may be the same ones.
        differ = [pair for pair in pairs if name == "the same, short" or pair[0] != pair[1]]
        read = [(traits_of(one), traits_of(other)) for one, other in differ]
        known = [(one, other) for one, other in read if one is not None and other is not None]
        rates = f"{rate(by_words, known):>8}{rate(by_traits, known):>8}"
        print(f"{name:60}{'yes' if wanted else 'no':>8}{len(known):>7}{rates}")


def print_pairs(path: Path, native_format: str) -> None:
    texts = []
    for line in path.read_bytes().splitlines():
        for candidate in FORMATS[native_format].read(parse_record(line)):
            texts.append((candidate.external_id, dialogue_text(candidate.document)))
    read = [(name, text, traits_of(text)) for name, text in texts]
    print(f"\n{path.name}: {len(texts)} dialogues")
    found = [0, 0]
    for (one, text, first), (other, second_text, second) in combinations(read, 2):
        if first is None or second is None:
            continue
        before, now = by_words(first, second), by_traits(first, second)
        found = [found[0] + before, found[1] + now]
        if now and not before:
            print(f"  {one} – {other}: {compare(first, second)}\n    {text[:300]!r}\n    {second_text[:300]!r}")
    print(f"  pairs: {found[0]} by words, {found[1]} with masked values")


if __name__ == "__main__":
    print_rates()
    for file, kind in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        print_pairs(Path(file), kind)
