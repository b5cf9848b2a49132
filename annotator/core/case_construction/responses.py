"""Draw constraints on the final response that the response of a query satisfies, from the built-in validators."""

import json
import random
import re
from collections.abc import Iterator
from typing import Any

from annotator.core.case_construction.query import Query
from annotator.core.validators import FORMS
from annotator.core.validators.checking import bullets, case, date, language, markdown, table

#: A sentence, the name of a built-in validator, its parameters, and responses that it must reject.
Drawn = tuple[str, str, dict[str, Any], list[str]]

_ELEMENTS = {
    "heading": "a heading", "bold": "bold text", "italic": "italic text", "code": "code", "quote": "a quotation",
    "link": "a link",
}  # fmt: skip
#: Signs of Markdown that plain text lacks.
_SIGNS = ("**", "#", "`", "|")
_ENDS = {".": "a full stop", "!": "an exclamation mark", "?": "a question mark", "。": "“。”"}
_DATES = ("2026-03-31", "March 31, 2026", "31 March 2026", "03/31/2026")
_NAME = re.compile(r"(?<![\w-])[A-Z][\w-]{3,40}(?![\w-])")
#: Bullets, as the sentence calls them; the validator also accepts numbers.
_BULLET = re.compile(r"(?m)^[ \t]*[-*+•][ \t]+\S")
#: Keys of JSON that a sentence names.
_MOST_KEYS = 3
_KEY = re.compile(r"[A-Za-z_]\w{0,40}")
#: Names in the query among which a keyword is drawn.
_MOST_NAMES = 20


class NotDrawable(ValueError):
    """A category cannot be drawn for a query; the text is a sentence."""


def draw_length(query: Query, chance: random.Random) -> dict[str, Any]:
    """Return limits in steps of 5 words or 50 characters, with room around the length of the response."""
    in_words = query.document["language"] != "zh" and len(query.final.split()) > 1 and chance.random() < 0.7
    unit, step = ("words", 5) if in_words else ("characters", 50)
    length = len(query.final.split()) if in_words else len(query.final)
    high = step * (-(-int(length * (1 + chance.random())) // step) + 1)
    low = step * int(length * chance.uniform(0.2, 0.8) // step)
    kind = chance.choice(("most", "most", "least", "between"))
    if kind == "least" and not low:
        kind = "most"
    return {
        "min_responseLength": 0 if kind == "most" else low,
        "max_responseLength": "inf" if kind == "least" else high,
        "unit": unit,
    }


def draw_format(query: Query, chance: random.Random) -> Drawn:
    """Return the format of the response: JSON, a table, bullets, an element of Markdown, or plain text."""
    found = list(_formats(query.final, chance))
    if not found:
        raise NotDrawable("No built-in validator fits the format of the response.")
    return chance.choice(found)


def draw_content(query: Query, chance: random.Random) -> Drawn:
    """Return something that the response has and that does not give the answer away."""
    found = list(_contents(query, chance))
    if not found:
        raise NotDrawable("No built-in validator fits the content of the response.")
    return chance.choice(found)


def _formats(final: str, chance: random.Random) -> Iterator[Drawn]:
    data = _json_object(final)
    if data is not None:
        # The trial removes the first key, so the validator has to require it.
        keys = [key for key in data if _KEY.fullmatch(key)][:_MOST_KEYS]
        keys = keys[: chance.randint(1, len(keys))] if keys and keys[0] == next(iter(data)) else []
        asked = "".join(f" It has the key “{key}”." for key in keys)
        yield f"Answer with one JSON object and nothing else.{asked}", "json_object", {"keys": keys}, []
        return
    if table(final, [], 1)[0]:
        yield "Answer with a table.", "table", {"columns": [], "rows_at_least": 1}, []
    items = len(_BULLET.findall(final))
    if items > 1 and bullets(final, items, items)[0]:
        least = chance.randint(2, items)
        yield f"Answer with at least {least} bullet points.", "bullets", {"at_least": least, "at_most": None}, []
    for element, words in _ELEMENTS.items():
        if markdown(final, [element])[0]:
            yield f"Use Markdown with {words}.", "markdown", {"elements": [element]}, []
    if not markdown(final, [])[0] and not any(sign in final for sign in _SIGNS):
        signs = ", ".join(f"“{sign}”" for sign in _SIGNS[:-1])
        text = f"Answer in plain text, without {signs} and “{_SIGNS[-1]}”."
        yield text, "lacks", {"texts": list(_SIGNS), "ignore_case": False}, [f"**{final}**"]


def _contents(query: Query, chance: random.Random) -> Iterator[Drawn]:
    final = query.final
    plain = _json_object(final) is None
    if plain and final[-1] in _ENDS:
        yield f"End the answer with {_ENDS[final[-1]]}.", "ends_with", {"texts": [final[-1]]}, []
    spoken = query.document["language"]
    if spoken and language(final, spoken)[0] and not case(final, "upper")[0]:
        name = {"en": "English", "zh": "Chinese"}[spoken]
        yield f"Answer in {name}.", "language", {"language": spoken}, []
    shown = [form for form in _DATES if date(final, form)[0]]
    if len(shown) == 1:
        yield f"Write dates like {shown[0]}.", "date", {"form": shown[0]}, []
    asked = dict.fromkeys(_NAME.findall(query.document["user_query"]))
    names = [name for name in list(asked)[:_MOST_NAMES] if name in final]
    if names:
        word = chance.choice(names)
        yield f"Include “{word}” in the answer.", "contains", {"texts": [word], "ignore_case": False}, []
    if plain and "!" not in final:
        yield "Write the answer without “!”.", "lacks", {"texts": ["!"], "ignore_case": False}, [f"{final}!"]


def _json_object(text: str) -> dict[str, Any] | None:
    if not FORMS["json_object"].accepts(text, {"keys": []})[0]:
        return None
    data: dict[str, Any] = json.loads(text)
    return data
