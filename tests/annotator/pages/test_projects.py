"""Pages of projects and people: what they show to whom, what they refuse, and that odd input is never a fault."""

import html
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.models import Guideline, Invitation, Project, Role
from annotator.services import members, projects
from annotator.services.access.permissions import roles_in
from tests.factories import give_role, make_project, make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.fixture
def admin(client, team):
    """A client signed in as the project's administrator."""
    client.force_login(team.administrator)
    return client


@pytest.fixture
def member(client, team):
    """A client signed in as an annotator."""
    client.force_login(team.annotator)
    return client


def words(response):
    return response.content.decode()


def url(team, *parts):
    return "/".join(["/p", team.project.slug, *parts, ""])


def cost(client, path):
    """How many queries a page takes."""
    client.get(path)
    with CaptureQueriesContext(connection) as queries:
        assert client.get(path).status_code == 200
    return len(queries)


# --- the list ---------------------------------------------------------------------------------------------------------


def test_the_list_shows_ones_own_projects_and_roles(client, team):
    other = make_team()
    give_role(team.project, team.annotator, Role.SENIOR_REVIEWER)
    client.force_login(team.annotator)
    page = words(client.get("/projects/"))
    assert team.project.name in page
    assert other.project.name not in page
    assert "Annotator" in page
    assert "Senior reviewer" in page
    assert "/projects/new/" not in page


def test_an_empty_list_says_what_to_do(client, team):
    root = make_user("root", is_staff=True)
    for url in ("/projects/", "/"):
        client.force_login(team.outsider)
        assert "Ask an administrator of a project for an invitation link." in words(client.get(url))
        client.force_login(root)
        page = words(client.get(url))
        assert "No projects yet" in page
        assert 'href="/projects/new/"' in page


def test_the_list_costs_the_same_however_many_projects_there_are(client):
    person = make_user("busy")
    give_role(make_project(), person, Role.ANNOTATOR)
    client.force_login(person)
    few = cost(client, "/projects/")
    for _ in range(15):
        give_role(make_project(), person, Role.ANNOTATOR)
    assert cost(client, "/projects/") == few <= 6


# --- a new project ----------------------------------------------------------------------------------------------------


def test_a_project_is_made_and_leads_to_its_protocol(admin, team):
    response = admin.post("/projects/new/", {"name": "Travel, March", "slug": "", "description": "Trips."})
    assert response["Location"] == "/p/travel-march/protocol/"
    assert "Created Travel, March." in words(admin.get("/projects/"))


def test_who_may_not_make_one_does_not_see_the_form(member):
    for response in (member.get("/projects/new/"), member.post("/projects/new/", {"name": ""})):
        assert response.status_code == 403
        assert "Only staff and administrators" in words(response)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "This field is required"),
        ({"name": "   "}, "This field is required"),
        ({"name": "x" * 10_000}, "at most 120 characters"),
        ({"name": "Two\nlines"}, "invisible characters"),
        ({"name": "天气对话"}, "letter from a to z"),
        ({"name": "Fine", "slug": "no spaces!"}, "letters a to z, digits"),
        ({"name": "Fine", "description": "x" * 10_000}, "at most 2000 characters"),
    ],
    ids=str,
)
def test_a_project_that_is_not_made_keeps_what_was_typed(admin, team, fields, sentence):
    response = admin.post("/projects/new/", fields)
    assert response.status_code == 422
    assert sentence in words(response)
    assert "error-summary" in words(response)
    assert Project.objects.count() == 1


def test_an_address_that_is_taken_is_told_beside_its_field(admin, team):
    response = admin.post("/projects/new/", {"name": "Other", "slug": team.project.slug})
    assert response.status_code == 422
    assert f"The address “{team.project.slug}” is taken. Choose another." in words(response)


def test_names_are_text_wherever_they_stand(admin, team):
    name = "<script>alert(1)</script> & evil 💥"
    assert admin.post("/projects/new/", {"name": name, "slug": "odd"}).status_code == 302
    for path in ("/projects/", "/p/odd/people/", "/p/odd/settings/"):
        page = words(admin.get(path))
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp;" in page


# --- settings ---------------------------------------------------------------------------------------------------------


def settings_of(team, **fields):
    return {"name": team.project.name, "description": "", "time_zone": "UTC", "long_range_rule": "c3"} | fields


def test_settings_are_kept_and_only_differences_of_checks_are_stored(admin, team):
    fields = settings_of(team, time_zone="Asia/Shanghai", **{"check-graph.cycle": "warning", "check-nothing": "off"})
    assert admin.post(url(team, "settings"), fields | {"check-label.policy": "default"}).status_code == 302
    team.project.refresh_from_db()
    assert (team.project.time_zone, team.project.check_settings) == ("Asia/Shanghai", {"graph.cycle": "warning"})
    page = words(admin.get(url(team, "settings")))
    assert '<option value="warning" selected>' in page.partition('id="check-graph.cycle"')[2].partition("</select>")[0]


def shown(page):
    return html.unescape(re.search(r'name="seen" value="([^"]*)"', words(page))[1])


def test_settings_that_somebody_else_saved_meanwhile_stay(admin, team):
    page, seen = url(team, "settings"), shown(admin.get(url(team, "settings")))
    theirs = {"description": "Theirs", "check-graph.cycle": "warning", "seen": seen}
    assert admin.post(page, settings_of(team, **theirs)).status_code == 302
    mine = {"time_zone": "Asia/Shanghai", "check-label.first_explicit": "off", "seen": seen}
    assert admin.post(page, settings_of(team, **mine)).status_code == 302
    team.project.refresh_from_db()
    assert (team.project.description, team.project.time_zone) == ("Theirs", "Asia/Shanghai")
    assert team.project.check_settings == {"graph.cycle": "warning", "label.first_explicit": "off"}


def test_a_setting_that_two_people_changed_is_overwritten_only_knowingly(admin, team):
    page, seen = url(team, "settings"), shown(admin.get(url(team, "settings")))
    admin.post(page, settings_of(team, **{"description": "Theirs", "check-graph.cycle": "info", "seen": seen}))
    mine = {"description": "Mine", "time_zone": "Asia/Shanghai", "seen": seen}
    refused = admin.post(page, settings_of(team, **mine))
    assert refused.status_code == 409
    assert "Somebody else changed the same settings: Description “Theirs”." in words(refused)
    assert "Mine" in words(refused)
    team.project.refresh_from_db()
    assert team.project.time_zone == "UTC"
    again = {"check-graph.cycle": "info", "seen": shown(refused)}
    assert admin.post(page, settings_of(team, **mine | again)).status_code == 302
    team.project.refresh_from_db()
    assert (team.project.description, team.project.time_zone) == ("Mine", "Asia/Shanghai")
    assert team.project.check_settings == {"graph.cycle": "info"}


@pytest.mark.parametrize("seen", ["{", "[]", "{}", '{"name": 1}'])
def test_settings_that_began_with_nothing_known_are_refused(admin, team, seen):
    response = admin.post(url(team, "settings"), settings_of(team, seen=seen))
    assert response.status_code == 422
    assert "Reload the page and try again" in words(response)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"name": ""}, "This field is required"),
        ({"name": "x" * 10_000}, "at most 120"),
        ({"time_zone": "Mars/Olympus"}, "Select a valid choice"),
        ({"long_range_rule": "x"}, "Select a valid choice"),
        ({"check-graph.cycle": "fatal"}, "must be one of"),
    ],
    ids=str,
)
def test_settings_that_are_not_kept(admin, team, fields, sentence):
    response = admin.post(url(team, "settings"), settings_of(team, **fields))
    assert response.status_code == 422
    assert sentence in words(response)
    before = team.project.name
    team.project.refresh_from_db()
    assert (team.project.name, team.project.check_settings) == (before, {})


# --- people -----------------------------------------------------------------------------------------------------------


def test_members_see_each_other_and_only_administrators_the_rest(client, team):
    members.create_invitation(actor=team.administrator, project=team.project, roles=["annotator"], note="for Olena")
    client.force_login(team.annotator)
    page = words(client.get(url(team, "people")))
    assert all(str(person) in page for person in (team.administrator, *team.annotators, *team.seniors))
    assert "Oskar" not in page
    for secret in ("for Olena", "Invite a person", "Remove all roles", "Add administrator"):
        assert secret not in page
    client.force_login(team.administrator)
    page = words(client.get(url(team, "people")))
    assert all(text in page for text in ("for Olena", "Invite a person", "Remove all roles"))


def test_an_invitations_link_is_shown_once_and_leads_to_the_sites_address(admin, team, settings):
    settings.SITE_URL = "https://assay.example.org"
    fields = {"roles": ["annotator", "senior_reviewer"], "note": "for Olena"}
    response = admin.post(url(team, "people"), fields, headers={"host": "localhost:6666"})
    link = words(response).partition('id="invitation-link"')[2].partition('value="')[2].partition('"')[0]
    assert link.startswith("https://assay.example.org/invitation/")
    assert "no-store" in response["Cache-Control"]
    secret = link.split("/")[-2]
    assert members.find_invitation(secret).roles == ["annotator", "senior_reviewer"]
    assert secret not in words(admin.get(url(team, "people")))
    assert secret not in str(list(Invitation.objects.values()))


def test_open_invitations_are_listed_however_many_were_used_since(admin, team):
    members.create_invitation(
        actor=team.administrator, project=team.project, roles=["annotator"], note="the old open one"
    )
    for n in range(3):
        members.create_invitation(actor=team.administrator, project=team.project, roles=["annotator"], note=f"no {n}")
    Invitation.objects.filter(note="no 0").update(accepted_at=timezone.now())
    Invitation.objects.filter(note="no 1").update(revoked_at=timezone.now())
    Invitation.objects.filter(note="no 2").update(expires_at=timezone.now() - timedelta(days=1))
    Invitation.objects.bulk_create(
        Invitation(
            project=team.project,
            roles=["annotator"],
            secret_hash=f"used-{n}",
            created_by=team.administrator,
            expires_at=timezone.now() + timedelta(days=1),
            accepted_at=timezone.now(),
        )
        for n in range(60)
    )
    page = words(admin.get(url(team, "people")))
    assert "the old open one" in page
    assert "no 0" not in page
    assert "no 1" not in page
    assert "no 2" not in page


def test_an_invitation_is_revoked(admin, team):
    invitation, _ = members.create_invitation(actor=team.administrator, project=team.project, roles=["annotator"])
    path = url(team, "invitations", invitation.public_id, "revoke")
    assert admin.post(path)["Location"] == url(team, "people")
    assert admin.post(path)["Location"] == url(team, "people")
    assert admin.post(url(team, "invitations", "nonsense", "revoke")).status_code == 404


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "Choose at least one role."),
        ({"roles": ["owner"]}, "Select a valid choice"),
        ({"roles": ["annotator"], "note": "x" * 10_000}, "at most 120 characters"),
    ],
    ids=str,
)
def test_invitations_that_are_not_made(admin, team, fields, sentence):
    response = admin.post(url(team, "people"), fields)
    assert response.status_code == 422
    assert sentence in words(response)
    assert not Invitation.objects.exists()


def change(client, team, person, **fields):
    return client.post(url(team, "people", person.public_id), fields)


def test_roles_are_given_and_taken(admin, team):
    person = team.annotator
    for fields, held, sentence in [
        (
            {"role": "senior_reviewer", "action": "grant"},
            {"annotator", "senior_reviewer"},
            "now has the role “senior reviewer”",
        ),
        ({"role": "annotator", "action": "end"}, {"senior_reviewer"}, "no longer has the role “annotator”"),
        ({"action": "deactivate", "confirmed": "1"}, set(), "from the project. Their work is kept."),
        ({"role": "annotator", "action": "grant"}, {"annotator"}, "now has the role “annotator”"),
    ]:
        assert change(admin, team, person, **fields)["Location"] == url(team, "people")
        assert roles_in(team.project, person) == held
        assert sentence in words(admin.get(url(team, "people")))


def test_role_changes_that_are_refused(admin, team):
    for person, fields, status in [
        (team.administrator, {"role": "administrator", "action": "end"}, 409),
        (team.administrator, {"action": "deactivate"}, 409),
        (team.annotator, {"role": "senior_reviewer", "action": "end"}, 409),
        (team.annotator, {"role": "owner", "action": "grant"}, 422),
        (team.annotator, {"role": "annotator", "action": "explode"}, 422),
        (team.annotator, {}, 422),
        (team.outsider, {"role": "annotator", "action": "grant"}, 404),
    ]:
        assert change(admin, team, person, **fields).status_code == status
    assert roles_in(team.project, team.annotator) == {"annotator"}


def test_the_page_of_people_costs_the_same_however_many_there_are(admin, team):
    few = cost(admin, url(team, "people"))
    for n in range(20):
        give_role(team.project, make_user(f"more{n}"), Role.ANNOTATOR, Role.SENIOR_REVIEWER)
        members.create_invitation(actor=team.administrator, project=team.project, roles=["annotator"])
    assert cost(admin, url(team, "people")) == few <= 10


# --- guideline --------------------------------------------------------------------------------------------------------


def publish(team, text="# Rules\n\nBe *kind*.", seen=0):
    return projects.publish_guideline(actor=team.administrator, project=team.project, text=text, seen=seen)


def test_the_guideline_and_its_earlier_versions(member, team):
    publish(team)
    publish(team, "Be quick.", seen=1)
    assert "Be quick." in words(member.get(url(team, "guideline")))
    page = words(member.get(url(team, "guideline") + "?version=1"))
    assert re.search(r"<h2[^>]*>Rules</h2>", page)
    assert "<em>kind</em>" in page
    assert "guideline/edit" not in page


def test_a_guideline_for_htmx_is_its_text_alone(member, team):
    publish(team)
    page = words(member.get(url(team, "guideline"), headers={"HX-Request": "true"}))
    assert "<em>kind</em>" in page
    assert "<!doctype" not in page.lower()


@pytest.mark.parametrize("version", ["0", "3", "-1", "x", "1e3", "99999999999999999999", "٣", "1 OR 1=1"])
def test_versions_that_there_are_not(member, team, version):
    publish(team)
    assert member.get(url(team, "guideline"), {"version": version}).status_code == 404


def test_a_project_without_a_guideline_says_so(client, team):
    client.force_login(team.annotator)
    assert "An administrator of the project can write one." in words(client.get(url(team, "guideline")))
    client.force_login(team.administrator)
    assert "Write the first version" in words(client.get(url(team, "guideline")))


def test_a_version_is_written_looked_at_and_published(admin, team):
    path = url(team, "guideline", "edit")
    assert 'name="seen" value="0"' in words(admin.get(path))
    text = {"text": "Be **exact**.", "note": "first", "seen": "0"}
    page = admin.post(path, text | {"preview": "1"})
    assert page.status_code == 200
    assert "<strong>exact</strong>" in words(page)
    assert not Guideline.objects.exists()
    assert admin.post(path, text)["Location"] == url(team, "guideline")
    assert (Guideline.objects.get().text, Guideline.objects.get().note) == ("Be **exact**.", "first")


def test_a_version_that_came_second_is_kept_beside_the_other(admin, team):
    path = url(team, "guideline", "edit")
    publish(team, "Theirs, <b>first</b>.")
    response = admin.post(path, {"text": "Mine.", "note": "n", "seen": "0"})
    page = words(response)
    assert response.status_code == 409
    assert "Version 1 was published while you edited version 0" in page
    assert "Mine." in page
    assert "Theirs, &lt;b&gt;first&lt;/b&gt;." in page
    assert 'name="seen" value="1"' in page
    assert admin.post(path, {"text": "Both.", "seen": "1"}).status_code == 302
    assert Guideline.objects.count() == 2


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"text": "", "seen": "0"}, "This field is required"),
        ({"text": "  \r\n ", "seen": "0"}, "Write at least a sentence"),
        ({"text": "x" * 200_001, "seen": "0"}, "at most 200000 characters"),
        ({"text": "Fine.", "note": "x" * 10_000, "seen": "0"}, "at most 200 characters"),
        ({"text": "Fine.", "seen": "x"}, "whole number"),
        ({"text": "Fine.", "seen": "-1"}, "Enter a whole number, 0 or more."),
        ({"text": "Fine."}, "This field is required"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_guidelines_that_are_not_published(admin, team, fields, sentence):
    response = admin.post(url(team, "guideline", "edit"), fields)
    assert response.status_code == 422
    assert sentence in words(response)
    assert not Guideline.objects.exists()


def test_an_edit_of_a_version_from_the_far_future_is_a_conflict(admin, team):
    response = admin.post(url(team, "guideline", "edit"), {"text": "Fine.", "seen": "9" * 30})
    assert response.status_code == 409


def test_the_list_of_versions_costs_the_same_however_many_there_are(member, team):
    publish(team)
    few = cost(member, url(team, "guideline"))
    for n in range(10):
        publish(team, f"Version {n}", seen=n + 1)
    assert cost(member, url(team, "guideline")) == few <= 10
