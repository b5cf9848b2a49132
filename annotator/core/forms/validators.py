"""The parameters of a built-in validator as form fields, and back. Pure."""

from collections.abc import Mapping
from typing import Any

from annotator.core.forms.fields import Field, fields
from annotator.core.forms.reading import parse
from annotator.core.schema.errors import SchemaProblem
from annotator.core.validators.library import Form


def form_fields(
    form: Form, parameters: Mapping[str, Any] | None, errors: Mapping[str, str] | None = None
) -> list[Field]:
    """Return the fields of a form; ``parameters`` are the current ones, ``errors`` what is wrong: {path: sentence}."""
    return fields(form.model.model_json_schema(), _complete(form, parameters), own=True, errors=errors)


def read_form_fields(
    form: Form, posted: Mapping[str, str], parameters: Mapping[str, Any] | None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the parameters that were filled in, and {path: sentence} of what is wrong with them."""
    values, unread = parse(form.model.model_json_schema(), posted, current=_complete(form, parameters), own=True)
    # The model decides about a text that does not fit its field's kind.
    values |= {path[1:]: posted[path] for path in unread if path in posted}
    try:
        return form.read(values), {}
    except SchemaProblem as problem:
        return values, {one.pointer: one.message for one in reversed(problem.problems)}


def _complete(form: Form, parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the initial parameters: each default, the first of the choices, or no texts."""
    parts = form.model.model_json_schema()["properties"]
    begins = {name: part.get("default", part.get("enum", [[]])[0]) for name, part in parts.items()}
    return begins | dict(parameters or {})
