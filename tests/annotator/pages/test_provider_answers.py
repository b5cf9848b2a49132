"""Who gets in with an identity provider, whatever the provider answers."""

import html
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.test import Client

from annotator.config.providers import IdentityProvider
from annotator.models import Role, User
from annotator.services.access.permissions import roles_in
from annotator.services.accounts.providers import ProviderAdapter
from annotator.services.members import create_invitation, revoke_invitation
from tests.factories import Team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

CONFIGURATION = {
    "issuer": "https://sso.example.org", "authorization_endpoint": "https://sso.example.org/authorize",
    "token_endpoint": "https://sso.example.org/token", "userinfo_endpoint": "https://sso.example.org/user",
    "jwks_uri": "https://sso.example.org/keys",
}  # fmt: skip
LENA = {"sub": "1", "email": "lena@example.org", "email_verified": True, "preferred_username": "lena"}


class Provider:
    """What allauth asks of a provider, answered here: the way over the network is tested in a browser."""

    configuration: Any = CONFIGURATION
    person: Any = LENA

    def __enter__(self) -> "Provider":
        return self

    def __exit__(self, *_problem: object) -> None:
        """Close nothing."""

    def request(self, method: str, url: str, **_more: Any) -> Any:
        return self.get(url)

    def get(self, url: str, **_more: Any) -> Any:
        token = {"access_token": "x", "token_type": "bearer"}
        data = {"configuration": self.configuration, "user": self.person}.get(url.rpartition("/")[2], token)
        if url.endswith("openid-configuration"):
            data = self.configuration
        headers = {"content-type": "application/json"}
        return SimpleNamespace(status_code=200, json=lambda: data, headers=headers, raise_for_status=lambda: None)

    post = get


@pytest.fixture
def lab(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Provider]:
    def make(**options: bool) -> Provider:
        one = IdentityProvider(
            "openid_connect", "lab", "The lab", "a", "b", issuer="https://sso.example.org", **options
        )
        settings.IDENTITY_PROVIDERS = (one,)
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [one.as_app()]}}
        found = Provider()
        monkeypatch.setattr(ProviderAdapter, "get_requests_session", lambda self: found)
        return found

    return make


def sign_in(client: Client) -> Any:
    """Go to the provider and come back, as a browser does."""
    page = client.post("/sign-in/lab/", {"next": "/projects/"}).content.decode()
    found = re.search(r'href="(https://sso[^"]+)"', page)
    assert found, page
    state = parse_qs(urlsplit(html.unescape(found[1])).query)["state"][0]
    return client.get("/accounts/oidc/lab/login/callback/", {"state": state, "code": "c"})


def who(client: Client) -> str:
    key = client.session.get("_auth_user_id")
    return User.objects.get(pk=key).username if key else ""


def test_an_account_whose_address_is_not_confirmed_is_not_taken_over(lab: Callable[..., Provider]) -> None:
    lab(link_by_email=True, sign_up=True)
    mallory = make_user("mallory", email="lena@example.org")
    address = EmailAddress.objects.create(user=mallory, email="lena@example.org", verified=False, primary=True)
    client = Client()
    sign_in(client)
    assert who(client) != "mallory"
    address.verified = True
    address.save()
    sign_in(other := Client())
    assert who(other) == "mallory"


def test_who_gets_an_account(lab: Callable[..., Provider], team: Team, settings: Any) -> None:
    provider = lab()
    sign_in(client := Client())
    assert who(client) == ""
    settings.SIGN_UP_DOMAINS = ["example.com"]
    _, secret = create_invitation(actor=team.administrator, project=team.project, roles=[Role.ANNOTATOR])
    client.post(f"/invitation/{secret}/")
    sign_in(client)
    assert who(client) == ""
    provider.person = LENA | {"email": "lena@example.com", "name": "\u202eLena\u200b"}
    assert sign_in(client)["Location"] == "/projects/"
    lena = User.objects.get(username="lena")
    assert (who(client), str(lena)) == ("lena", "lena")
    assert roles_in(team.project, lena) == {Role.ANNOTATOR}


def test_an_invitation_that_has_ended_or_waits_stops_no_sign_in(lab: Callable[..., Provider], team: Team) -> None:
    provider = lab(sign_up=True)
    ended, secret = create_invitation(actor=team.administrator, project=team.project, roles=[Role.ANNOTATOR])
    client = Client()
    client.post(f"/invitation/{secret}/")
    revoke_invitation(actor=team.administrator, project=team.project, public_id=ended.public_id)
    sign_in(client)
    assert who(client) == "lena"
    provider.person = {"sub": "2", "email": "ida@example.org", "preferred_username": "ida"}
    _, tied = create_invitation(
        actor=team.administrator, project=team.project, roles=[Role.ANNOTATOR], address="ida@example.org"
    )
    other = Client()
    other.post(f"/invitation/{tied}/")
    assert sign_in(other).status_code == 302
    assert (who(other), roles_in(team.project, User.objects.get(username="ida"))) == ("ida", frozenset())


@pytest.mark.parametrize(
    "person", [{}, {"email": "x@example.org"}, LENA | {"preferred_username": {"a": 1}}, [], "text", None]
)
def test_odd_people_are_refused_with_a_page(lab: Callable[..., Provider], person: Any) -> None:
    lab(sign_up=True).person = person
    response = sign_in(client := Client())
    assert (response.status_code, who(client)) == (401, "")
    assert "did not confirm who you are" in response.content.decode()


@pytest.mark.parametrize("configuration", [{}, [], None, {"authorization_endpoint": "https://sso.example.org/a"}])
def test_odd_configurations_are_an_outage(lab: Callable[..., Provider], configuration: Any) -> None:
    lab(sign_up=True).configuration = configuration
    response = Client().post("/sign-in/lab/")
    assert response.status_code == 503
    assert "The lab does not respond" in response.content.decode()


def test_a_word_is_no_confirmation(lab: Callable[..., Provider]) -> None:
    provider = lab(link_by_email=True, sign_up=True)
    person = make_user("ida", email="lena@example.org")
    EmailAddress.objects.create(user=person, email="lena@example.org", verified=True, primary=True)
    provider.person = LENA | {"email_verified": "false"}
    sign_in(client := Client())
    assert who(client) != "ida"
    provider.person = LENA | {"email_verified": "true"}
    sign_in(other := Client())
    assert who(other) == "ida"


def test_an_account_is_connected_to_the_person_who_is_signed_in(lab: Callable[..., Provider]) -> None:
    lab()
    person = make_user("ida")
    client = Client()
    client.force_login(person)
    assert sign_in(client).status_code == 302
    assert [one.user for one in SocialAccount.objects.all()] == [person]


def test_a_link_for_one_address_makes_no_account_for_another(lab: Callable[..., Provider], team: Team) -> None:
    lab()
    _, tied = create_invitation(
        actor=team.administrator, project=team.project, roles=[Role.ANNOTATOR], address="ida@example.org"
    )
    client = Client()
    client.post(f"/invitation/{tied}/")
    sign_in(client)
    assert who(client) == ""
