"""A variant of the known answer in another language is the answer too: nobody who is tested sees it or works on it."""

import pytest
from django.test import Client
from django.utils import timezone

from annotator.errors import Conflict
from annotator.models import Dialogue, Job
from reviews.models import GoldItem
from reviews.services.claims import claim_next, release
from reviews.services.counters import stored_counters
from reviews.services.cycles import publish_batch, supersede_cycle
from reviews.services.gold_making import make_gold_item, preview
from reviews.services.gold_settings import retire_gold_item
from tests.factories import Team, hand_in, make_dialogue, make_item
from tests.reviews.gold_team import STAGE, certain, gold_team, make_gold, verified

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Team:
    return gold_team()


def pair(team: Team) -> tuple[Dialogue, Dialogue]:
    """Two verified variants; the fifth annotator had a hand in the second alone."""
    english = verified(team)
    chinese = make_item(team, STAGE)
    for person in team.annotators[3:5]:
        hand_in(person, chinese, "approve")
    Dialogue.objects.filter(pk__in=[english.pk, chinese.pk]).update(variant_group="talk-1")
    english.refresh_from_db()
    chinese.refresh_from_db()
    assert chinese.status == "verified"
    return english, chinese


def test_variants_are_hidden_while_the_item_is_in_use(team: Team) -> None:
    english, chinese = pair(team)
    stranger = make_dialogue(team.project)
    before = stored_counters(team.project)
    item = make_gold(team, english)
    assert set(Dialogue.objects.shown_to(team.annotators[5])) == {stranger, item.dialogue}
    assert chinese in Dialogue.objects.shown_to(team.senior)
    after = stored_counters(team.project)
    moved = {key: after[key] - before.get(key, 0) for key in after if after[key] != before.get(key, 0)}
    assert moved == {"gold:status:in_review": 1, "gold:status:verified": -2, f"gold:left:{STAGE}": item.pool}
    retire_gold_item(actor=team.administrator, project=team.project, public_id=item.public_id)
    assert {english, chinese, stranger} <= set(Dialogue.objects.shown_to(team.annotators[5]))
    assert stored_counters(team.project).get("gold:status:verified", 0) == 0


def test_an_item_says_of_its_group_what_its_dialogue_said(team: Team, client: Client) -> None:
    """Where everything has variants, whatever had none would be a gold item."""
    english, _ = pair(team)
    address = f"/api/projects/{team.project.slug}/dialogues/"
    client.force_login(team.annotators[5])

    def groups() -> dict[str, str]:
        return {row["external_id"]: row["variant_group"] for row in client.get(address).json()["results"]}

    before = groups()
    make_gold(team, english)
    assert groups()[english.external_id] == before[english.external_id] == "talk-1"


def test_who_had_a_hand_in_a_variant_is_not_tested(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    english, _ = pair(team)
    found = preview(project=team.project, source=english, stage=STAGE)
    assert found.people == [team.annotators[5]]
    item = make_gold(team, english)
    assert item.pool == 1
    make_item(team, STAGE)
    certain(monkeypatch, team)
    for person, gold in ((team.annotators[4], False), (team.annotators[5], True)):
        claim = claim_next(actor=person, project=team.project, stage=STAGE)
        assert claim is not None
        assert (claim.slot.dialogue_id == item.dialogue_id) is gold
        release(actor=person, token=claim.token)


def test_a_variant_under_way_or_in_use_bars_the_other(team: Team) -> None:
    english, chinese = pair(team)
    under_way = make_item(team, STAGE)
    Dialogue.objects.filter(pk=under_way.pk).update(variant_group="talk-1")
    with pytest.raises(Conflict, match="still being worked on"):
        make_gold(team, english)
    Dialogue.objects.filter(pk=under_way.pk).update(variant_group="")
    make_gold(team, english)
    with pytest.raises(Conflict, match="part of a gold item already"):
        make_gold_item(actor=team.administrator, project=team.project, source=chinese, stage=STAGE)


def test_an_item_is_retired_when_a_variant_is_worked_on_again(team: Team) -> None:
    english, chinese = pair(team)
    make_gold(team, english)
    supersede_cycle(actor=team.administrator, dialogue=chinese, reason="An erratum.")
    assert GoldItem.objects.get().retired_at is not None
    assert set(
        Dialogue.objects.filter(variant_group="talk-1", archived_at=None).values_list("set_apart", flat=True)
    ) == {""}


def test_an_item_is_retired_when_another_variant_comes_in(team: Team) -> None:
    english, _ = pair(team)
    make_gold(team, english)
    job = Job.objects.create(
        project=team.project, requester=team.administrator, kind="import", state="done", ended_at=timezone.now(),
        checkpoint={},
    )  # fmt: skip
    make_dialogue(team.project, batch=job, published=False, variant_group="talk-2")
    publish_batch(job=job)
    assert GoldItem.objects.get().retired_at is None
    make_dialogue(team.project, batch=job, published=False, variant_group="talk-1")
    publish_batch(job=job)
    assert "variant" in GoldItem.objects.get().retired_why
