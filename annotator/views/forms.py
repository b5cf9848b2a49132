"""Forms of projects and people."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotator.core.schema.exact_json import loads
from annotator.core.scopes import Scope
from annotator.core.wording import has_unseen
from annotator.models import CHOSEN_EVENTS, NoticeKind, Project, Role
from annotator.presentation.components.labels import words_of
from annotator.services.accounts.languages import language_choices
from annotator.services.bulk_invitations import MAX_LINES, REPLACE
from annotator.services.projects import MAX_GUIDELINE, SETTINGS, time_zones
from annotator.services.webhooks.hooks import MAX_DESCRIPTION, MAX_URL
from annotator.views.number_fields import WholeNumberField
from annotator.views.text_field import TextField


def can_be_seen(name: str) -> None:
    """Raise ValidationError if a name has invisible characters."""
    if has_unseen(name):
        raise ValidationError(gettext("The name contains invisible characters. Type it again."))


class ProjectForm(forms.Form):
    name = forms.CharField(max_length=120, label=_("Name"), validators=[can_be_seen])
    slug = forms.SlugField(
        max_length=60,
        required=False,
        label=_("Address"),
        help_text=_("Letters, digits, hyphens and underscores. If empty, it is made from the name."),
        error_messages={"invalid": _("Use only the letters a to z, digits, hyphens and underscores.")},
    )
    description = TextField(
        max_length=2000, required=False, label=_("Description"), widget=forms.Textarea(attrs={"rows": 3})
    )


def _is_texts(settings: dict[str, Any]) -> bool:
    """Return whether all settings are texts, including those of the checks."""
    checks = settings["check_settings"]
    values = [value for name, value in settings.items() if name != "check_settings"]
    return isinstance(checks, dict) and all(isinstance(value, str) for value in [*values, *checks.values()])


class SettingsForm(forms.Form):
    name = forms.CharField(max_length=120, label=_("Name"), validators=[can_be_seen])
    description = TextField(
        max_length=2000, required=False, label=_("Description"), widget=forms.Textarea(attrs={"rows": 3})
    )
    time_zone = forms.ChoiceField(
        label=_("Time zone"), help_text=_("Statistics count days and weeks in this time zone.")
    )
    long_range_rule = forms.ChoiceField(
        label=_("Long-range rule"),
        choices=[
            ("c3", _("C3-Bench: a value is neither in this message nor in the previous exchange")),
            ("wild", _("WildToolBench: more than two user messages back, including clarifications")),
        ],
    )
    seen = forms.CharField(required=False, max_length=20_000, widget=forms.HiddenInput)

    def clean_seen(self) -> dict[str, Any] | None:
        """Return the settings that the page showed."""
        text = self.cleaned_data["seen"]
        try:
            seen = loads(text) if text else None
        except ValueError:
            seen = {}
        if seen is None or (isinstance(seen, dict) and seen.keys() == {*SETTINGS} and _is_texts(seen)):
            return seen
        raise ValidationError(gettext("The form is incomplete. Reload the page and try again."))

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["time_zone"].choices = [(zone, zone) for zone in time_zones()]  # type: ignore[attr-defined]


class InvitationForm(forms.Form):
    roles = forms.MultipleChoiceField(
        choices=lambda: [(role.value, words_of("role", role)) for role in Role],
        widget=forms.CheckboxSelectMultiple,
        label=_("Roles"),
        error_messages={"required": _("Choose at least one role.")},
    )
    note = forms.CharField(
        max_length=120,
        required=False,
        label=_("Note"),
        help_text=_("Only administrators see it, for example the person’s name."),
    )
    address = forms.EmailField(
        required=False,
        label=_("Only for this email address"),
        help_text=_("If filled in, only a person who has confirmed this address can use the link."),
    )
    until = forms.DateField(
        required=False,
        label=_("Last day of a guest"),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        help_text=_("If filled in, the roles end after this day."),
        error_messages={"invalid": _("Write the day as 2026-12-31.")},
    )


class InvitationsForm(forms.Form):
    people = TextField(
        label=_("People"),
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false"}),
        max_length=MAX_LINES * 200,
        help_text=_(
            "One person on each line: “Amina Diallo <amina@example.org>” or “Amina Diallo, amina@example.org”. "
            "A table with a header (name, address, role) can be pasted too."
        ),
        error_messages={"required": _("Paste at least one line.")},
    )
    roles = forms.MultipleChoiceField(
        choices=lambda: [(role.value, words_of("role", role)) for role in Role],
        widget=forms.CheckboxSelectMultiple,
        label=_("Roles"),
        help_text=_("For every line that names no role of its own."),
        required=False,
    )
    replace = forms.BooleanField(
        required=False,
        label=_(REPLACE),
        help_text=_(
            "If an address has an open invitation already: its old link stops working, and a new link with the roles "
            "of this form is shown. Otherwise the line is refused."
        ),
    )
    only_address = forms.BooleanField(
        required=False,
        label=_("Only for the address in the line"),
        help_text=_("A person has to confirm that email address before the link lets them join."),
    )


class GuidelineForm(forms.Form):
    text = TextField(
        label=_("Text (Markdown)"), widget=forms.Textarea(attrs={"rows": 28}), max_length=MAX_GUIDELINE, strip=False
    )
    note = forms.CharField(max_length=200, required=False, label=_("What changed"))
    asks_again = forms.BooleanField(
        required=False,
        label=_("Ask everyone to accept again"),
        help_text=_("If people must accept the guideline: those who accepted an earlier version have to accept this."),
    )
    seen = WholeNumberField(widget=forms.HiddenInput, min_value=0)


class TokenForm(forms.Form):
    name = forms.CharField(
        max_length=80, label=_("Name"), help_text=_("What the token is for, such as “nightly import”.")
    )
    scopes = forms.MultipleChoiceField(
        choices=lambda: [(scope.value, words_of("scope", scope)) for scope in Scope if scope != Scope.READ],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=_("What it may do"),
        help_text=_("Besides reading, which every token may do. Your roles limit it further."),
    )
    projects = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=_("Projects"),
        help_text=_("If you choose none, it works in all your projects, also in later ones."),
    )
    expires = forms.DateField(
        required=False,
        label=_("Expires on"),
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text=_("If empty, the token never expires."),
    )

    def __init__(self, *args: object, projects: Iterable[Project], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["projects"].choices = [  # type: ignore[attr-defined]
            (project.public_id, project.name) for project in projects
        ]


class WebhookForm(forms.Form):
    url = forms.CharField(
        max_length=MAX_URL,
        label=_("Address"),
        widget=forms.URLInput(attrs={"placeholder": "https://hooks.example.com/assay"}),
        help_text=_("Messages are posted to this address."),
    )
    description = forms.CharField(
        max_length=MAX_DESCRIPTION, required=False, label=_("Description"), help_text=_("What receives the messages.")
    )
    events = forms.MultipleChoiceField(
        choices=CHOSEN_EVENTS,
        widget=forms.CheckboxSelectMultiple,
        label=_("Events"),
        error_messages={"required": _("Choose at least one event.")},
    )


class LanguageForm(forms.Form):
    language = forms.ChoiceField(
        choices=language_choices,
        required=False,
        widget=forms.RadioSelect,
        label=_("Language of pages and mails"),
        help_text=_("The sign-in page is always in the language of the browser."),
    )


class NoticeSettingsForm(forms.Form):
    daily = forms.MultipleChoiceField(
        choices=NoticeKind.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=_("Daily mail"),
        help_text=_("At most one mail a day, with unread notices of these kinds."),
    )
    time_zone = forms.ChoiceField(
        required=False,
        label=_("Time zone"),
        help_text=_("The mail is sent after 7:00 in this time zone, and My work counts days in it."),
    )
    seen = forms.JSONField(required=False, widget=forms.HiddenInput)

    def clean_seen(self) -> dict[str, Any] | None:
        """Return the settings that the page showed."""
        match self.cleaned_data["seen"]:
            case None:
                return None
            case {"daily": list(daily), "time_zone": str()} as seen if all(isinstance(kind, str) for kind in daily):
                return seen
        raise ValidationError(gettext("The form is incomplete. Reload the page and try again."))

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        zones = [("", _("Time zone of my first project")), *((zone, zone) for zone in time_zones())]
        self.fields["time_zone"].choices = zones  # type: ignore[attr-defined]
