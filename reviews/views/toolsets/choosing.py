"""The page that chooses functions for a scenario."""

from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from annotator.core.schema.toolsets import MAX_TOOLS
from annotator.errors import Invalid
from annotator.models import Project, Toolset
from annotator.presentation.dialogue import pretty
from annotator.presentation.tool_parameters import shown_functions
from annotator.services.access.permissions import require_administrator
from annotator.services.toolsets.details import Details, details_of
from annotator.services.toolsets.listing import Filters, narrowed
from annotator.services.toolsets.subsets import Subset, choose_subset
from annotator.views.number_fields import WholeNumberField
from annotator.views.pages import PageRequest, project_page, takes
from reviews.views.toolsets.forms import SEPARATORS, DetailsForm, category_choices, entered

#: Connections that the page lists.
LISTED = 100


class ChoiceForm(forms.Form):
    """From which toolsets how many functions are chosen."""

    category = forms.ChoiceField(required=False, label=_("Category"), help_text=_("All toolsets of a category."))
    toolset = forms.ChoiceField(required=False, label=_("Toolset"), help_text=_("Or the functions of one toolset."))
    count = WholeNumberField(min_value=1, max_value=MAX_TOOLS, initial=5, label=_("Number of functions"))
    seed = forms.CharField(
        max_length=60, initial="1", label=_("Seed"), help_text=_("The same seed chooses the same functions.")
    )
    must = forms.CharField(
        required=False,
        max_length=2_000,
        label=_("Always among them"),
        help_text=_("Names of functions, separated by commas."),
    )
    connected = forms.BooleanField(
        required=False,
        initial=True,
        label=_("Functions that work together"),
        help_text=_("Prefer functions whose results become parameters of others."),
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        category: Any = self.fields["category"]
        category.choices = category_choices(project)
        toolsets: Any = self.fields["toolset"]
        named = Toolset.objects.filter(project=project).order_by("name").values_list("public_id", "name")
        toolsets.choices = [("", _now("None")), *named]

    def chosen(self) -> Subset:
        """Return the functions. Raises Invalid with the field."""
        data = self.cleaned_data
        if bool(data["category"]) == bool(data["toolset"]):
            raise Invalid(_now("Choose either a category or a toolset."), field="category")
        rows = narrowed(self.project, Filters(category=data["category"]))
        if data["toolset"]:
            rows = rows.filter(public_id=data["toolset"])
        must = [name for name in SEPARATORS.split(data["must"]) if name]
        return choose_subset(rows, count=data["count"], seed=data["seed"], must=must, connected=data["connected"])


@project_page
@require_safe
@takes("category", "toolset", "count", "seed", "must", "connected")
def toolset_choose(request: PageRequest) -> HttpResponse:
    """Choose functions for a scenario, show what they give each other, and offer to save them as a toolset."""
    project = request.project
    require_administrator(actor=request.user, project=project)
    asked = any(request.GET.get(name) for name in ChoiceForm.base_fields)
    form = ChoiceForm(request.GET if asked else None, project=project)
    subset = None
    if form.is_bound and form.is_valid():
        try:
            subset = form.chosen()
        except Invalid as refusal:
            form.add_error(refusal.details["field"], refusal.sentence)
    context = {
        "project": project,
        "form": form,
        "subset": subset,
        "trail": [
            (project.name, f"/p/{project.slug}/"),
            (_now("Toolsets"), f"/p/{project.slug}/toolsets/"),
            (_now("Choose functions"), ""),
        ],
    }
    if subset is not None:
        data = form.cleaned_data
        chosen = Toolset.objects.filter(project=project, public_id=data["toolset"]).first()
        details = Details(data["category"], data["category"]) if chosen is None else details_of(chosen)
        name = f"{details.name[:70]}: {len(subset.tools)} of {subset.of}, seed {data['seed'][:20]}"
        context |= {
            "tools": shown_functions(subset.tools),
            "text": pretty(subset.tools),
            "feeds": subset.feeds[:LISTED],
            "more_feeds": max(0, len(subset.feeds) - LISTED),
            "details": DetailsForm(project=project, auto_id="details_%s", initial=entered(details) | {"name": name}),
        }
    return render(request, "reviews/toolsets/choose.html", context, status=422 if form.errors else 200)
