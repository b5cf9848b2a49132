"""The page on the sensitivity of the audits: what is known of it, and the tests that administrators enter."""

from types import SimpleNamespace

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from annotator.errors import Invalid
from annotator.models import Role
from annotator.services.access.permissions import OVERSEERS, require_administrator, require_role
from annotator.views.number_fields import WholeNumberField
from annotator.views.pages import PageRequest, posted, project_page
from reviews.models.samples import MAX_KNOWN
from reviews.services.protocols.readers import shown_stage_titles
from reviews.services.statistics.sensitivity import (
    MeasuredSensitivity,
    audited_stages,
    enter_test,
    list_tests,
    read_sensitivity,
    withdraw_test,
)
from reviews.views.statistics.layout import Column, Table, figure_columns


class SensitivityTestForm(forms.Form):
    stage = forms.ChoiceField(label=_("Audit in stage"))
    known = WholeNumberField(
        min_value=1,
        max_value=MAX_KNOWN,
        label=_("Items with known errors"),
        help_text=_("Audited items in which a second review found an error."),
    )
    found = WholeNumberField(
        min_value=0,
        max_value=MAX_KNOWN,
        label=_("Of these noticed"),
        help_text=_("Items in which the audit had found an error, too."),
    )
    note = forms.CharField(
        required=False,
        max_length=500,
        label=_("Note"),
        help_text=_("For example who reviewed again, and how the items were chosen."),
    )


@project_page
@require_http_methods(["GET", "HEAD", "POST"])
def audit_sensitivity(request: PageRequest) -> HttpResponse:
    """Show the sensitivity of each audit and its tests; POST enters a test, or takes one back (``withdraw``)."""
    project = request.project
    require_role(actor=request.user, project=project, roles=OVERSEERS)
    if request.method == "POST":
        require_administrator(actor=request.user, project=project)
    titles = shown_stage_titles(project)
    stages = audited_stages(project)
    form = SensitivityTestForm(None if "withdraw" in request.POST else posted(request))
    form.fields["stage"].choices = [(stage, titles.get(stage, stage)) for stage in stages]  # type: ignore[attr-defined]
    if "withdraw" in request.POST:
        withdraw_test(actor=request.user, project=project, public_id=request.POST["withdraw"])
        messages.success(request, gettext("The test was taken back. It no longer counts."))
        return redirect("statistics-sensitivity", slug=project.slug)
    if request.method == "POST" and form.is_valid():
        try:
            enter_test(actor=request.user, project=project, **form.cleaned_data)
        except Invalid as refusal:
            form.add_error(refusal.details.get("field"), refusal.sentence)
        else:
            messages.success(request, gettext("Saved. The estimates of residual errors now include this test."))
            return redirect("statistics-sensitivity", slug=project.slug)
    measured = read_sensitivity(project, stages)
    context = {
        "project": project,
        "audits": [
            (titles.get(stage, stage), sensitivity_table(measured[stage]) if measured[stage].total.known else None)
            for stage in stages
        ],
        "tests": [(titles.get(one.stage, one.stage), one) for one in list_tests(project)],
        "form": form if stages and Role.ADMINISTRATOR in request.roles else None,
    }
    return render(
        request, "reviews/statistics/sensitivity.html", context, status=422 if request.method == "POST" else 200
    )


def sensitivity_table(measured: MeasuredSensitivity) -> Table:
    """Return how many items with known errors were noticed, by source and in total."""
    rows = (
        (gettext("Tests"), measured.tests),
        (gettext("Reviews of retired gold items by the same people, in any stage"), measured.gold),
        (gettext("Total"), measured.total),
    )
    return Table.listing(
        (SimpleNamespace(source=source, counts=counts) for source, counts in rows if counts.known),
        key="sensitivity",
        caption=gettext("Items with known errors that the reviewers noticed"),
        columns=[
            Column("source", gettext("Source")),
            Column("noticed", gettext("Noticed"), "count", "counts.found"),
            *figure_columns("share", "counts.figure"),
        ],
    )
