"""Addresses for sign-in and passwords: the ones of allauth that Assay has pages for."""

from allauth.account import views
from allauth.mfa.base import views as factors
from allauth.mfa.recovery_codes import views as codes
from allauth.mfa.totp import views as apps
from allauth.mfa.webauthn import views as passkeys
from allauth.socialaccount import views as connected
from allauth.socialaccount.providers.github import views as github
from allauth.socialaccount.providers.google import views as google
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.urls import path, re_path
from django.views.generic import RedirectView

urlpatterns = [
    path("login/", views.login, name="account_login"),
    path("logout/", views.logout, name="account_logout"),
    path("inactive/", views.account_inactive, name="account_inactive"),
    path("signup/", views.signup, name="account_signup"),
    path("reauthenticate/", views.reauthenticate, name="account_reauthenticate"),
    path("email/", views.email, name="account_email"),
    path("confirm-email/", views.email_verification_sent, name="account_email_verification_sent"),
    re_path(r"^confirm-email/(?P<key>[-:\w]+)/$", views.confirm_email, name="account_confirm_email"),
    path("password/change/", views.password_change, name="account_change_password"),
    path("password/set/", views.password_set, name="account_set_password"),
    path("password/reset/", views.password_reset, name="account_reset_password"),
    path("password/reset/done/", views.password_reset_done, name="account_reset_password_done"),
    path("password/reset/key/done/", views.password_reset_from_key_done, name="account_reset_password_from_key_done"),
    re_path(
        r"^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        views.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    path("2fa/", factors.index, name="mfa_index"),
    path("2fa/authenticate/", factors.authenticate, name="mfa_authenticate"),
    path("2fa/reauthenticate/", factors.reauthenticate, name="mfa_reauthenticate"),
    path("2fa/app/", apps.activate_totp, name="mfa_activate_totp"),
    path("2fa/app/remove/", apps.deactivate_totp, name="mfa_deactivate_totp"),
    path("2fa/codes/", codes.view_recovery_codes, name="mfa_view_recovery_codes"),
    path("2fa/codes/generate/", codes.generate_recovery_codes, name="mfa_generate_recovery_codes"),
    path("2fa/codes/download/", codes.download_recovery_codes, name="mfa_download_recovery_codes"),
    path("2fa/passkeys/", login_required(RedirectView.as_view(pattern_name="mfa_index")), name="mfa_list_webauthn"),
    path("2fa/passkeys/add/", passkeys.add_webauthn, name="mfa_add_webauthn"),
    path("2fa/passkeys/login/", passkeys.login_webauthn, name="mfa_login_webauthn"),
    path("2fa/passkeys/reauthenticate/", passkeys.reauthenticate_webauthn, name="mfa_reauthenticate_webauthn"),
    path("2fa/passkeys/<int:pk>/edit/", passkeys.edit_webauthn, name="mfa_edit_webauthn"),
    path("2fa/passkeys/<int:pk>/remove/", passkeys.remove_webauthn, name="mfa_remove_webauthn"),
    path("connected/", connected.connections, name="socialaccount_connections"),
    path("connected/sign-up/", connected.signup, name="socialaccount_signup"),
    path("connected/cancelled/", connected.login_cancelled, name="socialaccount_login_cancelled"),
    path("connected/error/", connected.login_error, name="socialaccount_login_error"),
]
for _kind, _view in (("google", google.oauth2_callback), ("github", github.oauth2_callback)):
    if any(one.kind == _kind for one in settings.IDENTITY_PROVIDERS):
        urlpatterns.append(path(f"{_kind}/login/callback/", _view, name=f"{_kind}_callback"))
