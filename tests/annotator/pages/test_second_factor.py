"""Authenticator apps, recovery codes, required factors, confirmed addresses, and invitations for one address."""

import re
import time
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from allauth.mfa.webauthn.internal import auth as passkeys
from django.core import mail
from django.test import Client

from annotator.models import Role, User
from annotator.services.access.permissions import roles_in
from annotator.services.accounts import password_mails, tokens
from annotator.services.members import create_invitation
from tests.factories import Team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

#: Mails are sent in another thread.
mailing = pytest.mark.django_db(transaction=True)
PASSWORD = "a-long-enough-passphrase"
FACTORS, APP, CODES = "/accounts/2fa/", "/accounts/2fa/app/", "/accounts/2fa/codes/"


@pytest.fixture
def person() -> User:
    return with_password(make_user("nadia"))


def with_password(user: User) -> User:
    user.set_password(PASSWORD)
    user.save()
    return user


def sign_in(client: Client, login: str = "nadia") -> Any:
    return client.post("/accounts/login/", {"login": login, "password": PASSWORD})


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def code_of(secret: str, steps: int = 0) -> str:
    """The code that an app shows now, or ``steps`` half minutes later."""
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps)))


def set_up_app(client: Client) -> str:
    """Set up an app as a person does: their password, the secret, its code. Returns the secret."""
    assert sign_in(client).status_code == 302
    confirm = client.get(APP)
    assert confirm["Location"].startswith("/accounts/reauthenticate/")
    assert client.post(confirm["Location"], {"password": PASSWORD})["Location"] == APP
    page = client.get(APP).content.decode()
    secret = client.session["mfa.totp.secret"]
    image = client.get("/account/app-code.svg")
    assert (image["Content-Type"], b"<svg" in image.content) == ("image/svg+xml", True)
    assert f"<code>{secret}</code>" in page
    assert "Incorrect code" in client.post(APP, {"code": "000000"}).content.decode()
    assert client.post(APP, {"code": code_of(secret)})["Location"] == CODES
    return str(secret)


def test_an_app_is_asked_for_at_sign_in_and_each_code_works_once(client: Client, person: User) -> None:
    secret = set_up_app(client)
    assert secret not in str(Authenticator.objects.get(type="totp").data)
    codes = re.findall(r"<li>(\d{8})</li>", client.get(CODES).content.decode())
    assert len(set(codes)) == 10
    assert client.get(f"{CODES}download/")["Content-Disposition"] == 'attachment; filename="recovery-codes.txt"'

    def enter(code: str) -> Client:
        other = Client()
        assert sign_in(other)["Location"] == f"{FACTORS}authenticate/"
        assert not is_signed_in(other)
        other.post(f"{FACTORS}authenticate/", {"code": code})
        return other

    used = code_of(secret, 1)
    assert is_signed_in(enter(used))
    assert not is_signed_in(enter(used))
    assert is_signed_in(enter(codes[0]))
    assert not is_signed_in(enter(codes[0]))
    assert codes[0] not in client.get(CODES).content.decode()


def test_a_code_does_not_work_twice_while_its_time_is_not_over(
    client: Client, person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = set_up_app(client)
    code = code_of(secret, 1)
    later = time.time() + 40

    def enter(typed: str) -> bool:
        other = Client()
        sign_in(other)
        other.post(f"{FACTORS}authenticate/", {"code": typed})
        return is_signed_in(other)

    assert enter(code)
    monkeypatch.setattr(time, "time", lambda: later)
    assert not enter(code)
    assert not enter(f"{code[:3]}-{code[3:]}")


def test_an_open_session_can_not_be_used_to_guess_the_password(client: Client, person: User) -> None:
    client.force_login(person)
    answers = [client.post("/accounts/reauthenticate/", {"password": f"no {n}"}).content.decode() for n in range(8)]
    assert "Too many attempts" not in answers[0]
    assert "Too many attempts" in answers[-1]


def test_wrong_codes_are_delayed_wherever_they_are_tried(client: Client, person: User) -> None:
    secret = set_up_app(client)
    Authenticator.objects.filter(type="recovery_codes").delete()
    answers = []
    for number in range(8):
        other = Client(REMOTE_ADDR=f"203.0.113.{number}")
        sign_in(other)
        answers.append(other.post(f"{FACTORS}authenticate/", {"code": "000000"}).content.decode())
    assert "Incorrect code" in answers[0]
    assert "Too many attempts" in answers[-1]
    other.post(f"{FACTORS}authenticate/", {"code": code_of(secret)})
    assert not is_signed_in(other)


def test_a_required_factor_is_set_up_first_and_stays(client: Client, team: Team, settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = ["administrator", "operator"]
    settings.ROOT_URLCONF = "annotator.config.urls"
    administrator, operator = with_password(team.administrator), with_password(make_user("otto", is_staff=True))
    page = f"/p/{team.project.slug}/settings/"
    annotator = Client()
    annotator.force_login(team.annotators[0])
    assert annotator.get(f"/p/{team.project.slug}/guideline/").status_code == 200
    for who in (administrator, operator):
        other = Client()
        other.force_login(who)
        assert other.get("/projects/")["Location"] == FACTORS
        assert other.get(FACTORS).status_code == 200
        assert other.get("/account/app-code.svg").status_code == 404
        assert other.get("/api/projects/").json()["error"] == "second_factor"
        assert other.post("/projects/new/", {"name": "Mine"}).status_code == 403
    _token, bearer = tokens.create_token(actor=administrator, name="nightly", expires_at=None)
    assert Client().get("/api/projects/", headers={"Authorization": f"Bearer {bearer}"}).status_code == 200
    client.force_login(administrator)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    client.get(APP)
    client.post(APP, {"code": code_of(client.session["mfa.totp.secret"])})
    assert client.get(page).status_code == 200
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    assert "cannot deactivate" in client.get(f"{APP}remove/").content.decode()
    client.post(f"{APP}remove/")
    assert Authenticator.objects.filter(type="totp").count() == 1
    settings.REQUIRE_SECOND_FACTOR = []
    client.post(f"{APP}remove/")
    assert not Authenticator.objects.exists()


def test_a_passkey_that_is_no_passkey_is_refused(client: Client, person: User) -> None:
    sign_in(client)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    client.get(f"{FACTORS}passkeys/add/")
    for credential in ("", "{}", "[1]", "nonsense", '{"id": "x", "response": {}}'):
        answer = client.post(f"{FACTORS}passkeys/add/", {"name": "Laptop", "credential": credential})
        assert answer.status_code == 200, credential
        signed_out = Client()
        signed_out.get(f"{FACTORS}passkeys/login/", headers={"Accept": "application/json"})
        answer = signed_out.post(f"{FACTORS}passkeys/login/", {"credential": credential})
        assert answer["Location"] == "/accounts/login/", credential
    assert not Authenticator.objects.exists()
    assert passkeys.get_credentials(person) == []


def mails() -> list[Any]:
    password_mails.MAILING.submit(int).result(60)
    return mail.outbox


def link_in(text: str) -> str:
    found = re.search(r"http://\S+?(/accounts/confirm-email/\S+)", text)
    assert found, text
    return found[1]


@mailing
def test_a_new_address_counts_when_it_is_confirmed(client: Client, person: User) -> None:
    sign_in(client)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    client.get("/accounts/email/")
    EmailAddress.objects.update(verified=True)
    answer = client.post("/accounts/email/", {"email": "nadia@new.example.org", "action_add": "1"}, follow=True)
    assert "not confirmed yet" in answer.content.decode()
    person.refresh_from_db()
    assert person.email == "nadia@example.org"
    sent = next(one for one in mails() if one.to == ["nadia@new.example.org"])
    link = link_in(sent.body)
    assert "Confirm" in client.get(link).content.decode()
    client.post(link)
    person.refresh_from_db()
    assert person.email == "nadia@new.example.org"
    assert [one.email for one in EmailAddress.objects.filter(user=person)] == ["nadia@new.example.org"]
    assert "expired" in Client().get("/accounts/confirm-email/nonsense/").content.decode()
    # The old address is told.
    assert any(one.to == ["nadia@example.org"] for one in mails())


@mailing
def test_a_mailbox_is_not_flooded(client: Client, person: User) -> None:
    client.force_login(person)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    client.post("/accounts/email/", {"email": "victim@example.org", "action_add": "1"})
    again = {"email": "victim@example.org", "action_send": ""}
    answers = [client.post("/accounts/email/", again) for _ in range(12)]
    assert answers[0].status_code == 302
    assert answers[-1].status_code == 429
    assert "Too many attempts" in answers[-1].content.decode()
    assert sum(one.to == ["victim@example.org"] for one in mails()) <= 6


@mailing
def test_an_invitation_for_one_address_waits_until_it_is_confirmed(client: Client, team: Team, person: User) -> None:
    _, secret = create_invitation(
        actor=team.administrator, project=team.project, roles=[Role.ANNOTATOR], address="amina@example.org"
    )
    other = Client()
    other.force_login(person)
    link = f"/invitation/{secret}/"
    assert "amina@example.org" in other.get(link).content.decode()
    assert other.post(link).status_code == 409
    client.post(link, {"sign_up": ""})
    assert 'value="amina@example.org"' in client.get("/accounts/signup/").content.decode()
    fields = {"username": "amina", "email": "else@example.org", "password1": PASSWORD, "password2": PASSWORD}
    assert client.post("/accounts/signup/", fields)["Location"] == link
    amina = User.objects.get(username="amina")
    assert amina.email == "amina@example.org"
    assert not roles_in(team.project, amina)
    assert client.post(link).status_code == 409
    (sent,) = [one for one in mails() if one.to == ["amina@example.org"]]
    assert client.post(link_in(sent.body))["Location"] == link
    assert client.post(link).status_code == 302
    assert roles_in(team.project, amina) == {Role.ANNOTATOR}


def test_accounts_have_addresses_of_allowed_domains(client: Client, team: Team, settings: Any) -> None:
    settings.SIGN_UP_DOMAINS = ["example.org"]
    _, secret = create_invitation(actor=team.administrator, project=team.project, roles=[Role.ANNOTATOR])
    client.post(f"/invitation/{secret}/", {"sign_up": ""})
    fields = {"username": "amina", "password1": PASSWORD, "password2": PASSWORD}
    refused = client.post("/accounts/signup/", fields | {"email": "amina@elsewhere.org"}).content.decode()
    assert "Use an email address of example.org." in refused
    assert client.post("/accounts/signup/", fields | {"email": "Amina@EXAMPLE.org"}).status_code == 302
