"""Several people at one gold item at one moment."""

from functools import partial
from typing import Any

import pytest
from django.db import transaction

from annotator.models import Dialogue, Job, OutdatedDialogue
from annotator.services.projects import publish_guideline
from reviews.models import Claim, ClaimState, GoldItem, GoldRate, GoldScore, Slot, SlotState
from reviews.services.cycles.outdated import mark_outdated, read_scope
from reviews.services.cycles.start import publish_batch
from reviews.services.gold.settings import retire_gold_item, set_gold_rate
from reviews.services.queue.claims import claim_next
from reviews.services.statistics.counters import recount, stored_counters
from tests.factories import Team, make_dialogue, make_item
from tests.racing import lost, overlap, race
from tests.reviews.gold.gold_team import STAGE, answer_with, certain, gold_team, make_gold, take, verified

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def team() -> Team:
    return gold_team(annotators=9)


def claiming(team: Team, place: int) -> Any:
    return lambda: claim_next(actor=team.annotators[place], project=team.project, stage=STAGE)


def test_six_people_get_one_item_each_in_a_slot_of_their_own(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    item = make_gold(team)
    for _ in range(6):
        make_item(team, STAGE)
    certain(monkeypatch, team)
    claims = race(*(claiming(team, place) for place in range(3, 9)))
    assert lost(claims) == []
    slots = Slot.objects.filter(stage_run=item.stage_run)
    assert {claim.slot_id for claim in claims} == set(slots.values_list("pk", flat=True))
    assert sorted(slots.values_list("index", flat=True)) == [0, 1, 2, 3, 4, 5]
    # The item that they would have received waits again.
    assert not Slot.objects.filter(stage=STAGE, state=SlotState.CLAIMED).exclude(stage_run=item.stage_run).exists()
    results = race(*(lambda claim=claim: answer_with(claim.person, claim, "approve") for claim in claims))
    assert lost(results) == []
    assert GoldScore.objects.count() == 6
    assert stored_counters(team.project) == recount(team.project)


def test_one_person_in_four_windows_holds_one(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    item = make_gold(team)
    for _ in range(4):
        make_item(team, STAGE)
    certain(monkeypatch, team)
    claims = race(*(claiming(team, 3) for _ in range(4)))
    assert lost(claims) == []
    assert len({claim.pk for claim in claims}) == 1
    assert Slot.objects.filter(stage_run=item.stage_run).count() == 1
    assert Claim.objects.filter(person=team.annotators[3], state=ClaimState.LIVE).count() == 1


def test_one_person_in_four_windows_holds_one_where_nothing_else_waits(team: Team) -> None:
    for _ in range(3):
        make_gold(team)
    for held in (1, 2, 3):
        claims = race(*(claiming(team, 3) for _ in range(4)))
        assert lost(claims) == []
        assert len({claim.pk for claim in claims}) == 1
        assert Slot.objects.filter(stage=STAGE, holder=team.annotators[3]).count() == held
        answer_with(claims[0].person, claims[0], "approve")
    assert race(*(claiming(team, 3) for _ in range(4))) == [None] * 4


def test_claiming_and_handing_in_against_retiring(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    item = make_gold(team)
    for _ in range(4):
        make_item(team, STAGE)
    certain(monkeypatch, team)
    held = take(team.annotators[3], team)

    def retire() -> Any:
        return retire_gold_item(actor=team.administrator, project=team.project, public_id=item.public_id)

    results = race(
        retire, retire, claiming(team, 4), claiming(team, 5), lambda: answer_with(held.person, held, "approve")
    )
    assert lost(results) == []
    assert team.project.events.filter(kind="gold.retired").count() == 1
    # A review submitted after it was retired is not scored.
    assert GoldScore.objects.count() <= 1
    assert stored_counters(team.project) == recount(team.project)
    assert Dialogue.objects.get(pk=item.source_id).gold_role == ""
    item.refresh_from_db()
    assert not item.live


@pytest.mark.postgres
def test_two_administrators_set_the_first_rate_at_the_same_moment(team: Team) -> None:
    def setting(rate: float) -> Any:
        return partial(set_gold_rate, actor=team.administrator, project=team.project, stage=STAGE, rate=rate)

    for _ in range(5):
        GoldRate.objects.all().delete()
        assert lost(race(*(setting(rate) for rate in (0.1, 0.2, 0.3, 0.4)))) == []


@pytest.mark.postgres
@pytest.mark.parametrize("marks_first", [True, False])
def test_a_mark_made_at_the_same_moment_flags_the_item(team: Team, marks_first: bool) -> None:
    publish_guideline(actor=team.administrator, project=team.project, text="# One", seen=0)
    source = verified(team)
    publish_guideline(actor=team.administrator, project=team.project, text="# Two", seen=1)
    scope = read_scope(project=team.project, number=2, policies=[], error_types=[])

    def mark() -> Any:
        return mark_outdated(actor=team.administrator, project=team.project, scope=scope, reason="Dates are ISO 8601.")

    def make() -> Any:
        return make_gold(team, source)

    results = overlap(*((mark, make) if marks_first else (make, mark)))
    assert not lost(list(results))
    item = results[marks_first]
    assert set(OutdatedDialogue.objects.values_list("dialogue", flat=True)) == {source.pk, item.dialogue_id}


@pytest.mark.postgres
@pytest.mark.parametrize("publishes_first", [True, False])
def test_a_variant_that_is_published_at_the_same_moment_leaves_no_item(team: Team, publishes_first: bool) -> None:
    source, other = verified(team), make_dialogue(team.project)
    job = Job.objects.create(kind="import", project=team.project, requester=team.administrator)
    Dialogue.objects.filter(pk__in=[source.pk, other.pk]).update(variant_group="talk")
    Dialogue.objects.filter(pk=other.pk).update(batch=job, published=False)
    source.refresh_from_db()

    def publish() -> Any:
        with transaction.atomic():
            return publish_batch(job=job)

    def make() -> Any:
        return make_gold(team, source)

    overlap(*((publish, make) if publishes_first else (make, publish)))
    assert Dialogue.objects.get(pk=other.pk).published
    assert not GoldItem.objects.filter(retired_at=None).exists()
