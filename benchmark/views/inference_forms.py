"""Forms of endpoints and inferences."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from annotator.core.schema.exact_json import dumps, loads
from annotator.models import User
from annotator.views.number_fields import DecimalNumberField, NumberField, WholeNumberField
from annotator.views.text_field import TextField
from benchmark.models import Endpoint
from benchmark.services.inference import options as limits
from benchmark.services.inference.endpoints import MAX_KEY, MAX_NAME, MAX_URL
from benchmark.services.inference.options import Options, absent_options
from benchmark.services.inference.requests import Budget
from benchmark.views.mode_forms import ModeForm

#: Options that say which entries are asked; the others are a model's.
_OF_ENTRIES = ("attempts", "delays", "delay_seed", "limit")


class EndpointForm(forms.Form):
    name = forms.CharField(
        max_length=MAX_NAME, label=_("Name"), help_text=_("For example the provider’s. Runs show it.")
    )
    base_url = forms.CharField(
        max_length=MAX_URL,
        label=_("Base URL"),
        help_text=_("Of an OpenAI-compatible chat API; usually ends in /v1."),
        widget=forms.TextInput(attrs={"inputmode": "url", "autocomplete": "off", "spellcheck": "false"}),
    )
    key = forms.CharField(
        max_length=MAX_KEY,
        required=False,
        label=_("Key"),
        help_text=_("Stored encrypted, and never shown again. Blank if the endpoint needs none."),
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )


def price_field(label: Any) -> DecimalNumberField:
    """Return a field for the price of a million tokens."""
    return DecimalNumberField(label=label, required=False, min_value=0, max_digits=9, decimal_places=4)


class BudgetForm(forms.Form):
    """Limits on what an inference may use in total."""

    token_budget = WholeNumberField(
        required=False,
        min_value=1,
        max_value=limits.MAX_BUDGET,
        label=_("Tokens at most"),
        help_text=_("Blank: no limit."),
    )
    cost_budget = DecimalNumberField(
        required=False,
        min_value=0,
        max_digits=12,
        decimal_places=4,
        label=_("Cost at most"),
        help_text=_("Blank: no limit."),
    )

    @property
    def budget(self) -> Budget:
        """The limits of a valid form."""
        return Budget(self.cleaned_data["token_budget"], self.cleaned_data["cost_budget"])


class EntriesForm(ModeForm):
    """The entries that are asked, and how."""

    delays = forms.CharField(
        max_length=100,
        initial="1",
        label=_("Delays"),
        help_text=_("Rounds until a result comes, such as 0, 1 or 0-1. Separate several by commas."),
    )
    delay_seed = WholeNumberField(
        min_value=0,
        max_value=limits.MAX_NUMBER,
        initial=0,
        label=_("Seed of delays"),
        help_text=_("For delays such as 0-1."),
    )
    limit = WholeNumberField(
        required=False,
        min_value=1,
        max_value=limits.MAX_NUMBER,
        label=_("Only the first"),
        help_text=_("So many dialogues, cases or composites, to try it out. Blank: all."),
    )

    def __init__(self, *args: Any, families: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, families=families, **kwargs)
        for name in absent_options(families):
            self.fields.pop(name, None)

    def options_given(self, *names: str) -> dict[str, Any]:
        """The options of a valid form, with those of other names."""
        data = self.cleaned_data
        given = {name: data[name] for name in (*names, "limit", "delay_seed") if name in data}
        if "delays" in data:
            given["delays"] = tuple(one.strip() for one in data["delays"].split(",") if one.strip())
        return given


class BaselineForm(EntriesForm):
    person = forms.ModelChoiceField(
        queryset=User.objects.none(),
        to_field_name="public_id",
        label=_("Person"),
        help_text=_("Sees what a model sees: also the reference of the earlier tasks of a dialogue."),
        empty_label=None,
    )
    name = forms.CharField(
        max_length=120,
        required=False,
        label=_("Name of the run"),
        help_text=_("On the leaderboard. Blank: Human baseline."),
    )
    field_order = ("person", "name", "family", "history", "language", "delays", "delay_seed", "limit")

    def __init__(self, *args: Any, people: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        person = self.fields["person"]
        assert isinstance(person, forms.ModelChoiceField)  # noqa: S101 - declared above
        person.queryset = people
        for name in ("tool_mode", "thinking"):
            self.fields.pop(name, None)


class InferenceForm(EntriesForm, BudgetForm):
    endpoint = forms.ModelChoiceField(
        queryset=Endpoint.objects.none(), to_field_name="public_id", label=_("Endpoint"), empty_label=None
    )
    model = forms.CharField(max_length=120, label=_("Model"), help_text=_("Its name at the endpoint."))
    name = forms.CharField(
        max_length=120,
        required=False,
        label=_("Name of the run"),
        help_text=_("On the leaderboard. Blank: the model’s name."),
    )
    attempts = WholeNumberField(
        min_value=1, max_value=limits.MAX_ATTEMPTS, initial=1, label=_("Attempts"), help_text=_("At each case.")
    )
    temperature = NumberField(required=False, min_value=0, max_value=limits.MAX_TEMPERATURE, label=_("Temperature"))
    seed = WholeNumberField(required=False, min_value=0, max_value=limits.MAX_NUMBER, label=_("Seed"))
    max_tokens = WholeNumberField(
        required=False,
        min_value=1,
        max_value=limits.MAX_REPLY_TOKENS,
        label=_("Tokens of a reply at most"),
        help_text=_("Sent as max_tokens. Blank: the endpoint decides."),
    )
    extra = TextField(
        required=False,
        max_length=limits.MAX_EXTRA,
        label=_("More parameters"),
        help_text=_('A JSON object that is added to each request, such as {"reasoning_effort": "high"}.'),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
    )
    strip_thinking = forms.BooleanField(
        required=False,
        label=_("Leave out <think>…</think>"),
        help_text=_("Thoughts in replies are neither sent back nor scored."),
    )
    stream = forms.BooleanField(required=False, label=_("Stream replies"))
    concurrency = WholeNumberField(
        min_value=1, max_value=limits.MAX_CONCURRENCY, initial=4, label=_("Requests at the same time")
    )
    per_minute = WholeNumberField(
        required=False,
        min_value=1,
        max_value=limits.MAX_PER_MINUTE,
        label=_("Requests in a minute at most"),
        help_text=_("Blank: no limit."),
    )
    timeout = WholeNumberField(
        min_value=limits.TIMEOUTS[0], max_value=limits.TIMEOUTS[1], initial=120, label=_("Seconds for a reply at most")
    )
    input_price = price_field(_("Price of a million input tokens"))
    output_price = price_field(_("Price of a million output tokens"))

    #: The form's parts: heading and fields.
    PARTS = (
        (_("Model"), ("endpoint", "model", "name")),
        (
            _("What is asked"),
            ("family", "history", "language", "tool_mode", *_OF_ENTRIES),
        ),
        (_("Sampling"), ("temperature", "seed", "max_tokens", "thinking", "extra", "strip_thinking", "stream")),
        (
            _("Speed and cost"),
            ("concurrency", "per_minute", "timeout", "input_price", "output_price", "token_budget", "cost_budget"),
        ),
    )

    def __init__(self, *args: Any, families: Sequence[str], endpoints: Any, **kwargs: Any) -> None:
        super().__init__(*args, families=families, **kwargs)
        endpoint = self.fields["endpoint"]
        assert isinstance(endpoint, forms.ModelChoiceField)  # noqa: S101 - declared above
        endpoint.queryset = endpoints

    @property
    def parts(self) -> list[tuple[Any, list[Any]]]:
        """The fields of this form by part."""
        return [(title, [self[name] for name in names if name in self.fields]) for title, names in self.PARTS]

    def clean_extra(self) -> dict[str, Any]:
        text = self.cleaned_data["extra"]
        if not text.strip():
            return {}
        try:
            value = loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise forms.ValidationError(_now('Enter a JSON object, such as {"top_p": 0.9}.'))
        return value

    @property
    def options(self) -> Options:
        """The options of a valid form."""
        names = ("temperature", "seed", "max_tokens", "extra", "stream", "strip_thinking", "concurrency", "per_minute",
                 "timeout", "attempts")  # fmt: skip
        return Options(**self.options_given(*names))


def describe_options(options: Options, family: str, *, model: bool = True) -> list[tuple[Any, Any]]:
    """Return the options that were given, as label and value. ``model``: with those that only models have."""
    absent = absent_options([family])
    found = []
    for name, value in options.as_json().items():
        given = value is not None and value is not False and value != {}
        if given and name not in absent and (model or name in _OF_ENTRIES):
            if value is True:
                value = _("yes")
            elif isinstance(value, list):
                value = ", ".join(value)
            elif isinstance(value, dict):
                value = dumps(value).decode()
            found.append((InferenceForm.base_fields[name].label, value))
    return found
