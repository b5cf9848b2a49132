"""Sign-in: passwords, second factors, email addresses, and identity providers."""

from django.core.exceptions import ImproperlyConfigured

from annotator.config import environment as env
from annotator.config.providers import KINDS, read_providers
from annotator.config.settings.security import HTTPS
from annotator.core.roles import Role

AUTH_USER_MODEL = "annotator.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
ACCOUNT_ADAPTER = "annotator.services.accounts.accounts.InvitationAdapter"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
# Whether people confirm their address with a link in a mail: before they can sign in, when they like, or never.
ACCOUNT_EMAIL_VERIFICATION = env.choice("EMAIL_VERIFICATION", ("optional", "mandatory", "none"), default="optional")
_email = "email*" if ACCOUNT_EMAIL_VERIFICATION == "mandatory" else "email"
ACCOUNT_SIGNUP_FIELDS = ["username*", _email, "password1*", "password2*"]
# A new address replaces the old one when it is confirmed.
ACCOUNT_CHANGE_EMAIL = True
# A mail about each change of an account, such as a new password.
ACCOUNT_EMAIL_NOTIFICATIONS = True
# Changes of an account need a password or a second factor again.
ACCOUNT_REAUTHENTICATION_REQUIRED = True
#: Days after which every API token ends; 0: no limit.
TOKEN_MAX_DAYS = env.days("TOKEN_MAX_DAYS", default=0)
# A long weekend, and as long as a session's cookie.
SESSION_IDLE_MINUTES = env.integer("SESSION_IDLE_MINUTES", default=4 * 24 * 60)
SESSION_MAX_HOURS = env.integer("SESSION_MAX_HOURS", default=14 * 24)
#: Domains of addresses with which accounts are created; none: all.
SIGN_UP_DOMAINS = [domain.lower().lstrip("@") for domain in env.items("SIGN_UP_DOMAINS", default=[])]
ACCOUNT_LOGOUT_ON_GET = False
# Those of allauth would lock a username for everybody, and need a cache. Ours are in
# annotator.services.accounts.attempts.
ACCOUNT_RATE_LIMITS = False
# People who were not invited cannot sign up, so they get no mails.
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_FORMS = {
    "login": "annotator.views.account_forms.SignInForm",
    "signup": "annotator.views.account_forms.SignUpForm",
    "change_password": "annotator.views.account_forms.NewPasswordForm",
    "reset_password": "annotator.views.account_forms.ForgottenPasswordForm",
    "reauthenticate": "annotator.views.account_forms.PasswordAgainForm",
    "add_email": "annotator.views.account_forms.EmailForm",
}

# The codes that were used, for all processes. (``annotator.models.CacheEntry`` is its table.)
CACHES = {"default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "annotator_cache"}}

MFA_ADAPTER = "annotator.services.accounts.factors.FactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
# Accounts need an invitation, so a stranger gains nothing by taking the address of somebody else.
MFA_ALLOW_UNVERIFIED_EMAIL = True
# Clocks of telephones differ by some seconds.
MFA_TOTP_TOLERANCE = 1
MFA_TOTP_ISSUER = "Assay"
# The passkeys of a site without https, such as the demo's.
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not HTTPS
MFA_RATE_LIMITS = False
MFA_FORMS = {
    "activate_totp": "annotator.views.account_forms.ActivateAppForm",
    "authenticate": "annotator.views.account_forms.SecondFactorForm",
    "reauthenticate": "annotator.views.account_forms.SecondFactorAgainForm",
    "add_webauthn": "annotator.views.account_forms.AddPasskeyForm",
    "authenticate_webauthn": "annotator.views.account_forms.PasskeyForm",
    "login_webauthn": "annotator.views.account_forms.PasskeyLoginForm",
    "reauthenticate_webauthn": "annotator.views.account_forms.PasskeyAgainForm",
}
#: Roles that need a second factor: those in projects, and “operator”.
REQUIRE_SECOND_FACTOR = env.items("REQUIRE_SECOND_FACTOR", default=[])
for _role in REQUIRE_SECOND_FACTOR:
    if _role not in (*Role, "operator"):
        raise ImproperlyConfigured(
            f"REQUIRE_SECOND_FACTOR has “{_role}”; it must be roles like {', '.join(Role)} or operator, separated by "
            "commas."
        )

IDENTITY_PROVIDERS = read_providers()
SOCIALACCOUNT_PROVIDERS = {
    kind: {"APPS": [one.as_app() for one in IDENTITY_PROVIDERS if one.kind == kind]} for kind in KINDS
}
SOCIALACCOUNT_ADAPTER = "annotator.services.accounts.providers.ProviderAdapter"
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
SOCIALACCOUNT_FORMS = {"signup": "annotator.views.account_forms.ProviderSignUpForm"}
# Seconds to wait for a provider.
SOCIALACCOUNT_REQUESTS_TIMEOUT = 10
