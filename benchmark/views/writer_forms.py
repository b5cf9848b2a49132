"""Forms that say which model answers, and which one writes texts: translations, and sentences in other words."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from annotator.presentation.components.labels import LABELS
from annotator.views.number_fields import WholeNumberField
from benchmark.core.generation.state import MAX_RETRIES
from benchmark.services.generation.requests import Player
from benchmark.views.inference_forms import BudgetForm, price_field


class PlayerForm(BudgetForm):
    """The model that answers, and its limits."""

    endpoint = forms.ChoiceField(required=False, label=_("Endpoint"))
    model = forms.CharField(required=False, max_length=120, label=_("Model"))
    input_price = price_field(_("Price of a million input tokens"))
    output_price = price_field(_("Price of a million output tokens"))
    idempotent = forms.BooleanField(
        required=False, label=_("Repeated requests are charged once"),
        help_text=_("Only if the endpoint supports Idempotency-Key. Otherwise Assay asks you before it repeats one."),
    )  # fmt: skip

    #: What the choice without an endpoint means.
    without_model: Any = _("People")

    def __init__(self, *args: Any, endpoints: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._endpoints = {one.public_id: one for one in endpoints}
        chosen: Any = self.fields["endpoint"]
        chosen.choices = [("", self.without_model), *((key, one.name) for key, one in self._endpoints.items())]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("endpoint") and not data.get("model"):
            self.add_error("model", _now("Name the model at this endpoint."))
        elif data.get("model") and not data.get("endpoint"):
            self.add_error("endpoint", _now("Choose the endpoint of this model."))
        if data.get("endpoint") and data.get("records"):
            self.add_error("endpoint", _now("With recorded answers, no endpoint is asked. Clear one."))
        if data.get("cost_budget") is not None and not (data.get("input_price") or data.get("output_price")):
            self.add_error("cost_budget", _now("A limit on the cost needs the prices of the tokens."))
        return data

    @property
    def player(self) -> Player | None:
        """The model of a valid form; None if there is none."""
        data = self.cleaned_data
        if not data["endpoint"]:
            return None
        prices = {name: data[name] for name in ("input_price", "output_price") if data[name] is not None}
        return Player(data["model"], self._endpoints[data["endpoint"]], **prices)

    @property
    def of_model(self) -> list[Any]:
        """The fields of the model."""
        return [self[one] for one in ("endpoint", "model", "input_price", "output_price")]


class WriterForm(PlayerForm):
    """The model that writes texts, and its limits."""

    retries = WholeNumberField(
        required=False, min_value=0, max_value=MAX_RETRIES, initial=2, label=_("Retries"),
        help_text=_("After an answer that is not accepted."),
    )  # fmt: skip
    look = forms.BooleanField(
        required=False, label=_("Wait before the texts are used"),
        help_text=_("So that people can look at them and change them first."),
    )  # fmt: skip

    @property
    def retries_given(self) -> int:
        given = self.cleaned_data["retries"]
        return 2 if given is None else int(given)

    @property
    def player_is_wrong(self) -> bool:
        """Whether a field of the model or its limits is wrong."""
        return any(one.errors for one in (*self.of_model, *self.of_limits))

    @property
    def of_limits(self) -> list[Any]:
        """The fields of its limits."""
        return [self[one] for one in ("retries", "look", "token_budget", "cost_budget", "idempotent")]


class RenewalForm(WriterForm):
    records = forms.FileField(
        required=False, label=_("Recorded answers"),
        help_text=_("JSON lines from an earlier translation. No model is asked then."),
    )  # fmt: skip


class TranslationForm(RenewalForm):
    language = forms.ChoiceField(label=_("Language"))

    def __init__(self, *args: Any, languages: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        chosen: Any = self.fields["language"]
        chosen.choices = [(one, _(LABELS["language"][one].text)) for one in languages]
