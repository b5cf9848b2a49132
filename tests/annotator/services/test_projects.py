"""Projects: who makes them, who is in them, and how somebody comes in: invitations work once, for one person."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Event, Guideline, Invitation, Project, Role, User
from annotator.services import projects
from annotator.services.access.permissions import roles_in
from tests.factories import give_role, make_project, make_team, make_user
from tests.racing import overlap, race

pytestmark = pytest.mark.django_db

ADMINISTRATOR, ANNOTATOR, SENIOR = Role.ADMINISTRATOR, Role.ANNOTATOR, Role.SENIOR_REVIEWER


def events(project, kind):
    return list(Event.objects.filter(project=project, kind=kind).order_by("pk"))


def invite(team, *roles, note=""):
    return projects.create_invitation(
        actor=team.administrator, project=team.project, roles=[role.value for role in roles or [ANNOTATOR]], note=note
    )


def shift_expiry(invitation, **delta):
    Invitation.objects.filter(pk=invitation.pk).update(expires_at=timezone.now() + timedelta(**delta))


# --- creating ---------------------------------------------------------------------------------------------------------


def test_who_administers_a_project_may_make_another_and_administers_it(team):
    project = projects.create_project(actor=team.administrator, name="  Travel, March ", description="Trips.")
    assert (project.name, project.slug, project.description) == ("Travel, March", "travel-march", "Trips.")
    assert roles_in(project, team.administrator) == {ADMINISTRATOR}
    assert events(project, "project.created")[0].after == {"name": "Travel, March", "slug": "travel-march"}


def test_staff_may_make_a_project_and_nobody_else(team):
    staff = make_user("staff", is_staff=True)
    assert projects.create_project(actor=staff, name="First").slug == "first"
    for person in (team.annotator, team.senior, team.outsider, make_user("gone", is_staff=True, is_active=False)):
        with pytest.raises(Denied, match="Only staff and administrators"):
            projects.create_project(actor=person, name="Second")


def test_the_command_line_makes_a_project_with_nobody_in_it():
    assert not projects.create_project(actor=None, name="Alone").memberships.exists()


def test_an_address_made_from_the_name_gets_a_number_where_it_is_taken(team):
    slugs = [projects.create_project(actor=team.administrator, name="Travel", description=n).slug for n in "123"]
    assert slugs == ["travel", "travel-2", "travel-3"]


@pytest.mark.parametrize("slug", ["", "trips"])
def test_a_second_click_makes_no_second_project(team, slug):
    wish = {"actor": team.administrator, "name": "Travel", "slug": slug, "description": "Trips."}
    project = projects.create_project(**wish)
    assert projects.create_project(**wish) == project
    assert len(events(project, "project.created")) == 1
    # Another's wish, another wish, and one for a project in which something has happened since, are no second click.
    others = [wish | {"actor": make_user("staff", is_staff=True)}, wish | {"description": ""}]
    projects.create_invitation(actor=team.administrator, project=project, roles=["annotator"])
    for other in [*others, wish]:
        if slug:
            with pytest.raises(Conflict, match="“trips” is taken"):
                projects.create_project(**other)
        else:
            assert projects.create_project(**other) != project


def test_a_given_address_that_is_taken_is_a_conflict(team):
    with pytest.raises(Conflict, match=f"“{team.project.slug}” is taken") as refused:
        projects.create_project(actor=team.administrator, name="Other", slug=team.project.slug)
    assert refused.value.details == {"field": "slug"}


@pytest.mark.parametrize(
    ("name", "slug", "field", "words"),
    [
        ("", "", "name", "Enter a name"),
        ("   ", "x", "name", "Enter a name"),
        ("x" * 121, "", "name", "longer than 120"),
        ("Two\nlines", "", "name", "invisible characters"),
        ("Tra\u202evel", "", "name", "invisible characters"),
        ("天气对话", "", "slug", "letter from a to z"),
        ("Fine", "天气", "slug", "letter from a to z"),
        ("---", "", "slug", "letter from a to z"),
    ],
)
def test_names_and_addresses_that_do_not_serve(team, name, slug, field, words):
    with pytest.raises(Invalid, match=words) as refused:
        projects.create_project(actor=team.administrator, name=name, slug=slug)
    assert refused.value.details == {"field": field}


def test_long_names_make_addresses_that_fit(team):
    made = [projects.create_project(actor=team.administrator, name="a" * 120, description=n) for n in "12"]
    assert [len(project.slug) for project in made] == [56, 58]
    assert projects.create_project(actor=team.administrator, name="B", slug="b" * 90).slug == "b" * 60


# --- settings ---------------------------------------------------------------------------------------------------------


def change(team, actor=None, **fields):
    values = {
        "name": team.project.name,
        "description": "",
        "time_zone": "UTC",
        "long_range_rule": "c3",
        "check_settings": {},
    }
    return projects.change_project(actor=actor or team.administrator, project=team.project, **values | fields)


def test_settings_change_with_before_and_after(team):
    changed = change(team, time_zone="Europe/Kyiv", check_settings={"graph.cycle": "warning"})
    assert (changed.time_zone, changed.check_settings) == ("Europe/Kyiv", {"graph.cycle": "warning"})
    event = events(team.project, "project.changed")[0]
    assert event.before == {"time_zone": "UTC", "check_settings": {}}
    assert event.after == {"time_zone": "Europe/Kyiv", "check_settings": {"graph.cycle": "warning"}}


def test_settings_that_stay_leave_no_event(team):
    change(team)
    assert events(team.project, "project.changed") == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": " "}, "Enter a name"),
        ({"name": "x" * 121}, "longer than 120"),
        ({"time_zone": "Mars/Olympus"}, "is not a time zone"),
        ({"time_zone": "../../etc/passwd"}, "is not a time zone"),
        ({"long_range_rule": "other"}, "must be “c3” or “wild”"),
        ({"check_settings": {"no.such": "error"}}, "no check “no.such”"),
        ({"check_settings": {"graph.cycle": "fatal"}}, "must be one of: error, warning, info, off"),
    ],
)
def test_settings_that_make_no_sense_are_refused(team, fields, words):
    with pytest.raises(Invalid, match=words):
        change(team, **fields)


def test_only_administrators_change_settings(team):
    for person in (team.annotator, team.senior):
        with pytest.raises(Denied, match="administrator"):
            change(team, actor=person, name="Mine")
    with pytest.raises(Hidden):
        change(team, actor=team.outsider, name="Mine")


# --- roles ------------------------------------------------------------------------------------------------------------


def test_a_role_is_given_once(team):
    for _ in range(2):
        projects.grant_role(actor=team.administrator, project=team.project, user=team.outsider, role=SENIOR)
    assert roles_in(team.project, team.outsider) == {SENIOR}
    granted = events(team.project, "membership.granted")
    assert [event.after for event in granted] == [{"user": team.outsider.public_id, "role": "senior_reviewer"}]


def test_a_role_ends_and_can_be_given_again(team):
    person = team.annotator
    projects.end_role(actor=team.administrator, project=team.project, user=person, role=ANNOTATOR)
    assert roles_in(team.project, person) == frozenset()
    with pytest.raises(Conflict, match="does not have this role"):
        projects.end_role(actor=team.administrator, project=team.project, user=person, role=SENIOR)
    projects.grant_role(actor=team.administrator, project=team.project, user=person, role=ANNOTATOR)
    assert person.memberships.filter(project=team.project).count() == 2


def test_the_last_administrator_stays(team):
    with pytest.raises(Conflict, match="is the only administrator"):
        projects.end_role(actor=team.administrator, project=team.project, user=team.administrator, role=ADMINISTRATOR)
    projects.grant_role(actor=team.administrator, project=team.project, user=team.senior, role=ADMINISTRATOR)
    projects.end_role(actor=team.administrator, project=team.project, user=team.administrator, role=ADMINISTRATOR)
    assert roles_in(team.project, team.administrator) == frozenset()


def test_an_administrator_whose_account_is_closed_does_not_count(team):
    give_role(team.project, make_user("closed", is_active=False), ADMINISTRATOR)
    with pytest.raises(Conflict, match="is the only administrator"):
        projects.end_role(actor=team.administrator, project=team.project, user=team.administrator, role=ADMINISTRATOR)


def test_roles_change_only_at_an_administrators_word(team):
    for act in (projects.grant_role, projects.end_role):
        for person, error in ((team.annotator, Denied), (team.senior, Denied), (team.outsider, Hidden)):
            with pytest.raises(error):
                act(actor=person, project=team.project, user=team.annotators[1], role=ANNOTATOR)


def test_an_administrator_of_another_project_is_an_outsider(team):
    other = make_team()
    with pytest.raises(Hidden):
        projects.end_role(actor=other.administrator, project=team.project, user=team.annotator, role=ANNOTATOR)


def test_deactivation_ends_every_role(team):
    give_role(team.project, team.annotator, SENIOR)
    projects.deactivate_person(actor=team.administrator, project=team.project, user=team.annotator)
    assert roles_in(team.project, team.annotator) == frozenset()
    assert [event.before["role"] for event in events(team.project, "membership.ended")] == [
        "annotator",
        "senior_reviewer",
    ]
    with pytest.raises(Conflict, match="was never a member"):
        projects.deactivate_person(actor=team.administrator, project=team.project, user=team.outsider)
    with pytest.raises(Conflict, match="can’t remove yourself"):
        projects.deactivate_person(actor=team.administrator, project=team.project, user=team.administrator)


# --- invitations ------------------------------------------------------------------------------------------------------


def test_an_invitation_makes_a_member_once(team):
    invitation, secret = invite(team, ANNOTATOR, SENIOR, note="for Nadia")
    assert secret not in str(vars(Invitation.objects.get(pk=invitation.pk)))
    assert projects.accept_invitation(actor=team.outsider, secret=secret) == team.project
    assert roles_in(team.project, team.outsider) == {ANNOTATOR, SENIOR}
    with pytest.raises(Hidden, match="not valid or has expired"):
        projects.accept_invitation(actor=make_user("second"), secret=secret)
    assert events(team.project, "invitation.accepted")[0].actor == team.outsider
    assert [event.after["invitation"] for event in events(team.project, "membership.granted")] == [
        invitation.public_id
    ] * 2


def test_as_many_invitations_are_open_as_their_list_shows(team, client, monkeypatch):
    monkeypatch.setattr(projects, "MAX_OPEN_INVITATIONS", 2)
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
    with pytest.raises(Hidden, match="not valid or has expired"):
        projects.accept_invitation(actor=team.outsider, secret=secret)


def test_an_invitation_for_more_roles_adds_them(team):
    _, secret = invite(team, ANNOTATOR, SENIOR)
    projects.accept_invitation(actor=team.annotator, secret=secret)
    assert roles_in(team.project, team.annotator) == {ANNOTATOR, SENIOR}


def test_who_has_the_roles_already_does_not_use_the_link_up(team):
    _, secret = invite(team, ANNOTATOR)
    with pytest.raises(Conflict, match="to somebody else"):
        projects.accept_invitation(actor=team.annotator, secret=secret)
    projects.accept_invitation(actor=team.outsider, secret=secret)
    assert roles_in(team.project, team.outsider) == {ANNOTATOR}


def test_every_invitation_that_does_not_work_looks_the_same(team):
    _, used_secret = invite(team)
    projects.accept_invitation(actor=team.outsider, secret=used_secret)
    expired, expired_secret = invite(team)
    shift_expiry(expired, seconds=-1)
    revoked, revoked_secret = invite(team)
    projects.revoke_invitation(actor=team.administrator, project=team.project, public_id=revoked.public_id)
    sentences = set()
    for secret in (used_secret, expired_secret, revoked_secret, "made-up", "", "x" * 10_000, "\x00", "秘密"):
        with pytest.raises(Hidden) as refused:
            projects.find_invitation(secret)
        sentences.add(refused.value.sentence)
    assert len(sentences) == 1


def test_an_invitation_ends_after_fourteen_days(team):
    invitation, secret = invite(team)
    assert timedelta(days=13.9) < invitation.expires_at - timezone.now() <= timedelta(days=14)
    shift_expiry(invitation, seconds=30)
    assert projects.find_invitation(secret) == invitation


def test_revoking(team):
    invitation, _ = invite(team)
    other = make_team()
    with pytest.raises(Hidden):
        projects.revoke_invitation(actor=other.administrator, project=other.project, public_id=invitation.public_id)
    with pytest.raises(Denied):
        projects.revoke_invitation(actor=team.annotator, project=team.project, public_id=invitation.public_id)
    projects.revoke_invitation(actor=team.administrator, project=team.project, public_id=invitation.public_id)
    # A second click: the same wish.
    projects.revoke_invitation(actor=team.administrator, project=team.project, public_id=invitation.public_id)
    assert team.project.events.filter(kind="invitation.revoked").count() == 1
    used, secret = invite(team)
    projects.accept_invitation(actor=team.outsider, secret=secret)
    with pytest.raises(Conflict, match="already used or has expired"):
        projects.revoke_invitation(actor=team.administrator, project=team.project, public_id=used.public_id)


def test_joining_by_a_second_click_is_joining(team):
    _, secret = invite(team)
    for _ in range(2):
        assert projects.accept_invitation(actor=team.outsider, secret=secret) == team.project
    assert team.project.events.filter(kind="invitation.accepted").count() == 1
    with pytest.raises(Hidden):
        projects.accept_invitation(actor=make_team().outsider, secret=secret)
    projects.deactivate_person(actor=team.administrator, project=team.project, user=team.outsider)
    with pytest.raises(Hidden):
        projects.accept_invitation(actor=team.outsider, secret=secret)


def test_a_role_ends_once_however_often_one_clicks(team):
    for _ in range(2):
        projects.end_role(actor=team.administrator, project=team.project, user=team.senior, role=Role.SENIOR_REVIEWER)
        projects.deactivate_person(actor=team.administrator, project=team.project, user=team.senior)
    assert team.project.events.filter(kind="membership.ended").count() == 1


def test_the_same_guideline_sent_again_is_one_version(team):
    send = {"actor": team.administrator, "project": team.project, "note": "First", "seen": 0}
    first = projects.publish_guideline(text="Be exact.", **send)
    assert projects.publish_guideline(text="Be exact.", **send) == first
    with pytest.raises(Conflict, match="was published while you edited"):
        projects.publish_guideline(text="Be brief.", **send)
    with pytest.raises(Invalid, match="The text is the same as in the current version 1"):
        projects.publish_guideline(text="Be exact.", **send | {"seen": 1})


@pytest.mark.parametrize(("roles", "words"), [([], "at least one role"), (["owner"], "no role “owner”")])
def test_invitations_need_roles_that_there_are(team, roles, words):
    with pytest.raises(Invalid, match=words):
        projects.create_invitation(actor=team.administrator, project=team.project, roles=roles)


def test_only_administrators_invite(team):
    for person, error in ((team.annotator, Denied), (team.senior, Denied), (team.outsider, Hidden)):
        with pytest.raises(error):
            projects.create_invitation(actor=person, project=team.project, roles=["annotator"])


def test_the_invitations_of_an_administrator_end_with_the_role(team):
    """Else who was removed could come back by a link made before."""
    second = give_role(team.project, make_user("second"), ADMINISTRATOR)
    _, mine = projects.create_invitation(actor=second, project=team.project, roles=["administrator"])
    _, of_others = invite(team)
    projects.end_role(actor=team.administrator, project=team.project, user=second, role=ADMINISTRATOR)
    with pytest.raises(Hidden):
        projects.accept_invitation(actor=second, secret=mine)
    projects.accept_invitation(actor=second, secret=of_others)
    assert len(events(team.project, "invitation.revoked")) == 1


# --- guideline --------------------------------------------------------------------------------------------------------


def publish(team, text="Be kind.", seen=0, **fields):
    return projects.publish_guideline(
        actor=fields.pop("actor", team.administrator), project=team.project, text=text, seen=seen, **fields
    )


def test_versions_count_up_and_stay(team):
    assert [publish(team, f"Version {n}", seen=n).number for n in range(3)] == [1, 2, 3]
    assert list(Guideline.objects.filter(project=team.project).values_list("text", flat=True)) == [
        "Version 2",
        "Version 1",
        "Version 0",
    ]


def test_an_edit_of_an_older_version_is_a_conflict(team):
    publish(team)
    with pytest.raises(Conflict, match="Version 1 was published while you edited version 0") as refused:
        publish(team, "Be quick.")
    assert refused.value.details == {"number": 1}


def test_line_ends_are_those_of_unix(team):
    assert publish(team, "One\r\nTwo\r\n").text == "One\nTwo\n"


@pytest.mark.parametrize(
    ("text", "words"), [("", "empty"), (" \n\t", "empty"), ("x" * 200_001, "200,000"), ("a\x00b", "NUL")]
)
def test_texts_that_are_no_guideline(team, text, words):
    with pytest.raises(Invalid, match=words):
        publish(team, text)


def test_only_administrators_publish(team):
    for person, error in ((team.annotator, Denied), (team.senior, Denied), (team.outsider, Hidden)):
        with pytest.raises(error):
            publish(team, actor=person)


# --- who sees what ----------------------------------------------------------------------------------------------------


def test_projects_are_visible_to_their_living_members_only(team):
    def sees(person):
        return team.project in Project.objects.visible_to(person)

    give_role(team.project, team.annotator, SENIOR)  # two roles are one project
    assert list(Project.objects.visible_to(team.annotator)) == [team.project]
    assert [sees(person) for person in (team.administrator, team.senior, team.outsider)] == [True, True, False]
    projects.deactivate_person(actor=team.administrator, project=team.project, user=team.annotator)
    closed = give_role(team.project, make_user("closed", is_active=False), ANNOTATOR)
    assert [sees(person) for person in (team.annotator, closed)] == [False, False]


def test_administered_projects(team):
    other = make_project()
    give_role(other, team.administrator, ANNOTATOR)
    assert list(Project.objects.administered_by(team.administrator)) == [team.project]
    assert not Project.objects.administered_by(team.annotator).exists()


# --- two connections --------------------------------------------------------------------------------------------------


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_an_invitation_taken_by_two_at_once_makes_one_member(team):
    _, secret = invite(team)
    people = [make_user(f"racer{n}") for n in range(4)]
    first, second = overlap(
        lambda: projects.accept_invitation(actor=people[0], secret=secret),
        lambda: projects.accept_invitation(actor=people[1], secret=secret),
    )
    assert first == team.project
    assert isinstance(second, Hidden)
    _, secret = invite(team)
    outcomes = race(*[lambda p=p: projects.accept_invitation(actor=p, secret=secret) for p in people[1:]])
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Hidden", "Hidden", "Project"]
    assert User.objects.filter(memberships__project=team.project, username__startswith="racer").count() == 2


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_link_revoked_at_this_moment_makes_nobody_a_member(team):
    invitation, secret = invite(team)
    _, late = overlap(
        lambda: projects.revoke_invitation(
            actor=team.administrator, project=team.project, public_id=invitation.public_id
        ),
        lambda: projects.accept_invitation(actor=team.outsider, secret=secret),
    )
    assert isinstance(late, Hidden)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_administrators_cannot_remove_each_other_at_once(team):
    first, second = team.administrator, give_role(team.project, make_user("second"), ADMINISTRATOR)

    def remove(actor, user):
        return projects.end_role(actor=actor, project=team.project, user=user, role=ADMINISTRATOR)

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
            lambda a=a, b=b: projects.end_role(actor=a, project=team.project, user=b, role=ADMINISTRATOR)
            for a, b in zip(people, [*people[1:], people[0]], strict=True)
        ]
    )
    assert sum(roles_in(team.project, person) == {ADMINISTRATOR} for person in people) >= 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_guidelines_published_at_once_from_one_version(team):
    first, second = overlap(lambda: publish(team, "Mine."), lambda: publish(team, "Mine too."))
    assert first.number == 1
    assert isinstance(second, Conflict)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_one_role_given_twice_at_once_is_held_once(team):
    race(
        *[
            lambda: projects.grant_role(
                actor=team.administrator, project=team.project, user=team.outsider, role=ANNOTATOR
            )
        ]
        * 4
    )
    assert team.outsider.memberships.count() == 1
    assert len(events(team.project, "membership.granted")) == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_projects_of_one_name_at_once_get_two_addresses_and_a_double_click_gets_one(team):
    staff = make_user("staff", is_staff=True)
    asks = [lambda who=who: projects.create_project(actor=who, name="Twin") for who in (team.administrator, staff)]
    first, second = overlap(*asks)
    assert (first.slug, second.slug) == ("twin", "twin-2")
    pair = overlap(*[lambda: projects.create_project(actor=staff, name="Click")] * 2)
    assert [project.slug for project in pair] == ["click", "click"]
