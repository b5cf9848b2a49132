"""Forms of projects and people."""

from collections.abc import Iterable
from typing import Any

from allauth.account.forms import ChangePasswordForm, LoginForm, ResetPasswordForm, SignupForm
from allauth.core import context
from django import forms
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotator.core.schema.exact_json import loads
from annotator.core.scopes import Scope
from annotator.core.wording import has_unseen
from annotator.errors import Conflict
from annotator.models import CHOSEN_EVENTS, NoticeKind, Project, Role, User
from annotator.presentation.components.labels import words_of
from annotator.services.accounts.accounts import require_attempt
from annotator.services.accounts.attempts import client_address, forget_attempts
from annotator.services.accounts.languages import language_choices
from annotator.services.accounts.password_mails import mail_aside
from annotator.services.bulk_invitations import MAX_LINES, REPLACE
from annotator.services.projects import MAX_GUIDELINE, SETTINGS, time_zones
from annotator.services.webhooks.hooks import MAX_DESCRIPTION, MAX_URL
from annotator.views.number_fields import WholeNumberField
from annotator.views.text_field import TextField


class SignInForm(LoginForm):
    """allauth's, with our labels."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].label = _("Username or email address")
        del self.fields["login"].widget.attrs["placeholder"]
        self.fields["remember"].label = _("Stay signed in")


class NewPasswordForm(ChangePasswordForm):
    """allauth's, with our labels and limited attempts: an open session can't be used to guess the password."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["oldpassword"].label = _("Current password")
        self.fields["password1"].label = _("New password")
        self.fields["password2"].label = _("New password (again)")

    def clean_oldpassword(self) -> str:
        attempt = {"what": "old password", "name": self.user.public_id, "address": client_address(context.request)}
        require_attempt(**attempt)
        right: str = super().clean_oldpassword()
        forget_attempts(**attempt)
        return right


class ForgottenPasswordForm(ResetPasswordForm):
    """allauth's, with our label and limited mails; the answer does not reveal who has an account."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].label = _("Email address")

    def clean_email(self) -> str:
        email: str = super().clean_email()
        require_attempt(what="new password", name=email, address=client_address(context.request))
        return email

    def save(self, request: HttpRequest, **more: Any) -> str:
        email = str(self.cleaned_data["email"])
        mail_aside(email)
        return email


def _can_be_seen(name: str) -> None:
    if has_unseen(name):
        raise ValidationError(gettext("The name contains invisible characters. Type it again."))


class SignUpForm(SignupForm):
    """allauth's, with the name that colleagues see."""

    display_name = forms.CharField(
        max_length=80,
        required=False,
        validators=[_can_be_seen],
        label=_("Your name"),
        help_text=_("Your colleagues see this name. If empty, they see your username."),
    )
    field_order = ["username", "display_name", "email", "password1", "password2"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        email = self.fields["email"]
        email.label = _("Email address")
        email.help_text = _("Lets you reset a forgotten password.")
        del email.widget.attrs["placeholder"]

    def save(self, request: HttpRequest) -> User:
        """Create the account and join the project, or do neither. Raises Conflict, Hidden."""
        try:
            with transaction.atomic():
                user: User = super().save(request)
        except IntegrityError:
            raise Conflict(
                gettext("This username or email address was just taken. Go back and choose another.")
            ) from None
        return user

    def custom_signup(self, request: HttpRequest, user: User) -> None:
        """Set the display name; allauth calls this after it has created the account."""
        user.display_name = self.cleaned_data["display_name"]
        user.save(update_fields=["display_name"])


class ProjectForm(forms.Form):
    name = forms.CharField(max_length=120, label=_("Name"), validators=[_can_be_seen])
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
    name = forms.CharField(max_length=120, label=_("Name"), validators=[_can_be_seen])
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
