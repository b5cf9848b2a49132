"""What operators do with accounts: deactivate, activate, name operators, remove lost factors, revoke tokens."""

from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client
from django.utils import timezone

from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Role, SecurityEvent, User
from annotator.services.access.permissions import roles_in
from annotator.services.accounts import password_mails, people, tokens
from annotator.services.members import create_invitation, find_invitation, grant_role
from reviews.models import Claim
from reviews.services.queue.claims import claim_next
from tests.factories import Team, adopt_c3, begin, make_dialogue, make_document, make_user
from tests.racing import race

pytestmark = pytest.mark.django_db
any_database = pytest.mark.any_database


@pytest.fixture
def operator() -> User:
    return make_user("otto", is_staff=True)


def act(client: Client, person: User, action: str) -> Any:
    return client.post(f"/operator/people/{person.public_id}/change/", {"action": action}, follow=True)


@any_database
def test_a_deactivated_account_stays_outside_and_comes_back(team: Team, operator: User) -> None:
    adopt_c3(team)
    person = team.annotators[0]
    begin(team.project, [make_dialogue(team.project, make_document("one"))])
    assert claim_next(actor=person, project=team.project, stage="self_check_single")
    _token, secret = tokens.create_token(actor=person, name="nightly", expires_at=None)
    client, theirs = Client(), Client()
    client.force_login(operator)
    theirs.force_login(person)
    page = client.get(f"/operator/people/{person.public_id}/").content.decode()
    assert "Work in progress goes back" in page
    assert "is deactivated" in act(client, person, "deactivate").content.decode()
    assert theirs.get("/projects/").status_code == 302
    assert tokens.find_live_token(secret) is None
    assert not Claim.objects.filter(person=person, state="live").exists()
    assert roles_in(team.project, User.objects.get(pk=person.pk)) == frozenset()
    assert "is active again" in act(client, person, "activate").content.decode()
    assert roles_in(team.project, User.objects.get(pk=person.pk)) == {Role.ANNOTATOR}
    assert tokens.find_live_token(secret) is None
    kinds = SecurityEvent.objects.filter(person=person, actor=operator).order_by("pk").values_list("kind", flat=True)
    assert list(kinds) == ["account_deactivated", "account_activated"]


@any_database
def test_no_project_and_no_installation_is_left_alone(team: Team, operator: User) -> None:
    with pytest.raises(Conflict, match="only administrator of Project"):
        people.deactivate_account(actor=operator, public_id=team.administrator.public_id)
    with pytest.raises(Conflict, match="your own account"):
        people.deactivate_account(actor=operator, public_id=operator.public_id)
    with pytest.raises(Conflict, match="last operator"):
        people.set_operator(actor=operator, public_id=operator.public_id, operator=False)
    grant_role(actor=team.administrator, project=team.project, user=team.seniors[0], role=Role.ADMINISTRATOR)
    _, secret = create_invitation(actor=team.administrator, project=team.project, roles=[Role.ANNOTATOR])
    people.deactivate_account(actor=operator, public_id=team.administrator.public_id)
    with pytest.raises(Hidden):
        find_invitation(secret)
    with pytest.raises(Conflict, match="deactivated"):
        people.set_operator(actor=operator, public_id=team.administrator.public_id, operator=True)
    with pytest.raises(Hidden):
        people.deactivate_account(actor=team.seniors[0], public_id=operator.public_id)


@any_database
def test_lost_factors_operators_and_tokens(
    operator: User, mailoutbox: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    client, person, theirs = Client(), make_user("nadia"), Client()
    client.force_login(operator)
    theirs.force_login(person)
    Authenticator.objects.create(user=person, type="totp", data={"secret": "x"})
    assert "Remove second factors" in client.get(f"/operator/people/{person.public_id}/").content.decode()
    with django_capture_on_commit_callbacks(execute=True):
        act(client, person, "remove-factors")
    password_mails.MAILING.submit(int).result(60)
    [mail] = mailoutbox
    assert mail.to == ["nadia@example.org"]
    assert "an operator has removed the second factors of your account" in mail.body
    assert not Authenticator.objects.exists()
    assert theirs.get("/projects/").status_code == 302
    act(client, person, "make-operator")
    assert User.objects.get(pk=person.pk).is_staff
    act(client, person, "end-operator")
    assert not User.objects.get(pk=person.pk).is_staff
    assert act(client, person, "sing").status_code == 422
    token, secret = tokens.create_token(actor=person, name="nightly", expires_at=None)
    assert "nightly" in client.get("/operator/tokens/").content.decode()
    client.post(f"/operator/tokens/{token.public_id}/revoke/")
    assert tokens.find_live_token(secret) is None
    client.get("/projects/")
    assert "nightly" not in client.get("/operator/tokens/").content.decode()
    found = client.get("/operator/people/?q=NADI&state=active").content.decode()
    assert "nadia@example.org" in found
    assert "nadia@example.org" not in client.get("/operator/people/?state=operators").content.decode()


@any_database
def test_tokens_have_a_maximum_age(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    person, now = make_user("nadia"), timezone.now()
    _token, old = tokens.create_token(actor=person, name="old", expires_at=None)
    settings.TOKEN_MAX_DAYS = 30
    for expires in (None, now + timedelta(days=40)):
        with pytest.raises(Invalid, match="Tokens end after 30 days"):
            tokens.create_token(actor=person, name="new", expires_at=expires)
    tokens.create_token(actor=person, name="new", expires_at=now + timedelta(days=30))
    assert tokens.find_live_token(old)
    monkeypatch.setattr(tokens.timezone, "now", lambda: now + timedelta(days=32))
    assert tokens.find_live_token(old) is None


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_operators_cannot_remove_each_other() -> None:
    one, two = (make_user(name, is_staff=True) for name in ("one", "two"))

    def end(actor: User, other: User) -> str:
        try:
            people.deactivate_account(actor=actor, public_id=other.public_id)
        except (Conflict, Hidden) as refusal:
            return type(refusal).__name__
        return "done"

    for _ in range(5):
        User.objects.update(is_active=True)
        outcomes = race(lambda: end(one, two), lambda: end(two, one))
        assert sorted(outcomes) == ["Hidden", "done"]
        assert User.objects.filter(is_active=True).count() == 1
