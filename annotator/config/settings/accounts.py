"""Sign-in and passwords."""

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
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_ON_GET = False
# Those of allauth would lock a username for everybody, and need a cache. Ours are in
# annotator.services.accounts.attempts.
ACCOUNT_RATE_LIMITS = False
# People who were not invited cannot sign up, so they get no mails.
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_FORMS = {
    "login": "annotator.views.forms.SignInForm",
    "signup": "annotator.views.forms.SignUpForm",
    "change_password": "annotator.views.forms.NewPasswordForm",
    "reset_password": "annotator.views.forms.ForgottenPasswordForm",
}
