"""Forms of generations and of prompts."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from django import forms
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from annotator.core.editing.json_text import JsonProblem, read_json
from annotator.models import Dialogue, Project, Toolset, ToolsetRevision
from annotator.presentation.components.labels import LABELS, words_of
from annotator.translation import translated_text
from annotator.views.number_fields import WholeNumberField
from annotator.views.text_field import TextField
from benchmark.core.generation.answers import MAX_MESSAGE
from benchmark.core.generation.cells import (
    FAR,
    FAR_RELATION,
    HIDING,
    MAX_TASKS,
    POLICIES,
    continued_name,
    default_name,
)
from benchmark.core.generation.purposes import DIALOGUE_ROLES, Role
from benchmark.core.generation.state import MAX_CANDIDATES, MAX_RETRIES
from benchmark.core.generation.templates import MAX_SOURCE
from benchmark.models import Chooser
from benchmark.services.generation.requests import Player
from benchmark.services.inference import options as limits
from benchmark.views.inference_forms import BudgetForm, price_field
from reviews.services.protocols.versions import current_protocol
from reviews.services.transitions.verified_tools import demands_verified_tools, verified_in

#: What plays a role without a model of its own: the default, or people.
_DEFAULT, _PEOPLE = "", "people"
#: The fields of a model.
_OF_MODEL = ("model", "input_price", "output_price")
#: Characters of an initial state.
MAX_STATE = 100_000
#: Fields that are parts of the setup as they are.
_AS_GIVEN = ("language", "seed", "retries", "candidates", "per_relation", "run_tools", "initial_state")


def _past_choice(offer: Any) -> tuple[str, str]:
    policies = " → ".join(words_of("policy", one) for one in offer.dialogue.policy_list)
    known = f" ({_now('continued already')})" if offer.continued else ""
    language = words_of("language", offer.dialogue.language)
    return offer.dialogue.public_id, f"{offer.dialogue.external_id}: {policies}, {language}{known}"


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
    request = TextField(
        required=False, max_length=MAX_MESSAGE, label=_("First request"), widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("The user’s first message. If it is blank, the user’s role proposes requests."),
    )  # fmt: skip
    run_tools = forms.BooleanField(
        required=False, initial=True, label=_("Run functions that have code"),
        help_text=_("They run in the sandbox. Otherwise, and without code, the tool’s role simulates their results."),
    )  # fmt: skip
    initial_state = TextField(
        required=False, max_length=MAX_STATE, label=_("Initial state of the tools"),
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false", "class": "mono"}),
        help_text=_("JSON, for tools that keep a state."),
    )  # fmt: skip
    seed = WholeNumberField(
        min_value=0, max_value=limits.MAX_NUMBER, initial=1, label=_("Seed"),
        help_text=_("Draws the functions that a request should be about."),
    )  # fmt: skip
    chooser = forms.ChoiceField(choices=Chooser.choices, label=_("Who chooses among the requests"))
    candidates = WholeNumberField(
        min_value=1, max_value=MAX_CANDIDATES, initial=5, label=_("Requests proposed for the first task")
    )
    per_relation = WholeNumberField(
        min_value=1, max_value=MAX_CANDIDATES, initial=3, label=_("Requests proposed for each relation")
    )
    retries = WholeNumberField(
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

    past = forms.ChoiceField(
        required=False, label=_("Continues"),
        error_messages={"invalid_choice": _("This dialogue can’t be continued: it must be verified and not stale.")},
        help_text=_("A verified dialogue with the first policies. Its tools, language and environment are used."),
    )  # fmt: skip

    def __init__(self, *args: Any, project: Project, endpoints: Any, pasts: Any = (), **kwargs: Any) -> None:
        """``pasts``: the verified dialogues that can be continued, as ``layers.Offer``."""
        super().__init__(*args, **kwargs)
        self._pasts: dict[str, Dialogue] = {one.dialogue.public_id: one.dialogue for one in pasts}
        past: Any = self.fields["past"]
        past.choices = [("", _("Nothing: all tasks are generated")), *map(_past_choice, pasts)]
        self._offer_toolsets(project)
        for number in range(1, MAX_TASKS + 1):
            self._add_task(number)
        self._endpoints = {one.public_id: one for one in endpoints}
        for role in ("all", *DIALOGUE_ROLES):
            self._add_role(str(role))

    def _offer_toolsets(self, project: Project) -> None:
        """List the toolsets, verified ones first if dialogues wait until their tools are verified."""
        toolset: Any = self.fields["toolset"]
        toolset.queryset = Toolset.objects.filter(project=project, head__isnull=False).order_by("name")
        protocol = current_protocol(project)
        if project.toolset_review_id is None or protocol is None or not demands_verified_tools(project, protocol):
            return
        same = verified_in(project.toolset_review_id).filter(content_hash=OuterRef("head__content_hash"))
        toolset.queryset = toolset.queryset.annotate(verified=Exists(same)).order_by("-verified", "name")
        toolset.label_from_instance = lambda one: (
            str(one) if one.verified else _now("%(toolset)s (not verified)") % {"toolset": one}
        )
        toolset.help_text = _(
            "Its newest revision is used. A dialogue for a toolset that is not verified waits until it is."
        )

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
        self.fields[f"{role}_input_price"] = price_field(_("Price of a million input tokens"))
        self.fields[f"{role}_output_price"] = price_field(_("Price of a million output tokens"))

    def clean_initial_state(self) -> Any:
        text = self.cleaned_data["initial_state"].strip()
        try:
            return read_json(text) if text else None
        except JsonProblem as problem:
            raise forms.ValidationError(translated_text(str(problem))) from None

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        policies = [data.get(f"policy_{number}") or "" for number in range(1, MAX_TASKS + 1)]
        known = self.continued.policy_list if self.continued else []
        if known and (policies[: len(known)] != known or not any(policies[len(known) :])):
            words = ", ".join(words_of("policy", one) for one in known)
            sentence = _now("The cell must begin with its policies, and go on: %(policies)s, …")
            self.add_error("past", sentence % {"policies": words})
        for number in range(2, MAX_TASKS + 1):
            if not policies[number - 1] and any(policies[number:]):
                self.add_error(f"policy_{number}", _now("Choose a policy, because there is a later task."))
            if number > len(known) and policies[number - 1] and not data.get(f"relations_{number}"):
                self.add_error(f"relations_{number}", _now("Choose at least one relation."))
        if len(known) < FAR and policies[1] and FAR_RELATION in data.get("relations_2", ()):
            self.add_error("relations_2", _now("A long-range dependency needs two tasks before it."))
        for role in ("all", *DIALOGUE_ROLES):
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
    def continued(self) -> Dialogue | None:
        """The verified dialogue that the chosen cell continues."""
        return self._pasts.get(self.cleaned_data.get("past", ""))

    @property
    def offers_pasts(self) -> bool:
        """Whether there is a dialogue to continue, or something to say about that."""
        return bool(self._pasts) or bool(self["past"].errors)

    @property
    def revision(self) -> ToolsetRevision:
        """The toolset revision of what is continued; else the newest of the chosen toolset."""
        if self.continued is not None and self.continued.head is not None:
            return self.continued.head.toolset_revision
        head = self.cleaned_data["toolset"].head
        assert isinstance(head, ToolsetRevision)  # noqa: S101 - the choices have one
        return head

    @property
    def setup(self) -> dict[str, Any]:
        """The setup of a valid form: see ``core.generation.state.Setup``."""
        data = self.cleaned_data
        numbers = [number for number in range(1, MAX_TASKS + 1) if data[f"policy_{number}"]]
        policies = [data[f"policy_{number}"] for number in numbers]
        past, seed = self.continued, data["seed"]
        if past is None:
            name = default_name(policies, data["language"], seed)
        else:
            name = continued_name(past.external_id, policies[len(past.policy_list) :], seed)
        return {
            "name": data["name"] or name, "policies": policies,
            "relations": [["explicit"], *(data[f"relations_{number}"] for number in numbers[1:])],
            "env_info": data["env_info"].strip() or None, "request": data["request"].strip(),
        } | {one: data[one] for one in _AS_GIVEN}  # fmt: skip

    @property
    def players(self) -> dict[Role, Player]:
        """The models of a valid form."""
        found = {role: self._player(role.value) for role in DIALOGUE_ROLES}
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
        for role in ("all", *DIALOGUE_ROLES):
            fields = [self[f"{role}_{one}"] for one in ("endpoint", "model", "input_price", "output_price")]
            yield str(role), fields, any(one.errors for one in fields)

    @property
    def content(self) -> list[Any]:
        names = ("toolset", "run_tools", "initial_state", "name", "language", "env_info", "request", "seed")
        return [self[one] for one in names]

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
