"""The Review tab: what it shows beside the dialogue, conditions of questions, suggested errors, times of answers."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.errors import Invalid
from annotator.models import Draft
from annotator.services.dialogues.drafts import edit_draft
from reviews.models import Review, ReviewDraft, Slot, WorkloadCount
from reviews.services.protocols.versions import adopt_protocol, current_protocol
from reviews.services.queue.claims import claim_slot
from reviews.services.statistics.throughput import read_person_times
from reviews.services.statistics.workload import WORK
from reviews.services.submission.answer_times import MAX_TENTHS, read_times, stored_times
from tests.factories import Team, adopt_c3, claim_and_submit, make_document, make_item, make_team, open_slot

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.fixture
def team() -> Team:
    team = make_team(seniors=2)
    adopt_c3(team, conditions=True)
    return team


def held(team: Team, client: Client, stage: str = "self_check_single", **options: Any) -> Slot:
    slot = open_slot(make_item(team, stage, **options))
    claim_slot(actor=team.annotator, slot=slot)
    client.force_login(team.annotator)
    return slot


def require(team: Team, *keys: str) -> None:
    """Make these questions required, and no others."""
    protocol = current_protocol(team.project)
    assert protocol is not None
    definition = protocol.model_dump()
    for item in (item for stage in definition["stages"] for item in stage["checklist"]["items"]):
        item["required"] = item["key"] in keys
    adopt_protocol(actor=team.administrator, project=team.project, protocol=type(protocol).model_validate(definition))


def change_city(team: Team, slot: Slot, client: Client) -> None:
    client.get(reverse("workspace", args=[slot.public_id]))
    draft = Draft.objects.get(dialogue=slot.dialogue, author=team.annotator)
    anchor = "/tasks/t1/steps/s0/arguments/city"
    edit_draft(actor=team.annotator, draft=draft, operation={"op": "set", "anchor": anchor, "value": "Bruges"}, seen=0)


def test_the_tab_is_part_of_the_workspace_and_the_submit_address_opens_it(team: Team, client: Client) -> None:
    slot = held(team, client)
    work = reverse("workspace", args=[slot.public_id])
    for address in (f"{work}?panel=review", f"{work}submit/?verdict=reject"):
        page = client.get(address)
        text = page.content.decode()
        assert 'id="chat"' in text
        assert 'id="verdict"' in text
        assert f'action="{work}submit/' in text
        assert page.context["panel"] == "review"
    assert page.context["verdict"] == "reject"
    part = client.get(f"{work}submit/?verdict=reject&at=/tasks/t1", headers={"HX-Request": "true"})
    assert "<hx-partial" in part.content.decode()
    assert part["X-Draft-Version"] == "0"
    refused = client.post(f"{work}submit/", {"verdict": "reject", "reason": "", "at": "/tasks/t1"})
    assert (refused.status_code, refused.context["at"]) == (422, "/tasks/t1")
    assert 'id="chat"' in refused.content.decode()


def test_the_page_lets_no_error_be_tagged_in_what_is_approved_unchanged(team: Team, client: Client) -> None:
    """Such as the error that an edit had suggested which was undone."""
    slot = held(team, client)
    url = reverse("workspace-submit", args=[slot.public_id])
    client.get(url)
    sent = {
        "verdict": "approve",
        "error-type": "answer_wrong",
        "error-anchor": "/tasks/t1",
        "error-note": "",
        "seen": "0",
    }
    refused = client.post(url, sent)
    assert refused.status_code == 422
    assert 'id="error-type-1" aria-invalid="true"' in " ".join(refused.content.decode().split())
    assert "You tagged an error, but approve the dialogue unchanged" in refused.content.decode()
    assert client.post(url, sent | {"verdict": "escalate", "reason": "Is it so?"}).status_code == 302
    assert Review.objects.get().errors.count() == 1


def test_a_question_that_does_not_apply_is_not_asked_nor_kept(team: Team, client: Client) -> None:
    slot = held(team, client)
    text = client.get(reverse("workspace-submit", args=[slot.public_id])).content.decode()
    assert "check:t1:facts" in text
    assert "check:dialogue:variety" not in text
    # An answer from when the dialogue had more tasks, or of a program, is left out: even a “No” blocks nothing.
    answers = {"dialogue": {"variety": False}, "t1": {"facts": True}}
    review = claim_and_submit(
        team.annotators[1], make_item(team, "self_check_single"), "approve",
        checklist=answers, notes={"dialogue": {"variety": "All the same."}},
    )  # fmt: skip
    assert (review.checklist, review.checklist_notes) == ({"t1": {"facts": True}}, {})
    two = held(team, client, document=make_document("x", tasks=2))
    assert "check:dialogue:variety" in client.get(reverse("workspace-submit", args=[two.public_id])).content.decode()


def test_all_that_is_missing_is_said_at_once_with_a_link_to_each(team: Team, client: Client) -> None:
    require(team, "facts")
    slot = held(team, client)
    url = reverse("workspace-submit", args=[slot.public_id])
    refused = client.post(url, {"verdict": "approve", "check:t1:relevance": "yes"})
    assert refused.status_code == 422
    assert [name for _sentence, name in refused.context["refused"].rows] == ["q-t1-facts"]
    several = {"verdict": "reject", "check:t1:relevance": "no", "error-type": "", "error-anchor": "", "error-note": "?"}
    refused = client.post(url, several)
    text = refused.content.decode()
    for name in ("reason", "q-t1-relevance-note", "q-t1-facts", "error-type-1"):
        assert f'<a href="#{name}" data-field-link>' in text
        assert f'id="{name}"' in text
    assert text.count('aria-invalid="true"') == 4
    assert 'id="reason-error"' in text
    item = make_item(team, "self_check_single")
    with pytest.raises(Invalid) as caught:
        claim_and_submit(team.annotators[2], item, "approve", checklist={"t1": {"relevance": True}})
    assert caught.value.details["unanswered"] == [["t1", "facts"]]
    fixed = {"error-type": "", "error-anchor": "", "error-note": ""}
    form = {"verdict": "approve", "check:t1:facts": "yes", "check:t1:relevance": "yes"}
    assert client.post(url, form | fixed).status_code == 302


def test_an_edit_suggests_an_error_that_is_added_or_dropped_once(team: Team, client: Client) -> None:
    slot = held(team, client)
    change_city(team, slot, client)
    url, form = (reverse(name, args=[slot.public_id]) for name in ("workspace-submit", "workspace-form"))
    editor = client.get(reverse("workspace", args=[slot.public_id]), {"at": "/tasks/t1/steps/s0"})
    assert "The result was recorded for other arguments." in editor.content.decode()
    [suggested] = client.get(url).context["suggested_errors"]
    assert (suggested["kind"], suggested["anchor"]) == ("wrong_argument_value", "/tasks/t1/steps/s0")
    assert client.post(form, {f"drop:{suggested['key']}": "1", "drop:<script>": "1"}).status_code == 204
    assert ReviewDraft.objects.get().form == {"dropped_errors": {suggested["key"]: True}}
    assert client.get(url).context["suggested_errors"] == []
    ReviewDraft.objects.all().delete()
    # Without scripts, the button saves the form with another row.
    client.post(form, {"accept": suggested["key"]})
    assert client.get(url).context["suggested_errors"] == []
    named = {"error-type": suggested["kind"], "error-anchor": suggested["anchor"], "error-note": ""}
    assert client.post(url, {"verdict": "reject", "reason": "Wrong city.", "seen": "1", **named}).status_code == 302
    assert [error.kind for error in Review.objects.get().errors.all()] == ["wrong_argument_value"]


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "null", "[1]", '[["t1"]]', '[["t1", "facts", "3", false]]', '[["t1", "facts", true, false]]',
        '[[1, "facts", 3, false]]', '[["t1", "facts", 3, 1]]', "[" * 90_000, "x" * 100_001,
    ],
)  # fmt: skip
def test_times_that_no_page_sends_are_left_out(text: str) -> None:
    assert read_times(text) == {}


def test_times_are_bounded_and_belong_to_answers() -> None:
    sent = '[["t1","facts",3.25,false],["t1","language",-4,true],["t1","hidden",1e300,true],["t9","facts",1,false]]'
    found = read_times(sent)
    assert found["t1", "facts"] == (32, False)
    assert found["t1", "language"] == (0, True)
    assert found["t1", "hidden"] == (MAX_TENTHS, True)
    assert stored_times(found, {"t1": {"facts": True, "language": False, "hidden": None}}) == {
        "tenths": {"t1": {"facts": 32, "language": 0}},
        "together": {"t1": ["language"]},
    }
    assert stored_times(found, {}) is None


def test_people_see_median_times_and_no_colleague_sees_those_of_a_blind_stage(team: Team, client: Client) -> None:
    one, two = team.annotators[1], team.annotators[2]
    item = make_item(team, "cross_check")
    slot = open_slot(item)
    claim_slot(actor=one, slot=slot)
    client.force_login(one)
    times = '[["t1","facts",2,false],["t1","language",0.4,true],["t1","hidden",0.4,true]]'
    answers = {f"check:t1:{key}": "yes" for key in ("facts", "language", "hidden")}
    form = {"verdict": "approve", "answer_times": times, "active_seconds": "0", **answers}
    assert client.post(reverse("workspace-submit", args=[slot.public_id]), form).status_code == 302
    WORK.fold()
    mine = read_person_times(project=team.project, viewer=one, person=one, shown_to=one)
    assert [(row.questions, row.per_question, row.together) for row in mine] == [(3, 0.4, 2)]
    for viewer in (two, team.senior, team.administrator):
        found = read_person_times(project=team.project, viewer=viewer)
        assert not [row for row in found if row.questions or row.together]
    claim_and_submit(two, item, "approve")
    WORK.fold()
    [row] = [row for row in read_person_times(project=team.project, viewer=team.senior) if row.questions]
    assert (row.pseudonym, row.questions, row.per_question, row.together) == (one.pseudonym, 3, 0.4, 2)
    assert WORK.recount(team.project) == []
    client.force_login(team.senior)
    assert "Answered together" in client.get(f"/p/{team.project.slug}/statistics/").content.decode()
    assert WorkloadCount.objects.filter(what="bulk", count=2).count() == 1
