"""Who administers a project next, and the API tokens that reach a project."""

import pytest
from django.test import Client

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import ApiToken, Event, Membership, Role, SecurityEvent, User
from annotator.services.access.permissions import roles_in
from annotator.services.accounts.project_tokens import list_project_tokens, revoke_project_token
from annotator.services.accounts.tokens import create_token, find_live_token
from annotator.services.hand_over import appoint_administrator, hand_over, possible_successors
from annotator.services.members import create_invitation, end_role, find_invitation, grant_role
from tests.factories import Team, give_role, make_project, make_user
from tests.racing import overlap, race

pytestmark = pytest.mark.django_db


def test_a_member_takes_over_and_the_other_roles_stay(team: Team) -> None:
    ada, heir = team.administrator, team.annotators[0]
    grant_role(actor=ada, project=team.project, user=ada, role=Role.ANNOTATOR)
    _, secret = create_invitation(actor=ada, project=team.project, roles=[Role.ANNOTATOR])
    assert heir in possible_successors(actor=ada, project=team.project)
    assert ada not in possible_successors(actor=ada, project=team.project)
    with pytest.raises(Conflict, match="Choose somebody else"):
        hand_over(actor=ada, project=team.project, public_id=ada.public_id)
    with pytest.raises(Hidden):
        hand_over(actor=ada, project=team.project, public_id=team.outsider.public_id)
    with pytest.raises(Denied):
        hand_over(actor=heir, project=team.project, public_id=ada.public_id)
    User.objects.filter(pk=team.seniors[0].pk).update(is_active=False)
    with pytest.raises(Conflict, match="no longer an active member"):
        hand_over(actor=ada, project=team.project, public_id=team.seniors[0].public_id)
    hand_over(actor=ada, project=team.project, public_id=heir.public_id)
    assert roles_in(team.project, heir) == {Role.ADMINISTRATOR, Role.ANNOTATOR}
    assert roles_in(team.project, ada) == {Role.ANNOTATOR}
    with pytest.raises(Hidden):
        find_invitation(secret)
    kinds = Event.objects.filter(project=team.project, actor=ada).order_by("-pk").values_list("kind", flat=True)
    assert list(kinds[:2]) == ["membership.ended", "invitation.revoked"]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_administrators_who_hand_over_at_once_leave_one(team: Team) -> None:
    one, two = team.administrator, team.annotators[0]
    grant_role(actor=one, project=team.project, user=two, role=Role.ADMINISTRATOR)

    def give(actor: User, other: User) -> str:
        try:
            hand_over(actor=actor, project=team.project, public_id=other.public_id)
        except (Conflict, Denied) as refusal:
            return type(refusal).__name__
        return "done"

    for _ in range(5):
        outcomes = race(lambda: give(one, two), lambda: give(two, one))
        # The second one may hand back what it has just got.
        assert "done" in outcomes
        left = Membership.objects.live().filter(project=team.project, role=Role.ADMINISTRATOR)
        assert left.count() == 1
        for person in (one, two):
            grant_role(actor=None, project=team.project, user=person, role=Role.ADMINISTRATOR)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_successor_who_is_removed_at_the_same_time_gets_nothing(team: Team) -> None:
    # The newest row is the administrator's: the removal locks the successor's row before it.
    actor, heir = team.annotators[:2]
    hand_over(actor=team.administrator, project=team.project, public_id=actor.public_id)
    rows = Membership.objects.select_for_update(no_key=True)
    _, outcome = overlap(
        lambda: rows.get(project=team.project, user=heir),
        lambda: hand_over(actor=actor, project=team.project, public_id=heir.public_id),
        lambda: end_role(actor=actor, project=team.project, user=heir, role=Role.ANNOTATOR),
    )
    assert isinstance(outcome, Conflict)
    assert roles_in(team.project, actor) == {Role.ADMINISTRATOR, Role.ANNOTATOR}
    assert roles_in(team.project, heir) == frozenset()


@pytest.mark.any_database
def test_operators_appoint_only_where_there_is_no_administrator(team: Team) -> None:
    operator, client = make_user("otto", is_staff=True), Client()
    client.force_login(operator)
    with pytest.raises(Conflict, match="has an administrator"):
        appoint_administrator(actor=operator, slug=team.project.slug, username="ann1")
    User.objects.filter(pk=team.administrator.pk).update(is_active=False)
    address = f"/operator/projects/{team.project.slug}/appoint/"
    page = client.post(address, {"username": "nobody-here"})
    assert page.status_code == 422
    assert "There is no active account with the username “nobody-here”." in page.content.decode()
    assert 'value="nobody-here"' in page.content.decode()
    namesakes = [make_user(name) for name in ("Heiress", "heiress")]
    with pytest.raises(Invalid, match="written with other capitals"):
        appoint_administrator(actor=operator, slug=team.project.slug, username="HEIRESS")
    User.objects.filter(pk=namesakes[0].pk).update(is_active=False)
    operator.set_password("a-long-enough-passphrase")
    operator.save()
    client.force_login(operator)
    asked = client.post(address, {"username": "nobody-here"})
    assert asked["Location"].startswith("/accounts/reauthenticate/")
    assert client.post(asked["Location"], {"password": "a-long-enough-passphrase"}).status_code in {302, 422}
    assert client.post(address, {"username": team.outsider.username.upper()}).status_code == 302
    assert roles_in(team.project, team.outsider) == {Role.ADMINISTRATOR}
    logged = SecurityEvent.objects.get(kind="role_granted", person=team.outsider)
    assert logged.actor == operator
    assert Event.objects.get(project=team.project, kind="membership.granted", actor=operator)
    assert "Appoint" not in client.get("/operator/projects/").content.decode()
    User.objects.filter(pk=team.outsider.pk).update(is_active=False)
    with pytest.raises(Invalid, match="no active account"):
        appoint_administrator(actor=operator, slug=team.project.slug, username="")
    with pytest.raises(Hidden):
        appoint_administrator(actor=team.annotators[0], slug=team.project.slug, username="ann2")


@pytest.mark.any_database
def test_administrators_see_tokens_that_reach_their_project_and_revoke_its_own(team: Team) -> None:
    person, other = team.annotators[0], make_project("elsewhere")
    give_role(other, person, Role.ANNOTATOR)
    mine, theirs = team.project.public_id, other.public_id
    secrets = {
        name: create_token(actor=person, name=name, expires_at=None, projects=projects)[1]
        for name, projects in (("here", [mine]), ("both", [mine, theirs]), ("there", [theirs]), ("all", None))
    }
    create_token(actor=team.outsider, name="outside", expires_at=None)
    ada = team.administrator
    found = {one.name: one.elsewhere for one in list_project_tokens(actor=ada, project=team.project)}
    assert found == {"here": False, "both": True, "all": True}
    client = Client()
    client.force_login(ada)
    page = client.get(f"/p/{team.project.slug}/people/tokens/").content.decode()
    assert page.count("/revoke/") == 1
    token = ApiToken.objects.get(name="here")
    client.post(f"/p/{team.project.slug}/people/tokens/{token.public_id}/revoke/")
    assert find_live_token(secrets["here"]) is None
    revoked = SecurityEvent.objects.get(kind="token_revoked")
    assert (revoked.actor, revoked.person) == (ada, person)
    with pytest.raises(Conflict, match="reaches other projects too"):
        revoke_project_token(actor=ada, project=team.project, public_id=ApiToken.objects.get(name="both").public_id)
    with pytest.raises(Hidden):
        revoke_project_token(actor=ada, project=team.project, public_id=ApiToken.objects.get(name="there").public_id)
    assert all(find_live_token(secrets[name]) for name in ("both", "there", "all"))
    end_role(actor=ada, project=team.project, user=person, role=Role.ANNOTATOR)
    assert not list_project_tokens(actor=ada, project=team.project).exists()
