"""Guests: their roles end after a last day, everywhere at once, and their work stays."""

from datetime import date, timedelta

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Event, Membership, Role
from annotator.services.access.permissions import load_project, roles_in
from annotator.services.accounts.tokens import create_token, find_live_token
from annotator.services.guests import end_expired_roles, end_of_day, last_day, set_end_of_access
from annotator.services.members import accept_invitation, create_invitation, end_role, find_invitation, grant_role
from reviews.models import Claim
from reviews.services.queue.claims import claim_next
from tests.factories import Team, adopt_c3, begin, make_dialogues, make_user

pytestmark = pytest.mark.django_db
MOMENT = timedelta(milliseconds=1)


def pass_over(team: Team) -> None:
    """Let the time of all guests be over."""
    Membership.objects.exclude(expires_at=None).update(expires_at=timezone.now() - MOMENT)


def test_a_guest_has_access_until_the_last_moment_and_then_everything_ends(team: Team) -> None:
    until = timezone.now() + timedelta(days=3)
    _, secret = create_invitation(
        actor=team.administrator, project=team.project, roles=[Role.ANNOTATOR, Role.SENIOR_REVIEWER], until=until
    )
    guest = make_user("greta")
    accept_invitation(actor=guest, secret=secret)
    assert set(Membership.objects.filter(user=guest).values_list("expires_at", flat=True)) == {until}
    _token, key = create_token(actor=guest, name="nightly", expires_at=None)
    adopt_c3(team)
    begin(team.project, make_dialogues(team.project, 1))
    assert claim_next(actor=guest, project=team.project)
    assert end_expired_roles() == 0
    pass_over(team)
    # At once, before the task has run.
    assert roles_in(team.project, guest) == frozenset()
    with pytest.raises(Hidden):
        load_project(actor=guest, slug=team.project.slug)
    client = Client()
    client.force_login(guest)
    assert client.get(f"/p/{team.project.slug}/").status_code == 404
    assert end_expired_roles() == 2
    assert end_expired_roles() == 0
    assert not Membership.objects.live().filter(user=guest).exists()
    assert not Claim.objects.filter(person=guest, state="live").exists()
    assert find_live_token(key) is None
    assert Event.objects.filter(kind="membership.ended", before__user=guest.public_id).count() == 2


def test_administrators_set_move_and_lift_the_last_day(team: Team) -> None:
    guest, until = team.annotators[0], timezone.now() + timedelta(days=3)
    set_end_of_access(actor=team.administrator, project=team.project, user=guest, until=until)
    # A further role ends with the others.
    grant_role(actor=team.administrator, project=team.project, user=guest, role=Role.SENIOR_REVIEWER)
    assert set(Membership.objects.live().filter(user=guest).values_list("expires_at", flat=True)) == {until}
    pass_over(team)
    set_end_of_access(actor=team.administrator, project=team.project, user=guest, until=None)
    assert end_expired_roles() == 0
    assert roles_in(team.project, guest) == {Role.ANNOTATOR, Role.SENIOR_REVIEWER}
    kinds = Event.objects.filter(kind="membership.limited").order_by("pk")
    assert [event.after["until"] for event in kinds] == [until.isoformat(), None]


def test_what_is_refused(team: Team) -> None:
    guest, until = team.annotators[0], timezone.now() + timedelta(days=3)
    with pytest.raises(Invalid, match="can’t be in the past"):
        set_end_of_access(actor=team.administrator, project=team.project, user=guest, until=timezone.now())
    with pytest.raises(Invalid, match="Administrators can’t be guests"):
        set_end_of_access(actor=team.administrator, project=team.project, user=team.administrator, until=until)
    with pytest.raises(Invalid, match="Administrators can’t be guests"):
        create_invitation(actor=team.administrator, project=team.project, roles=[Role.ADMINISTRATOR], until=until)
    with pytest.raises(Conflict, match="has no role"):
        set_end_of_access(actor=team.administrator, project=team.project, user=team.outsider, until=until)
    with pytest.raises(Denied):
        set_end_of_access(actor=guest, project=team.project, user=guest, until=None)
    set_end_of_access(actor=team.administrator, project=team.project, user=guest, until=until)
    grant_role(actor=team.administrator, project=team.project, user=guest, role=Role.ADMINISTRATOR)
    assert not Membership.objects.live().filter(user=guest).exclude(expires_at=None).exists()
    with pytest.raises(IntegrityError), transaction.atomic():
        Membership.objects.filter(user=guest, role=Role.ADMINISTRATOR).update(expires_at=until)
    end_role(actor=team.administrator, project=team.project, user=guest, role=Role.ADMINISTRATOR)


def test_an_invitation_ends_with_its_last_day(team: Team) -> None:
    until = timezone.now() + timedelta(days=1)
    invitation, secret = create_invitation(
        actor=team.administrator, project=team.project, roles=[Role.ANNOTATOR], until=until
    )
    assert find_invitation(secret)
    type(invitation).objects.update(access_until=timezone.now() - MOMENT)
    with pytest.raises(Hidden):
        find_invitation(secret)


@pytest.mark.any_database
def test_days_are_those_of_the_project(team: Team) -> None:
    team.project.time_zone = "Pacific/Auckland"
    moment = end_of_day(team.project, date(2026, 12, 31))
    assert moment.isoformat() == "2027-01-01T00:00:00+13:00"
    assert last_day(team.project, moment) == date(2026, 12, 31)


@pytest.mark.any_database
def test_the_page_of_people_invites_guests_and_changes_their_day(team: Team) -> None:
    client, guest = Client(), team.annotators[0]
    client.force_login(team.administrator)
    page = f"/p/{team.project.slug}/people/"
    day = timezone.now().date() + timedelta(days=40)
    assert "Invitation link" in client.post(page, {"roles": "annotator", "until": day}).content.decode()
    refused = client.post(page, {"roles": "annotator", "until": "2020-01-01"})
    assert refused.status_code == 422
    assert "The last day of a guest can’t be in the past." in refused.content.decode()
    change = f"{page}{guest.public_id}/"
    answer = client.post(change, {"action": "guest", "until": day}, follow=True)
    assert f"Guest until {day}" in answer.content.decode()
    for wrong in ("soon", "9999-12-31", "0001-01-01"):
        assert client.post(change, {"action": "guest", "until": wrong}).status_code == 422
        assert client.post(page, {"roles": "annotator", "until": wrong}).status_code == 422
    client.post(change, {"action": "guest", "until": ""})
    assert "Guest until" not in client.get(page).content.decode()
