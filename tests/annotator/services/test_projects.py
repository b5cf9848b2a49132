"""Projects: creation, settings, the guideline, and who sees them."""

import pytest

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Event, Guideline, Project, Role
from annotator.services import members, projects
from annotator.services.access.permissions import roles_in
from tests.factories import give_role, make_project, make_user
from tests.racing import overlap

pytestmark = pytest.mark.django_db

ADMINISTRATOR, ANNOTATOR, SENIOR = Role.ADMINISTRATOR, Role.ANNOTATOR, Role.SENIOR_REVIEWER


def events(project, kind):
    return list(Event.objects.filter(project=project, kind=kind).order_by("pk"))


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
    members.create_invitation(actor=team.administrator, project=project, roles=["annotator"])
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
        ({"time_zone": "Mars/Olympus"}, "isn’t a time zone"),
        ({"time_zone": "../../etc/passwd"}, "isn’t a time zone"),
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


def test_the_same_guideline_sent_again_is_one_version(team):
    send = {"actor": team.administrator, "project": team.project, "note": "First", "seen": 0}
    first = projects.publish_guideline(text="Be exact.", **send)
    assert projects.publish_guideline(text="Be exact.", **send) == first
    with pytest.raises(Conflict, match="was published while you edited"):
        projects.publish_guideline(text="Be brief.", **send)
    with pytest.raises(Invalid, match="The text is the same as in the current version 1"):
        projects.publish_guideline(text="Be exact.", **send | {"seen": 1})


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
    members.deactivate_person(actor=team.administrator, project=team.project, user=team.annotator)
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
def test_two_guidelines_published_at_once_from_one_version(team):
    first, second = overlap(lambda: publish(team, "Mine."), lambda: publish(team, "Mine too."))
    assert first.number == 1
    assert isinstance(second, Conflict)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_projects_of_one_name_at_once_get_two_addresses_and_a_double_click_gets_one(team):
    staff = make_user("staff", is_staff=True)
    asks = [lambda who=who: projects.create_project(actor=who, name="Twin") for who in (team.administrator, staff)]
    first, second = overlap(*asks)
    assert (first.slug, second.slug) == ("twin", "twin-2")
    pair = overlap(*[lambda: projects.create_project(actor=staff, name="Click")] * 2)
    assert [project.slug for project in pair] == ["click", "click"]
