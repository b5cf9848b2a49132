"""Turn posted forms into edit operations (see ``annotator.core.editing``)."""

from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from annotator.core.comparison import AnchorMissing, resolve
from annotator.core.forms.reading import parse
from annotator.core.schema.toolsets import CompiledToolset
from annotator.errors import Invalid
from reviews.views.workspace.case_editor import expected_operation, parameter_operation, posted_fields
from reviews.views.workspace.label_editor import label_operation
from reviews.views.workspace.toolset_editor import function_operation

#: Labels and texts that may be "not annotated": an empty choice means null.
_NULLABLE = ("policy", "information", "answer_type", "language", "env_info", "scenario", "category", "now")


def operation_of(posted: QueryDict, document: dict[str, Any], toolset: CompiledToolset) -> dict[str, Any]:
    """Return the operation that a form asks for. Raises Invalid if the form makes no sense."""
    name = posted.get("op", "")
    anchor = posted.get("anchor", "")
    build = _BUILDERS.get(name)
    if build is None:
        raise Invalid(_("There is no edit “%(name)s”.") % {"name": name[:40]})
    try:
        return {"op": name, "anchor": anchor, **build(posted, anchor, document, toolset)}
    except AnchorMissing:
        raise Invalid(_("This place no longer exists. Reload the page.")) from None


def _set(posted: QueryDict, anchor: str, document: dict[str, Any], toolset: CompiledToolset) -> dict[str, Any]:
    value: str | None = posted.get("value", "").replace("\r\n", "\n")
    if value == "" and anchor.rsplit("/", 1)[-1] in _NULLABLE:
        value = None
    return {"value": value}


def _arguments(posted: QueryDict, anchor: str, document: dict[str, Any], toolset: CompiledToolset) -> dict[str, Any]:
    """Return the operation of a call's argument form. Raises Invalid if a field does not match its type."""
    call = resolve(document, anchor)
    if not isinstance(call, dict) or "arguments" not in call or not isinstance(call.get("name"), str):
        raise Invalid(_("The call that this form edits no longer exists. Reload the page."))
    tool = toolset.tools.get(call["name"])
    if tool is None:
        raise Invalid(_("The tool %(name)s isn’t in the toolset. Edit the arguments as JSON.") % {"name": call["name"]})
    current = call["arguments"] if isinstance(call["arguments"], dict) else {}
    arguments, errors = parse(tool.parameters, posted_fields(posted, "arg:"), current=current)
    for path, sentence in errors.items():
        message = _("%(field)s: %(problem)s The form wasn’t saved.") % {"field": path[1:], "problem": sentence}
        raise Invalid(message, anchor=f"{anchor}/arguments{path}")
    if document["kind"] == "constrained":
        return {"op": "set_json", "anchor": f"{anchor}/arguments", "value": arguments}
    return {"op": "set_arguments", "value": arguments}


def _dependencies(posted: QueryDict, anchor: str, document: dict[str, Any], toolset: CompiledToolset) -> dict[str, Any]:
    if posted.get("annotated") != "yes":
        return {"value": None}
    return {"value": [{"id": dep, "kind": posted.get(f"kind:{dep}", "parameter")} for dep in posted.getlist("dep")]}


def _fields(*names: str) -> Any:
    def build(posted: QueryDict, anchor: str, document: dict[str, Any], toolset: CompiledToolset) -> dict[str, Any]:
        return {name: posted.get(name, "").replace("\r\n", "\n") for name in names if posted.get(name)}

    return build


def _by(posted: QueryDict, anchor: str, document: dict[str, Any], toolset: CompiledToolset) -> dict[str, Any]:
    return {"by": -1 if posted.get("by") == "-1" else 1}


def _text(posted: QueryDict, anchor: str, document: dict[str, Any], toolset: CompiledToolset) -> dict[str, Any]:
    out: dict[str, Any] = {"text": posted.get("text", "").replace("\r\n", "\n")}
    if posted.get("as") in ("json", "text"):
        out["as"] = posted.get("as")
    return out


def _code(posted: QueryDict, anchor: str, document: dict[str, Any], toolset: CompiledToolset) -> dict[str, Any]:
    out = _text(posted, anchor, document, toolset)
    return out | ({"function": posted["function"]} if "function" in posted else {})


def _accepted(posted: QueryDict, anchor: str, document: dict[str, Any], toolset: CompiledToolset) -> dict[str, Any]:
    """Return the dependencies posted as “step needs kind”, one per field."""
    edges = []
    for text in posted.getlist("edge"):
        words = text.split(" ")
        if len(words) != 3:
            raise Invalid(_("“%(text)s” isn’t a dependency. Reload the page and try again.") % {"text": text[:80]})
        edges.append(dict(zip(("step", "id", "kind"), words, strict=True)))
    return {"edges": edges}


_BUILDERS = {
    "set": _set,
    "set_label": label_operation,
    "set_argument_form": _arguments,
    "set_arguments": _text,
    "set_observation": _text,
    "set_calls": _text,
    "set_dependencies": _dependencies,
    "add_dependency": _fields("id", "kind"),
    "remove_dependency": _fields("id"),
    "accept_dependencies": _accepted,
    "set_shape": _fields("shape"),
    "copy_shape": _fields("from"),
    "set_inferable": _fields("argument", "reason"),
    "add_task": _fields("after"),
    "delete_task": _fields(),
    "move_task": _by,
    "replace_task": _fields("single", "reason"),
    "add_step": _fields("type", "name", "after"),
    "delete_step": _fields(),
    "duplicate_step": _fields(),
    "move_step": _by,
    "choose_candidate": _fields("id"),
    "add_candidate": _text,
    "add_context": _fields("role", "after"),
    "delete_context": _fields(),
    "set_json": _text,
    "set_code": _code,
    "set_category": _fields("value"),
    "set_parameters": parameter_operation,
    "set_expected": expected_operation,
    "add_constraint": _fields("category", "after"),
    "delete_constraint": _fields(),
    "move_constraint": _by,
    "state_constraint": _fields(),
    "add_variant": _fields("name"),
    "delete_variant": _fields(),
    "add_round": _fields("name", "after"),
    "delete_round": _fields(),
    "move_round": _by,
    "add_call": _fields("name", "after"),
    "delete_call": _fields(),
    "move_call": _by,
    "set_function": function_operation,
    "add_tool": _fields("name", "after"),
    "duplicate_tool": _fields(),
    "delete_tool": _fields(),
    "move_tool": _by,
    "add_expected": _fields("name"),
    "delete_expected": _fields(),
}
