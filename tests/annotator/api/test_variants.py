"""A program sees whether language variants agree, and records that they do."""

import pytest
from django.db import transaction
from django.test import Client

from annotator.models import Dialogue, VariantMatch
from annotator.services.dialogues.revisions import lock_dialogue, revise
from tests.api_client import ApiClient, refusal
from tests.factories import Team, make_dialogue, make_document, make_team

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.fixture
def pair(team: Team) -> tuple[Dialogue, Dialogue]:
    """Two variants, of which the first has changed."""
    chinese = make_document("北京") | {"language": "zh"}
    one = make_dialogue(team.project, make_document("Beijing"), external_id="one", variant_group="one")
    other = make_dialogue(team.project, chinese, external_id="one:zh", variant_group="one")
    with transaction.atomic():
        locked = lock_dialogue(one.pk)
        assert locked.head is not None
        document = locked.head.document()
        document["tasks"][0]["user_message"] = "And tomorrow?"
        revise(actor=team.annotator, dialogue=locked, seen=locked.head, document=document, message="Asked again")
    return one, other


def path_of(team: Team, dialogue: Dialogue) -> str:
    return f"/api/projects/{team.project.slug}/dialogues/{dialogue.public_id}/variants/"


def test_a_program_records_a_match_that_the_page_shows(
    team: Team, pair: tuple[Dialogue, Dialogue], client: Client
) -> None:
    api, path = ApiClient(team.senior), path_of(team, pair[0])
    found = ApiClient(team.annotator).get(path).json()
    (variant,) = found["variants"]
    assert (variant["external_id"], variant["language"], variant["shared"]) == ("one:zh", "zh", False)
    assert "has changed since it was last compared" in variant["why"]
    client.force_login(team.senior)
    page = f"/p/{team.project.slug}/dialogues/{pair[0].public_id}/"
    assert "Mark as matching" in client.get(page).content.decode()
    sent = {
        "variant": variant["public_id"], "revision": found["revision"], "variant_revision": variant["revision"]
    }  # fmt: skip
    assert refusal(ApiClient(team.annotator).send(path, sent)) == (403, "denied")
    assert refusal(api.send(path, sent | {"revision": variant["revision"]})) == (409, "conflict")
    for _ in range(2):
        assert [one["why"] for one in api.send(path, sent).json()["variants"]] == [""]
    assert VariantMatch.objects.get().author == team.senior
    assert "Mark as matching" not in client.get(page).content.decode()


def test_a_variant_that_is_none_is_refused_with_those_there_are(team: Team, pair: tuple[Dialogue, Dialogue]) -> None:
    path = path_of(team, pair[0])
    sent = {"variant": "none", "revision": "none", "variant_revision": "none"}
    answer = ApiClient(team.senior).send(path, sent)
    assert refusal(answer) == (400, "unknown_filter")
    assert f"Use one of: “{pair[1].public_id}”" in answer.json()["sentence"]
    stranger = ApiClient(make_team().administrator)
    assert refusal(stranger.get(path)) == (404, "not_found")
    assert refusal(stranger.send(path, sent)) == (404, "not_found")
