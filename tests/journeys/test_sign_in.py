"""Signing in with a provider of OpenID Connect, with an authenticator app, and with a passkey, in a real browser."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from playwright.sync_api import Page, expect

from annotator.config.providers import GroupRole, IdentityProvider
from annotator.models import Role, User
from annotator.services.access.permissions import roles_in
from scripts.private_services import free_port
from tests import oidc_provider
from tests.factories import Team

pytestmark = [pytest.mark.browser, pytest.mark.slow(seconds=20)]

PASSWORD = "a-long-enough-passphrase"


@pytest.fixture
def provider(live_server: Any, settings: Any, team: Team, tmp_path: Path) -> Iterator[IdentityProvider]:
    """A provider that runs, and is one of the installation's."""
    port = free_port()
    back = f"{live_server.url}/accounts/oidc/lab/login/callback/"
    command = [sys.executable, oidc_provider.__file__, str(port), back, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            lab = IdentityProvider(
                kind="openid_connect",
                id="lab",
                name="The lab",
                client_id=oidc_provider.CLIENT,
                secret=oidc_provider.SECRET,
                issuer=f"http://127.0.0.1:{port}",
                sign_up=True,
                groups=(GroupRole("labels", team.project.slug, Role.ANNOTATOR),),
            )
            settings.IDENTITY_PROVIDERS = (lab,)
            settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [lab.as_app()]}}
            yield lab
        finally:
            process.kill()


def test_the_organisation_signs_in_and_its_groups_are_roles(
    open_page: Callable[[], Page], live_server: Any, provider: IdentityProvider, team: Team, check_accessibility: Any
) -> None:
    page = open_page()
    page.goto(f"{live_server.url}/accounts/login/?next=/projects/")
    check_accessibility(page)
    page.get_by_role("button", name="Sign in with The lab").click()
    page.locator("[name=login]").fill("lena")
    page.locator("[name=password]").fill(oidc_provider.PASSWORD)
    page.get_by_role("button", name="Sign In").click()
    page.locator("button[value=grant]").click()
    expect(page).to_have_url(f"{live_server.url}/projects/")
    lena = User.objects.get(username="lena")
    assert (lena.display_name, lena.email) == ("Lena Berg", "lena@example.org")
    assert roles_in(team.project, lena) == {Role.ANNOTATOR}
    page.goto(f"{live_server.url}/accounts/connected/")
    expect(page.get_by_text("The lab", exact=True)).to_be_visible()
    check_accessibility(page)


def test_an_app_and_a_passkey(
    open_page: Callable[[], Page], live_server: Any, team: Team, check_accessibility: Any
) -> None:
    page, person = open_page(), team.annotators[0]
    person.set_password(PASSWORD)
    person.save()
    # WebAuthn works on names, not on addresses.
    site = live_server.url.replace("127.0.0.1", "localhost")
    devices = page.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    device = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": device})

    def sign_out() -> None:
        page.context.clear_cookies()
        page.goto(f"{site}/accounts/login/")

    def enter_password() -> None:
        page.locator("[name=login]").fill(person.username)
        page.locator("[name=password]").fill(PASSWORD)
        page.get_by_role("button", name="Sign in", exact=True).click()

    sign_out()
    enter_password()
    page.goto(f"{site}/accounts/2fa/")
    check_accessibility(page)
    page.get_by_role("link", name="Set up an app").click()
    page.locator("[name=password]").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator(".qr-code")).to_be_visible()
    check_accessibility(page)
    page.get_by_text("Can’t scan it?").click()
    secret = page.locator("details code").inner_text()
    page.locator("[name=code]").fill(code_of(secret))
    page.get_by_role("button", name="Set up", exact=True).click()
    codes = page.locator(".recovery-codes li")
    expect(codes).to_have_count(10)
    check_accessibility(page)
    recovery = codes.first.inner_text()
    page.get_by_role("link", name="Done").click()
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_label("Name").fill("Laptop")
    check_accessibility(page)
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("rowheader", name="Laptop")).to_be_visible()
    check_accessibility(page)
    assert Authenticator.objects.filter(user=person).count() == 3

    # The password is not enough, the code is; a recovery code replaces it.
    sign_out()
    enter_password()
    expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
    check_accessibility(page)
    page.locator("[name=code]").fill(recovery)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator(".topbar .bell")).to_be_visible()
    # The passkey as the second factor, and then alone.
    sign_out()
    enter_password()
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.locator(".topbar .bell")).to_be_visible()
    sign_out()
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.locator(".topbar .bell")).to_be_visible()


def code_of(secret: str) -> str:
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30)))
