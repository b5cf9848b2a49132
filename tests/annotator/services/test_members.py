"""Members of a project: roles, and invitations, which work once and for one person."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Event, Invitation, Role, User
from annotator.services import members
from annotator.services.access.permissions import roles_in
from tests.factories import give_role, make_team, make_user
from tests.racing import overlap, race

pytestmark = pytest.mark.django_db

ADMINISTRATOR, ANNOTATOR, SENIOR = Role.ADMINISTRATOR, Role.ANNOTATOR, Role.SENIOR_REVIEWER


def events(project, kind):
    return list(Event.objects.filter(project=project, kind=kind).order_by("pk"))


def invite(team, *roles, note=""):
    return members.create_invitation(
        actor=team.administrator, project=team.project, roles=[role.value for role in roles or [ANNOTATOR]], note=note
    )


def shift_expiry(invitation, **delta):
    Invitation.objects.filter(pk=invitation.pk).update(expires_at=timezone.now() + timedelta(**delta))


# --- roles ------------------------------------------------------------------------------------------------------------


def test_a_role_is_given_once(team):
    for _ in range(2):
        members.grant_role(actor=team.administrator, project=team.project, user=team.outsider, role=SENIOR)
    assert roles_in(team.project, team.outsider) == {SENIOR}
    granted = events(team.project, "membership.granted")
    assert [event.after for event in granted] == [{"user": team.outsider.public_id, "role": "senior_reviewer"}]


def test_a_role_ends_and_can_be_given_again(team):
    person = team.annotator
    members.end_role(actor=team.administrator, project=team.project, user=person, role=ANNOTATOR)
    assert roles_in(team.project, person) == frozenset()
    with pytest.raises(Conflict, match="doesn’t have this role"):
        members.end_role(actor=team.administrator, project=team.project, user=person, role=SENIOR)
    members.grant_role(actor=team.administrator, project=team.project, user=person, role=ANNOTATOR)
    assert person.memberships.filter(project=team.project).count() == 2


def test_the_last_administrator_stays(team):
    with pytest.raises(Conflict, match="is the only administrator"):
        members.end_role(actor=team.administrator, project=team.project, user=team.administrator, role=ADMINISTRATOR)
    members.grant_role(actor=team.administrator, project=team.project, user=team.senior, role=ADMINISTRATOR)
    members.end_role(actor=team.administrator, project=team.project, user=team.administrator, role=ADMINISTRATOR)
    assert roles_in(team.project, team.administrator) == frozenset()


def test_an_administrator_whose_account_is_closed_does_not_count(team):
    give_role(team.project, make_user("closed", is_active=False), ADMINISTRATOR)
    with pytest.raises(Conflict, match="is the only administrator"):
        members.end_role(actor=team.administrator, project=team.project, user=team.administrator, role=ADMINISTRATOR)


def test_roles_change_only_at_an_administrators_word(team):
    for act in (members.grant_role, members.end_role):
        for person, error in ((team.annotator, Denied), (team.senior, Denied), (team.outsider, Hidden)):
            with pytest.raises(error):
                act(actor=person, project=team.project, user=team.annotators[1], role=ANNOTATOR)


def test_an_administrator_of_another_project_is_an_outsider(team):
    other = make_team()
    with pytest.raises(Hidden):
        members.end_role(actor=other.administrator, project=team.project, user=team.annotator, role=ANNOTATOR)


def test_deactivation_ends_every_role(team):
    give_role(team.project, team.annotator, SENIOR)
    members.deactivate_person(actor=team.administrator, project=team.project, user=team.annotator)
    assert roles_in(team.project, team.annotator) == frozenset()
    assert [event.before["role"] for event in events(team.project, "membership.ended")] == [
        "annotator",
        "senior_reviewer",
    ]
    with pytest.raises(Conflict, match="was never a member"):
        members.deactivate_person(actor=team.administrator, project=team.project, user=team.outsider)
    with pytest.raises(Conflict, match="can’t remove yourself"):
        members.deactivate_person(actor=team.administrator, project=team.project, user=team.administrator)


# --- invitations ------------------------------------------------------------------------------------------------------


def test_an_invitation_makes_a_member_once(team):
    invitation, secret = invite(team, ANNOTATOR, SENIOR, note="for Nadia")
    assert secret not in str(vars(Invitation.objects.get(pk=invitation.pk)))
    assert members.accept_invitation(actor=team.outsider, secret=secret) == team.project
    assert roles_in(team.project, team.outsider) == {ANNOTATOR, SENIOR}
    with pytest.raises(Hidden, match="isn’t valid or has expired"):
        members.accept_invitation(actor=make_user("second"), secret=secret)
    assert events(team.project, "invitation.accepted")[0].actor == team.outsider
    assert [event.after["invitation"] for event in events(team.project, "membership.granted")] == [
        invitation.public_id
    ] * 2


def test_as_many_invitations_are_open_as_their_list_shows(team, client, monkeypatch):
    monkeypatch.setattr(members, "MAX_OPEN_INVITATIONS", 2)
    first, _ = invite(team, ANNOTATOR)
    invite(team, ANNOTATOR)
    with pytest.raises(Invalid, match="2 open invitations"):
        invite(team, ANNOTATOR)
    client.force_login(team.administrator)
    page = client.post(f"/p/{team.project.slug}/people/", {"roles": ["annotator"], "note": ""})
    assert (page.status_code, "Revoke some" in page.content.decode()) == (422, True)
    shift_expiry(first, days=-1)
    invite(team, ANNOTATOR)


def test_an_invitation_of_somebody_deactivated_lets_nobody_in(team):
    """They could sign up by it under another name."""
    _, secret = invite(team, SENIOR)
    team.administrator.is_active = False
    team.administrator.save()
    with pytest.raises(Hidden, match="isn’t valid or has expired"):
        members.accept_invitation(actor=team.outsider, secret=secret)


def test_an_invitation_for_more_roles_adds_them(team):
    _, secret = invite(team, ANNOTATOR, SENIOR)
    members.accept_invitation(actor=team.annotator, secret=secret)
    assert roles_in(team.project, team.annotator) == {ANNOTATOR, SENIOR}


def test_who_has_the_roles_already_does_not_use_the_link_up(team):
    _, secret = invite(team, ANNOTATOR)
    with pytest.raises(Conflict, match="to somebody else"):
        members.accept_invitation(actor=team.annotator, secret=secret)
    members.accept_invitation(actor=team.outsider, secret=secret)
    assert roles_in(team.project, team.outsider) == {ANNOTATOR}


def test_every_invitation_that_does_not_work_looks_the_same(team):
    _, used_secret = invite(team)
    members.accept_invitation(actor=team.outsider, secret=used_secret)
    expired, expired_secret = invite(team)
    shift_expiry(expired, seconds=-1)
    revoked, revoked_secret = invite(team)
    members.revoke_invitation(actor=team.administrator, project=team.project, public_id=revoked.public_id)
    sentences = set()
    for secret in (used_secret, expired_secret, revoked_secret, "made-up", "", "x" * 10_000, "\x00", "秘密"):
        with pytest.raises(Hidden) as refused:
            members.find_invitation(secret)
        sentences.add(refused.value.sentence)
    assert len(sentences) == 1


def test_an_invitation_ends_after_fourteen_days(team):
    invitation, secret = invite(team)
    assert timedelta(days=13.9) < invitation.expires_at - timezone.now() <= timedelta(days=14)
    shift_expiry(invitation, seconds=30)
    assert members.find_invitation(secret) == invitation


def test_revoking(team):
    invitation, _ = invite(team)
    other = make_team()
    with pytest.raises(Hidden):
        members.revoke_invitation(actor=other.administrator, project=other.project, public_id=invitation.public_id)
    with pytest.raises(Denied):
        members.revoke_invitation(actor=team.annotator, project=team.project, public_id=invitation.public_id)
    members.revoke_invitation(actor=team.administrator, project=team.project, public_id=invitation.public_id)
    # A second click: the same wish.
    members.revoke_invitation(actor=team.administrator, project=team.project, public_id=invitation.public_id)
    assert team.project.events.filter(kind="invitation.revoked").count() == 1
    used, secret = invite(team)
    members.accept_invitation(actor=team.outsider, secret=secret)
    with pytest.raises(Conflict, match="already used or has expired"):
        members.revoke_invitation(actor=team.administrator, project=team.project, public_id=used.public_id)


def test_joining_by_a_second_click_is_joining(team):
    _, secret = invite(team)
    for _ in range(2):
        assert members.accept_invitation(actor=team.outsider, secret=secret) == team.project
    assert team.project.events.filter(kind="invitation.accepted").count() == 1
    with pytest.raises(Hidden):
        members.accept_invitation(actor=make_team().outsider, secret=secret)
    members.deactivate_person(actor=team.administrator, project=team.project, user=team.outsider)
    with pytest.raises(Hidden):
        members.accept_invitation(actor=team.outsider, secret=secret)


def test_a_role_ends_once_however_often_one_clicks(team):
    for _ in range(2):
        members.end_role(actor=team.administrator, project=team.project, user=team.senior, role=Role.SENIOR_REVIEWER)
        members.deactivate_person(actor=team.administrator, project=team.project, user=team.senior)
    assert team.project.events.filter(kind="membership.ended").count() == 1


@pytest.mark.parametrize(("roles", "words"), [([], "at least one role"), (["owner"], "no role “owner”")])
def test_invitations_need_roles_that_there_are(team, roles, words):
    with pytest.raises(Invalid, match=words):
        members.create_invitation(actor=team.administrator, project=team.project, roles=roles)


def test_only_administrators_invite(team):
    for person, error in ((team.annotator, Denied), (team.senior, Denied), (team.outsider, Hidden)):
        with pytest.raises(error):
            members.create_invitation(actor=person, project=team.project, roles=["annotator"])


def test_the_invitations_of_an_administrator_end_with_the_role(team):
    """Else who was removed could come back by a link made before."""
    second = give_role(team.project, make_user("second"), ADMINISTRATOR)
    _, mine = members.create_invitation(actor=second, project=team.project, roles=["administrator"])
    _, of_others = invite(team)
    members.end_role(actor=team.administrator, project=team.project, user=second, role=ADMINISTRATOR)
    with pytest.raises(Hidden):
        members.accept_invitation(actor=second, secret=mine)
    members.accept_invitation(actor=second, secret=of_others)
    assert len(events(team.project, "invitation.revoked")) == 1


# --- two connections --------------------------------------------------------------------------------------------------


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_an_invitation_taken_by_two_at_once_makes_one_member(team):
    _, secret = invite(team)
    people = [make_user(f"racer{n}") for n in range(4)]
    first, second = overlap(
        lambda: members.accept_invitation(actor=people[0], secret=secret),
        lambda: members.accept_invitation(actor=people[1], secret=secret),
    )
    assert first == team.project
    assert isinstance(second, Hidden)
    _, secret = invite(team)
    outcomes = race(*[lambda p=p: members.accept_invitation(actor=p, secret=secret) for p in people[1:]])
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Hidden", "Hidden", "Project"]
    assert User.objects.filter(memberships__project=team.project, username__startswith="racer").count() == 2


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_link_revoked_at_this_moment_makes_nobody_a_member(team):
    invitation, secret = invite(team)
    _, late = overlap(
        lambda: members.revoke_invitation(
            actor=team.administrator, project=team.project, public_id=invitation.public_id
        ),
        lambda: members.accept_invitation(actor=team.outsider, secret=secret),
    )
    assert isinstance(late, Hidden)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_administrators_cannot_remove_each_other_at_once(team):
    first, second = team.administrator, give_role(team.project, make_user("second"), ADMINISTRATOR)

    def remove(actor, user):
        return members.end_role(actor=actor, project=team.project, user=user, role=ADMINISTRATOR)

    _, late = overlap(lambda: remove(first, second), lambda: remove(second, first))
    # A removed administrator may not remove anybody; as an outsider, they do not even know the project.
    assert isinstance(late, Hidden)
    assert roles_in(team.project, first) == {ADMINISTRATOR}


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_three_who_remove_one_another_one_stays(team):
    people = [team.administrator, *(give_role(team.project, make_user(f"p{n}"), ADMINISTRATOR) for n in range(2))]
    race(
        *[
            lambda a=a, b=b: members.end_role(actor=a, project=team.project, user=b, role=ADMINISTRATOR)
            for a, b in zip(people, [*people[1:], people[0]], strict=True)
        ]
    )
    assert sum(roles_in(team.project, person) == {ADMINISTRATOR} for person in people) >= 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_one_role_given_twice_at_once_is_held_once(team):
    race(
        *[
            lambda: members.grant_role(
                actor=team.administrator, project=team.project, user=team.outsider, role=ANNOTATOR
            )
        ]
        * 4
    )
    assert team.outsider.memberships.count() == 1
    assert len(events(team.project, "membership.granted")) == 1
