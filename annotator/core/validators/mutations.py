"""Ways to break a response on purpose. Each is small and named, and its effect is known."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.validators.aspects import Aspect
from annotator.core.validators.checking import table as check_table

_FILLER = "This sentence only makes the response longer than it was meant to be. "
_LONGER = 40
#: Words of a text within JSON that is made longer, and characters that the JSON may have then.
_LONG, _MAX_LENGTH = 200, 100_000
_DATES = re.compile(
    r"\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}/\d{4}"
    r"|(?:(?:\d{1,2} )?(?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"(?: \d{1,2},)? \d{4})"
)
_ITEM = re.compile(r"(?m)^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+")
#: A link in Markdown, or what begins like one: read once, however many brackets are open. A closed one has a
#: second group.
_LINK = re.compile(r"\[([^\]\n]+)(?:\]\([^)\n]+(\))?)?")
#: The line under the header of a table.
_RULE = re.compile(r"(?=[ \t|:]*-)[ \t|:-]*+")
_RULE_LINE = re.compile(rf"(?m)^{_RULE.pattern}\n")


@dataclass(frozen=True, slots=True)
class Mutated:
    """A broken response: its name, which aspects it certainly breaks, and which it may break."""

    key: str
    title: str
    text: str
    breaks: frozenset[Aspect]
    may_break: frozenset[Aspect] = frozenset()


def mutate(reference: str, *, keywords: Sequence[str] = ()) -> list[Mutated]:
    """Return the mutations that apply to a reference; each once, and only those that change something.

    ``keywords``: texts that a constraint requires in the response; they are dropped one by one.
    """
    out: list[Mutated] = []
    seen = {reference}
    for one in _all(reference, keywords):
        if one.text not in seen:
            seen.add(one.text)
            out.append(one)
    return out


def _all(text: str, keywords: Sequence[str]) -> Iterator[Mutated]:
    everything = frozenset(Aspect)
    limits = frozenset({Aspect.LENGTH, Aspect.CASE})
    yield Mutated("empty", "Empty response", "", everything - limits, limits)
    for key, title, change, breaks, may_break in _CHANGES:
        changed = change(text)
        if changed is not None:
            yield Mutated(key, title, changed, frozenset(breaks), frozenset(may_break))
    for name, changed in resized(text):
        # The texts lose their content; the response is still JSON with the same keys.
        maybe = everything - {Aspect.JSON, Aspect.KEYS}
        yield Mutated(f"{name}_texts", f"With {name} texts", changed, frozenset(), maybe)
    for number, word in enumerate(keywords):
        if word and word in text:
            title = f"Without “{word[:40]}”"
            maybe = everything - {Aspect.KEYWORDS}
            yield Mutated(f"drop_keyword_{number}", title, text.replace(word, ""), frozenset({Aspect.KEYWORDS}), maybe)


def _delete_key(text: str) -> str | None:
    data = _object(text)
    if not data:
        return None
    return json.dumps(dict(list(data.items())[1:]), ensure_ascii=False)


def _break_json(text: str) -> str | None:
    return None if _object(text) is None else text.rstrip().removesuffix("}")


def _wrap(text: str) -> str:
    return f"Sure, here is what you asked for:\n\n{text}\n\nTell me whether that helps"


def _break_table(text: str) -> str | None:
    if not check_table(text, [], 0)[0]:
        return None
    return "\n".join(line for line in text.splitlines() if not _RULE.fullmatch(line))


def resized(text: str) -> Iterator[tuple[str, str]]:
    """Yield JSON with every text in it made longer, and shorter; nothing if the response is not JSON, or is extreme
    (nested very deeply, or with thousands of texts).
    """
    for name, words in (("longer", " ".join(["word"] * _LONG)), ("shorter", "word")):
        try:
            data = json.loads(text)
            changed = _with_texts(data, words) if isinstance(data, dict | list) else data
            if changed != data and len(packed := json.dumps(changed, ensure_ascii=False)) <= _MAX_LENGTH:
                yield name, packed
        except (ValueError, RecursionError):
            return


def _with_texts(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return {key: _with_texts(part, text) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_texts(part, text) for part in value]
    return text if isinstance(value, str) else value


def _strip_markdown(text: str) -> str | None:
    plain = re.sub(r"(?m)^(?:#{1,6} +|> ?|[ \t]*[-*+] +)", "", text)
    plain = re.sub(r"\*\*|__|`+|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)", "", plain)
    plain = _LINK.sub(lambda found: found[0] if found[2] is None else found[1], plain)
    plain = _RULE_LINE.sub("", plain).replace("|", " ")
    return plain if plain != text else None


def _strip_bullets(text: str) -> str | None:
    return _ITEM.sub("", text) if _ITEM.search(text) else None


def _lengthen(text: str) -> str | None:
    """Insert in the middle, so that beginning and end stay, and without breaking a structure."""
    if _object(text) is not None or "|" in text or not text.strip():
        return None
    middle = len(text) // 2
    cut = text.rfind("\n", 0, middle) + 1
    if cut:
        return f"{text[:cut]}{(_FILLER * _LONGER).strip()}\n{text[cut:]}"
    cut = text.rfind(" ", 0, middle) + 1
    return text[:cut] + _FILLER * _LONGER + text[cut:] if cut else None


def _shorten(text: str) -> str | None:
    words = text.split()
    return " ".join((*words[:1], *words[-1:])) if len(words) > 4 else None


def _other_language(text: str) -> str:
    chinese = sum("一" <= c <= "鿿" for c in text)
    if chinese * 2 > sum(c.isalpha() for c in text):
        return "The answer is now in a different language."
    return "这个回答用的是另一种语言，内容保持不变。"


def _change_end(text: str) -> str | None:
    kept = text.rstrip()
    if not kept or _object(text) is not None:
        return None
    return kept.rstrip(".!?。！？") + " and so on" if kept[-1] in ".!?。！？" else kept + " and so on"


def _change_start(text: str) -> str | None:
    return "Well, " + text.lstrip() if text.strip() and _object(text) is None else None


def _change_dates(text: str) -> str | None:
    return _DATES.sub("that day", text) if _DATES.search(text) else None


def _swap_case(text: str) -> str | None:
    return text.swapcase() if text != text.swapcase() else None


def _object(text: str) -> dict[str, object] | None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


_A = Aspect
#: (key, title, change, what it certainly breaks, what else it may break)
_CHANGES: tuple[tuple[str, str, Callable[[str], str | None], set[Aspect], set[Aspect]], ...] = (
    ("delete_key", "Without its first key", _delete_key, {_A.KEYS}, {_A.JSON, _A.KEYWORDS, _A.LENGTH, _A.DATE}),
    ("break_json", "Without its last brace", _break_json, {_A.JSON, _A.KEYS}, {_A.END}),
    ("wrap", "Wrapped in prose", _wrap, {_A.JSON, _A.KEYS, _A.START, _A.END}, {_A.LENGTH, _A.CASE, _A.LANGUAGE}),
    ("break_table", "Table without its header rule", _break_table, {_A.TABLE}, {_A.MARKDOWN, _A.LENGTH}),
    (
        "strip_markdown",
        "Without Markdown",
        _strip_markdown,
        {_A.MARKDOWN},
        {_A.TABLE, _A.BULLETS, _A.KEYWORDS, _A.START, _A.END, _A.LENGTH},
    ),
    (
        "strip_bullets",
        "Without list markers",
        _strip_bullets,
        {_A.BULLETS},
        {_A.MARKDOWN, _A.START, _A.LENGTH, _A.KEYWORDS},
    ),
    ("lengthen", "Much longer", _lengthen, set(), {_A.LENGTH, _A.LANGUAGE, _A.CASE}),
    ("shorten", "Only two words of it", _shorten, set(), set(_A)),
    ("other_language", "In another language", _other_language, {_A.LANGUAGE}, set(_A) - {_A.LANGUAGE}),
    (
        "change_end",
        "With another ending",
        _change_end,
        {_A.END},
        {_A.LENGTH, _A.CASE, _A.DATE, _A.KEYWORDS, _A.TABLE, _A.MARKDOWN},
    ),
    (
        "change_start",
        "With another beginning",
        _change_start,
        {_A.START},
        {_A.LENGTH, _A.CASE, _A.BULLETS, _A.TABLE, _A.MARKDOWN, _A.KEYWORDS},
    ),
    (
        "change_dates",
        "Without its dates",
        _change_dates,
        {_A.DATE},
        {_A.KEYWORDS, _A.LENGTH, _A.END, _A.MARKDOWN, _A.START, _A.CASE, _A.LANGUAGE},
    ),
    (
        "swap_case",
        "Upper and lower case swapped",
        _swap_case,
        {_A.CASE},
        {_A.KEYWORDS, _A.START, _A.END, _A.DATE, _A.JSON, _A.TABLE},
    ),
)
