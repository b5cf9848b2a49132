"""A toolset in review: claimed, edited by form and as JSON, reviewed by two people, settled by a third."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.core.comparison import resolve
from annotator.core.schema.canonical import value_hash
from annotator.models import Dialogue, Draft, Finding
from annotator.models.content import DialogueStatus
from annotator.presentation.components.anchors import dom_id
from annotator.presentation.document import present
from annotator.presentation.toolset import ToolsetView
from reviews.models import Review
from reviews.services.protocols.versions import adopt_preset
from reviews.services.queue.claims import claim_slot
from reviews.services.statistics.all_counts import fold_all
from tests.annotator.toolset_documents import F1, F2, described_toolset, function
from tests.factories import Team, begin, claim_and_submit, current, make_dialogue, make_team, make_toolset, open_slot
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

HARBOUR = f"{F1}/parameters/properties/harbour"


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=3, seniors=1)
    adopt_preset(actor=team.administrator, project=team.project, preset="c3")
    return team


def item_of(team: Team, document: dict[str, Any] | None = None) -> Dialogue:
    dialogue = make_dialogue(
        team.project, document or described_toolset(), toolset=make_toolset(team.project, [], "none")
    )
    begin(team.project, [dialogue])
    return Dialogue.objects.get(pk=dialogue.pk)


def working(client: Client, team: Team, document: dict[str, Any] | None = None) -> str:
    """The slot that the first annotator holds, signed in, with its page opened."""
    slot = open_slot(item_of(team, document))
    claim_slot(actor=team.annotator, slot=slot)
    client.force_login(team.annotator)
    client.get(reverse("workspace", args=[slot.public_id]))
    return str(slot.public_id)


def text_of(response: Any) -> str:
    assert response.status_code == 200, response.content[:300]
    return one_line(response)


def stored() -> dict[str, Any]:
    return Draft.objects.get().document()


def test_a_toolset_is_edited_by_form_and_as_json_and_submitted(client: Client, team: Team) -> None:
    slot = working(client, team)
    edit = reverse("workspace-edit", args=[slot])

    def post(**posted: str) -> Any:
        return client.post(edit, posted, follow=True)

    page = text_of(client.get(reverse("workspace", args=[slot])))
    for words in ("2 functions", "Find the next ferry", "first · second", "passengers[].age", "Function find_ferry"):
        assert words in page
    assert "panel=graph" not in page
    shown = value_hash(resolve(stored(), F1))
    form = {"op": "set_function", "anchor": "/tools/f1", "of": shown, "f:name": "find_boat", "f:p1-name": "port"}
    page = text_of(client.post(edit, form, follow=True))
    assert "Function find_boat" in page.partition('id="inspector"')[2]
    assert "port" in resolve(stored(), f"{F1}/parameters/properties")
    # The same form again is about a function that is gone.
    assert "changed in the meantime" in client.post(edit, form).content.decode()
    # A sentence at the field, and what was typed.
    wrong = form | {"of": value_hash(resolve(stored(), F1)), "f:p0-name": "class", "f:p1-name": "class"}
    refused = client.post(edit, wrong)
    assert refused.status_code == 422
    assert 'aria-describedby="f-p1-name-error"' in refused.content.decode()
    refused = client.post(edit, wrong, headers={"HX-Request": "true"})
    assert 'hx-target="#f-function"' in refused.content.decode()
    assert 'id="f-p1-name-error"' in refused.content.decode()

    client.post(reverse("workspace-undo", args=[slot]), {"at": "/tools/f1"})
    assert stored() == described_toolset()
    bad = client.post(edit, {"op": "set_json", "anchor": "/tools/f2/tool", "text": '{"name": 3}'})
    assert bad.status_code == 422
    assert "The tool has no name." in bad.content.decode()
    post(op="set_json", anchor="/tools/f2/tool", text='{"name": "book", "description": "Book a place."}')
    assert resolve(stored(), "/tools/f2/tool") == {"name": "book", "description": "Book a place."}
    page = text_of(post(op="add_tool", name="cancel", after="f1"))
    assert "Function cancel" in page.partition('id="inspector"')[2]
    added = stored()["tools"][1]["id"]
    text_of(post(op="move_tool", anchor=f"/tools/{added}", by="1"))
    text_of(post(op="duplicate_tool", anchor=f"/tools/{added}"))
    text_of(post(op="delete_tool", anchor=f"/tools/{added}"))
    text_of(post(op="set", anchor="/language", value="zh"))
    assert [one["tool"].get("function", one["tool"])["name"] for one in stored()["tools"]] == [
        "find_ferry", "book", "cancel_2",
    ]  # fmt: skip
    kept = stored()["tools"][2]["id"]
    described = {"op": "set", "anchor": f"/tools/{kept}/tool/function/description", "value": "Cancel a booking."}
    post(**described)

    tabs = {"at": "/tools/f1", "panel": "review"}
    page = text_of(client.get(reverse("workspace", args=[slot]), tabs))
    assert "Added function cancel_2" in page
    assert '<option value="/tools/f1">function find_ferry</option>' in page
    for panel in ("findings", "comments", "tools", "revisions", "examples", "guideline"):
        text_of(client.get(reverse("workspace", args=[slot]), {"at": "/tools/f1", "panel": panel}))
    comment = {"anchor": "/tools/f1", "text": "Too long?", "at": "/tools/f1"}
    assert "Too long?" in text_of(client.post(reverse("workspace-comment", args=[slot]), comment, follow=True))
    sent = {"verdict": "fix", "seen": Draft.objects.get().version}
    assert client.post(reverse("workspace-submit", args=[slot]), sent).status_code == 302
    review = Review.objects.get()
    page = text_of(client.get(reverse("dialogue", args=[team.project.slug, review.dialogue.public_id])))
    assert "Cancel a booking." in page
    page = text_of(client.get(reverse("revision-diff", args=[team.project.slug, review.dialogue.public_id])))
    assert "cancel_2" in page


def test_findings_of_functions_are_waived_and_errors_block(client: Client, team: Team) -> None:
    document = described_toolset()
    resolve(document, HARBOUR).pop("description")
    slot = working(client, team, document)
    assert list(Finding.objects.values_list("check_id", "anchor")) == [("toolset.parameter_undescribed", HARBOUR)]
    page = text_of(client.get(reverse("workspace", args=[slot])))
    assert "function find_ferry, parameter harbour" in page
    (view,) = [present(document, Finding.objects.all())]
    assert isinstance(view, ToolsetView)
    finding = view.functions[0].findings[0]
    key = {"check": finding.check, "anchor": finding.anchor, "value_hash": finding.value_hash}
    waive = key | {"reason": "Its name says it.", "at": "/tools/f1"}
    assert "Its name says it." in text_of(client.post(reverse("workspace-waive", args=[slot]), waive, follow=True))
    required = {"op": "set_json", "anchor": f"{F1}/parameters", "text": '{"type": "object", "required": ["x"]}'}
    client.post(reverse("workspace-edit", args=[slot]), required)
    sent = client.post(reverse("workspace-submit", args=[slot]), {"verdict": "fix", "seen": 1})
    assert sent.status_code == 422


def test_an_answer_brings_only_the_functions_that_differ(client: Client, team: Team) -> None:
    tools = [{"id": f"f{n}", "tool": function(f"tool_{n}", f"Do thing {n} well.", {})} for n in range(1, 513)]
    slot = working(client, team, described_toolset(tools=tools))
    page = client.get(reverse("workspace", args=[slot]))
    version = page.context["dialogue_version"]
    assert len(version.split(" ")) == 513
    assert len(version) < 8_000
    posted = {"op": "set", "anchor": "/tools/f7/tool/function/description", "value": "Do it.", "at": "/tools/f7"}
    headers = {"HX-Request": "true", "X-Dialogue": version}
    answer = client.post(reverse("workspace-edit", args=[slot]), posted, headers=headers)
    assert answer.headers["X-Current"] == dom_id("/tools/f7")
    assert answer.content.decode().count('<div class="turn call"') == 1
    added = {"op": "add_tool", "name": "x"}
    refused = client.post(reverse("workspace-edit", args=[slot]), added, headers=headers)
    assert "at most 512 functions" in refused.content.decode()


def test_two_blind_reviews_that_differ_are_settled_by_a_senior_reviewer(client: Client, team: Team) -> None:
    dialogue = item_of(team)
    for person in (team.annotator, team.annotator):
        claim_and_submit(person, dialogue)
    left, right = current(dialogue), current(dialogue)
    resolve(left, F1)["description"] = "Find a ferry."
    resolve(right, F1)["description"] = "Find boats."
    resolve(right, F2)["name"] = "reserve"
    left["tools"].append({"id": "f8", "tool": function("cancel", "Cancel it now.", {}), "extra": {}})
    right["tools"].append({"id": "f9", "tool": function("cancel", "Cancel it now.", {}), "extra": {}})
    for person, document in ((team.annotators[1], left), (team.annotators[2], right)):
        claim_and_submit(person, dialogue, "fix", document=document)
    slot = open_slot(Dialogue.objects.get(pk=dialogue.pk))
    claim_slot(actor=team.senior, slot=slot)
    client.force_login(team.senior)
    page = text_of(client.get(reverse("workspace", args=[slot.public_id]), follow=True))
    for words in ("Function find_ferry, description", "Function book_ferry, name", "reserve", "Both changed it"):
        assert words in page
    form: dict[str, Any] = {"seen": Draft.objects.filter(author=team.senior).get().version}
    for anchor, choice in ((f"{F1}/description", "third"), (f"{F2}/name", "right")):
        form |= {f"ruling:{anchor}": choice, f"why:{anchor}": "other", f"note:{anchor}": "Clearer."}
    form[f"third:{F1}/description"] = "Find a boat or ferry."
    answer = client.post(reverse("workspace-settle", args=[slot.public_id]), form)
    assert answer.status_code == 302, one_line(answer)[:2000]
    settled = Dialogue.objects.get(pk=dialogue.pk)
    assert settled.status == DialogueStatus.VERIFIED
    assert resolve(current(settled), f"{F1}/description") == "Find a boat or ferry."
    assert resolve(current(settled), f"{F2}/name") == "reserve"
    assert len(current(settled)["tools"]) == 3
    # Counters and statistics of agreement pass over what has no tasks.
    fold_all()
