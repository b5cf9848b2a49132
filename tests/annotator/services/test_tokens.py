"""API tokens: made once, kept as a hash, alive until they expire, are revoked, or their owner's account closes."""

import hashlib
from datetime import timedelta

import pytest
from django.utils import timezone

from annotator.errors import Hidden, Invalid
from annotator.models import ApiToken, Event, Role, User
from annotator.services import members
from annotator.services.accounts import attempts, tokens
from tests.factories import give_role, make_team, make_user
from tests.racing import overlap, race

pytestmark = pytest.mark.django_db


@pytest.fixture
def person():
    return make_user("nadia")


def make(person, name="nightly", **delta):
    expires = timezone.now() + timedelta(**delta) if delta else None
    return tokens.create_token(actor=person, name=name, expires_at=expires)


def test_only_the_hash_of_a_secret_is_kept(person):
    token, secret = make(person)
    row = ApiToken.objects.get()
    assert secret.startswith("assay_")
    assert row.secret_hash == hashlib.sha256(secret.encode()).hexdigest()
    assert row.hint == secret[:10]
    assert secret not in str(vars(row))
    assert token.state(timezone.now()) == "live"


def test_secrets_are_never_the_same(person):
    assert len({make(person)[1] for _ in range(50)}) == 50


@pytest.mark.parametrize(
    ("name", "delta", "words"),
    [
        ("", {}, "Enter a name"),
        ("  \t", {}, "Enter a name"),
        ("x" * 81, {}, "longer than 80"),
        ("fine", {"seconds": -1}, "Choose a later day"),
    ],
)
def test_tokens_that_are_not_made(person, name, delta, words):
    with pytest.raises(Invalid, match=words):
        make(person, name, **delta)


def test_whoever_has_as_many_tokens_as_there_may_be_revokes_one_first(person, client, monkeypatch):
    monkeypatch.setattr(tokens, "MAX_LIVE", 2)
    monkeypatch.setattr(tokens, "LISTED", 4)
    first, _ = make(person)
    for _ in range(5):
        tokens.revoke_token(actor=person, public_id=make(person)[0].public_id)
    second, _ = make(person)
    with pytest.raises(Invalid, match="You can have 2 tokens"):
        make(person)
    # The list has every valid token, however many newer ones are revoked: else nobody could revoke it.
    assert tokens.list_tokens(person)[:2] == [second, first]
    assert len(tokens.list_tokens(person)) == 4
    client.force_login(person)
    page = client.post("/tokens/", {"name": "third", "expires": ""})
    assert (page.status_code, "Revoke some" in page.content.decode()) == (422, True)
    ApiToken.objects.filter(pk=second.pk).update(expires_at=timezone.now() - timedelta(days=1))
    make(person)
    with pytest.raises(Invalid):
        make(person)
    User.objects.filter(pk=person.pk).update(tokens_since=timezone.now())
    make(person)


def test_a_token_lives_until_it_expires(person):
    token, secret = make(person, hours=1)
    assert tokens.find_live_token(secret) == token
    ApiToken.objects.update(expires_at=timezone.now())
    assert tokens.find_live_token(secret) is None
    token.refresh_from_db()
    assert token.state(timezone.now()) == "expired"


def test_a_revoked_token_is_dead_for_good(person):
    token, secret = make(person)
    tokens.revoke_token(actor=person, public_id=token.public_id)
    assert tokens.find_live_token(secret) is None
    # A second click: the same wish.
    closed, told = ApiToken.objects.get(), Event.objects.filter(kind="token.revoked").count()
    assert tokens.revoke_token(actor=person, public_id=token.public_id).revoked_at == closed.revoked_at
    assert Event.objects.filter(kind="token.revoked").count() == told


def test_the_tokens_that_open_the_door_are_those_that_the_database_counts_as_live(person):
    made = [make(person, name)[0] for name in ("live", "expired", "revoked", "before the last password")]
    now, past = timezone.now(), timezone.now() - timedelta(hours=1)
    person.tokens_since = past
    person.save(update_fields=["tokens_since"])
    for token, name in zip(made[1:], ("expires_at", "revoked_at", "created_at"), strict=True):
        ApiToken.objects.filter(pk=token.pk).update(**{name: past - timedelta(seconds=1)})
    assert {token.name for token in ApiToken.objects.live(now)} == {"live"}
    assert {token.name for token in ApiToken.objects.all() if token.state(now) == "live"} == {"live"}


def test_nobody_revokes_anothers(person):
    token, secret = make(person)
    with pytest.raises(Hidden):
        tokens.revoke_token(actor=make_user("oskar"), public_id=token.public_id)
    assert tokens.find_live_token(secret) == token


def test_the_tokens_of_a_closed_account_open_nothing(person):
    _, secret = make(person)
    person.is_active = False
    person.save()
    assert tokens.find_live_token(secret) is None


def test_a_new_password_ends_the_tokens_made_under_the_old_one(person):
    secret = make(person)[1]
    person.set_password("quite-another-passphrase")
    person.save()
    assert tokens.find_live_token(secret) is None
    assert ApiToken.objects.get().state(timezone.now()) == "ended"
    assert tokens.find_live_token(make(person)[1]) is not None


def test_a_password_changed_while_the_clock_was_ahead_does_not_void_the_tokens_made_since(person):
    person.tokens_since = timezone.now() + timedelta(days=2)
    person.save()
    assert tokens.find_live_token(make(person)[1]) is not None


def test_tokens_of_an_account_that_was_closed_stay_dead_when_it_is_opened_again(person):
    secret = make(person)[1]
    for person.is_active in (False, True):
        person.save(update_fields=["is_active"])
    assert tokens.find_live_token(secret) is None


def test_the_last_role_takes_the_tokens_with_it():
    team, other = make_team(), make_team()
    give_role(other.project, team.annotator, Role.ANNOTATOR)
    secret = make(team.annotator)[1]
    members.deactivate_person(actor=team.administrator, project=team.project, user=team.annotator)
    assert tokens.find_live_token(secret) is not None
    members.deactivate_person(actor=other.administrator, project=other.project, user=team.annotator)
    give_role(other.project, team.annotator, Role.ANNOTATOR)
    assert tokens.find_live_token(secret) is None


def test_a_password_that_is_only_hashed_anew_ends_nothing(person, settings):
    person.set_password("quite-another-passphrase")
    person.save()
    secret = make(person)[1]
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher", *settings.PASSWORD_HASHERS]
    assert User.objects.get().check_password("quite-another-passphrase")
    assert User.objects.get().password.startswith("pbkdf2")
    assert tokens.find_live_token(secret) is not None


@pytest.mark.parametrize("secret", ["", "assay_", "nonsense", "x" * 100_000, "assay_\x00", "ключ"])
def test_secrets_somebody_made_up_open_nothing(person, secret):
    make(person)
    assert tokens.find_live_token(secret) is None


def test_the_last_use_is_written_down_every_five_minutes(person):
    token, secret = make(person)
    tokens.find_live_token(secret)
    token.refresh_from_db()
    first = token.last_used_at
    assert first is not None
    tokens.find_live_token(secret)
    token.refresh_from_db()
    assert token.last_used_at == first
    ApiToken.objects.update(last_used_at=timezone.now() - timedelta(minutes=6))
    tokens.find_live_token(secret)
    token.refresh_from_db()
    assert token.last_used_at > first


def test_a_used_token_costs_one_query(person, django_assert_num_queries):
    _, secret = make(person)
    tokens.find_live_token(secret)
    with django_assert_num_queries(1):
        tokens.find_live_token(secret).user.username  # noqa: B018


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_token_revoked_twice_at_once_is_revoked_once(person):
    token, _ = make(person)
    _, late = overlap(*[lambda: tokens.revoke_token(actor=person, public_id=token.public_id)] * 2)
    assert isinstance(late, ApiToken)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_tries_to_sign_in_at_one_moment_are_counted_one_by_one(monkeypatch):
    now = timezone.now()
    monkeypatch.setattr(attempts.timezone, "now", lambda: now)
    waits = race(*[lambda: attempts.count_attempt(what="sign-in", name="nadia", address="203.0.113.9")] * 12)
    assert sorted(waits) == [0] * 5 + [1] * 7
