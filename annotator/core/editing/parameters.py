"""Forms for a constraint's parameters: from the parameters model of its category to fields, and back.

A category needs no form of its own: the JSON schema of its model says which fields there are. As forms of arguments do
(``annotator.core.editing.forms``), these lose nothing: a value that its field cannot show is shown as JSON, as are
parameters the category does not know; a field that was not touched keeps its value exactly; and what cannot be read as
its kind is refused with a sentence, and what stood there stays.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from annotator.core.comparison.placing import ABSENT
from annotator.core.constraints.taxonomy import Category
from annotator.core.editing.parameter_specs import INF, Kind, Spec, fitting, specs, text_of, tool_spec, tools_spec
from annotator.core.editing.shapes import Kind as ShapeKind
from annotator.core.editing.typed import choice_texts
from annotator.core.schema.errors import in_words

#: Before the name of every input.
PREFIX = "p:"


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


def parameter_fields(
    category: Category[Any], parameters: Mapping[str, Any] | None, tools: Sequence[str], *, prefix: str = PREFIX
) -> list[Field]:
    """The fields of a category's parameters in its model's order, then those it does not know.

    ``tools``: the names there are to choose from.
    """
    held = dict(parameters or {})
    form = _Form(_faults(category, held) if parameters is not None else {}, tools, prefix)
    return [form.field(name, spec, held.get(name, ABSENT)) for name, spec in specs(category, held)]


def tool_row(names: Sequence[str], tools: Sequence[str], label: str, key: str) -> Row:
    """A row of tools, with a blank one to add to it: those called first, of a variant."""
    return _Form({}, tools, "")._row(tools_spec(label), list(names), key, (), label)


class _Form:
    """Fields with what is wrong at each. ``faults``: path of keys -> sentence."""

    def __init__(self, faults: dict[tuple[Any, ...], str], tools: Sequence[str], prefix: str) -> None:
        self.faults, self.tools, self.prefix = faults, tools, prefix

    def field(self, name: str, spec: Spec, value: Any) -> Field:
        unknown = spec.kind is Kind.JSON and spec.hint.startswith("This category")
        spec = fitting(spec, value)
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

    def _input(self, spec: Spec, value: Any, key: str, label: str, path: tuple[Any, ...]) -> Input:
        text = text_of(spec, value)
        return Input(key, label, spec.kind, text, self._options(spec, text), self.faults.get(path, ""))

    def _options(self, spec: Spec, text: str) -> tuple[tuple[str, str], ...]:
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

    def _row(self, spec: Spec, value: Any, key: str, path: tuple[Any, ...], label: str) -> Row:
        items = [] if value is ABSENT else list(value)
        item = spec.item or spec
        blanks = max(1, spec.least - len(items))
        inputs = [
            self._input(item, one, f"{key}:{n}", f"{label or spec.label}, number {n + 1}", (*path, n))
            for n, one in enumerate([*items, *[ABSENT] * blanks])
        ]
        return Row(label, tuple(inputs), self.faults.get(path, "") if label else "")

    def _rows(self, spec: Spec, value: Any, key: str, name: str) -> Iterator[Row]:
        item = spec.item or spec
        items = [] if value is ABSENT else list(value)
        for n, one in enumerate([*items, ABSENT]):
            yield self._row(item, one, f"{key}:{n}", (name, n), f"{spec.row} {n + 1}")

    def _pairs(self, spec: Spec, value: Any, key: str, name: str) -> Iterator[Row]:
        item = spec.item or spec
        held = {} if value is ABSENT else value
        tool = tool_spec()
        for n, (own, one) in enumerate([*held.items(), ("", ABSENT)]):
            # A tool has one row: what another row names is not offered again.
            options = tuple(
                (text, words) for text, words in self._options(tool, own) if text == own or text not in held
            )
            chooser = Input(f"{key}:{n}:key", f"Tool {n + 1}", Kind.TOOL, own, options)
            label = f"{spec.label}, tool {n + 1}"
            yield Row(own, (chooser, self._input(item, one, f"{key}:{n}:value", label, (name, own))))


# --- what is wrong

_SENTENCES = {
    "missing": "The parameter is missing.",
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
    return in_words(item, _SENTENCES)
