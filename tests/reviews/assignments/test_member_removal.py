"""Removing a member asks first and lists what they hold; that returns to its queue, and the draft stays."""

import pytest
from django.test import Client

from annotator.models import Draft, Event, Role
from annotator.services.access.permissions import roles_in
from annotator.services.dialogues.drafts import open_draft
from reviews.models import Claim
from reviews.services.queue.claims import claim_next, claim_slot
from reviews.services.queue.slot_work import branch_of
from tests.factories import Team, give_role, make_item, open_slot

pytestmark = pytest.mark.django_db
TEAM = {"annotators": 4}


@pytest.mark.parametrize("fields", [{"action": "deactivate"}, {"action": "end", "role": "annotator"}])
def test_removing_a_member_asks_first_and_gives_back_what_they_hold(team: Team, fields: dict[str, str]) -> None:
    item, person = make_item(team, "cross_check", external_id="held-1"), team.annotators[1]
    claim = claim_slot(actor=person, slot=open_slot(item))
    draft = open_draft(actor=person, dialogue=item, base=claim.slot.revision, branch=branch_of(claim.slot))
    client = Client()
    client.force_login(team.administrator)
    url = f"/p/{team.project.slug}/people/{person.public_id}/"
    asked = client.post(url, fields)
    page = asked.content.decode()
    assert asked.status_code == 200
    assert "held-1: Cross-check" in page
    assert roles_in(team.project, person) == {Role.ANNOTATOR}
    assert Claim.objects.get(pk=claim.pk).state == "live"
    assert client.post(url, fields | {"confirmed": "1"}).status_code == 302
    assert roles_in(team.project, person) == frozenset()
    assert Claim.objects.get(pk=claim.pk).state == "withdrawn"
    assert Draft.objects.get(pk=draft.pk).closed_at is None
    # The next one finds it at once, and who left it to them is on record.
    claims = [
        claim_next(actor=colleague, project=team.project, stage="cross_check") for colleague in team.annotators[2:]
    ]
    assert [one.slot.dialogue_id for one in claims if one is not None] == [item.pk, item.pk]
    freed = Event.objects.get(kind="slot.freed", dialogue=item)
    assert (freed.actor, freed.before) == (team.administrator, {"person": person.public_id})


def test_a_role_whose_work_another_role_goes_on_with_takes_nothing_and_asks_nothing(team: Team) -> None:
    person = team.annotators[1]
    give_role(team.project, person, Role.SENIOR_REVIEWER)
    item = make_item(team, "cross_check")
    claim = claim_slot(actor=person, slot=open_slot(item))
    client = Client()
    client.force_login(team.administrator)
    url = f"/p/{team.project.slug}/people/{person.public_id}/"
    assert client.post(url, {"action": "end", "role": "annotator"}).status_code == 302
    assert roles_in(team.project, person) == {Role.SENIOR_REVIEWER}
    assert Claim.objects.get(pk=claim.pk).state == "live"
    # The last role: now it is given back.
    assert "Cross-check" in client.post(url, {"action": "end", "role": "senior_reviewer"}).content.decode()
