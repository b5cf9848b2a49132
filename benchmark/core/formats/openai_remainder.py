"""What the messages of an OpenAI trace contain beyond the document.

Names, reasoning, a text between the steps, a later system message, the order of results: the native remainder keeps the
messages as they came in, and a fingerprint of what the document said then (``residue``). Writing combines the two. An
edit drops what is stored with the messages that it changed, and nothing else: the remainder is carried over, with those
messages as the document now has them.
"""

from collections import defaultdict, deque
from collections.abc import Callable
from math import inf
from typing import Any

from annotator.core.schema import value_hash
from annotator.core.schema.exact_json import same
from benchmark.core.formats.native_remainder import restore
from benchmark.core.formats.openai_reading import BEFORE_REFUSAL, ROLES, SYSTEM, is_text_part, text_of_parts
from benchmark.core.formats.openai_writing import Written

Message = dict[str, Any]
#: Whether a value repeats corrected content.
Speaks = Callable[[Any], bool]


def with_record_content(plain: list[Message], residue: Any) -> list[Message]:
    """Return the messages in the record's order, with its additional content, if their own content is unchanged.
    Everything that the API reads is as in ``plain``."""
    found = _aligned(plain, residue)
    if found is None:
        return plain
    return [raw if at is None else _joined(raw, plain[at]) for raw, at in zip(*found, strict=True)]


def places_in_record(plain: list[Message], residue: Any) -> list[int]:
    """Return, for each of these messages, its place in what ``with_record_content`` returns."""
    found = _aligned(plain, residue)
    if found is None:
        return list(range(len(plain)))
    places = {at: place for place, at in enumerate(found[1]) if at is not None}
    return [places[at] for at in range(len(plain))]


def _aligned(plain: list[Message], residue: Any) -> tuple[list[Message], list[int | None]] | None:
    """Return the messages of a record, and which of ``plain`` each of them is; None if it is unclear."""
    record: dict[str, Any] = {"messages": plain}
    restore(record, {"kept": residue.get("kept")})
    places = _align(record["messages"], plain)
    return None if places is None else (record["messages"], places)


def carry_over(entry: list[Any], old: list[Written], new: list[Written], speaks: Speaks) -> list[Any] | None:
    """Return the remainder ``[messages, fingerprint]`` of a document with the messages ``old``, for one with ``new``.

    A message whose content changed is as in ``new``. A result follows its call, and a text between two messages follows
    either; what ``speaks`` of corrected content is removed everywhere. None if nothing is left, or if it is unclear
    what the messages belong to.
    """
    if value_hash([one.message for one in old]) != entry[1]:
        return None
    places = _align(entry[0], [one.message for one in old])
    if places is None:
        return None
    plain = [one.message for one in new]
    carried = _carried(entry[0], [None if at is None else old[at].key for at in places], old, new, speaks)
    return None if same(carried, plain) else [carried, value_hash(plain)]


def _carried(
    raws: list[Message], keys: list[tuple[str, ...] | None], old: list[Written], new: list[Written], speaks: Speaks
) -> list[Message]:
    was, position, behind = {one.key: one for one in old}, {}, defaultdict(list)
    says_the_same = {one.key for one in new if one.key in was and same(one[1:], was[one.key][1:])}
    last: tuple[str, ...] | None = None
    following = _next_keys(keys)
    for n, (raw, key) in enumerate(zip(raws, keys, strict=True)):
        if key is not None:
            position[key], last = n, key
        elif not speaks(raw) and (raw["role"] in SYSTEM or {last, following[n]} - {None} <= says_the_same):
            behind[last].append(raw)
    out = behind.pop(None, [])
    for one in _in_order(new, position):
        raw = raws[position[one.key]] if one.key in position else one.message
        if one.key in says_the_same:
            out.append(_without(raw, one.message, speaks))
        else:
            out.append(one.message | ({"role": raw["role"]} if one.message["role"] == "system" else {}))
        out += behind.pop(one.key, [])
    # The messages after a removed message.
    return out + [raw for texts in behind.values() for raw in texts]


def _next_keys(keys: list[tuple[str, ...] | None]) -> list[tuple[str, ...] | None]:
    """Return, for each message, the next message of the document."""
    out: list[tuple[str, ...] | None] = []
    coming = None
    for key in reversed(keys):
        out.append(coming)
        coming = key or coming
    return out[::-1]


def _in_order(new: list[Written], position: dict[tuple[str, ...], int]) -> list[Written]:
    """Return the messages of a document, with the results where the record had them, or with their calls if turns were
    moved.
    """
    heads = [position.get(one.key) for one in new if one.call is None]
    known = [at for at in heads if at is not None]
    moved = known != sorted(known)
    places: list[tuple[float, bool, int]] = []
    coming = inf
    for n, at in reversed(list(enumerate(heads))):
        # New messages come before the next message that the record had.
        coming = coming if at is None else at
        places.append((n, False, n) if moved else (coming, at is not None, n))
    keys: list[tuple[float, bool, int, float]] = []
    for one in new:
        if one.call is None:
            here = places.pop()
            keys.append((*here, -1))
        else:
            result: float = position.get(one.key, inf)
            late = not moved and here[0] < result < inf
            keys.append((result, True, here[2], result) if late else (*here, result))
    return [one for _, one in sorted(zip(keys, new, strict=True), key=lambda pair: pair[0])]


def _without(raw: Any, written: Any, speaks: Speaks) -> Any:
    """Return the record's value for ``written``, without anything that concerns other content."""
    if same(raw, written):
        return raw
    if type(raw) is dict and type(written) is dict:
        return {
            key: _without(value, written[key], speaks) if key in written else value
            for key, value in raw.items()
            if key in written or not speaks(value)
        }
    if type(raw) is list and type(written) is list and len(raw) == len(written):
        return [_without(one, other, speaks) for one, other in zip(raw, written, strict=True)]
    if type(raw) is list:
        # The parts of a text, of which the words are the document's own.
        beside = [
            {key: one for key, one in part.items() if key != part["type"]} if is_text_part(part) else part
            for part in raw
        ]
        return written if speaks(beside) else raw
    return written if speaks(raw) else raw


def _align(raws: Any, plain: list[Message]) -> list[int | None] | None:
    """Return, for each message of a record, which of ``plain`` it is; None for a text between the steps, or a system
    message after the first request. None altogether if they are not of one dialogue: notes may come from anywhere.
    """
    if type(raws) is not list or not all(_is_message(raw) for raw in raws):
        return None
    # Results may come in any order, and so may a result in the imported context, which has no call; others keep their
    # order.
    waiting = deque(n for n, one in enumerate(plain) if "tool_call_id" not in one)
    results = deque(n for n, one in enumerate(plain) if "tool_call_id" in one)
    by_call: dict[str, deque[int]] = defaultdict(deque)
    for n in results:
        by_call[plain[n]["tool_call_id"]].append(n)
    places: list[int | None] = []
    found: set[int] = set()
    so_far = True
    for raw in raws:
        at = None
        if raw.get("role") == "tool" and not (waiting and plain[waiting[0]]["role"] == "tool"):
            call_id = raw.get("tool_call_id")
            queue = results if call_id is None else by_call.get(call_id, deque()) if type(call_id) is str else deque()
            while queue and at is None:
                at = queue.popleft()
                at = None if at in found else at
        elif waiting and _says(raw, plain[waiting[0]], so_far=so_far):
            at = waiting.popleft()
        if at is not None:
            found.add(at)
        so_far = so_far and raw["role"] != "user"
        places.append(at)
    return places if len(found) == len(plain) else None


def _joined(raw: Message, written: Message) -> Message:
    calls = zip(raw.get("tool_calls") or (), written.get("tool_calls", ()), strict=False)
    both = [{**before, **call, "function": before["function"] | call["function"]} for before, call in calls]
    joined = {**raw, **written, "role": raw["role"], **({"tool_calls": both} if both else {})}
    content = raw.get("content")
    lawful = content is None or type(content) is str or (type(content) is list and text_of_parts(content) is not None)
    if "content" in raw and lawful and (_text(raw) == _text(written) or _words(raw) == _words(written)):
        # Its text as in the record: in parts, empty or missing, or with a separate refusal.
        joined["content"] = content
    return joined


def _is_message(raw: Any) -> bool:
    if type(raw) is not dict or raw.get("role") not in ROLES:
        return False
    calls = raw.get("tool_calls")
    return calls is None or (
        type(calls) is list and all(type(call) is dict and type(call.get("function")) is dict for call in calls)
    )


def _says(raw: Message, written: Message, *, so_far: bool) -> bool:
    """Return whether a message of a record, other than a result, is the written one."""
    role = "system" if raw.get("role") in SYSTEM else raw.get("role")
    calls = len(raw.get("tool_calls") or ()) == len(written.get("tool_calls", ()))
    words = _words(raw) == _words(written)
    if not words and "refusal" not in written:
        # A refusal is only read from the assistant, and not in the imported context.
        words = _text(raw) == _text(written) and (so_far or raw["role"] != "assistant" or _text(raw) != "")
    return role == written["role"] and calls and words


def _words(message: Message) -> str:
    """Return the text and the refusal of a message, joined as the reader joins them."""
    refusal = message.get("refusal")
    return BEFORE_REFUSAL.join(filter(None, (_text(message), refusal if type(refusal) is str else "")))


def _text(message: Message) -> str:
    content = message.get("content")
    if type(content) is list:
        content = text_of_parts(content)
    return content if type(content) is str else ""
