"""The form that samples trajectories."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from annotator.core.case_construction import DRAWN, CannotConstruct
from annotator.views.number_fields import WholeNumberField
from annotator.views.text_field import TextField
from benchmark.core.constructing import MAX_SEED, Options
from benchmark.core.formats.interface import MAX_ID
from benchmark.core.generation.purposes import Role
from benchmark.core.sampling import MAX_ATTEMPTS, MAX_QUERIES
from benchmark.services.generation.requests import Player
from benchmark.views.inference_forms import BudgetForm
from benchmark.views.writer_forms import PlayerForm


class LimitsForm(BudgetForm):
    """Other limits of a sampling that goes on."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.help_text = _("Of all attempts together. Blank: as before.")


class SamplingForm(PlayerForm):
    """Queries, who plays the roles, within which limits, and which cases are made of the trajectories."""

    field_order = (
        "queries", "sources", "attempts", "endpoint", "model", "input_price", "output_price", "idempotent",
        "token_budget", "cost_budget", "records", "seed", "percent", "without",
    )  # fmt: skip

    without_model = _("People, or recorded answers")

    queries = forms.FileField(
        required=False, label=_("File of queries"),
        help_text=_("JSON lines with the question, the tools with their code, and the expected results."),
    )  # fmt: skip
    sources = TextField(
        required=False, label=_("Cases of the project"), max_length=MAX_QUERIES * (MAX_ID + 1),
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_(
            "Instead of a file: ids of constrained cases, or of single tasks whose tools keep no state, one per line. "
            "Only their queries and expected results are used."
        ),
    )  # fmt: skip
    attempts = WholeNumberField(
        min_value=1, max_value=MAX_ATTEMPTS, initial=3, label=_("Attempts at each query"),
        help_text=_("Until one returns everything that is expected."),
    )  # fmt: skip
    records = forms.FileField(
        required=False, label=_("Recorded answers"), help_text=_("JSON lines. No model is asked then.")
    )
    seed = WholeNumberField(min_value=0, max_value=MAX_SEED, initial=1, label=_("Seed"))
    percent = WholeNumberField(
        min_value=1, max_value=100, initial=50, label=_("Probability of each category, in percent")
    )
    without = forms.MultipleChoiceField(
        required=False, label=_("Categories to leave out"), choices=[(name, name) for name in DRAWN],
        widget=forms.CheckboxSelectMultiple,
    )  # fmt: skip

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if "queries" not in self.errors and bool(data.get("queries")) == bool(data.get("sources", "").strip()):
            self.add_error("queries", _now("Give either a file or cases of the project."))
        if not self.errors:
            try:
                data["options"] = Options(data["seed"], data["percent"] / 100, tuple(data["without"]))
            except CannotConstruct as problem:
                raise forms.ValidationError(str(problem)) from None
        return data

    @property
    def names(self) -> list[str]:
        """The ids of cases of the project, each once."""
        lines = self.cleaned_data["sources"].splitlines()
        return list(dict.fromkeys(line.strip() for line in lines if line.strip()))

    @property
    def players(self) -> dict[Role, Player]:
        """The model of all roles; none if people play them."""
        return {} if self.player is None else dict.fromkeys(Role, self.player)
