"""Tokens: hashed, named, expiring, revocable; a request with one acts as its owner."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotator.errors import Hidden, Invalid
from annotator.models import ApiToken
from annotator.services.accounts.tokens import create_token, find_live_token, hash_secret, revoke_token
from tests.api_client import ApiClient, refusal
from tests.factories import make_team, make_user

pytestmark = pytest.mark.django_db


def test_only_the_hash_of_a_secret_is_kept() -> None:
    token, secret = create_token(actor=make_user(), name=" nightly import ", expires_at=None)
    assert token.name == "nightly import"
    assert secret.startswith("assay_")
    assert len(secret) > 40
    stored = [str(value) for value in ApiToken.objects.filter(pk=token.pk).values_list().get()]
    assert not any(secret in value for value in stored)
    assert token.secret_hash == hash_secret(secret)
    assert secret.startswith(token.hint)
    assert len(token.hint) < 12


def test_a_token_acts_as_its_owner() -> None:
    team = make_team()
    response = ApiClient(team.annotator).get("/api/projects/")
    assert [project["slug"] for project in response.json()["results"]] == [team.project.slug]
    assert ApiClient(team.outsider).get("/api/projects/").json()["results"] == []


@pytest.mark.parametrize(
    "header",
    [
        "Bearer assay_unknown",
        "Bearer",
        "Bearer a b",
        "bearer   x  ",
        "Bearer \u00ff\u00fe",
        "Bearer assay_" + "x" * 5000,
    ],
)
def test_a_bad_header_is_refused_in_the_usual_shape(header: str) -> None:
    response = ApiClient().get("/api/projects/", headers={"Authorization": header.encode("utf-8").decode("latin-1")})
    assert refusal(response) == (401, "authentication_failed")
    assert response["WWW-Authenticate"] == "Bearer"


def test_without_any_sign_of_who_asks_nothing_is_told() -> None:
    response = ApiClient().get("/api/projects/")
    assert refusal(response) == (401, "not_authenticated")
    assert "send a token" in response.json()["sentence"]
    assert refusal(ApiClient().get("/api/projects/", headers={"Authorization": "Basic YTpi"}))[0] == 401


def test_expired_revoked_and_orphaned_tokens_open_nothing() -> None:
    owner = make_user()
    client = ApiClient(owner)
    assert client.get("/api/projects/").status_code == 200
    token = owner.api_tokens.get()
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert refusal(client.get("/api/projects/")) == (401, "authentication_failed")
    ApiToken.objects.filter(pk=token.pk).update(expires_at=None)
    owner.is_active = False
    owner.save()
    assert refusal(client.get("/api/projects/")) == (401, "authentication_failed")
    owner.is_active = True
    owner.save()
    revoke_token(actor=owner, public_id=token.public_id)
    assert refusal(client.get("/api/projects/")) == (401, "authentication_failed")


def test_every_way_of_being_dead_looks_the_same() -> None:
    owner = make_user()
    unknown = ApiClient().get("/api/projects/", headers={"Authorization": "Bearer assay_unknown"})
    client = ApiClient(owner)
    revoke_token(actor=owner, public_id=owner.api_tokens.get().public_id)
    assert client.get("/api/projects/").content == unknown.content


def test_a_token_that_expires_later_still_works() -> None:
    owner = make_user()
    _, secret = create_token(actor=owner, name="soon", expires_at=timezone.now() + timedelta(minutes=5))
    found = find_live_token(secret)
    assert found is not None
    assert found.user == owner
    assert found.state(timezone.now()) == "live"
    assert found.state(timezone.now() + timedelta(minutes=6)) == "expired"


def test_use_is_noted_at_most_every_few_minutes() -> None:
    owner = make_user()
    client = ApiClient(owner)
    client.get("/api/projects/")
    first = owner.api_tokens.get().last_used_at
    assert first is not None
    client.get("/api/projects/")
    assert owner.api_tokens.get().last_used_at == first
    ApiToken.objects.update(last_used_at=first - timedelta(hours=1))
    client.get("/api/projects/")
    assert owner.api_tokens.get().last_used_at > first - timedelta(hours=1)


def test_what_is_no_token_is_refused_with_a_sentence() -> None:
    owner = make_user()
    for name, expires_at in (("  ", None), ("x" * 81, None), ("late", timezone.now() - timedelta(days=1))):
        with pytest.raises(Invalid):
            create_token(actor=owner, name=name, expires_at=expires_at)
    assert not owner.api_tokens.exists()


def test_nobody_revokes_the_token_of_somebody_else() -> None:
    owner, other = make_user(), make_user()
    token, secret = create_token(actor=owner, name="mine", expires_at=None)
    with pytest.raises(Hidden):
        revoke_token(actor=other, public_id=token.public_id)
    assert find_live_token(secret) is not None
    revoke_token(actor=owner, public_id=token.public_id)
    revoke_token(actor=owner, public_id=token.public_id)
    assert token.state(timezone.now()) == "live", "the row in memory is as it was read"
    token.refresh_from_db()
    assert token.state(timezone.now()) == "revoked"
