"""Forms of generations and of prompts."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from django import forms
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from annotator.models import Project, Toolset, ToolsetRevision
from annotator.presentation.components.labels import LABELS
from annotator.views.text_field import TextField
from benchmark.core.generation.cells import FAR_RELATION, HIDING, MAX_TASKS, POLICIES, cell_name
from benchmark.core.generation.purposes import Role
from benchmark.core.generation.state import MAX_CANDIDATES, MAX_RETRIES
from benchmark.core.generation.templates import MAX_SOURCE
from benchmark.models import Chooser
from benchmark.services.generation.requests import Player
from benchmark.services.inference import options as limits
from benchmark.views.inference_forms import BudgetForm

#: What plays a role without a model of its own: the default, or people.
_DEFAULT, _PEOPLE = "", "people"
#: The fields of a model.
_OF_MODEL = ("model", "input_price", "output_price")
_PRICE: dict[str, Any] = {"required": False, "min_value": 0, "max_digits": 9, "decimal_places": 4}


def _labelled(kind: str, names: tuple[str, ...]) -> list[tuple[str, Any]]:
    return [(name, _(LABELS[kind][name].text)) for name in names]


class GenerationForm(BudgetForm):
    """What is generated, by whom, and within which limits."""

    toolset = forms.ModelChoiceField(
        queryset=Toolset.objects.none(), to_field_name="public_id", empty_label=None, label=_("Toolset"),
        help_text=_("Its newest revision is used."),
    )  # fmt: skip
    name = forms.CharField(
        max_length=200, required=False, label=_("Name"),
        help_text=_("The ID of the dialogue. Blank: from the policies, the language and the seed."),
    )  # fmt: skip
    language = forms.ChoiceField(choices=_labelled("language", ("en", "zh")), label=_("Language"))
    env_info = TextField(
        required=False, max_length=2_000, label=_("Environment"), widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("What all roles know, such as the date and the place."),
    )  # fmt: skip
    seed = forms.IntegerField(
        min_value=0, max_value=limits.MAX_NUMBER, initial=1, label=_("Seed"),
        help_text=_("Draws the functions that a request should be about."),
    )  # fmt: skip
    chooser = forms.ChoiceField(choices=Chooser.choices, label=_("Who chooses among the requests"))
    candidates = forms.IntegerField(
        min_value=1, max_value=MAX_CANDIDATES, initial=5, label=_("Requests proposed for the first task")
    )
    per_relation = forms.IntegerField(
        min_value=1, max_value=MAX_CANDIDATES, initial=3, label=_("Requests proposed for each relation")
    )
    retries = forms.IntegerField(
        min_value=0, max_value=MAX_RETRIES, initial=2, label=_("Retries"),
        help_text=_("After an answer that is not accepted. Then a person must act."),
    )  # fmt: skip
    records = forms.FileField(
        required=False, label=_("Recorded answers"),
        help_text=_("JSON lines from an earlier generation. No model is asked then."),
    )  # fmt: skip
    idempotent = forms.BooleanField(
        required=False, label=_("Repeated requests are charged once"),
        help_text=_("Only if all endpoints support Idempotency-Key. Otherwise Assay asks you before it repeats one."),
    )  # fmt: skip

    def __init__(self, *args: Any, project: Project, endpoints: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        toolset: Any = self.fields["toolset"]
        toolset.queryset = Toolset.objects.filter(project=project, head__isnull=False).order_by("name")
        for number in range(1, MAX_TASKS + 1):
            self._add_task(number)
        self._endpoints = {one.public_id: one for one in endpoints}
        for role in ("all", *Role):
            self._add_role(str(role))

    def _add_task(self, number: int) -> None:
        first = number == 1
        choices = _labelled("policy", POLICIES)
        self.fields[f"policy_{number}"] = forms.ChoiceField(
            required=first, label=_("Policy"), choices=choices if first else [("", _("No task")), *choices]
        )
        if not first:
            self.fields[f"relations_{number}"] = forms.MultipleChoiceField(
                required=False, label=_("Relation to earlier tasks"), initial=[HIDING[0]],
                choices=_labelled("information", HIDING), widget=forms.CheckboxSelectMultiple,
            )  # fmt: skip

    def _add_role(self, role: str) -> None:
        first = (_DEFAULT, _("People, or recorded answers") if role == "all" else _("As for all roles"))
        others = [] if role == "all" else [(_PEOPLE, _("People"))]
        names = [(key, one.name) for key, one in self._endpoints.items()]
        self.fields[f"{role}_endpoint"] = forms.ChoiceField(
            required=False, label=_("Endpoint"), choices=[first, *others, *names]
        )
        self.fields[f"{role}_model"] = forms.CharField(required=False, max_length=120, label=_("Model"))
        self.fields[f"{role}_input_price"] = forms.DecimalField(label=_("Price of a million input tokens"), **_PRICE)
        self.fields[f"{role}_output_price"] = forms.DecimalField(label=_("Price of a million output tokens"), **_PRICE)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        policies = [data.get(f"policy_{number}") or "" for number in range(1, MAX_TASKS + 1)]
        for number in range(2, MAX_TASKS + 1):
            if not policies[number - 1] and any(policies[number:]):
                self.add_error(f"policy_{number}", _now("Choose a policy, because there is a later task."))
            if policies[number - 1] and not data.get(f"relations_{number}"):
                self.add_error(f"relations_{number}", _now("Choose at least one relation."))
        if policies[1] and FAR_RELATION in data.get("relations_2", ()):
            self.add_error("relations_2", _now("A long-range dependency needs two tasks before it."))
        for role in ("all", *Role):
            asked = data.get(f"{role}_endpoint") not in (_DEFAULT, _PEOPLE, None)
            if asked and data.get("records"):
                self.add_error(f"{role}_endpoint", _now("With recorded answers, no endpoint is asked. Clear one."))
            elif asked and not data.get(f"{role}_model"):
                self.add_error(f"{role}_model", _now("Name the model at this endpoint."))
            elif data.get(f"{role}_model") and not self._is_asked(data, role) and not data.get("records"):
                self.add_error(f"{role}_endpoint", _now("Choose the endpoint of this model."))
        return data

    def _is_asked(self, data: dict[str, Any], role: str) -> bool:
        """Return whether an endpoint, its own or that of all roles, plays a role."""
        own = data.get(f"{role}_endpoint")
        return own not in (_DEFAULT, _PEOPLE) or (own == _DEFAULT and data.get("all_endpoint") != _DEFAULT)

    @property
    def revision(self) -> ToolsetRevision:
        """The newest revision of the chosen toolset."""
        head = self.cleaned_data["toolset"].head
        assert isinstance(head, ToolsetRevision)  # noqa: S101 - the choices have one
        return head

    @property
    def setup(self) -> dict[str, Any]:
        """The setup of a valid form: see ``core.generation.state.Setup``."""
        data = self.cleaned_data
        numbers = [number for number in range(1, MAX_TASKS + 1) if data[f"policy_{number}"]]
        policies = [data[f"policy_{number}"] for number in numbers]
        name = data["name"] or f"{cell_name(policies)}-{data['language']}-{data['seed']}"
        return {
            "name": name, "policies": policies,
            "relations": [["explicit"], *(data[f"relations_{number}"] for number in numbers[1:])],
            "env_info": data["env_info"].strip() or None,
        } | {one: data[one] for one in ("language", "seed", "retries", "candidates", "per_relation")}  # fmt: skip

    @property
    def players(self) -> dict[Role, Player]:
        """The models of a valid form."""
        found = {role: self._player(role.value) for role in Role}
        return {role: player for role, player in found.items() if player is not None}

    def _player(self, role: str) -> Player | None:
        data = self.cleaned_data
        chosen = data[f"{role}_endpoint"]
        if chosen == _PEOPLE:
            return None
        given = {one: data[f"{role}_{one}"] for one in _OF_MODEL if data[f"{role}_{one}"] not in (None, "")}
        if chosen == _DEFAULT:
            common = None if role == "all" else self._player("all")
            return common and replace(common, **given)
        return Player(endpoint=self._endpoints[chosen], **given)

    @property
    def tasks(self) -> Iterator[tuple[int, list[Any]]]:
        """The fields of each task."""
        for number in range(1, MAX_TASKS + 1):
            names = (f"policy_{number}", f"relations_{number}")
            yield number, [self[name] for name in names if name in self.fields]

    @property
    def roles(self) -> Iterator[tuple[str, list[Any], bool]]:
        """The fields of each role, and whether one of them is wrong."""
        for role in ("all", *Role):
            fields = [self[f"{role}_{one}"] for one in ("endpoint", "model", "input_price", "output_price")]
            yield str(role), fields, any(one.errors for one in fields)

    @property
    def content(self) -> list[Any]:
        return [self[one] for one in ("toolset", "name", "language", "env_info", "seed")]

    @property
    def choice(self) -> list[Any]:
        return [self[one] for one in ("chooser", "candidates", "per_relation", "retries")]

    @property
    def bounds(self) -> list[Any]:
        return [self[one] for one in ("token_budget", "cost_budget", "idempotent")]


class PromptForm(forms.Form):
    content = TextField(
        max_length=MAX_SOURCE, strip=False, label=_("Template"),
        widget=forms.Textarea(attrs={"rows": 24, "spellcheck": "false", "class": "mono"}),
    )  # fmt: skip
