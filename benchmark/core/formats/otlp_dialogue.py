"""Put the messages of many spans together as one dialogue.

Each call of a model repeats the dialogue so far, so a call whose input begins with what is known continues it. Calls
that continue nothing, such as one that finds a title, begin a chain of their own; the longest chain of a trace is its
dialogue. Traces of one conversation follow each other.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmark.core.formats.otlp_messages import Said, Talk

#: Chains of one trace that a call may continue.
_RECENT = 8


@dataclass(slots=True)
class Model:
    """A call of a model: its trace, its messages, and its number among the spans."""

    number: int
    trace: str
    talk: Talk


@dataclass(slots=True)
class Result:
    """What a span of a tool says: the id of the call (or None), the tool, the result (or None), whether it failed."""

    call_id: Any
    name: Any
    text: str | None
    is_error: bool
    place: str


@dataclass(slots=True)
class Chain:
    """Messages that follow each other. ``models``: the numbers of the calls that they are from."""

    system: tuple[str, str] | None = None
    said: list[Said] = field(default_factory=list)
    models: set[int] = field(default_factory=set)
    _keys: set[str] = field(default_factory=set)

    def take(self, given: Sequence[Said], more: Sequence[Said], number: int) -> None:
        """Append messages of the input and the output of a call."""
        for one in (*given, *more):
            self.said.append(one)
            self._keys.add(one.key)
        self.models.add(number)

    def known(self, given: Sequence[Said]) -> int | None:
        """Return how many of the messages the chain already has at its end; None if they do not continue it."""
        if len(given) >= len(self.said) and all(a.key == b.key for a, b in zip(self.said, given, strict=False)):
            return len(self.said)
        return _overlap([one.key for one in self.said[-len(given) :]], [one.key for one in given]) or None

    def is_answered_by(self, given: Sequence[Said]) -> bool:
        """Return whether the messages begin with a result that the last call waits for."""
        calls = self.said[-1].message.get("tool_calls", ()) if self.said else ()
        first = given[0].message if given else {}
        return first.get("role") == "tool" and any(call["id"] == first.get("tool_call_id") for call in calls)

    def is_followed_by(self, talk: Talk) -> bool:
        """Return whether a call without history is the next request to the same model."""
        last, first = self.said[-1].message if self.said else {}, talk.input[0] if talk.input else None
        return (
            first is not None
            and first.message["role"] == "user"
            and last.get("role") == "assistant"
            and not last.get("tool_calls")
            and (self.system or ("",))[0] == (talk.system or ("",))[0]
            and first.key not in self._keys
        )


def join_calls(models: Sequence[Model]) -> Chain:
    """Return the dialogue of the calls of one conversation, in the order of time."""
    by_trace: dict[str, list[Chain]] = {}
    for model in models:
        chains = by_trace.setdefault(model.trace, [])
        _continue(chains, model)
    whole = Chain()
    for chains in by_trace.values():
        one = max(chains, key=lambda chain: len(chain.said))
        known = whole.known(one.said)
        shared = bool(whole.said and one.said) and whole.said[0].key == one.said[0].key
        if known is None and shared and len(one.said) >= len(whole.said):
            # The same dialogue in other words: the longest history has all of it.
            whole.said, known = [], 0
        whole.system = whole.system or one.system
        whole.said += one.said[known or 0 :]
        whole.models |= one.models
    return whole


def _continue(chains: list[Chain], model: Model) -> None:
    """Append a call to the chain that it continues, or begin a chain with it."""
    talk = model.talk
    recent = chains[-_RECENT:]
    for chain in recent:
        known = chain.known(talk.input) if talk.input else None
        if known is not None:
            chain.system = chain.system or talk.system
            chain.take(talk.input[known:], talk.output, model.number)
            return
    for chain in recent:
        if chain.is_answered_by(talk.input) or chain.is_followed_by(talk):
            chain.take(talk.input, talk.output, model.number)
            return
    chains.append(Chain(talk.system))
    chains[-1].take(talk.input, talk.output, model.number)


def _overlap(end: list[str], begin: list[str]) -> int:
    """Return how many of the last texts of ``end`` are the first of ``begin``: the border of both, in linear time."""
    texts: list[Any] = [*begin, None, *end]
    borders = [0] * len(texts)
    for n in range(1, len(texts)):
        at = borders[n - 1]
        while at and texts[n] != texts[at]:
            at = borders[at - 1]
        borders[n] = at + (texts[n] == texts[at])
    return borders[-1] if end and begin else 0


def with_results(said: Sequence[Said], results: Sequence[Result]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the messages with the results that only spans of tools have, each after its call; errors are marked."""
    waiting: dict[Any, deque[Result]] = defaultdict(deque)
    for one_result in results:
        waiting[_hashable(one_result.call_id) or ("name", _hashable(one_result.name))].append(one_result)

    def take(call_id: Any, name: Any) -> Result | None:
        queue = waiting.get(_hashable(call_id)) or waiting.get(("name", _hashable(name)))
        return queue.popleft() if queue else None

    names: dict[Any, Any] = {}
    for n, one in enumerate(said):
        message, calls = one.message, one.message.get("tool_calls", ())
        if message["role"] == "tool":
            call_id = message.get("tool_call_id")
            result = take(call_id, names.get(_hashable(call_id)))
            yield (message | {"is_error": True} if result and result.is_error else message), one.place
            continue
        yield message, one.place
        if not calls:
            continue
        answered = _answered(said, n + 1)
        names |= {_hashable(call["id"]): call["function"]["name"] for call in calls}
        if None in answered:
            continue
        for call in calls:
            if _hashable(call["id"]) not in answered:
                result = take(call["id"], call["function"]["name"])
                if result is not None and result.text is not None:
                    error = {"is_error": True} if result.is_error else {}
                    yield {"role": "tool", "tool_call_id": call["id"], "content": result.text} | error, result.place


def _answered(said: Sequence[Said], begin: int) -> set[Any]:
    """Return the ids of the results from ``begin`` to the next message that is none."""
    found = set()
    for one in said[begin:]:
        if one.message["role"] != "tool":
            break
        found.add(_hashable(one.message.get("tool_call_id")))
    return found


def _hashable(value: Any) -> str | None:
    return value if type(value) is str else None
