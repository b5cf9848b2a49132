"""The editor of a function of a toolset in review: the context of its form, and the operation that it posts."""

from typing import Any

from django.http import QueryDict

from annotator.core.schema.canonical import value_hash
from annotator.core.schema.toolsets import CompiledToolset
from annotator.presentation.toolset import FunctionView
from reviews.views.toolsets.draft import PREFIX, FunctionsDraft
from reviews.views.workspace.case_editor import posted_fields


def function_editor(
    selected: FunctionView, posted: QueryDict | None = None, problem: tuple[str, str] | None = None
) -> dict[str, Any]:
    """Return the context of the form of a function.

    ``problem``: the field and the sentence, if the form in ``posted`` was refused; then it shows what was typed.
    """
    draft = FunctionsDraft([selected.data["tool"]])
    draft.opened = 0
    if posted is not None and problem is not None:
        draft.refuse(problem, posted_fields(posted, PREFIX))
    return {"opened": draft.form(), "form_of": value_hash(selected.function)}


def function_operation(
    posted: QueryDict, anchor: str, document: dict[str, Any], toolset: CompiledToolset
) -> dict[str, Any]:
    """Return the operation of the form of a function."""
    return {"value": posted_fields(posted, PREFIX), "of": posted.get("of", "")}
