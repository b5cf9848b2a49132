"""The page and the API of the list: orders, columns, the total, saved views and values that lead to lists."""

from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from annotator.models import SavedView
from tests.factories import make_dialogue, make_dialogues, make_document

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.fixture
def client(team):
    client = Client()
    client.force_login(team.annotator)
    return client


def page(client, team, query=None, name="dialogue-list", **more):
    response = client.get(reverse(name, args=[team.project.slug]), query or {}, **more)
    return response, unescape(response.content.decode())


def test_headings_sort_and_say_in_which_direction(client, team):
    make_dialogues(team.project, 2)
    _, text = page(client, team)
    assert "?sort=-calls" in text
    _, text = page(client, team, {"sort": "-calls", "status": "candidate", "count": "1"})
    assert text.count("aria-sort=") == 1
    assert 'aria-sort="descending"' in text
    # A second click reverses the order; the other filters stay, and the total is not asked for again.
    assert "?sort=calls&status=candidate" in text or "?status=candidate&sort=calls" in text
    assert '<p role="status">' in text
    assert "2 dialogues" in " ".join(text.split())
    assert '<p role="status">' not in page(client, team)[1]


def test_metadata_is_on_the_page_of_a_dialogue_and_in_chosen_columns_with_links(client, team):
    document = make_document() | {"extra": {"source": "a&b=c", "spans": [{"id": 1}]}}
    dialogue = make_dialogue(team.project, document)
    shown = client.get(reverse("dialogue", args=[team.project.slug, dialogue.public_id])).content.decode()
    link = "?meta=source%3Da%26b%3Dc"
    assert link in shown
    assert '{"id":1}' in unescape(shown)
    _, text = page(client, team, {"column": ["source", "absent"]})
    # A link in the list keeps the columns.
    assert f"?column=source&column=absent&{link[1:]}" in text or f"{link}&column=source&column=absent" in text
    assert "<code>absent</code></th>" in text
    assert dialogue.external_id in page(client, team, {"meta": "source=a&b=c"})[1]
    assert dialogue.external_id not in page(client, team, {"meta": "source=a"})[1]


def test_a_view_is_saved_opened_renamed_and_deleted(client, team):
    make_dialogues(team.project, 1)
    views = reverse("saved-view-list", args=[team.project.slug])
    query = "status=candidate&sort=-calls&column=source&after=x&colour=red"
    opened = client.post(views, {"name": "Mine", "query": query}, follow=True)
    assert opened.request["QUERY_STRING"] == "status=candidate&sort=-calls&column=source"
    assert "Saved as “Mine”." in opened.content.decode()
    again = client.post(views, {"name": "Mine", "query": query})
    assert again.status_code == 409
    assert "already a view with the name “Mine”" in again.content.decode()
    own = reverse("saved-view", args=[team.project.slug, SavedView.objects.get().public_id])
    assert client.post(own, {"name": " "}).status_code == 422
    assert "Renamed." in client.post(own, {"name": "Other"}, follow=True).content.decode()
    assert ">Other</a>" in page(client, team)[1]
    client.post(own, {"delete": "1"})
    assert client.get(own).status_code == 404
    assert client.post(views, {"name": "All", "query": "", "shared": "1"}).status_code == 403


def test_an_old_view_opens_without_what_no_longer_exists_and_says_so(client, team):
    view = SavedView.objects.create(
        project=team.project, person=team.annotator, name="Old", query="stage=gone&hue=blue&status=verified&sort=size"
    )
    opened = client.get(reverse("saved-view", args=[team.project.slug, view.public_id]), follow=True)
    assert (opened.status_code, opened.request["QUERY_STRING"]) == (200, "status=verified")
    text = unescape(opened.content.decode())
    for sentence in ("Unknown filter: “hue”", "“stage” can’t be “gone”", "“sort” can’t be “size”"):
        assert f"A part of the view “Old” no longer exists and is left out. {sentence}" in text


def test_the_api_sorts_and_counts_and_refuses_cursors_of_another_order(client, team):
    ids = [row.external_id for row in make_dialogues(team.project, 3)]
    start = reverse("api-dialogue-list", args=[team.project.slug])
    found = client.get(start, {"sort": "-id", "size": 2}).json()
    assert [row["external_id"] for row in found["results"]] == ids[:0:-1]
    assert [row["external_id"] for row in client.get(found["next"]).json()["results"]] == ids[:1]
    cursor = found["next"].partition("cursor=")[2].partition("&")[0]
    assert client.get(f"{start}?sort=id&cursor={cursor}").status_code == 422
    total = client.get(reverse("api-dialogue-count", args=[team.project.slug]), {"status": "candidate"}).json()
    assert total == {"count": 3, "exact": True}
