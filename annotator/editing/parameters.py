"""Forms for a constraint's parameters: from the parameters model of its category to fields, and back.

A category needs no form of its own: the JSON schema of its model says which fields there are. As forms of arguments do
(``annotator.editing.forms``), these lose nothing: a value that its field cannot show is shown as JSON, as are
parameters the category does not know; a field that was not touched keeps its value exactly; and what cannot be read as
its kind stays as it was typed, with a sentence at its field.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import ValidationError

from annotator.comparison.placing import ABSENT, copied
from annotator.constraints.model import TOOL, Parameters
from annotator.constraints.taxonomy import Category
from annotator.editing.json_text import JsonProblem, read_json
from annotator.editing.shapes import Kind as ShapeKind
from annotator.editing.shapes import Shape
from annotator.editing.typed import FieldProblem, choice_texts, fits, read_typed, shown, shown_json

#: Before the name of every input.
PREFIX = "p:"
#: Rows, and items of one row, that a form reads; the JSON editor shows what lies beyond.
MAX_ROWS = 100
INF = "inf"


class Kind(StrEnum):
    """What a field is: one input, a row of them, rows of rows, or names with a value each."""

    NUMBER = "number"
    #: A number, or none: no bound.
    BOUND = "bound"
    TEXT = "text"
    CHOICE = "choice"
    TOOL = "tool"
    LIST = "list"
    LISTS = "lists"
    MAP = "map"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a form. ``options`` are (value, words) of a choice; ``error`` is a sentence."""

    key: str
    label: str
    kind: Kind
    value: str
    options: tuple[tuple[str, str], ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """Inputs that belong together: the tools of one chain, a tool and its number."""

    label: str
    inputs: tuple[Input, ...]
    error: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter. Of a single value ``input``, else ``rows``; the last inputs are blank, to add to it."""

    name: str
    label: str
    kind: Kind
    hint: str
    error: str
    input: Input | None
    rows: tuple[Row, ...]
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class _Spec:
    """What a model's JSON schema says of one parameter, as far as a form goes."""

    kind: Kind
    label: str
    hint: str
    shape: Shape
    #: Words for the choices, where their values say too little.
    words: Mapping[str, str]
    default: Any
    row: str
    #: Of a list its items, of names their values.
    item: "_Spec | None" = None
    least: int = 0


def parameter_fields(
    category: Category[Any], parameters: Mapping[str, Any] | None, tools: Sequence[str], *, prefix: str = PREFIX
) -> list[Field]:
    """The fields of a category's parameters in its model's order, then those it does not know.

    ``tools``: the names there are to choose from.
    """
    held = dict(parameters or {})
    form = _Form(_faults(category, held) if parameters is not None else {}, tools, prefix)
    return [form.field(name, spec, held.get(name, ABSENT)) for name, spec in _specs(category, held)]


def read_parameter_form(
    category: Category[Any], posted: Mapping[str, str], parameters: Mapping[str, Any] | None, *, prefix: str = PREFIX
) -> tuple[dict[str, Any] | None, str]:
    """The parameters that a posted form asks for, and what cannot be kept of it, as a sentence.

    A parameter whose inputs were not posted keeps its value. None where there were none and nothing was filled in.
    """
    held: dict[str, Any] = copied(dict(parameters or {}))
    problem = ""
    for name, spec in list(_specs(category, held)):
        before = held.get(name, ABSENT)
        try:
            value = _read(_fitting(spec, before), before, posted, prefix + name)
        except FieldProblem as fault:
            problem = problem or f"{spec.label}: {fault}"
            continue
        if value is ABSENT:
            held.pop(name, None)
        else:
            held[name] = value
    return (held if held or parameters is not None else None), problem


def tool_row(names: Sequence[str], tools: Sequence[str], label: str, key: str) -> Row:
    """A row of tools, with a blank one to add to it: those called first, of a variant."""
    return _Form({}, tools, "")._row(_tools_spec(label), list(names), key, (), label)


def read_tool_row(posted: Mapping[str, str], names: Sequence[str], key: str) -> list[str]:
    """The tools of a posted row; those that were there where it was not posted."""
    texts = _indexed(posted, key)
    return list(names) if texts is None else texts


def _tools_spec(label: str) -> _Spec:
    return _Spec(Kind.LIST, label, "", Shape(ShapeKind.JSON), {}, ABSENT, "", _tool_spec())


def _tool_spec() -> _Spec:
    return _Spec(Kind.TOOL, "Tool", "", Shape(ShapeKind.TEXT), {}, ABSENT, "")


# --- what the model asks for


def _specs(category: Category[Any], held: Mapping[str, Any]) -> Iterator[tuple[str, _Spec]]:
    model: type[Parameters] = category.model
    known = _known(model)
    yield from known.items()
    for name in held:
        if name not in known:
            yield name, _json_spec(name, "This category does not know it. Empty: take it away.")


@cache
def _known(model: type[Parameters]) -> dict[str, _Spec]:
    """The parameters of a model in its order."""
    parts: dict[str, Any] = model.model_json_schema().get("properties", {})
    return {name: _spec(part, _label(name, part)) for name, part in parts.items()}


def _label(name: str, part: Mapping[str, Any]) -> str:
    """A title that somebody gave the field; pydantic's own says no more than its name."""
    title = str(part.get("title", ""))
    own = name.replace("_", " ").title()
    words = name.replace("_", " ")
    return title if title and title != own else words[:1].upper() + words[1:]


def _json_spec(label: str, hint: str) -> _Spec:
    return _Spec(Kind.JSON, label, hint, Shape(ShapeKind.JSON), {}, ABSENT, "")


def _spec(part: Mapping[str, Any], label: str) -> _Spec:
    hint = " ".join(str(part.get("description", "")).split())
    default = part.get("default", ABSENT)
    row = str(part.get("row", "Row"))
    words = part.get("words", {})

    def made(kind: Kind, shape: Shape, item: _Spec | None = None) -> _Spec:
        return _Spec(kind, label, hint, shape, words, default, row, item, int(part.get("minItems", 0)))

    if "const" in part or "enum" in part:
        return made(Kind.CHOICE, Shape(ShapeKind.ENUM, choices=tuple(part.get("enum", [part.get("const")]))))
    number = _number(part)
    if number is not None:
        return made(Kind.NUMBER, number)
    branches = part.get("anyOf")
    if isinstance(branches, list) and len(branches) == 2 and branches[1].get("const") == INF:
        number = _number(branches[0])
        if number is not None:
            return made(Kind.BOUND, number)
    match part.get("type"):
        case "boolean":
            return made(Kind.CHOICE, Shape(ShapeKind.BOOLEAN))
        case "string":
            return made(Kind.TOOL if part.get("format") == TOOL else Kind.TEXT, Shape(ShapeKind.TEXT))
        case "array" if isinstance(part.get("items"), Mapping):
            item = _spec(part["items"], label)
            if item.kind in _SINGLE:
                return made(Kind.LIST, Shape(ShapeKind.JSON), item)
            if item.kind is Kind.LIST:
                return made(Kind.LISTS, Shape(ShapeKind.JSON), item)
        case "object" if isinstance(part.get("additionalProperties"), Mapping):
            item = _spec(part["additionalProperties"], label)
            names = part.get("propertyNames", {})
            if item.kind in _SINGLE and names.get("format") == TOOL:
                return made(Kind.MAP, Shape(ShapeKind.JSON), item)
    return made(Kind.JSON, Shape(ShapeKind.JSON))


#: Kinds of one input each, of which lists are made.
_SINGLE = frozenset({Kind.NUMBER, Kind.TEXT, Kind.CHOICE, Kind.TOOL})


def _number(part: Mapping[str, Any]) -> Shape | None:
    kind = {"integer": ShapeKind.INTEGER, "number": ShapeKind.NUMBER}.get(str(part.get("type")))
    return Shape(kind, minimum=part.get("minimum"), maximum=part.get("maximum")) if kind else None


# --- what stands there now


def _fitting(spec: _Spec, value: Any) -> _Spec:
    """The spec whose field can show ``value`` without loss; JSON where the model's own cannot."""
    return spec if value is ABSENT or _shows(spec, value) else _json_spec(spec.label, spec.hint)


def _shows(spec: _Spec, value: Any) -> bool:
    if spec.kind is Kind.JSON:
        return True
    if spec.kind is Kind.MAP:
        return (
            isinstance(value, dict)
            and len(value) <= MAX_ROWS
            and all(_scalar(name) and name and name == name.strip() for name in value)
            and all(_scalar(one) for one in value.values())
        )
    if spec.kind in (Kind.LIST, Kind.LISTS):
        items = value if isinstance(value, list) and len(value) <= MAX_ROWS else None
        # A blank item is a place to add one, and an empty row is none: such values are edited as JSON.
        return items is not None and all(
            _shows(spec.item, one) and one not in ("", []) for one in items if spec.item is not None
        )
    return _scalar(value) and (spec.kind is not Kind.CHOICE or isinstance(value, str | bool) or fits(spec.shape, value))


def _scalar(value: Any) -> bool:
    """Whether one input shows it: a text of one line, or a number."""
    if isinstance(value, str):
        return "\n" not in value and "\r" not in value
    return isinstance(value, int | float)


def _text(spec: _Spec, value: Any) -> str:
    """The value as the text of its input."""
    if value is ABSENT or (spec.kind is Kind.BOUND and value == INF):
        return ""
    if spec.kind is Kind.JSON:
        return shown_json(value)
    return shown(value)


class _Form:
    """Fields with what is wrong at each. ``faults``: path of keys -> sentence."""

    def __init__(self, faults: dict[tuple[Any, ...], str], tools: Sequence[str], prefix: str) -> None:
        self.faults, self.tools, self.prefix = faults, tools, prefix

    def field(self, name: str, spec: _Spec, value: Any) -> Field:
        unknown = spec.kind is Kind.JSON and spec.hint.startswith("This category")
        spec = _fitting(spec, value)
        key = self.prefix + name
        rows: tuple[Row, ...] = ()
        input_: Input | None = None
        error = self.faults.get((name,), "")
        if spec.kind is Kind.LIST:
            rows = (self._row(spec, value, key, (name,), ""),)
        elif spec.kind is Kind.LISTS:
            rows = tuple(self._rows(spec, value, key, name))
        elif spec.kind is Kind.MAP:
            rows = tuple(self._pairs(spec, value, key, name))
        else:
            input_ = self._input(spec, value, key, spec.label, (name,))
        return Field(name, spec.label, spec.kind, spec.hint, error, input_, rows, unknown)

    def _input(self, spec: _Spec, value: Any, key: str, label: str, path: tuple[Any, ...]) -> Input:
        text = _text(spec, value)
        return Input(key, label, spec.kind, text, self._options(spec, text), self.faults.get(path, ""))

    def _options(self, spec: _Spec, text: str) -> tuple[tuple[str, str], ...]:
        if spec.kind is Kind.TOOL:
            options = [("", "no tool"), *((name, name) for name in self.tools)]
            strange = [(text, f"{text} (not in the toolset)")] if text and text not in self.tools else []
            return (*options, *strange)
        if spec.kind is Kind.CHOICE:
            choices = (True, False) if spec.shape.kind is ShapeKind.BOOLEAN else spec.shape.choices
            texts = choice_texts(choices)
            words = [(one, spec.words.get(one, {"true": "yes", "false": "no"}.get(one, one))) for one in texts]
            strange = [(text, text)] if text and text not in texts else []
            blank = [("", "not said")] if not text or spec.default is ABSENT else []
            return (*blank, *words, *strange)
        return ()

    def _row(self, spec: _Spec, value: Any, key: str, path: tuple[Any, ...], label: str) -> Row:
        items = [] if value is ABSENT else list(value)
        item = spec.item or spec
        blanks = max(1, spec.least - len(items))
        inputs = [
            self._input(item, one, f"{key}:{n}", f"{label or spec.label}, number {n + 1}", (*path, n))
            for n, one in enumerate([*items, *[ABSENT] * blanks])
        ]
        return Row(label, tuple(inputs), self.faults.get(path, "") if label else "")

    def _rows(self, spec: _Spec, value: Any, key: str, name: str) -> Iterator[Row]:
        item = spec.item or spec
        items = [] if value is ABSENT else list(value)
        for n, one in enumerate([*items, ABSENT]):
            yield self._row(item, one, f"{key}:{n}", (name, n), f"{spec.row} {n + 1}")

    def _pairs(self, spec: _Spec, value: Any, key: str, name: str) -> Iterator[Row]:
        item = spec.item or spec
        held = {} if value is ABSENT else value
        tool = _tool_spec()
        for n, (own, one) in enumerate([*held.items(), ("", ABSENT)]):
            # A tool has one row: what another row names is not offered again.
            options = tuple(
                (text, words) for text, words in self._options(tool, own) if text == own or text not in held
            )
            chooser = Input(f"{key}:{n}:key", f"Tool {n + 1}", Kind.TOOL, own, options)
            label = f"{spec.label}, tool {n + 1}"
            yield Row(own, (chooser, self._input(item, one, f"{key}:{n}:value", label, (name, own))))


# --- what was posted


def _read(spec: _Spec, before: Any, posted: Mapping[str, str], key: str) -> Any:
    """The value that was posted; ABSENT for none. Raises FieldProblem for what cannot even be kept as it was typed."""
    if spec.kind is Kind.LIST:
        texts = _indexed(posted, key)
        return before if texts is None else _listed(spec, before, texts)
    if spec.kind is Kind.LISTS:
        return _read_lists(spec, before, posted, key)
    if spec.kind is Kind.MAP:
        return _read_map(spec, before, posted, key)
    if key not in posted:
        return before
    text = posted[key].replace("\r\n", "\n")
    if text == _text(spec, before).replace("\r\n", "\n"):
        return before
    if spec.kind is Kind.JSON:
        if not text.strip():
            return ABSENT
        try:
            return read_json(text)
        except JsonProblem as problem:
            raise FieldProblem(str(problem)) from None
    if not text.strip():
        # Nothing there: no bound, or what counts where nothing is said.
        return INF if spec.kind is Kind.BOUND else copied(spec.default)
    return _typed(spec, text)


def _typed(spec: _Spec, text: str) -> Any:
    """The text as its kind; as it was typed where it is none."""
    try:
        return read_typed(spec.shape, text if spec.shape.kind is ShapeKind.ENUM else text.strip())
    except FieldProblem:
        return text


def _indexed(posted: Mapping[str, str], key: str) -> list[str] | None:
    """The texts of a row, blank ones left out; None where it was not posted."""
    if f"{key}:0" not in posted:
        return None
    texts = [posted[f"{key}:{n}"].strip() for n in range(2 * MAX_ROWS) if f"{key}:{n}" in posted]
    return [text for text in texts if text]


def _listed(spec: _Spec, before: Any, texts: list[str]) -> Any:
    item = spec.item or spec
    held = [] if before is ABSENT else before
    known = {_text(item, one).strip(): one for one in held}
    if texts == [_text(item, one).strip() for one in held]:
        return before
    return [known[text] if text in known else _typed(item, text) for text in texts]


def _read_lists(spec: _Spec, before: Any, posted: Mapping[str, str], key: str) -> Any:
    if f"{key}:0:0" not in posted:
        return before
    item, held = spec.item or spec, [] if before is ABSENT else before
    rows = []
    for n in range(MAX_ROWS + 1):
        texts = _indexed(posted, f"{key}:{n}")
        row = _listed(item, held[n] if n < len(held) else [], texts or [])
        if row:
            rows.append(row)
    return before if rows == held else rows


def _read_map(spec: _Spec, before: Any, posted: Mapping[str, str], key: str) -> Any:
    if f"{key}:0:key" not in posted:
        return before
    item, held = spec.item or spec, {} if before is ABSENT else before
    out: dict[str, Any] = {}
    for n in range(MAX_ROWS + 1):
        tool, text = posted.get(f"{key}:{n}:key", "").strip(), posted.get(f"{key}:{n}:value", "").strip()
        if not tool:
            continue
        if tool in out:
            raise FieldProblem(f"{tool[:80]} is named twice; keep one of the two.")
        was = held.get(tool, ABSENT)
        if was is not ABSENT and text == _text(item, was).strip():
            out[tool] = was
        elif not text and n >= len(held):
            # Somebody has chosen a tool and not yet said more: once, say, rather than an error.
            out[tool] = max(1, int(item.shape.minimum or 0)) if item.kind is Kind.NUMBER else copied(item.default)
            if out[tool] is ABSENT:
                out[tool] = ""
        else:
            out[tool] = _typed(item, text) if text else ""
    return before if out == held else out


# --- what is wrong

_SENTENCES = {
    "int_type": "A whole number is expected.",
    "float_type": "A number is expected.",
    "missing": "The parameter is missing.",
    "dict_type": "An object is expected.",
    "list_type": "A list is expected.",
    "string_type": "A text is expected.",
    "string_too_short": "The name is empty.",
}


def _faults(category: Category[Any], held: Mapping[str, Any]) -> dict[tuple[Any, ...], str]:
    """Path of keys -> what the model has against the value there."""
    try:
        category.model.model_validate(held)
    except ValidationError as error:
        found: dict[tuple[Any, ...], str] = {}
        for item in error.errors(include_url=False):
            found.setdefault(_path(item["loc"], held), _sentence(item))
        return found
    return {}


def _path(loc: tuple[int | str, ...], held: Any) -> tuple[Any, ...]:
    """Where in the value a fault lies; of a union pydantic adds the branch it tried."""
    path: list[Any] = []
    for step in loc:
        there = isinstance(held, dict) and step in held
        if there or (isinstance(held, list) and isinstance(step, int) and step < len(held)):
            held = held[step]
        elif path:
            break
        path.append(step)
    return tuple(path)


def _sentence(item: Any) -> str:
    context = item.get("ctx", {})
    match item["type"]:
        case "greater_than_equal":
            return f"The least here is {context['ge']}."
        case "less_than_equal":
            return f"The most here is {context['le']}."
        case "too_short":
            return f"Name at least {context['min_length']}."
        case "literal_error" if item["input"] != INF and INF in str(context.get("expected", "")):
            return "Write a whole number, or nothing for no bound."
        case "literal_error" | "enum":
            return "Choose one of the values offered."
    return _SENTENCES.get(item["type"]) or f"{item['msg']}."
