"""What is written out by hand says the same as the ORM's query."""

from collections.abc import Iterator

import pytest
from django.db import models

from reviews.models import Claim, Slot
from reviews.services import statements
from reviews.services.queue.claims import claim_slot, release
from tests.factories import Team, make_item, open_slot

pytestmark = pytest.mark.django_db

WORK = ("slot__stage_run", "slot__dialogue__project", "slot__cycle", "slot__protocol",
        "slot__revision__toolset_revision", "slot__project", "project")  # fmt: skip


def fields(instance: models.Model, path: str = "") -> Iterator[tuple[str, object]]:
    """Every stored value of an instance and of what was loaded with it, but those that are left for later."""
    for field in instance._meta.concrete_fields:
        if field.attname in instance.__dict__:
            yield f"{path}{field.attname}", instance.__dict__[field.attname]
        if field.is_relation and field.is_cached(instance):
            yield from fields(getattr(instance, field.name), f"{path}{field.name}.")


def test_a_claim_is_read_with_its_work_as_the_orm_reads_it(team: Team) -> None:
    person, slot = team.annotator, open_slot(make_item(team, "self_check_single"))
    earlier = claim_slot(actor=person, slot=slot)
    release(actor=person, token=earlier.token)
    latest = claim_slot(actor=person, slot=slot)
    everything = Claim.objects.select_related(*WORK).defer("slot__protocol__definition", "slot__dialogue__search_text")
    for token, claim in ((None, latest), (earlier.token, earlier), (latest.token, latest)):
        read = statements.read_claim(person=person, slot=slot.public_id, token=token)
        assert read is not None
        assert dict(fields(read[0])) == dict(fields(everything.get(pk=claim.pk)))


def test_a_claim_is_read_by_its_holder_alone_while_they_see_the_slot(team: Team) -> None:
    person, slot = team.annotator, open_slot(make_item(team, "self_check_single"))
    claim = claim_slot(actor=person, slot=slot)
    assert statements.read_claim(person=team.annotators[1], slot=slot.public_id, token=claim.token) is None
    assert statements.read_claim(person=person, slot=slot.public_id, token="another") is None
    for hide in (
        lambda: Slot.objects.filter(pk=slot.pk).update(state="hidden", holder=None),
        lambda: person.memberships.update(ended_at=claim.created_at),
    ):
        hide()
        seen = Slot.objects.visible_to(person).filter(pk=slot.pk).exists()
        read = statements.read_claim(person=person, slot=slot.public_id)
        assert (read is not None, seen) == (False, False)
        Slot.objects.filter(pk=slot.pk).update(state="claimed", holder=person)
