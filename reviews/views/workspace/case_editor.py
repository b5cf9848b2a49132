"""The editors of a constrained case: their context, and the operations of their forms."""

from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from annotator.core.comparison import resolve, split
from annotator.core.comparison.anchors import below
from annotator.core.constraints.anchoring import nearest, sentences
from annotator.core.constraints.taxonomy import find_category
from annotator.core.editing.json_text import JsonProblem, read_json
from annotator.core.editing.scope import line_ends
from annotator.core.forms.fields import MAX_FIELDS, fields
from annotator.core.forms.parameters import first_tools, parameter_fields, read_first_tools, read_parameter_form
from annotator.core.forms.values import shown
from annotator.core.schema.toolsets import CompiledToolset
from annotator.errors import Invalid
from annotator.presentation.case import ConstraintView, PartView
from reviews.services.submission.workbench import Workbench

#: Prefix of the inputs with texts of the unsolved set.
EXPECTED = "u"
#: Texts per tool that the form of the unsolved set shows; the JSON editor shows all.
MAX_EXPECTED = 100


def case_editor(bench: Workbench, selected: Any) -> dict[str, Any]:
    """Return the context of the editor of the selected part of a case; empty for anything else."""
    if isinstance(selected, ConstraintView):
        return _constraint(bench, selected)
    if not isinstance(selected, PartView):
        return {}
    if selected.type == "call":
        tool = bench.toolset.tools.get(selected.data["name"])
        known = tool is not None and isinstance(selected.data["arguments"], dict)
        found = fields(tool.parameters, selected.data["arguments"]) if tool and known else None
        return {"tool": tool, "fields": found, "fields_cut": found is not None and len(found) >= MAX_FIELDS}
    held = selected.data or {}
    if selected.type == "unsolved_set":
        return {
            "expected": [(below("/unsolved_set", name), name, _texts(name, texts)) for name, texts in held.items()],
            "free_tools": [name for name in bench.toolset.names if name not in held],
        }
    if selected.type == "tool_codes":
        free = [name for name in bench.toolset.names if name not in held]
        return {"free_tools": [(below("/tool_codes", name), name) for name in free]}
    return {}


def _constraint(bench: Workbench, selected: ConstraintView) -> dict[str, Any]:
    data, tools = selected.data, list(bench.toolset.names)
    category = find_category(data["category"])
    prompt = bench.document["system_prompt"] or ""
    quote = data["anchor"] or data["text"] or ""
    near = nearest(prompt, quote) if quote.strip() and not selected.spans else None
    return {
        "parameter_fields": parameter_fields(category, data["parameters"], tools) if category else [],
        "variants": [
            {
                "anchor": f"{selected.anchor}/variants/{n}",
                "number": n + 1,
                "form_id": f"f-variant-{n + 1}",
                "prefix": f"v{n}:",
                "first": first_tools(
                    variant["first"], tools, _("Variant %(number)s, called first") % {"number": n + 1}
                ),
                "fields": parameter_fields(category, variant["parameters"], tools) if category else [],
            }
            for n, variant in enumerate(data["variants"])
        ],
        "prompt_sentences": [prompt[one.start : one.end] for one in sentences(prompt)],
        "nearest": prompt[near.start : near.end] if near else "",
    }


def _texts(name: str, texts: list[Any]) -> list[tuple[str, str, str]]:
    """Return (name of the input, label, text) of each text, plus an empty one to fill in."""
    held = [*map(shown, texts[:MAX_EXPECTED]), ""]
    return [
        (f"{EXPECTED}:{n}", _("%(tool)s, text %(number)s") % {"tool": name, "number": n + 1}, text)
        for n, text in enumerate(held)
    ]


# --- posted forms


def posted_fields(posted: QueryDict, prefix: str) -> dict[str, str]:
    """Return the posted texts of the inputs with this prefix, by field."""
    return {key.removeprefix(prefix): posted.get(key, "") for key in posted if key.startswith(prefix)}


def parameter_operation(
    posted: QueryDict, anchor: str, document: dict[str, Any], toolset: CompiledToolset
) -> dict[str, Any]:
    """Return the operation of the parameter form of a constraint or variant. Raises Invalid for invalid values."""
    parts = split(anchor)
    if parts[:1] != ("constraints",) or not (len(parts) == 2 or (len(parts) == 4 and parts[2] == "variants")):
        raise Invalid(_("The constraint that this form edits no longer exists. Reload the page."))
    constraint = resolve(document, below("/constraints", parts[1]))
    category = find_category(constraint["category"])
    if category is None:
        raise Invalid(_("The constraint has no category. Choose one, or edit the parameters as JSON."))
    if len(parts) < 3:
        value, problem = read_parameter_form(category, posted_fields(posted, "p:"), constraint["parameters"])
        operation = {"op": "set_json", "anchor": f"{anchor}/parameters", "value": value}
    else:
        variant, texts = resolve(document, anchor), posted_fields(posted, f"v{parts[-1]}:")
        value, problem = read_parameter_form(category, texts, variant["parameters"])
        first = read_first_tools(texts, variant["first"])
        operation = {"op": "set_variant", "value": {"first": first, "parameters": value or {}}}
    if problem:
        raise Invalid(problem, anchor=anchor)
    return operation


def expected_operation(
    posted: QueryDict, anchor: str, document: dict[str, Any], toolset: CompiledToolset
) -> dict[str, Any]:
    """Return the operation of a tool's expected texts: an empty one is removed, an unchanged one stays as it is."""
    held = resolve(document, anchor)
    if not isinstance(held, list):
        raise Invalid(_("The list that this form edits is no longer in the unsolved set. Reload the page."))
    value = []
    for n in range(max(len(held), MAX_EXPECTED) + 1):
        text = posted.get(f"{EXPECTED}:{n}")
        if text is None:
            value += held[n : n + 1]
            continue
        text = text.replace("\r\n", "\n")
        if n < len(held) and text == line_ends(shown(held[n])):
            value.append(held[n])
        elif text.strip():
            value.append(_expected(text, held[n] if n < len(held) else "", anchor))
    return {"op": "set_json", "value": value}


def _expected(text: str, before: Any, anchor: str) -> Any:
    """Return the typed value that replaces ``before``: a text if that was a text, otherwise JSON."""
    if isinstance(before, str):
        return text
    try:
        return read_json(text)
    except JsonProblem as problem:
        raise Invalid(str(problem), anchor=anchor) from None
