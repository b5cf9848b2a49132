"""Forms of a person's account: sign-in and sign-up, passwords, second factors, the email address."""

from typing import Any

from allauth.account.forms import AddEmailForm, ChangePasswordForm, LoginForm, ResetPasswordForm, SignupForm
from allauth.account.forms import ReauthenticateForm as ReauthenticatePasswordForm
from allauth.core import context
from allauth.core.internal.cryptokit import normalize_user_code
from allauth.mfa.adapter import get_adapter as get_factor_adapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from allauth.mfa.webauthn.internal import auth as passkeys
from allauth.socialaccount.forms import SignupForm as SocialSignupForm
from django import forms
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotator.errors import Conflict, Hidden
from annotator.models import User
from annotator.services.accounts.accounts import require_attempt
from annotator.services.accounts.attempts import forget_attempts
from annotator.services.accounts.password_mails import mail_aside
from annotator.services.accounts.sign_up import SESSION_KEY
from annotator.services.client_address import client_address
from annotator.services.members import find_invitation
from annotator.views.forms import can_be_seen


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


def _invited_address(request: HttpRequest) -> str:
    """Return the address that the opened invitation is for; blank if it is for anybody, or no longer open."""
    try:
        return str(find_invitation(request.session.get(SESSION_KEY) or "").address)
    except Hidden:
        return ""


class _SavedAtOnce(forms.Form):
    def save(self, request: HttpRequest) -> User:
        """Create the account and join the project, or do neither. Raises Conflict, Hidden."""
        try:
            with transaction.atomic():
                user: User = super().save(request)  # type: ignore[misc]
        except IntegrityError:
            raise Conflict(
                gettext("This username or email address was just taken. Go back and choose another.")
            ) from None
        return user


class SignUpForm(_SavedAtOnce, SignupForm):
    """allauth's, with the name that colleagues see."""

    display_name = forms.CharField(
        max_length=80,
        required=False,
        validators=[can_be_seen],
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
        if address := _invited_address(context.request):
            email.initial, email.disabled = address, True
            email.help_text = _("The invitation is for this address. You will get a mail to confirm it.")

    def custom_signup(self, request: HttpRequest, user: User) -> None:
        """Set the display name; allauth calls this after it has created the account."""
        user.display_name = self.cleaned_data["display_name"]
        user.save(update_fields=["display_name"])


#: Longer than a code of an app is accepted: its half minute and one before and after.
CODE_SECONDS = 120


class _LimitedCode(forms.Form):
    """Counts wrong codes by person, wherever they come from: those who try them know the password already.

    Each code works once.
    """

    user: User

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        code = self.fields["code"]
        code.label = _("Code")
        code.widget.attrs = {"autocomplete": "one-time-code", "inputmode": "text", "spellcheck": "false"}

    def clean_code(self) -> str:
        attempt = {"what": "second factor", "name": self.user.public_id, "address": ""}
        require_attempt(**attempt)
        code: str = super().clean_code()  # type: ignore[misc]
        # It is accepted for longer than the app shows it.
        if not cache.add(f"second-factor-{self.user.pk}-{normalize_user_code(code)}", "used", timeout=CODE_SECONDS):
            raise get_factor_adapter().validation_error("incorrect_code")
        forget_attempts(**attempt)
        return code


class SecondFactorForm(_LimitedCode, AuthenticateForm):
    """allauth's, with limited attempts, and codes that work once."""


class SecondFactorAgainForm(_LimitedCode, ReauthenticateForm):
    """allauth's, with limited attempts, and codes that work once."""


class PasswordAgainForm(ReauthenticatePasswordForm):
    """allauth's, with limited attempts: an open session can't be used to guess the password."""

    def clean_password(self) -> str:
        attempt = {"what": "old password", "name": self.user.public_id, "address": client_address(context.request)}
        require_attempt(**attempt)
        password: str = super().clean_password()
        forget_attempts(**attempt)
        return password


class ActivateAppForm(_LimitedCode, ActivateTOTPForm):
    """allauth's, with our label and limited attempts."""


class _ReadPasskey(forms.Form):
    """Refuses what no browser sends: the library expects all parts of an answer."""

    def clean_credential(self) -> Any:
        try:
            inherited = getattr(super(), "clean_credential", None)
            credential = inherited() if inherited else self.cleaned_data["credential"]
            if inherited is None:
                passkeys.parse_registration_response(credential)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ValidationError(gettext("The passkey didn’t work. Reload the page and try again.")) from None
        return credential


class PasskeyForm(_ReadPasskey, AuthenticateWebAuthnForm):
    """allauth's, for answers of any shape."""


class PasskeyLoginForm(_ReadPasskey, LoginWebAuthnForm):
    """allauth's, for answers of any shape."""


class PasskeyAgainForm(_ReadPasskey, ReauthenticateWebAuthnForm):
    """allauth's, for answers of any shape."""


class AddPasskeyForm(_ReadPasskey, AddWebAuthnForm):
    """allauth's, with our labels, for answers of any shape."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].label = _("Name")
        self.fields["name"].validators.append(MaxLengthValidator(100))
        self.fields["name"].help_text = _("Such as “Laptop”, so that you can tell your passkeys apart.")
        self.fields["passwordless"].label = _("Also sign in with it instead of the password")
        self.fields["passwordless"].help_text = _("The device then asks for your finger, your face or a PIN.")
        self.fields["passwordless"].initial = True


class EmailForm(AddEmailForm):
    """allauth's, with our label and limited mails."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].label = _("New email address")
        self.fields["email"].widget.attrs.pop("placeholder", None)

    def clean_email(self) -> str:
        require_attempt(what="new address", name=self.user.public_id, address=client_address(context.request))
        email: str = super().clean_email()
        return email


class ProviderSignUpForm(_SavedAtOnce, SocialSignupForm):
    """allauth's, with our labels."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, label in (("username", _("Username")), ("email", _("Email address"))):
            if name in self.fields:
                self.fields[name].label = label
                self.fields[name].widget.attrs.pop("placeholder", None)
