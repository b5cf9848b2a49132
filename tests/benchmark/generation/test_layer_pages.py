"""Pages of layers: the setting, what a new generation offers to continue, links, the stale notice, the workspace."""

from html import unescape

import pytest
from django.urls import reverse

from annotator.services.dialogues.continuations import reasons_of, visible_continuation
from benchmark.models import Generation
from reviews.services.queue.claims import claim_slot
from tests.benchmark.generation.test_generation_pages import Pages, form, records
from tests.benchmark.generation.test_layers import corrected, first, fresh, made, reopen, verify
from tests.factories import open_slot
from tests.pages import one_line

__all__ = ["first", "form"]

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.fixture
def pages(team):
    return Pages(team)


def test_the_form_offers_what_can_be_continued_or_says_what_is_needed_first(pages, team, first, form):
    assert pages.post("generation-layers", data={"layers": "1"}).status_code == 302
    assert "each new task continues tasks that are verified" in pages.text("generation-list")
    start = pages.text("generation-start")
    assert "Nothing: all tasks are generated" not in start
    assert pages.get("generation-start", data={"past": "none"}).status_code == 400

    asked = pages.get("generation-start", data={"cell": "chat,chat,clarify"}).content.decode()
    assert '?cell=chat">' in asked
    page = pages.text("dialogue", first.public_id)
    assert f"/generations/new/?past={first.public_id}" in page
    shown = pages.get("generation-start", data={"past": first.public_id})
    initial = shown.context["form"].initial
    assert (initial["policy_1"], initial["toolset"]) == ("single_tool", first.head.toolset_revision.toolset.public_id)
    assert f'<option value="{first.public_id}" selected>one: Single-tool, English</option>' in shown.content.decode()

    cell = form | {"name": "", "policy_2": "chat", "relations_2": ["partial_information"]}
    answer = pages.post("generation-start", data=cell | {"records": records()})
    assert answer.status_code == 422
    assert "choose the verified dialogue that the last task continues" in answer.content.decode()
    wrong = pages.post("generation-start", data=cell | {"past": first.public_id, "policy_1": "clarify"})
    assert "The cell must begin with its policies" in wrong.content.decode()
    answer = pages.post("generation-start", data=cell | {"past": first.public_id, "language": "zh"})
    assert answer.status_code == 302
    generation = Generation.objects.get(name="one-ch-4")
    assert (generation.past, generation.language) == (first.head, "en")
    assert "revision 1" in pages.text("generation", generation.public_id)
    again = pages.get("generation-start", data={"cell": "single_tool,chat"}).content.decode()
    assert "continued already" in again
    other = pages.get("generation-start", data={"cell": "single_tool,chat,chat"}).content.decode()
    assert "Generate Single-tool → Chat first" in other


def test_a_stale_dialogue_says_why_and_takes_over(pages, team, first):
    second = made(team, "two", "single_tool", "chat", past=first)
    colleague = Pages(team, team.annotator)
    assert "Continued by" in colleague.text("dialogue", first.public_id)
    assert "Earlier tasks have changed" not in colleague.text("dialogue", second.public_id)
    was = second.head.document()["tasks"][0]["steps"][0]["observation"]["degrees"]
    reopen(team, first)
    verify(team, first, corrected(first, 35))
    notice = colleague.text("dialogue", second.public_id)
    assert "Different from revision 2 of" in notice
    assert f"{was}" in notice
    assert "Take over the changed tasks" not in notice
    assert "Earlier tasks have changed" in pages.text("dialogue-list")
    assert "Take over the changed tasks" in pages.text("dialogue", second.public_id)
    assert pages.post("past-take-over", second.public_id, data={"revision": "old"}).status_code == 409
    seen = fresh(second).head.public_id
    assert pages.post("past-take-over", second.public_id, data={"revision": seen}).status_code == 302
    page = pages.text("dialogue", second.public_id)
    assert "First tasks taken over from revision 2 of one" in page
    assert "Earlier tasks have changed" not in page


def test_the_workspace_says_which_tasks_are_verified(team, first):
    second = made(team, "two", "single_tool", "chat", past=first)
    annotator = Pages(team, team.annotator)
    slot = claim_slot(actor=team.annotator, slot=open_slot(second)).slot
    page = unescape(one_line(annotator.client.get(reverse("workspace", args=[slot.public_id]))))
    assert f'Task 1 was verified in <a href="{first.get_absolute_url()}">one</a>, revision 1.' in page


def test_contents_are_read_only_of_a_stale_dialogue(team, first, django_assert_num_queries):
    second = made(team, "two", "single_tool", "chat", past=first)
    with django_assert_num_queries(1):
        row = visible_continuation(actor=team.annotator, dialogue=second)
        assert reasons_of(actor=team.annotator, row=row) == []
    assert "content" in row.past.get_deferred_fields()
