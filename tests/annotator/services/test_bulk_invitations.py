"""Many people are invited at once: everybody gets a link of their own, and a bad line stops no good one."""

import pytest
from django.test import Client
from django.utils.html import escape

from annotator.errors import Denied, Hidden, Invalid
from annotator.models import Event, Invitation, Role, User
from annotator.services import members
from annotator.services.access.permissions import roles_in
from annotator.services.bulk_invitations import MAX_LINES, invite_many
from tests.factories import make_team, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def team():
    return make_team("travel")


def invite(team, text, *roles, actor=None, **more):
    actor = actor or team.administrator
    return invite_many(actor=actor, project=team.project, roles=list(roles), text=text, **more)


def test_each_person_joins_by_their_own_link_with_their_own_roles(team):
    made = invite(team, "Amina <amina@example.org>\nYuki, yuki@example.org, senior_reviewer", "annotator")
    assert made.refused == []
    assert [one.invitation.note for one in made.invited] == ["Amina <amina@example.org>", "Yuki <yuki@example.org>"]
    for one, role in zip(made.invited, (Role.ANNOTATOR, Role.SENIOR_REVIEWER), strict=True):
        person = make_user()
        assert members.accept_invitation(actor=person, secret=one.secret) == team.project
        assert roles_in(team.project, person) == {role}
    events = Event.objects.filter(kind="invitation.created", actor=team.administrator)
    assert {event.after["note"] for event in events} == {one.invitation.note for one in made.invited}


def test_bad_lines_are_refused_one_by_one_and_the_good_ones_go_on(team):
    invite(team, "Boris <boris@example.org>", "annotator")
    taken = team.annotator.email
    text = f"Amina\n{taken.upper()}\nBORIS@example.org\n{'x' * 120} <x@example.org>\nc@example.org, boss\nd@example.org"
    made = invite(team, text, "annotator")
    assert [one.invitation.note for one in made.invited] == ["d@example.org"]
    said = {one.line.number: one.sentence for one in made.refused}
    assert said[1].startswith("This line has no email address.")
    assert said[2] == f"{taken.upper()} already has these roles."
    assert said[3] == (
        "BORIS@example.org already has an open invitation. To send another link, tick “Replace open invitations”."
    )
    assert said[4] == "Name and address are longer than 120 characters. Shorten the name."
    assert said[5].startswith("There is no role “boss”.")
    # Another role is a reason for a link.
    assert invite(team, taken, "senior_reviewer").refused == []


def test_no_role_no_line_too_many_lines_and_no_room_are_refused(team, monkeypatch):
    assert invite(team, "a@example.org").refused[0].sentence.startswith("This line names no role.")
    with pytest.raises(Invalid, match="at least one line"):
        invite(team, "name, address\n\n", "annotator")
    with pytest.raises(Invalid, match=r"201 lines are too many\. Paste at most 200 at once\."):
        invite(team, "\n".join(f"p{n}@example.org" for n in range(MAX_LINES + 1)), "annotator")
    monkeypatch.setattr(members, "MAX_OPEN_INVITATIONS", 1)
    monkeypatch.setattr("annotator.services.bulk_invitations.MAX_OPEN_INVITATIONS", 1)
    made = invite(team, "a@example.org\nb@example.org", "annotator")
    assert [one.line.address for one in made.invited] == ["a@example.org"]
    assert made.refused[0].sentence == "A project can have 1 open invitation. Revoke it first."
    with pytest.raises(Denied):
        invite(team, "c@example.org", "annotator", actor=team.senior)
    assert Invitation.objects.count() == 1


def test_an_open_invitation_is_replaced_on_request_and_its_old_link_ends(team, monkeypatch):
    [old] = invite(team, "Boris <boris@example.org>", "annotator").invited
    monkeypatch.setattr("annotator.services.bulk_invitations.MAX_OPEN_INVITATIONS", 1)
    made = invite(team, "BORIS@example.org\nnew@example.org", "senior_reviewer", replace=True)
    # The new link takes the place of the old one; there is no room for another.
    assert [one.invitation.note for one in made.invited] == ["BORIS@example.org"]
    assert [one.line.address for one in made.refused] == ["new@example.org"]
    with pytest.raises(Hidden):
        members.find_invitation(old.secret)
    assert members.find_invitation(made.invited[0].secret).roles == ["senior_reviewer"]
    kinds = Event.objects.filter(kind__startswith="invitation.").order_by("pk").values_list("kind", flat=True)
    assert list(kinds) == ["invitation.created", "invitation.revoked", "invitation.created"]
    # If the person has joined in the meantime is a member, and nothing is replaced.
    members.accept_invitation(actor=team.annotator, secret=made.invited[0].secret)
    User.objects.filter(pk=team.annotator.pk).update(email="boris@example.org")
    [refused] = invite(team, "boris@example.org", "senior_reviewer", replace=True).refused
    assert refused.sentence == "boris@example.org already has these roles."


def test_the_page_adds_new_links_to_those_that_it_shows(team):
    client = Client(headers={"HX-Request": "true"})
    client.force_login(team.administrator)
    answer = client.post(
        f"/p/{team.project.slug}/invitations/", {"people": "amina@example.org", "roles": ["annotator"]}
    )
    page = answer.content.decode()
    assert answer["Cache-Control"].count("no-store")
    assert '<hx-partial hx-target="#shown-links tbody" hx-swap="beforeend">' in page
    assert page.count("<tr ") == 1
    assert "<html" not in page


def test_the_page_shows_the_links_once_and_keeps_the_lines_with_problems(team):
    client = Client()
    client.force_login(team.administrator)
    path = f"/p/{team.project.slug}/invitations/"
    text = "name,address\n=Amina,amina@example.org\nBoris,"
    answer = client.post(path, {"people": text, "roles": ["annotator"]})
    page = answer.content.decode()
    assert answer.status_code == 200
    assert answer["Cache-Control"].count("no-store")
    # The link, its button and its line of CSV; and the file, in which no spreadsheet runs the name.
    assert page.count("/invitation/") == 4
    assert page.count("data:text/csv") == 1
    assert "data:text/csv;charset=utf-8,name%2Caddress%2Croles%2Clink%0D%0A%27%3DAmina%2C" in page
    assert "Line 3:" in page
    kept = page.partition("<textarea")[2].partition("</textarea>")[0]
    assert kept.endswith("name,address\nBoris,")
    again = client.post(path, {"people": text, "roles": ["annotator"]})
    assert again.status_code == 422
    assert escape("amina@example.org already has an open invitation.") in again.content.decode()
    assert client.post(path, {"people": "", "roles": []}).status_code == 422
