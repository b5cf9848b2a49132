"""What is stored about a person: exported on request, and removed on request."""

import json
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.apps import apps
from django.core import serializers
from django.core.management import call_command
from django.test import Client

from annotator.core.text import message
from annotator.errors import Conflict, Hidden
from annotator.models import Invitation, Notice, Role, SecurityEvent, User
from annotator.services.accounts import people, tokens
from annotator.services.accounts.personal_data import NOT_EXPORTED, PERSONAL_DATA, export_person
from annotator.services.accounts.pseudonymising import pseudonymise
from annotator.services.members import accept_invitation, create_invitation
from reviews.models import DailyGoal, Review
from reviews.services.feedback.comments import comment_on
from tests.factories import Team, adopt_c3, begin, claim_and_submit, make_dialogues, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]
NAMES = ("zephyrine", "Zephyrine")


@pytest.fixture
def person(team: Team) -> User:
    """An annotator with an account and work of every kind."""
    person = make_user(NAMES[0])
    EmailAddress.objects.create(user=person, email=person.email, verified=True, primary=True)
    SocialAccount.objects.create(user=person, provider="github", uid="77", extra_data={"login": person.username})
    _, secret = create_invitation(
        actor=team.administrator, project=team.project, roles=[Role.ANNOTATOR], note="For the cross-check",
        address=person.email,
    )  # fmt: skip
    accept_invitation(actor=person, secret=secret)
    tokens.create_token(actor=person, name="Zephyrine’s laptop", expires_at=None)
    adopt_c3(team)
    [dialogue] = begin(team.project, make_dialogues(team.project, 1))
    claim_and_submit(person, dialogue)
    comment_on(actor=person, dialogue=dialogue, anchor="", text="The second call is missing.")
    said = message("%(person)s mentioned you.", person="Ada")
    Notice.objects.create(person=person, project=team.project, kind="mention", target="/", message=said)
    DailyGoal.objects.create(project=team.project, person=person, reviews=5)
    return person


def columns_of(person: User) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for line in export_person(actor=person, person=person):
        row = json.loads(line)
        found.setdefault(row.pop("table"), []).append(row)
    return found


def test_every_table_that_names_people_is_exported_or_says_why_not() -> None:
    relations = {
        f"{one.related_model._meta.label}.{one.field.name}"
        for one in User._meta.get_fields(include_hidden=True)
        if one.auto_created and not one.concrete
    }
    exported = [one.name for one in PERSONAL_DATA]
    assert set(exported) | set(NOT_EXPORTED) == relations
    assert len(exported) + len(NOT_EXPORTED) == len(relations)


def test_a_person_gets_what_is_stored_about_them_and_no_secrets(person: User, team: Team) -> None:
    found = columns_of(person)
    assert found["account"][0]["email"] == person.email
    assert [row["text"] for row in found["reviews.Comment.author"]] == ["The second call is missing."]
    assert [row["verdict"] for row in found["reviews.Review.person"]] == ["approve"]
    assert [row["role"] for row in found["annotator.Membership.user"]] == ["annotator"]
    assert "Ada mentioned you." in [row["message"] for row in found["annotator.Notice.person"]]
    assert found["annotator.ApiToken.user"][0]["name"] == "Zephyrine’s laptop"
    secret = next(iter(User.objects.get(pk=person.pk).api_tokens.values_list("secret_hash", flat=True)))
    assert secret not in json.dumps(found)
    with pytest.raises(Hidden):
        export_person(actor=team.administrator, person=person)


def test_the_file_is_downloaded_by_its_person_an_operator_and_a_command(person: User, capsys: Any) -> None:
    person.set_password("a-long-enough-passphrase")
    person.save()
    mine, operators = Client(), Client()
    mine.force_login(person)
    asked = mine.get("/account/data.jsonl")
    assert asked["Location"].startswith("/accounts/reauthenticate/")
    there = mine.post(asked["Location"], {"password": "a-long-enough-passphrase"})
    answer = mine.get(there["Location"])
    assert person.public_id in answer["Content-Disposition"]
    own = b"".join(answer.streaming_content).decode()
    operators.force_login(make_user("otto", is_staff=True))
    theirs = operators.get(f"/operator/people/{person.public_id}/data.jsonl")
    assert b'"zephyrine@example.org"' in b"".join(theirs.streaming_content)
    call_command("export_person", person.username)
    assert capsys.readouterr().out.splitlines()[0] == own.splitlines()[0]
    assert SecurityEvent.objects.filter(kind="data_exported", person=person).count() == 3


def test_operators_confirm_their_sign_in_before_they_change_accounts(person: User) -> None:
    operator, client = make_user("otto", is_staff=True), Client()
    operator.set_password("a-long-enough-passphrase")
    operator.save()
    client.force_login(operator)
    asked = client.post(f"/operator/people/{person.public_id}/change/", {"action": "deactivate"})
    assert asked["Location"].startswith("/accounts/reauthenticate/")
    assert User.objects.get(pk=person.pk).is_active
    client.post(asked["Location"], {"password": "a-long-enough-passphrase"})
    assert not User.objects.get(pk=person.pk).is_active
    client.post(f"/operator/people/{person.public_id}/change/", {"action": "activate"})
    assert User.objects.get(pk=person.pk).is_active


def test_a_pseudonymised_person_is_named_nowhere_and_their_work_stays(person: User, team: Team) -> None:
    operator = make_user("otto", is_staff=True)
    with pytest.raises(Conflict, match="Deactivate the account first"):
        pseudonymise(actor=operator, public_id=person.public_id)
    people.deactivate_account(actor=operator, public_id=person.public_id)
    pseudonymise(actor=operator, public_id=person.public_id)
    changed = pseudonymise(actor=operator, public_id=person.public_id)
    assert str(changed) == person.pseudonym
    assert not changed.has_usable_password()
    stored = [
        line
        for name in ("annotator", "reviews", "benchmark", "account", "socialaccount", "usersessions", "mfa")
        for model in apps.get_app_config(name).get_models(include_auto_created=True)
        for line in serializers.serialize("jsonl", model._base_manager.all()).splitlines()
    ]
    assert stored
    assert [line for line in stored if any(one in line for one in NAMES)] == []
    assert Review.objects.filter(person=person).count() == 1
    assert Invitation.objects.get(accepted_by=person).roles == ["annotator"]
    with pytest.raises(Hidden):
        pseudonymise(actor=team.administrator, public_id=person.public_id)
