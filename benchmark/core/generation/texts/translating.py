"""The texts of a dialogue that its variant in another language needs, and the variant that they make.

What is translated, and what must stay, follows ``annotator.core.comparison.variant_values``: in arguments and results,
texts that are neither fixed values nor values of enumerations; and everything that people say. So tasks, steps, labels,
dependencies, keys, numbers and fixed values of the variant are those of the dialogue.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from annotator.core.comparison.anchors import below, resolve, split
from annotator.core.comparison.variant_values import Enumerations, enumerations, is_fixed
from annotator.core.schema.canonical import escape
from annotator.core.text import gettext_noop
from benchmark.core.generation.texts.reading import fixed_words
from benchmark.core.generation.texts.state import SPOKEN, VALUE, Text

#: Kinds of documents that are translated.
KINDS = ("multi_turn", "single_task")
#: Fields of steps and tasks, and what they are.
_ABOUT_VALUE, _CIRCUMSTANCES = gettext_noop("value"), gettext_noop("circumstances")
_EARLIER = gettext_noop("earlier message")
_MESSAGE, _REPLY = gettext_noop("user message"), gettext_noop("reply of the user")
_OF_TASK = (("env_info", _CIRCUMSTANCES), ("user_message", _MESSAGE))
_OF_STEP = (
    ("question", gettext_noop("question to the user")), ("user_reply", _REPLY),
    ("text", gettext_noop("answer to the user")),
)  # fmt: skip
_BY_USER = frozenset({_MESSAGE, _REPLY})
#: The texts of a document: (anchor, what it is, text).
_Found = tuple[str, str, str]


def texts_to_translate(
    document: Mapping[str, Any], tools: Sequence[Any], *, places: Collection[str] | None = None
) -> tuple[Text, ...]:
    """Return the texts of a dialogue, values first, each once. ``places``: only those at these anchors."""
    found: dict[tuple[str, str], list[_Found]] = {}
    for one in [*_values(document, enumerations(tools)), *_spoken(document)]:
        if places is None or one[0] in places:
            kind = VALUE if one[1] == _ABOUT_VALUE else SPOKEN
            found.setdefault((kind, one[2]), []).append(one)
    out: list[Text] = []
    for (kind, text), held in found.items():
        keep = tuple(fixed_words(text))
        out.append(
            Text(
                f"{kind[0]}{sum(one.kind == kind for one in out) + 1}", kind, held[0][1], text,
                tuple(place for place, _about, _text in held), keep,
                by_user=any(about in _BY_USER for _place, about, _text in held),
            )
        )  # fmt: skip
    return tuple(out)


def translated_document(
    document: Mapping[str, Any], results: Sequence[tuple[Text, str]], language: str | None = None
) -> dict[str, Any]:
    """Return the document with these texts at their places, in another language if one is given."""
    made = deepcopy(dict(document))
    for text, written in results:
        for place in text.places:
            *_above, last = split(place)
            holder = resolve(made, place.rpartition("/")[0])
            holder[int(last) if isinstance(holder, list) else last] = written
    return made | ({"language": language} if language else {})


def _spoken(document: Mapping[str, Any]) -> Iterator[_Found]:
    """Yield what people say, in the order of the dialogue."""
    yield from _fields("", document, (("env_info", _CIRCUMSTANCES),))
    for number, one in enumerate(document["context"]):
        yield from _fields(f"/context/{number}", one, (("content", _EARLIER),))
    for task in document["tasks"]:
        place = below("/tasks", task["id"])
        yield from _fields(place, task, _OF_TASK)
        for one in task["candidate_messages"]:
            yield from _fields(below(f"{place}/candidate_messages", one["id"]), one, (("text", _MESSAGE),))
        for step in task["steps"]:
            yield from _fields(below(f"{place}/steps", step["id"]), step, _OF_STEP)


def _fields(place: str, held: Mapping[str, Any], names: Sequence[tuple[str, str]]) -> Iterator[_Found]:
    for name, about in names:
        text = held.get(name)
        if isinstance(text, str) and text.strip() and not is_fixed(text):
            yield f"{place}/{name}", about, text


def _values(document: Mapping[str, Any], allowed: Enumerations) -> Iterator[_Found]:
    """Yield the texts in arguments and results that a language may change."""
    for task in document["tasks"]:
        for step in task["steps"]:
            if step["type"] == "call":
                place = below(below("/tasks", task["id"]) + "/steps", step["id"])
                # Arguments that are a text could not be read, and stay.
                given = step["arguments"] if isinstance(step["arguments"], dict) else {}
                for where, names, text in _leaves(f"{place}/arguments", (), given):
                    known = allowed.get((step["name"], names))
                    if known is None or text not in known.positions:
                        yield where, _ABOUT_VALUE, text
                for where, _names, text in _leaves(f"{place}/observation", (), step["observation"]):
                    yield where, _ABOUT_VALUE, text


def _leaves(place: str, names: tuple[str, ...], value: Any) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield texts with their places and the names of the parameters on the way there."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _leaves(f"{place}/{escape(key)}", names if key.isdecimal() else (*names, key), one)
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _leaves(f"{place}/{number}", names, one)
    elif isinstance(value, str) and value.strip() and not is_fixed(value):
        yield place, names, value
