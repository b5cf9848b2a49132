"""Forms of projects and people."""

from typing import Any

from allauth.account.forms import ChangePasswordForm, LoginForm, ResetPasswordForm, SignupForm
from allauth.core import context
from django import forms
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest

from annotator.core.schema.exact_json import loads
from annotator.core.wording import has_unseen
from annotator.errors import Conflict
from annotator.models import NoticeKind, Role, User
from annotator.services.accounts.accounts import require_attempt
from annotator.services.accounts.attempts import client_address, forget_attempts
from annotator.services.accounts.password_mails import mail_aside
from annotator.services.projects import MAX_GUIDELINE, SETTINGS, time_zones


class SignInForm(LoginForm):
    """allauth's, in the words of these pages."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].label = "Username or email address"
        del self.fields["login"].widget.attrs["placeholder"]
        self.fields["remember"].label = "Stay signed in"


class NewPasswordForm(ChangePasswordForm):
    """allauth's; whoever finds an open session cannot guess the password in it."""

    def clean_oldpassword(self) -> str:
        attempt = {"what": "old password", "name": self.user.public_id, "address": client_address(context.request)}
        require_attempt(**attempt)
        right: str = super().clean_oldpassword()
        forget_attempts(**attempt)
        return right


class ForgottenPasswordForm(ResetPasswordForm):
    """allauth's; nobody's mailbox is filled, and nobody learns from it who has an account here."""

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
        raise ValidationError("The name holds characters that cannot be seen; type it again.")


class SignUpForm(SignupForm):
    """allauth's, and the name colleagues see."""

    display_name = forms.CharField(
        max_length=80,
        required=False,
        validators=[_can_be_seen],
        label="Your name",
        help_text="How colleagues see you. Left empty, they see your username.",
    )
    field_order = ["username", "display_name", "email", "password1", "password2"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        email = self.fields["email"]
        email.label = "Email address"
        email.help_text = "For a link when you have forgotten your password."
        del email.widget.attrs["placeholder"]

    def save(self, request: HttpRequest) -> User:
        """The account with all that belongs to it, or nothing. Raises Conflict, Hidden."""
        try:
            with transaction.atomic():
                user: User = super().save(request)
        except IntegrityError:
            raise Conflict(
                "Somebody has taken this username or email address at this very moment; go back and choose another."
            ) from None
        return user

    def custom_signup(self, request: HttpRequest, user: User) -> None:
        """Called by allauth once the account is there."""
        user.display_name = self.cleaned_data["display_name"]
        user.save(update_fields=["display_name"])


class ProjectForm(forms.Form):
    name = forms.CharField(max_length=120, label="Name", validators=[_can_be_seen])
    slug = forms.SlugField(
        max_length=60,
        required=False,
        label="Address",
        help_text="Letters, digits, hyphens and underscores; left empty, it is made from the name.",
        error_messages={"invalid": "Use the letters a to z, digits, hyphens and underscores alone."},
    )
    description = forms.CharField(
        max_length=2000, required=False, label="Description", widget=forms.Textarea(attrs={"rows": 3})
    )


def _is_texts(settings: dict[str, Any]) -> bool:
    """Whether settings hold texts alone, those of the checks included."""
    checks = settings["check_settings"]
    values = [value for name, value in settings.items() if name != "check_settings"]
    return isinstance(checks, dict) and all(isinstance(value, str) for value in [*values, *checks.values()])


class SettingsForm(forms.Form):
    name = forms.CharField(max_length=120, label="Name", validators=[_can_be_seen])
    description = forms.CharField(
        max_length=2000, required=False, label="Description", widget=forms.Textarea(attrs={"rows": 3})
    )
    time_zone = forms.ChoiceField(label="Time zone", help_text="Days and weeks of statistics are cut in this zone.")
    long_range_rule = forms.ChoiceField(
        label="Long-range rule",
        choices=[
            ("c3", "C3-Bench: a needed value stands neither in this message nor in the exchange just before"),
            ("wild", "WildToolBench: more than two user messages back, clarifications included"),
        ],
    )
    seen = forms.CharField(required=False, max_length=20_000, widget=forms.HiddenInput)

    def clean_seen(self) -> dict[str, Any] | None:
        """The settings that the page showed."""
        text = self.cleaned_data["seen"]
        try:
            seen = loads(text) if text else None
        except ValueError:
            seen = {}
        if seen is None or (isinstance(seen, dict) and seen.keys() == {*SETTINGS} and _is_texts(seen)):
            return seen
        raise ValidationError("What was sent does not say which settings it began with; open the page again.")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["time_zone"].choices = [(zone, zone) for zone in time_zones()]  # type: ignore[attr-defined]


class InvitationForm(forms.Form):
    roles = forms.MultipleChoiceField(
        choices=Role.choices,
        widget=forms.CheckboxSelectMultiple,
        label="Roles",
        error_messages={"required": "Choose at least one role."},
    )
    note = forms.CharField(max_length=120, required=False, label="For whom", help_text="Only administrators see this.")


class GuidelineForm(forms.Form):
    text = forms.CharField(
        label="Text (Markdown)", widget=forms.Textarea(attrs={"rows": 28}), max_length=MAX_GUIDELINE, strip=False
    )
    note = forms.CharField(max_length=200, required=False, label="What changed")
    seen = forms.IntegerField(widget=forms.HiddenInput, min_value=0)


class TokenForm(forms.Form):
    name = forms.CharField(max_length=80, label="Name", help_text="What it is for: “nightly import”.")
    expires = forms.DateField(
        required=False,
        label="Expires on",
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="Left empty: never.",
    )


class NoticeSettingsForm(forms.Form):
    daily = forms.MultipleChoiceField(
        choices=NoticeKind.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="In the daily mail",
        help_text="One mail a day at most, with what you have not read by then. The others never come by mail.",
    )
    time_zone = forms.ChoiceField(
        required=False, label="Your time zone", help_text="The mail is sent from seven in the morning there."
    )
    seen = forms.JSONField(required=False, widget=forms.HiddenInput)

    def clean_seen(self) -> dict[str, Any] | None:
        """The settings that the page showed."""
        match self.cleaned_data["seen"]:
            case None:
                return None
            case {"daily": list(daily), "time_zone": str()} as seen if all(isinstance(kind, str) for kind in daily):
                return seen
        raise ValidationError("What was sent does not say which settings it began with; open the page again.")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        zones = [("", "That of my first project"), *((zone, zone) for zone in time_zones())]
        self.fields["time_zone"].choices = zones  # type: ignore[attr-defined]
