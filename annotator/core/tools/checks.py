"""The automatic checks of a toolset: what makes its calls ambiguous, or its schemas wrong."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema_rs

from annotator.core.findings import Severity
from annotator.core.provenance.described_values import described
from annotator.core.provenance.value_forms import fold
from annotator.core.schema.canonical import value_hash
from annotator.core.schema.dialects import PATTERN_OPTIONS
from annotator.core.schema.toolsets import ToolSpec
from annotator.core.schema.type_words import JSON_TYPES
from annotator.core.text import Message, counted_message, message
from annotator.core.text import gettext_noop as _
from annotator.core.tools.parameters import Parameter, dotted, each_tool, parameters_of, words_of

#: A description this short says no more than the name.
_MIN_WORDS = 2
#: Share of words that two tools have in common from which they look alike.
_ALIKE = 0.8
#: With one of these, the properties of an object may be described elsewhere, or by a rule.
_ELSEWHERE = frozenset({"allOf", "anyOf", "oneOf", "$ref", "additionalProperties", "patternProperties"})
#: Compared with all others; with more tools, only those with the same parameters are.
_MAX_COMPARED = 512


@dataclass(frozen=True, slots=True)
class ToolFinding:
    """What a check has found.

    ``position`` and ``tool``: index and name of the tool; ``path``: that of the parameter as in ``Parameter``, empty
    for the tool itself. ``about``: the hash of the value that it is about; a waiver ends when that changes.
    """

    check: str
    severity: Severity
    position: int
    tool: str
    path: tuple[str, ...]
    message: Message
    about: str

    @property
    def parameter(self) -> str:
        """The dotted name of the parameter; blank for the tool itself."""
        return dotted(self.path)


@dataclass(frozen=True, slots=True)
class ToolCheck:
    """A check as pages describe it."""

    id: str
    title: str
    severity: Severity
    description: str


#: A check's findings: index of the tool, path of the parameter, what it is about, the sentence.
_Found = tuple[int, tuple[str, ...], Any, Message]


@dataclass(frozen=True, slots=True)
class _Given:
    """A toolset: ``written`` and ``specs`` have the same order, also of tools that share a name.

    ``parameters``: each with the index of its tool.
    """

    written: Sequence[Mapping[str, Any]]
    specs: Sequence[ToolSpec]
    parameters: Sequence[tuple[int, Parameter]]


_CHECKS: list[tuple[ToolCheck, Callable[[_Given], Iterable[_Found]]]] = []


def _check(
    id: str, title: str, severity: Severity
) -> Callable[[Callable[[_Given], Iterable[_Found]]], Callable[[_Given], Iterable[_Found]]]:
    def register(run: Callable[[_Given], Iterable[_Found]]) -> Callable[[_Given], Iterable[_Found]]:
        description = " ".join((run.__doc__ or "").split())
        _CHECKS.append((ToolCheck(id, title, severity, description), run))
        return run

    return register


def tool_checks() -> list[ToolCheck]:
    """Return all checks, in the order of their findings."""
    return [check for check, _run in _CHECKS]


def check_tools(tools: Sequence[Mapping[str, Any]], specs: Sequence[ToolSpec] | None = None) -> list[ToolFinding]:
    """Check tools that ``read_tools`` has accepted.

    ``specs``: what ``each_tool`` makes of them, if the caller has it already.
    """
    written = [tool.get("function", tool) for tool in tools]
    specs = each_tool(tools) if specs is None else specs
    given = _Given(written, specs, [(n, one) for n, spec in enumerate(specs) for one in parameters_of(spec)])
    found = []
    for check, run in _CHECKS:
        for position, path, about, words in run(given):
            name = specs[position].name
            found.append(ToolFinding(check.id, check.severity, position, name, path, words, value_hash(about)))
    return found


@_check("toolset.unusable", _("A tool that cannot be checked"), "error")
def _unusable(given: _Given) -> Iterator[_Found]:
    """The parameters of a function are not a usable JSON Schema, so its calls cannot be checked."""
    for at, spec in enumerate(given.specs):
        if spec.broken:
            yield at, (), spec.broken, message(_("%(reason)s"), reason=spec.broken)


@_check("toolset.name_twice", _("Two tools with one name"), "error")
def _name_twice(given: _Given) -> Iterator[_Found]:
    """Each function needs a name of its own, because calls name the function."""
    places: dict[str, list[int]] = defaultdict(list)
    for at, spec in enumerate(given.specs):
        places[spec.name].append(at)
    for name, positions in places.items():
        if (count := len(positions)) > 1:
            words = counted_message(
                _("The toolset has %(count)s tool named %(name)s. Rename it."),
                _("The toolset has %(count)s tools named %(name)s. Rename or delete all but one."),
                count,
                name=name,
            )
            yield positions[1], (), count, words


@_check("toolset.required_unknown", _("A required parameter that is not described"), "error")
def _required_unknown(given: _Given) -> Iterator[_Found]:
    """A schema requires a parameter that it does not describe."""
    for at, spec in enumerate(given.specs):
        for path, schema in _objects(spec):
            if schema.keys() & _ELSEWHERE:
                continue
            required, properties = schema.get("required"), schema.get("properties")
            for name in required if isinstance(required, list) else ():
                if name not in (properties if isinstance(properties, Mapping) else {}):
                    words = message(_("%(name)s is required, but the schema does not describe it."), name=str(name))
                    yield at, (*path, str(name)), name, words


@_check("toolset.default_type", _("A default that its own schema refuses"), "error")
def _default_type(given: _Given) -> Iterator[_Found]:
    """The default of a parameter does not fit its own type, choices or limits."""
    for at, one in given.parameters:
        if "default" not in one.schema or (one.schema["default"] is None and not one.required):
            continue
        rules = {key: part for key, part in one.schema.items() if key not in ("default", "description")}
        try:
            problem = next(_validator(rules).iter_errors(one.schema["default"]), None)
        except (ValueError, jsonschema_rs.ValidationError):
            continue
        if problem is not None:
            words = message(_("The default does not fit the schema: %(problem)s."), problem=problem.message[:200])
            yield at, one.path, one.schema["default"], words


@_check("toolset.no_description", _("A tool without a description"), "warning")
def _no_description(given: _Given) -> Iterator[_Found]:
    """A function needs a description of at least two words."""
    for at, spec in enumerate(given.specs):
        if len(spec.description.split()) < _MIN_WORDS and not _has_no_spaces(spec.description):
            yield at, (), spec.description, message(_("Say in a sentence what the tool does."))


@_check("toolset.parameter_undescribed", _("A parameter without a description"), "warning")
def _parameter_undescribed(given: _Given) -> Iterator[_Found]:
    """A parameter needs a description."""
    for at, one in given.parameters:
        text = one.schema.get("description")
        if not (isinstance(text, str) and text.strip()):
            yield at, one.path, None, message(_("Say what the parameter means, and in which unit or format."))


@_check("toolset.same_description", _("Two tools with one description"), "warning")
def _same_description(given: _Given) -> Iterator[_Found]:
    """Two functions have the same description, so a model cannot choose between them."""
    known: dict[str, str] = {}
    for at, spec in enumerate(given.specs):
        text = " ".join(spec.description.casefold().split())
        other = known.setdefault(text, spec.name)
        if text and other != spec.name:
            words = message(_("%(other)s has the same description. Say how the two differ."), other=other)
            yield at, (), [text, other], words


@_check("toolset.look_alike", _("Tools that look alike"), "warning")
def _look_alike(given: _Given) -> Iterator[_Found]:
    """Two functions have nearly the same name, and the same parameters."""
    shapes = [
        (at, spec, frozenset(words_of(spec.name)), frozenset(_own(spec)))
        for at, spec in enumerate(given.specs)
        if not spec.broken
    ]
    before: dict[frozenset[str], list[tuple[ToolSpec, frozenset[str]]]] = defaultdict(list)
    for at, spec, words, names in shapes[:_MAX_COMPARED]:
        alike = before[names]
        for other, other_words in alike:
            if spec.name == other.name:
                continue
            if _share(words, other_words) >= _ALIKE or spec.name.casefold() == other.name.casefold():
                sentence = message(
                    _("%(other)s has nearly the same name, and the same parameters. Say how the two differ."),
                    other=other.name,
                )
                yield at, (), [spec.name, other.name], sentence
        alike.append((spec, words))


@_check("toolset.dialect", _("A type that JSON Schema does not have"), "info")
def _dialect(given: _Given) -> Iterator[_Found]:
    """A schema uses a type such as dict or float, which JSON Schema does not have."""
    for at, function in enumerate(given.written):
        for path, word in _types(function.get("parameters"), ()):
            if word not in JSON_TYPES:
                sentence = _("JSON Schema has no type “%(word)s”. Assay reads it by its usual meaning.")
                words = message(sentence, word=word)
                yield at, path, word, words


@_check("toolset.open_object", _("An object without properties"), "warning")
def _open_object(given: _Given) -> Iterator[_Found]:
    """An object lists no properties, so its schema accepts any value."""
    for at, one in given.parameters:
        if one.kind == "object" and not one.schema.get("properties") and not one.schema.keys() & _ELSEWHERE:
            words = message(_("The object has no properties, so any value is accepted. Describe what it may hold."))
            yield at, one.path, None, words


@_check("toolset.choices_in_words", _("Choices that are only in the description"), "warning")
def _choices_in_words(given: _Given) -> Iterator[_Found]:
    """A description lists the values of a parameter, but its schema accepts any text."""
    for at, one in given.parameters:
        text = one.schema.get("description")
        if one.kind != "string" or not isinstance(text, str) or "pattern" in one.schema:
            continue
        # “a city or its coordinates” is no list of values. Values are quoted.
        quoted = {fold(part) for found in _QUOTED.findall(text[:_MOST]) for part in found if part}
        choices = sorted(described(text).choices & quoted)
        if len(choices) > 1:
            words = message(
                _("The description lists choices (%(choices)s), but the schema accepts any text. Add an enum."),
                choices=", ".join(choices[:6]),
            )
            yield at, one.path, choices, words


def _validator(rules: Mapping[str, Any]) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        dict(rules), validate_formats=False, pattern_options=PATTERN_OPTIONS, offline=True
    )


def _objects(spec: ToolSpec) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    yield (), spec.parameters
    for one in parameters_of(spec):
        yield one.path, one.schema
        items = one.schema.get("items")
        if isinstance(items, Mapping):
            yield (*one.path, "[]"), items


def _own(spec: ToolSpec) -> Iterator[str]:
    properties = spec.parameters.get("properties")
    yield from properties if isinstance(properties, Mapping) else ()


def _types(schema: Any, path: tuple[str, ...], depth: int = 0) -> Iterator[tuple[tuple[str, ...], str]]:
    """Return the types as they are written, which the normalised schema does not have any more."""
    if not isinstance(schema, Mapping) or depth > 64:
        return
    written = schema.get("type")
    for word in written if isinstance(written, list) else [written]:
        if isinstance(word, str):
            yield path, word
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, Mapping) else ():
        yield from _types(part, (*path, str(name)), depth + 1)
    yield from _types(schema.get("items"), (*path, "[]"), depth + 1)


#: Characters of a description that are read.
_MOST = 4_000
_QUOTED = re.compile(r"'([^'\n]{1,40})'|\"([^\"\n]{1,40})\"|`([^`\n]{1,40})`|‘([^’\n]{1,40})’|“([^”\n]{1,40})”")


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)


def _has_no_spaces(text: str) -> bool:
    """Return whether a text is in a script without spaces between words, Chinese or Japanese, and not just one sign."""
    return sum("\u3040" <= sign <= "\u9fff" for sign in text) > 1
