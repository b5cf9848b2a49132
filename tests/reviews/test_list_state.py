"""The page with the list of dialogues: its parts keep each other's state, and it says why a list is empty."""

import pytest
from django.test import Client
from django.urls import reverse

from annotator.services.dialogues.tags import change_tags
from tests.factories import Team, make_dialogue, make_document

pytestmark = pytest.mark.django_db


def test_links_to_a_value_and_to_a_tag_keep_filters_order_and_columns(team: Team, client: Client) -> None:
    row = make_dialogue(team.project, make_document() | {"extra": {"source": "a&b"}})
    change_tags(actor=team.administrator, dialogue=row, add=["hard"])
    client.force_login(team.administrator)
    path = reverse("dialogue-list", args=[team.project.slug])
    text = client.get(f"{path}?problems=clean&sort=-id&column=source&count=1").content.decode()
    kept = "?problems=clean&amp;sort=-id&amp;column=source"
    assert f'href="{kept}&amp;meta=source%3Da%26b"' in text
    assert f'href="{kept}&amp;tag=hard"' in text


def test_an_annotator_reads_why_a_shared_view_with_a_tag_is_empty(team: Team, client: Client) -> None:
    row = make_dialogue(team.project)
    change_tags(actor=team.administrator, dialogue=row, add=["hard"])
    path = reverse("dialogue-list", args=[team.project.slug])
    why = "Only administrators and senior reviewers filter by tags and by colleagues."
    client.force_login(team.annotator)
    text = client.get(f"{path}?tag=hard").content.decode()
    assert why in text
    # The filter can be seen and removed.
    assert 'name="tag"' in text
    assert why in client.get(f"{path}?owner={team.administrator.public_id}").content.decode()
    assert why not in client.get(f"{path}?owner={team.annotator.public_id}").content.decode()
    client.force_login(team.administrator)
    assert why not in client.get(f"{path}?tag=other").content.decode()


def test_a_refused_change_leads_back_to_the_filtered_list(team: Team, client: Client) -> None:
    make_dialogue(team.project)
    client.force_login(team.administrator)
    asked = {"action": "tag", "all": "yes", "tags": "!", "problems": "clean", "meta": "a=b&c"}
    response = client.post(reverse("dialogue-plan", args=[team.project.slug]), asked)
    assert response.status_code == 422
    path = reverse("dialogue-list", args=[team.project.slug])
    assert f'href="{path}?problems=clean&amp;meta=a%3Db%26c"' in response.content.decode()
