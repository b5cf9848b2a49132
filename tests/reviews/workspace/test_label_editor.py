"""The custom fields in the workspace: drawn for the selected part, saved in the draft, checked at submission."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.models import Draft
from annotator.services.custom_fields import set_fields
from annotator.services.toolsets.storing import ensure_toolset_revision
from reviews.services.protocols.versions import adopt_preset
from reviews.services.queue.claims import claim_slot
from reviews.services.submission.workbench import open_workbench
from tests.annotator.case_documents import TOOLS, case
from tests.annotator.core.test_custom_fields import FIELDS
from tests.annotator.document_cases import trip
from tests.factories import Team, begin, make_dialogue, open_slot
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

NOTE = {"key": "note", "title": "Note", "type": "text", "scope": "answer"}


@pytest.fixture
def slot(client: Client, team: Team) -> str:
    set_fields(actor=team.administrator, project=team.project, fields=[*FIELDS, NOTE], seen=0)
    dialogue = make_dialogue(team.project, trip())
    begin(team.project, [dialogue])
    slot = open_slot(dialogue)
    claim_slot(actor=team.annotator, slot=slot)
    client.force_login(team.annotator)
    client.get(reverse("workspace", args=[slot.public_id]))
    return str(slot.public_id)


def post(client: Client, slot: str, anchor: str, **fields: Any) -> Any:
    posted = {"op": "set_label", "anchor": anchor, "at": anchor.rpartition("/labels/")[0] or "/", **fields}
    return client.post(reverse("workspace-edit", args=[slot]), posted, follow=True)


def labels(task: int = 0) -> Any:
    return Draft.objects.get().document()["tasks"][task].get("labels")


def test_a_choice_is_drawn_with_number_keys_saved_and_removed(client: Client, slot: str) -> None:
    page = one_line(client.get(reverse("workspace", args=[slot]) + "?at=/tasks/t1"))
    assert "How hard is it?" in page
    assert 'value="hard"' in page
    assert 'data-key="2"' in page
    post(client, slot, "/tasks/t1/labels/difficulty", type="choice", value="hard")
    assert labels() == {"difficulty": "hard"}
    post(client, slot, "/tasks/t1/labels/difficulty", type="choice", value="")
    assert labels() is None


def test_a_field_is_asked_once_its_condition_is_met_and_its_value_stays_afterwards(client: Client, slot: str) -> None:
    call = reverse("workspace", args=[slot]) + "?at=/tasks/t1/steps/s1"
    assert "Why is it hard?" not in one_line(client.get(call))
    post(client, slot, "/tasks/t1/labels/difficulty", type="choice", value="hard")
    assert "Why is it hard?" in one_line(client.get(call))
    post(client, slot, "/tasks/t1/steps/s1/labels/why", type="multi", value=["vague", "long"])
    assert Draft.objects.get().document()["tasks"][0]["steps"][0]["labels"] == {"why": ["long", "vague"]}
    post(client, slot, "/tasks/t1/labels/difficulty", type="choice", value="easy")
    assert "Not asked here. Stored value: Long, Vague" in one_line(client.get(call))
    assert Draft.objects.get().document()["tasks"][0]["steps"][0]["labels"] == {"why": ["long", "vague"]}


def test_a_scale_is_a_number_and_a_text_keeps_its_lines(client: Client, slot: str) -> None:
    post(client, slot, "/labels/quality", type="scale", value="4")
    post(client, slot, "/tasks/t1/steps/s4/labels/note", type="text", value="One.\r\nTwo.")
    document = Draft.objects.get().document()
    assert document["labels"] == {"quality": 4}
    assert document["tasks"][0]["steps"][3]["labels"] == {"note": "One.\nTwo."}
    response = post(client, slot, "/labels/quality", type="scale", value="four")
    assert (response.status_code, "isn’t a whole number" in response.content.decode()) == (422, True)


def test_spans_are_marked_and_removed_one_by_one(client: Client, slot: str) -> None:
    place = "/tasks/t1/labels/evidence"
    post(client, slot, place, type="span", of="user_message", start="10", end="14")
    post(client, slot, place, type="span", of="user_message", start="0", end="3")
    first, second = {"start": 0, "end": 3, "text": "Fly"}, {"start": 10, "end": 14, "text": "Oslo"}
    assert labels() == {"evidence": [first, second]}
    assert '<q class="grow">Oslo</q>' in one_line(client.get(reverse("workspace", args=[slot]) + "?at=/tasks/t1"))
    post(client, slot, place, type="span", drop="0")
    assert labels() == {"evidence": [second]}
    response = post(client, slot, place, type="span", of="user_message", start="3", end="999")
    assert (response.status_code, "within the text" in response.content.decode()) == (422, True)


def test_a_browser_counts_one_character_for_a_line_break(client: Client, slot: str) -> None:
    post(client, slot, "/tasks/t1/user_message", op="set", value="x")
    draft = Draft.objects.get()
    draft.content = draft.content.replace('"user_message":"x"', '"user_message":"Fly\\r\\nto Oslo"')
    draft.save()
    post(client, slot, "/tasks/t1/labels/evidence", type="span", of="user_message", start="4", end="6")
    assert labels() == {"evidence": [{"start": 5, "end": 7, "text": "to"}]}


def test_a_required_field_blocks_the_submission_until_it_is_answered(client: Client, team: Team, slot: str) -> None:
    def missing() -> list[str]:
        view = open_workbench(actor=team.annotator, slot_id=slot).view
        return [finding.anchor for finding in view.findings if finding.check == "field.missing" and finding.blocks]

    assert missing() == ["/tasks/t1/labels/difficulty", "/tasks/t2/labels/difficulty"]
    post(client, slot, "/tasks/t1/labels/difficulty", type="choice", value="easy")
    assert missing() == ["/tasks/t2/labels/difficulty"]


def test_the_fields_of_a_case_are_beside_its_scenario_and_in_its_calls(client: Client, team: Team) -> None:
    use = FIELDS[0] | {"key": "use", "title": "Is it of use?", "scope": "call"}
    set_fields(actor=team.administrator, project=team.project, fields=[FIELDS[2], use], seen=0)
    adopt_preset(actor=team.administrator, project=team.project, preset="cctu")
    toolset = ensure_toolset_revision(actor=None, project=team.project, tools=TOOLS, name="ferries")
    dialogue = make_dialogue(team.project, case(), toolset=toolset)
    begin(team.project, [dialogue])
    slot = open_slot(dialogue)
    claim_slot(actor=team.annotator, slot=slot)
    client.force_login(team.annotator)
    address = reverse("workspace", args=[slot.public_id])
    assert "Quality" in one_line(client.get(f"{address}?at=/scenario"))
    call = "/reference_trajectory/r1/calls/s1"
    assert "Is it of use?" in one_line(client.get(f"{address}?at={call}"))
    post(client, str(slot.public_id), "/labels/quality", type="scale", value="2")
    post(client, str(slot.public_id), f"{call}/labels/use", type="choice", value="easy")
    document = Draft.objects.get().document()
    assert document["labels"] == {"quality": 2}
    assert document["reference_trajectory"][0]["calls"][0]["labels"] == {"use": "easy"}
    page = one_line(client.get(address))
    assert "Quality: 2" in page
    assert "Is it of use? Easy" in page


def test_the_place_of_a_field_about_the_dialogue_shows_the_dialogues_fields(client: Client, slot: str) -> None:
    # As the link of a finding has it.
    page = one_line(client.get(reverse("workspace", args=[slot]) + "?at=/labels/quality"))
    assert "<legend>Quality" in page or "Quality" in page.split('id="inspector"', 1)[-1]
    assert "Questions about the whole dialogue" in page
    assert "How hard is it?" not in page.split("Custom fields", 1)[-1]
