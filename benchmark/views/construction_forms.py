"""The form that makes constrained cases from others."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotator.core.case_construction import DRAWN, CannotConstruct
from annotator.views.number_fields import WholeNumberField
from annotator.views.text_field import TextField
from benchmark.core.constructing import MAX_SEED, Options
from benchmark.core.formats.interface import MAX_ID
from benchmark.services.constructing.rewriting import Rewriting
from benchmark.services.constructing.sources import MAX_SOURCES, Request
from benchmark.views.writer_forms import WriterForm


class ConstructForm(WriterForm):
    """From what to make cases, and how; with an endpoint, its model rewrites the sentences."""

    without_model = _("None: the sentences stay")
    field_order = ("sources", "only_verified", "seed", "percent", "without")

    sources = TextField(
        label=_("Source cases"),
        required=False,
        max_length=MAX_SOURCES * (MAX_ID + 1),
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Their ids, one per line. If empty, all cases of the list are used."),
    )
    only_verified = forms.BooleanField(label=_("Only verified cases"), required=False, initial=True)
    seed = WholeNumberField(
        label=_("Seed"),
        min_value=0,
        max_value=MAX_SEED,
        initial=1,
        help_text=_("The same seed gives the same cases. Another seed gives other cases from the same sources."),
    )
    percent = WholeNumberField(
        label=_("Probability of each category, in percent"), min_value=1, max_value=100, initial=50
    )
    without = forms.MultipleChoiceField(
        label=_("Categories to leave out"),
        required=False,
        choices=[(name, name) for name in DRAWN],
        widget=forms.CheckboxSelectMultiple,
    )

    def clean(self) -> dict[str, Any]:
        """Add the ``request``."""
        data = super().clean()
        if not self.errors:
            names = tuple(dict.fromkeys(line.strip() for line in data["sources"].splitlines() if line.strip()))
            try:
                options = Options(data["seed"], data["percent"] / 100, tuple(data["without"]))
            except CannotConstruct as problem:
                raise forms.ValidationError(str(problem)) from None
            data["request"] = Request(options, names, data["only_verified"])
        return data

    @property
    def rewriting(self) -> Rewriting | None:
        """Who rewrites the sentences, of a valid form."""
        data, player = self.cleaned_data, self.player
        if player is None:
            return None
        return Rewriting.of(
            player, self.budget, retries=self.retries_given, look=data["look"], idempotent=data["idempotent"]
        )

    @property
    def of_cases(self) -> list[Any]:
        """The fields of the cases."""
        return [self[one] for one in self.field_order]
