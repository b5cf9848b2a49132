"""From what a browser posts of a form back to parameters; see ``annotator.core.editing.parameters``."""

from collections.abc import Mapping, Sequence
from typing import Any

from annotator.core.comparison.changes import same_value
from annotator.core.comparison.placing import ABSENT, copied
from annotator.core.constraints.taxonomy import Category
from annotator.core.editing.json_text import JsonProblem, read_json
from annotator.core.editing.parameter_specs import INF, MAX_ROWS, Kind, Spec, fitting, specs, text_of
from annotator.core.editing.parameters import PREFIX
from annotator.core.editing.scope import line_ends
from annotator.core.editing.shapes import Kind as ShapeKind
from annotator.core.editing.typed import FieldProblem, read_typed


def read_parameter_form(
    category: Category[Any], posted: Mapping[str, str], parameters: Mapping[str, Any] | None, *, prefix: str = PREFIX
) -> tuple[dict[str, Any] | None, str]:
    """The parameters that a posted form asks for, and what cannot be kept of it, as a sentence.

    A parameter whose inputs were not posted keeps its value. None where there were none and nothing was filled in.
    """
    held: dict[str, Any] = copied(dict(parameters or {}))
    problem = ""
    for name, spec in list(specs(category, held)):
        before = held.get(name, ABSENT)
        try:
            value = _read(fitting(spec, before), before, posted, prefix + name)
        except FieldProblem as fault:
            problem = problem or f"{spec.label}: {fault}"
            continue
        if value is ABSENT:
            held.pop(name, None)
        else:
            held[name] = value
    return (held if held or parameters is not None else None), problem


def read_tool_row(posted: Mapping[str, str], names: Sequence[str], key: str) -> list[str]:
    """The tools of a posted row; those that were there where it was not posted."""
    texts = _indexed(posted, key)
    return list(names) if texts is None else texts


def _read(spec: Spec, before: Any, posted: Mapping[str, str], key: str) -> Any:
    """The value that was posted; ABSENT for none. Raises FieldProblem for what cannot be read as its kind."""
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
    if text == line_ends(text_of(spec, before)):
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


def _typed(spec: Spec, text: str) -> Any:
    return read_typed(spec.shape, text if spec.shape.kind is ShapeKind.ENUM else text.strip())


def _indexed(posted: Mapping[str, str], key: str) -> list[str] | None:
    """The texts of a row, blank ones left out; None where it was not posted."""
    if f"{key}:0" not in posted:
        return None
    texts = [posted[f"{key}:{n}"].strip() for n in range(2 * MAX_ROWS) if f"{key}:{n}" in posted]
    return [text for text in texts if text]


def _listed(spec: Spec, before: Any, texts: list[str]) -> Any:
    item = spec.item or spec
    held = [] if before is ABSENT else before
    known = {text_of(item, one).strip(): one for one in held}
    if texts == [text_of(item, one).strip() for one in held]:
        return before
    return [known[text] if text in known else _typed(item, text) for text in texts]


def _read_lists(spec: Spec, before: Any, posted: Mapping[str, str], key: str) -> Any:
    if f"{key}:0:0" not in posted:
        return before
    item, held = spec.item or spec, [] if before is ABSENT else before
    rows = []
    for n in range(MAX_ROWS + 1):
        texts = _indexed(posted, f"{key}:{n}")
        row = _listed(item, held[n] if n < len(held) else [], texts or [])
        if row:
            rows.append(row)
    return before if same_value(rows, held) else rows


def _read_map(spec: Spec, before: Any, posted: Mapping[str, str], key: str) -> Any:
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
        if was is not ABSENT and text == text_of(item, was).strip():
            out[tool] = was
        elif not text and n >= len(held):
            # Somebody has chosen a tool and not yet said more: once, say, rather than an error.
            out[tool] = max(1, int(item.shape.minimum or 0)) if item.kind is Kind.NUMBER else copied(item.default)
            if out[tool] is ABSENT:
                out[tool] = ""
        else:
            out[tool] = _typed(item, text) if text else ""
    return before if same_value(out, held) else out
