"""Read the posted fields of a form as values; see ``annotator.core.forms.fields``."""

from collections.abc import Mapping
from typing import Any

from annotator.core.comparison.anchors import AnchorMissing, split
from annotator.core.comparison.changes import same_value
from annotator.core.comparison.placing import ABSENT, copied
from annotator.core.editing.scope import MAX_TEXT, line_ends
from annotator.core.forms.fields import AS_EMPTY, AS_JSON, MAX_FIELDS, MAX_ROWS, Field, fields
from annotator.core.forms.shapes import ANY, TEXT, Kind
from annotator.core.forms.values import FieldProblem, fits, read_typed, shown


def parse(
    schema: Mapping[str, Any],
    posted: Mapping[str, str],
    *,
    current: Mapping[str, Any] | None = None,
    own: bool = False,
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of a form, and {path: sentence} for texts that do not fit their field's kind.

    ``posted``: texts by ``Field.key``. A field that was not posted keeps its value in ``current``; a blank field means
    no value. If there are errors, the values are not what the user meant: refuse them. ``own``: the schema is one of
    our models. Unchanged fields keep their exact values; others are ignored.
    """
    current = current or {}
    values: dict[str, Any] = copied(dict(current))
    errors: dict[str, str] = {}
    known, handled = fields(schema, current, own=own), set[str]()
    for field in known:
        handled |= {field.key, field.path}
        if field.kind is not Kind.OBJECT:
            try:
                _write(values, field.path, read_field(field, posted, _at(current, field.path), exact=own))
            except FieldProblem as problem:
                errors[field.path] = str(problem)
    if own:
        return values, errors
    for key in [key for key in posted if key not in handled][:MAX_FIELDS]:
        _add_unknown(values, errors, key, posted)
    for field in reversed(known):
        # A group with only blank fields does not exist, unless it existed empty.
        if field.kind is Kind.OBJECT and _at(values, field.path) == {} and _at(current, field.path) != {}:
            _write(values, field.path, ABSENT)
    return values, errors


def read_field(field: Field, posted: Mapping[str, str], before: Any, *, exact: bool) -> Any:
    """Return the posted value; ABSENT for none, ``before`` if it was not posted. Raises FieldProblem.

    ``exact``: an unchanged value stays exactly the same. Otherwise, saving may correct its type if its spelling stays.
    """
    if field.kind is Kind.LIST:
        return _read_rows(field, posted, before)
    if field.kind is Kind.MAP:
        return _read_map(field, posted, before)
    key = field.key if field.key in posted else field.path
    if key not in posted:
        return before
    if field.kind is Kind.SEVERAL:
        ticked = [one for n, one in enumerate(field.shape.choices) if f"{key}/{n}" in posted]
        held = [] if before is ABSENT else before
        return before if len(held) == len(ticked) and all(one in ticked for one in held) else ticked
    text = posted[key].replace("\r\n", "\n")
    if exact and text == line_ends(field.value):
        return before
    untouched = field.present and text == line_ends(field.value)
    if len(text) > MAX_TEXT:
        raise FieldProblem(f"The text has {len(text):,} characters. The limit is {MAX_TEXT:,}.")
    as_json = key.startswith(AS_JSON) or field.shape.kind is Kind.JSON
    # A field that still contains its original blanks was not emptied: its value has a different type from the field.
    emptied = not text.strip() and not (untouched and text)
    if emptied and (as_json or not text or field.shape.kind is not Kind.TEXT):
        return ABSENT if as_json else "" if posted.get(field.empty_key) else copied(field.shape.blank)
    if untouched and (as_json or fits(field.shape, before)):
        return before
    try:
        value = read_typed(ANY if as_json else field.shape, text)
    except FieldProblem:
        if untouched:
            return before
        raise
    # 007 is not 7: a correction keeps the spelling.
    return before if untouched and shown(value) != field.value else value


def _read_rows(field: Field, posted: Mapping[str, str], before: Any) -> Any:
    """Return a list: one row of inputs, or several; blank inputs and rows are left out."""
    held = [] if before is ABSENT else before
    if field.shape.item is not None and field.shape.item.kind is Kind.LIST:
        if f"{field.key}/0/0" not in posted:
            return before
        rows = [
            _read_row(field.items[min(n, len(held))], f"{field.key}/{n}", posted, held[n] if n < len(held) else [])
            for n in range(MAX_ROWS + 1)
        ]
        value = [row for row in rows if row]
    elif f"{field.key}/0" not in posted:
        return before
    else:
        value = _read_row(field, field.key, posted, held)
    return before if same_value(value, held) else value


def _read_row(row: Field, key: str, posted: Mapping[str, str], held: list[Any]) -> list[Any]:
    texts = [text for n in range(2 * MAX_ROWS) if (text := posted.get(f"{key}/{n}", "").strip())]
    shown_now = [one.value.strip() for one in row.items if one.present]
    if texts == shown_now:
        return held
    known = dict(zip(shown_now, held, strict=False))
    return [known[text] if text in known else read_typed(row.shape.item or ANY, text) for text in texts]


def _read_map(field: Field, posted: Mapping[str, str], before: Any) -> Any:
    """Return names with a value each; a row with a blank name is left out."""
    if f"{field.key}/0/key" not in posted:
        return before
    item, held = field.shape.item or ANY, {} if before is ABSENT else before
    texts = {row.name: row.items[1].value.strip() for row in field.items}
    out: dict[str, Any] = {}
    for n in range(MAX_ROWS + 1):
        name, text = (posted.get(f"{field.key}/{n}/{part}", "").strip() for part in ("key", "value"))
        if not name:
            continue
        if name in out:
            raise FieldProblem(f"{name[:80]} is listed twice. Remove one of the two.")
        if name in held and text == texts[name]:
            out[name] = held[name]
        elif text:
            out[name] = read_typed(item, text)
        elif n >= len(held) and item.kind in (Kind.INTEGER, Kind.NUMBER):
            # A tool was chosen but nothing else yet: use 1 rather than an error.
            out[name] = max(1, int(item.minimum or 0))
        else:
            out[name] = ""
    return before if same_value(out, held) else out


def _add_unknown(arguments: dict[str, Any], errors: dict[str, str], key: str, posted: Mapping[str, str]) -> None:
    """Return an argument that neither the schema nor the call had."""
    path = key.removeprefix(AS_JSON)
    try:
        parts = split(path)
    except AnchorMissing:
        return
    text = posted[key].replace("\r\n", "\n")
    if not parts or not all(parts) or len(text) > MAX_TEXT:
        return
    if not isinstance(_at(arguments, path.rpartition("/")[0]), dict):
        errors[path] = "The value around this argument is not an object. Edit it as JSON."
        return
    if not text.strip():
        if posted.get(AS_EMPTY + path):
            _write(arguments, path, "")
        return
    try:
        _write(arguments, path, read_typed(ANY if key != path else TEXT, text))
    except FieldProblem as problem:
        errors[path] = str(problem)


def _at(arguments: Mapping[str, Any], path: str) -> Any:
    value: Any = arguments
    for part in split(path):
        if not isinstance(value, Mapping) or part not in value:
            return ABSENT
        value = value[part]
    return value


def _write(arguments: dict[str, Any], path: str, value: Any) -> None:
    """Write a value to its field's place; groups on the way are created, and nothing else is changed."""
    *groups, name = split(path)
    container = arguments
    for group in groups:
        if value is ABSENT and group not in container:
            return
        inner = container.setdefault(group, {})
        if not isinstance(inner, dict):
            return
        container = inner
    if value is ABSENT:
        container.pop(name, None)
    else:
        container[name] = copied(value)
