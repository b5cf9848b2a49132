"""The form of one custom field."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotator.core.fields import TEXTS, CustomField, FieldType, Scope
from annotator.views.number_fields import WholeNumberField
from annotator.views.text_field import TextField

TYPES = [
    (FieldType.CHOICE.value, _("Choice: one of several options")),
    (FieldType.MULTI.value, _("Set: any of several options")),
    (FieldType.SCALE.value, _("Scale: a number")),
    (FieldType.TEXT.value, _("Text")),
    (FieldType.SPAN.value, _("Spans: marked passages of a text")),
]
SCOPES = [
    (Scope.DIALOGUE.value, _("The whole dialogue")),
    (Scope.TASK.value, _("Each task")),
    (Scope.CALL.value, _("Each call")),
    (Scope.ANSWER.value, _("Each answer")),
]
_OF = {
    "user_message": _("User message of the task"),
    "text": _("Text of the answer"),
    "system_prompt": _("System prompt of the case"),
    "user_query": _("Query of the case"),
    "answer": _("Answer of the case"),
    "env_info": _("Environment information"),
}


_KEY = re.compile(r"[a-z][a-z0-9_]{0,39}")


class FieldForm(forms.Form):
    title = forms.CharField(max_length=120, label=_("Question"))
    key = forms.CharField(
        max_length=40,
        label=_("Key"),
        help_text=_("Its name in the data: small letters, digits and underscores, such as “difficulty”."),
    )
    help = TextField(
        max_length=1000, required=False, label=_("Help"), widget=forms.Textarea(attrs={"rows": 2}), empty_value=""
    )
    type = forms.ChoiceField(choices=TYPES, label=_("Type"))
    scope = forms.ChoiceField(choices=SCOPES, label=_("Asked about"))
    required = forms.BooleanField(required=False, label=_("An answer is required"))
    options = TextField(
        max_length=8000,
        required=False,
        label=_("Options"),
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text=_(
            "For a choice or a set: one option a line, as “value = Title”. The first nine have the keys 1 to 9."
        ),
    )
    low = WholeNumberField(required=False, label=_("Lowest number"), help_text=_("For a scale."))
    high = WholeNumberField(required=False, label=_("Highest number"), help_text=_("For a scale."))
    of = forms.ChoiceField(
        choices=[("", "—"), *((name, _OF[name]) for name in dict.fromkeys(one for of in TEXTS.values() for one in of))],
        required=False,
        label=_("Text to mark"),
        help_text=_("For spans."),
    )
    condition = forms.MultipleChoiceField(
        required=False,
        label=_("Only if"),
        widget=forms.SelectMultiple(attrs={"size": 6}),
        help_text=_(
            "The question is asked only if one of these answers was given, all of one field that comes before this "
            "one. If none is chosen, it is always asked."
        ),
    )
    seen = WholeNumberField(widget=forms.HiddenInput, min_value=0)

    def __init__(self, *args: Any, before: Sequence[CustomField], **named: Any) -> None:
        """``before``: the fields that come before this one."""
        super().__init__(*args, **named)
        self.fields["condition"].choices = [  # type: ignore[attr-defined]
            (field.title, [(f"{field.key}={value}", title) for value, title in field.choices])
            for field in before
            if field.choices
        ]
        if not self.fields["condition"].choices:  # type: ignore[attr-defined]
            del self.fields["condition"]

    def clean_key(self) -> str:
        """Return the key. Raises ValidationError with a plainer sentence than its definition has."""
        key: str = self.cleaned_data["key"]
        if not _KEY.fullmatch(key):
            raise forms.ValidationError(
                _("Use small letters, digits and underscores, and begin with a letter. Up to 40 characters.")
            )
        return key

    def clean_condition(self) -> dict[str, Any] | None:
        """Return the condition as JSON values; None if there is none."""
        pairs = [chosen.partition("=") for chosen in self.cleaned_data["condition"]]
        keys = {key for key, _sign, _value in pairs}
        if len(keys) > 1:
            raise forms.ValidationError(_("Choose answers of one field only."))
        return {"key": keys.pop(), "values": [value for _key, _sign, value in pairs]} if keys else None

    def definition(self) -> dict[str, Any]:
        """Return the field as JSON values, to be checked by ``read_fields``."""
        data = self.cleaned_data
        made = {name: data[name] for name in ("key", "title", "help", "type", "scope", "required")}
        made |= {name: data[name] for name in ("low", "high") if data[name] is not None}
        if data["of"]:
            made["of"] = data["of"]
        options = [line.partition("=") for line in data["options"].splitlines() if line.strip()]
        if options:
            made["options"] = [
                {"value": value.strip(), "title": title.strip() or value.strip()} for value, _sign, title in options
            ]
        if data.get("condition"):
            made["shown_if"] = data["condition"]
        return made

    def add_problem(self, path: str, message: str) -> None:
        """Show a problem beside the input that it is about."""
        first = path.partition("/")[0]
        name = "condition" if first == "shown_if" else first
        self.add_error(name if name in self.fields else None, message)


def initial_of(field: CustomField) -> Mapping[str, Any]:
    """Return what the form of an existing field shows."""
    condition = field.shown_if
    return {
        **{name: getattr(field, name) for name in ("key", "title", "help", "required", "low", "high", "of")},
        "type": field.type.value,
        "scope": field.scope.value,
        "options": "\n".join(f"{option.value} = {option.title}" for option in field.options),
        "condition": [f"{condition.key}={value}" for value in condition.values] if condition else [],
    }
