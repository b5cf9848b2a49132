"""What feeds what: outputs of tools that may become parameters of other tools, judged by names and types.

An output is a field of a tool's ``response``, a JSON Schema of what it returns. Two names fit if they have the same
words (``flightIds``, ``flight_id``). A generic name (``id``) is read together with the noun of the object or list
around it, or else of its tool: the ``id`` in ``flights``, or that ``search_flights`` returns, fits ``flight_id``, and
also the ``id`` of ``cancel_flight``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from typing import Any

from annotator.core.schema.dialects import Patterns, read_schema
from annotator.core.schema.references import inline_references
from annotator.core.schema.toolsets import ToolSpec, normalise_tools
from annotator.core.tools.parameters import Parameter, dotted, parameters_of, words_of

#: Feeds of one toolset; the rest are left out.
MAX_FEEDS = 5_000
#: Names that say nothing without a noun, in the form of ``words_of``.
_GENERIC = frozenset(
    words_of(
        "amount body code content count data date description detail end entry error field flag format guid id index "
        "info input item key kind label level limit list message mode name note number object offset option output "
        "page param payload pk query record response result size slug start state status success summary text time "
        "timestamp title total type unit url uuid value version"
    )
)
#: Words before a generic name that leave it generic: public_id, start_date.
_QUALIFIERS = frozenset(words_of("end external internal max min public start total unique"))
#: Words after a noun that add none: order_history, stock_list, OrderDetails.
_FILLERS = _GENERIC | set(words_of("all collection history information obj partial set"))
#: Verbs that may be the last word of a tool's name (orders_list). Others, such as “order”, are nouns there.
_VERBS = frozenset(
    words_of(
        "add cancel change create delete destroy edit find get list read remove retrieve search send set show update"
    )
)
#: After one of these words, a tool's name says how or where: get_ticket_by_id.
_PREPOSITIONS = frozenset(("at", "by", "for", "from", "in", "of", "on", "to", "using", "via", "with"))
_LIST = "array of "


@dataclass(frozen=True, slots=True)
class Feed:
    """An output of the tool ``source`` that may become a parameter of the tool ``target``; both are dotted names."""

    source: str
    output: str
    target: str
    parameter: str


#: A parameter that takes something: the places of its tool and of itself, its tool, its dotted name.
_Taker = tuple[int, int, str, str]
#: Key of the name → kind → tool → its parameters.
_Index = dict[str, dict[str, dict[str, list[_Taker]]]]


def find_feeds(tools: Sequence[Mapping[str, Any]]) -> list[Feed]:
    """Return the feeds among tools that ``read_tools`` has accepted, in the order of the tools and their schemas.

    There are at most ``MAX_FEEDS``. A tool feeds only others, and without a usable ``response`` it feeds nothing.
    """
    specs = normalise_tools(tools)
    index = _index(specs.values())
    feeds: list[Feed] = []
    for name, response in _responses(tools).items():
        for output in _outputs(name, response):
            label = dotted(output.path)
            for _place, _number, target, parameter in _takers(index, output):
                if len(feeds) == MAX_FEEDS:
                    return feeds
                feeds.append(Feed(name, label, target, parameter))
    return feeds


def _responses(tools: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return name → response; of tools with one name, the first."""
    found: dict[str, dict[str, Any]] = {}
    for tool in tools:
        function = tool.get("function", tool)
        if isinstance(function.get("response"), dict):
            found.setdefault(function["name"], function["response"])
    return found


def _outputs(tool: str, response: dict[str, Any]) -> Iterator[Parameter]:
    """Return the fields of a response, as the parameters of a tool are returned."""
    patterns = Patterns()
    # No value is checked here.
    patterns.left = 0
    try:
        # A response may be a list, which parameters may not.
        whole = {"type": "object", "properties": {"response": inline_references(response)}}
        schema, _notes = read_schema(whole, patterns)
    except ValueError:
        return
    for one in parameters_of(ToolSpec(tool, "", schema)):
        if len(one.path) > 1:
            yield Parameter(tool, one.path[1:], one.schema, one.required, one.depth - 1)


def _index(specs: Iterable[ToolSpec]) -> _Index:
    index: _Index = {}
    for place, spec in enumerate(specs):
        for number, one in enumerate(parameters_of(spec)):
            for key in _keys(one):
                for kind in _kinds(one.schema):
                    tools = index.setdefault(key, {}).setdefault(kind, {})
                    tools.setdefault(spec.name, []).append((place, number, spec.name, one.name))
    return index


def _takers(index: _Index, output: Parameter) -> Iterator[_Taker]:
    """Return the parameters of other tools that take an output, in their order, each once."""
    kinds = _kinds(output.schema)
    lists = []
    for key in _keys(output):
        for taken, tools in index.get(key, {}).items():
            if any(_fits(kind, taken) for kind in kinds):
                lists.append(_of_others(tools, output.tool))
    for taker, _same in groupby(merge(*lists)):
        yield taker


def _of_others(tools: Mapping[str, list[_Taker]], own: str) -> Iterator[_Taker]:
    return (one for tool, takers in tools.items() if tool != own for one in takers)


def _keys(one: Parameter) -> list[str]:
    """Return what the name of a field is compared by: its words, after each noun that it is about if it is generic."""
    # A field may itself be named “[]”.
    *outer, own = [name for name in one.path if name != "[]"] or [""]
    words = words_of(own)
    if not words:
        return []
    key = "".join(words)
    if words[-1] not in _GENERIC or not _QUALIFIERS.issuperset(words[:-1]):
        return [key]
    for name in reversed(outer):
        if nouns := _nouns(words_of(name)):
            break
    else:
        nouns = _nouns(_without_verb(words_of(one.tool)))
    return [noun + key for noun in nouns]


def _nouns(words: tuple[str, ...]) -> list[str]:
    """Return what a name is about: its words as one, and the last of them (matching_tweets: a tweet)."""
    while words and words[-1] in _FILLERS:
        words = words[:-1]
    return list(dict.fromkeys(("".join(words), words[-1]))) if words else []


def _without_verb(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a tool's name up to a preposition, without the verb: its first word, or a known last one."""
    rest = words[:-1] if words[-1] in _VERBS and words[0] not in _VERBS else words[1:]
    rest = rest or words
    end = next((at for at, word in enumerate(rest) if word in _PREPOSITIONS), len(rest))
    return rest[:end]


def _kinds(schema: Any) -> frozenset[str]:
    """Return the types that a schema names, without null; lists with the type of their items: “array of string”."""
    found: set[str] = set()
    for part in _alternatives(schema):
        for kind in _types(part):
            found |= {_LIST + inner for inner in _item_types(part)} if kind == "array" else {kind}
    return frozenset(found - {"null"} or {"any"})


def _item_types(schema: Mapping[str, Any]) -> set[str]:
    return {kind for part in _alternatives(schema.get("items")) for kind in _types(part)} - {"null"} or {"any"}


def _alternatives(schema: Any) -> list[Mapping[str, Any]]:
    """Return the schema, or the parts of its “anyOf” or “oneOf”."""
    if not isinstance(schema, Mapping):
        return [{}]
    parts = schema.get("anyOf") or schema.get("oneOf")
    inner = [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
    return [schema] if "type" in schema or not inner else inner


def _types(schema: Mapping[str, Any]) -> set[str]:
    """Return the types of a schema, or of the values that it lists."""
    types = schema.get("type")
    if types:
        return set(types) if isinstance(types, list) else {types}
    values = schema["enum"] if isinstance(schema.get("enum"), list) else [schema["const"]] if "const" in schema else []
    return {_type_of(value) for value in values} or {"any"}


def _type_of(value: Any) -> str:
    kinds = (bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"), (dict, "object")
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def _fits(given: str, taken: str) -> bool:
    """Return whether a value of one kind may be given for the other; each item of a list may be given alone."""
    if "any" in (given, taken):
        return True
    if given.startswith(_LIST):
        return _fits(given.removeprefix(_LIST), taken.removeprefix(_LIST))
    return given == taken or (given, taken) == ("integer", "number")
