"""Training in a release and in an export: its items are in neither, and the dialogue of the known answer is."""

import pytest
from django.test import Client
from django.urls import reverse

from benchmark.models import ReleaseItem
from reviews.services.queue.claims import claim_next
from reviews.services.training.decisions import change_training
from reviews.services.training.items import add_training_item
from tests.benchmark.conftest import run_release
from tests.reviews.gold.gold_team import STAGE, answer_with, gold_team, verified

pytestmark = pytest.mark.django_db


def test_a_release_and_an_export_have_the_dialogue_once(client: Client) -> None:
    team = gold_team()
    source = verified(team)
    add_training_item(actor=team.administrator, project=team.project, source=source, stage=STAGE)
    settings = {"stage": STAGE, "length": 1, "pass_mark": 1, "attempts": 1, "enabled": True}
    change_training(actor=team.administrator, project=team.project, **settings)
    person = team.annotators[4]
    claim = claim_next(actor=person, project=team.project)
    assert claim is not None
    answer_with(person, claim, "approve")
    client.force_login(team.administrator)
    listed = client.get(reverse("api-dialogue-list", args=[team.project.slug])).json()["results"]
    assert [one["public_id"] for one in listed] == [source.public_id]
    exported = client.get(reverse("dialogue-export", args=[team.project.slug]), {"format": "jsonl"})
    assert len(b"".join(exported.streaming_content).splitlines()) == 1
    release = run_release(team)
    items = ReleaseItem.objects.filter(release=release)
    assert list(items.values_list("dialogue", flat=True)) == [source.pk]
