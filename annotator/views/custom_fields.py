"""Pages on which administrators define a project's custom fields."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotator.core.fields import MAX_FIELDS, CustomField, stored_fields
from annotator.core.schema import canonical, content_hash
from annotator.errors import Conflict, Hidden, Invalid
from annotator.services.access.permissions import require_administrator
from annotator.services.custom_fields import fields_of
from annotator.services.field_changes import Effects, Unconfirmed, change_fields
from annotator.views.field_form import SCOPES, TYPES, FieldForm, initial_of
from annotator.views.pages import PageRequest, posted, project_page


@project_page
@require_http_methods(["GET", "POST"])
def field_list(request: PageRequest) -> HttpResponse:
    """List the fields as they look in the workspace; move or remove one."""
    require_administrator(actor=request.user, project=request.project)
    project = request.project
    effects, removed, confirms = Effects(), "", ""
    if request.method == "POST":
        fields = stored_fields(fields_of(project))
        index = next((n for n, field in enumerate(fields) if field["key"] == request.POST.get("key")), None)
        if index is None:
            raise Hidden(_("This field doesn’t exist. Somebody may have removed it."))
        field = fields.pop(index)
        if request.POST.get("action") != "remove":
            fields.insert(max(index + (-1 if request.POST.get("by") == "-1" else 1), 0), field)
        try:
            _change(request, fields, _seen(request))
        except Unconfirmed as unconfirmed:
            effects, removed, confirms = unconfirmed.effects, field["key"], _digest(fields)
        else:
            return redirect("field-list", slug=project.slug)
    context = {
        "project": project,
        "effects": effects,
        "removed": removed,
        "confirms": confirms,
        "custom_fields": [(field, _condition(field, fields_of(project))) for field in fields_of(project)],
        "types": dict(TYPES),
        "scopes": dict(SCOPES),
        "full": len(project.custom_fields) >= MAX_FIELDS,
    }
    return render(request, "annotator/field_list.html", context)


def _condition(field: CustomField, fields: Sequence[CustomField]) -> str:
    """Return when a field is asked, with titles; blank if always."""
    if field.shown_if is None:
        return ""
    deciding = next(one for one in fields if one.key == field.shown_if.key)
    titles = dict(deciding.choices)
    return f"{deciding.lead} {', '.join(titles.get(value, value) for value in field.shown_if.values)}"


@project_page
@require_http_methods(["GET", "POST"])
def field_create(request: PageRequest) -> HttpResponse:
    """Define a new field, which comes last."""
    require_administrator(actor=request.user, project=request.project)
    return _edit(request, None)


@project_page
@require_http_methods(["GET", "POST"])
def field_change(request: PageRequest, field: str) -> HttpResponse:
    """Change a field. Its key stays, because dialogues store values under it."""
    require_administrator(actor=request.user, project=request.project)
    index = next((n for n, one in enumerate(fields_of(request.project)) if one.key == field), None)
    if index is None:
        raise Hidden(_("This field doesn’t exist. Somebody may have removed it."))
    return _edit(request, index)


def _edit(request: PageRequest, index: int | None) -> HttpResponse:
    project, status, refused, effects, confirms = request.project, 200, "", Effects(), ""
    current = fields_of(project)
    initial: dict[str, Any] = {"seen": project.fields_version}
    if index is not None:
        initial |= initial_of(current[index])
    before = current if index is None else current[:index]
    form = FieldForm(posted(request), initial=initial, before=before)
    if index is not None:
        form.fields["key"].disabled = True
    if form.is_bound:
        status = 422
        if form.is_valid():
            fields = stored_fields(current)
            fields[len(fields) if index is None else index : len(fields) if index is None else index + 1] = [
                form.definition()
            ]
            try:
                _change(request, fields, form.cleaned_data["seen"])
            except Unconfirmed as unconfirmed:
                status, effects, confirms = 200, unconfirmed.effects, _digest(fields)
            except Conflict as error:
                status, refused = 409, error.sentence
            except Invalid as error:
                _show(form, error, len(current) if index is None else index)
            else:
                messages.success(request, _("Field saved. It is asked from now on."))
                return redirect("field-list", slug=project.slug)
    context = {
        "project": project,
        "form": form,
        "is_new": index is None,
        "refused": refused,
        "effects": effects,
        "confirms": confirms,
    }
    return render(request, "annotator/field_edit.html", context, status=status)


def _change(request: PageRequest, fields: list[dict[str, Any]], seen: int) -> None:
    change_fields(
        actor=request.user,
        project=request.project,
        fields=fields,
        seen=seen,
        confirmed=request.POST.get("confirmed") == _digest(fields),
    )


def _digest(fields: list[dict[str, Any]]) -> str:
    """Return a hash of definitions, because only the change that was shown is confirmed."""
    return content_hash(canonical(fields))


def _show(form: FieldForm, error: Invalid, index: int) -> None:
    """Show the problems of the edited field beside its inputs, and those of others above the form."""
    for problem in error.details["problems"]:
        number, _sign, path = problem["pointer"][1:].partition("/")
        if number == str(index):
            form.add_problem(path, problem["message"])
        else:
            form.add_error(None, _("Another field would no longer work: %(problem)s") % {"problem": problem["message"]})


def _seen(request: PageRequest) -> int:
    raw = request.POST.get("seen", "")
    return int(raw) if raw.isascii() and raw.isdigit() and len(raw) < 9 else -1
