"""Pages of a constrained dialogue: to read, to work on, to submit."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.core.checks import Finding
from annotator.core.comparison import resolve_choices
from annotator.core.validators import subjects_of
from annotator.errors import Invalid
from annotator.models import Dialogue, Draft
from annotator.models.content import DialogueStatus
from annotator.presentation.case import CaseView
from annotator.presentation.document import present
from annotator.services.dialogues import trials
from annotator.services.toolsets.storing import ensure_toolset_revision
from reviews.models import Slot
from reviews.services.protocols.versions import adopt_preset
from reviews.services.queue.claim_rows import stage_of
from reviews.services.queue.claims import claim_slot
from reviews.services.statistics.accuracy import read_accuracy, revisions_of_repeating
from reviews.services.statistics.all_counts import fold_all
from reviews.services.submission.rulings import load_dispute
from reviews.services.submission.waivers import check_for_stage, waive_all
from reviews.services.submission.workbench import open_workbench
from tests.annotator.case_documents import CODE, TOOLS, case, with_constraint
from tests.factories import Team, begin, claim_and_submit, current, make_dialogue, make_team, open_slot
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

CALL = "/reference_trajectory/r1/calls/s1"


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=4, seniors=2)
    adopt_preset(actor=team.administrator, project=team.project, preset="cctu")
    return team


def item_of(team: Team, document: dict[str, Any] | None = None) -> Dialogue:
    toolset = ensure_toolset_revision(actor=None, project=team.project, tools=TOOLS, name="ferries")
    dialogue = make_dialogue(team.project, document or case(), toolset=toolset)
    begin(team.project, [dialogue])
    return Dialogue.objects.get(pk=dialogue.pk)


def working(client: Client, team: Team, document: dict[str, Any] | None = None) -> str:
    """The slot that the first annotator holds, signed in."""
    slot = open_slot(item_of(team, document))
    claim_slot(actor=team.annotator, slot=slot)
    client.force_login(team.annotator)
    return str(slot.public_id)


def text_of(response: Any) -> str:
    assert response.status_code == 200, response.content[:300]
    return one_line(response)


def view_of(document: dict[str, Any], findings: Any = ()) -> CaseView:
    view = present(document, findings)
    assert isinstance(view, CaseView)
    return view


def test_the_prompt_is_marked_where_it_states_a_constraint() -> None:
    view = view_of(case())
    assert "".join(piece.text for piece in view.pieces) == case()["system_prompt"]
    marked = [(piece.text, [one.number for one in piece.ends]) for piece in view.pieces if piece.constraints]
    assert marked[0] == ("Call tools at most four times in all.", [1])
    assert [numbers for _, numbers in marked] == [[1], [2], [3], [4], [5]]


def test_spans_that_overlap_are_cut_where_each_begins_and_ends() -> None:
    view = view_of(with_constraint("c1", anchor="at most four times"))
    marked = [(piece.text, [one.number for one in piece.constraints]) for piece in view.pieces if piece.constraints]
    assert marked[:3] == [("Call tools ", [1]), ("at most four times", [1, 2]), (" in all.", [1])]


def test_each_constraint_says_how_the_trajectory_leaves_it() -> None:
    view = view_of(case())
    assert [one.status for one in view.constraints] == ["satisfied"] * 4 + ["unjudged"]
    assert view.constraints[0].rule.startswith("Make at most 4") or "4" in view.constraints[0].rule
    assert [one.status for one in view_of(case(reference_trajectory=None)).constraints] == [""] * 5


def test_a_broken_constraint_still_shows() -> None:
    view = view_of(with_constraint("c0", category=None, text=None, parameters={"x": [1]}))
    assert (view.constraints[0].rule, view.constraints[0].spans) == ("", 0)


def test_the_dialogue_page_shows_the_whole_case(client: Client, team: Team) -> None:
    dialogue = item_of(team)
    client.force_login(team.administrator)
    page = text_of(client.get(reverse("dialogue", args=[team.project.slug, dialogue.public_id])))
    for words in ("Constrained case", "Multi-hop", "When does the last boat", "find_ferry", "21:40", "Unsolved set"):
        assert words in page
    assert page.count('<mark class="stated">') == 5
    assert "Stated once" in page
    assert "validate_punctuation" in page
    assert "Task 1" not in page


def test_a_constraint_without_a_validator_has_an_empty_editor_for_one(client: Client, team: Team) -> None:
    bare = {"kind": "constrained", "user_query": "Where?", "constraints": [{"id": "c0", "category": "format"}]}
    slot = working(client, team, bare)
    page = text_of(client.get(reverse("workspace", args=[slot]), {"at": "/constraints/c0"}))
    field = re.search(r'<input[^>]*id="validator-function"[^>]*>', page)
    assert field is not None
    assert "None" not in field[0]
    assert re.search(r'<textarea[^>]*id="validator-code"[^>]*></textarea>', page)


def test_what_is_missing_is_said(client: Client, team: Team) -> None:
    bare = {"kind": "constrained", "user_query": "Where?", "constraints": [{"id": "c0", "category": "format"}]}
    dialogue = item_of(team, bare)
    client.force_login(team.administrator)
    page = text_of(client.get(reverse("dialogue", args=[team.project.slug, dialogue.public_id])))
    for words in ("Scenario not annotated", "Not annotated", "No validator", "Not found in the prompt", "No text"):
        assert words in page


def test_a_case_has_no_decision_tree(client: Client, team: Team) -> None:
    dialogue = item_of(team)
    client.force_login(team.administrator)
    page = reverse("dialogue", args=[team.project.slug, dialogue.public_id])
    assert client.get(f"{page}tasks/t1/paths/").status_code == 404


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ("", "Query"),
        ("/", "Scenario"),
        ("/system_prompt", "System prompt"),
        ("/answer", "Reference answer"),
        ("/constraints/c0", "Parameters"),
        ("/constraints/c4/validator/code", "Validator code"),
        ("/reference_trajectory", "Reference trajectory"),
        ("/reference_trajectory/r1", "one at a time"),
        ("/reference_trajectory/r3", "Final response"),
        ("/reference_trajectory/r1/calls/s1/arguments", "Observation"),
        ("/unsolved_set", "Unsolved set"),
        ("/tool_codes", "def find_ferry"),
        ("/tasks/t1", "Query"),
    ],
)
def test_every_part_has_its_editor(client: Client, team: Team, at: str, words: str) -> None:
    url = reverse("workspace", args=[working(client, team)])
    page = text_of(client.get(url, {"at": at} if at else {}))
    inspector = page.partition('id="inspector"')[2]
    assert words in inspector
    assert "Add a task" not in page
    assert "panel=graph" not in page
    for panel in ("findings", "comments", "tools", "revisions", "graph"):
        text_of(client.get(url, {"at": at, "panel": panel}))


@pytest.mark.parametrize(
    ("posted", "place", "value"),
    [
        ({"op": "set", "anchor": "/user_query", "value": "And tomorrow?"}, ("user_query",), "And tomorrow?"),
        ({"op": "set", "anchor": "/scenario", "value": ""}, ("scenario",), None),
        (
            {"op": "set_json", "anchor": "/constraints/c0/parameters", "text": '{"max_callTimes": 3}'},
            ("constraints", 0, "parameters"),
            {"max_callTimes": 3},
        ),
        (
            {"op": "set_code", "anchor": "/constraints/c4/validator", "text": CODE + "\r\n", "function": "f"},
            ("constraints", 4, "validator", "function"),
            "f",
        ),
        (
            {"op": "set_category", "anchor": "/constraints/c0", "value": "length"},
            ("constraints", 0, "dimension"),
            "response",
        ),
    ],
)
def test_an_edit_is_stored_in_the_draft(client: Client, team: Team, posted: Any, place: Any, value: Any) -> None:
    slot = working(client, team)
    client.get(reverse("workspace", args=[slot]))
    response = client.post(reverse("workspace-edit", args=[slot]), posted)
    assert response.status_code == 302
    found: Any = Draft.objects.get().document()
    for step in place:
        found = found[step]
    assert found == value


def test_a_case_is_edited_part_by_part_without_scripts(client: Client, team: Team) -> None:
    """Each form posts itself, and the page that comes back shows the part that was made or changed."""
    slot = working(client, team, with_constraint("c0", text="Four calls."))
    client.get(reverse("workspace", args=[slot]))

    def post(op: str, anchor: str = "", **fields: str) -> str:
        posted = {"op": op, "anchor": anchor, "reshape": "1"} | {
            key.replace("__", ":"): text for key, text in fields.items()
        }
        return text_of(client.post(reverse("workspace-edit", args=[slot]), posted, follow=True))

    def stored() -> Any:
        return Draft.objects.get().document()

    page = post("set_parameters", "/constraints/c0", **{"p:/max_callTimes": "7"})
    assert "Text from the parameters: “Make at most 7 tool calls in total.”" in page
    assert stored()["constraints"][0]["parameters"] == {"min_callTimes": 0, "max_callTimes": 7}
    page = post("state_constraint", "/constraints/c0")
    assert stored()["system_prompt"].endswith("- Four calls.\n")
    page = post("add_variant", "/constraints/c0", name="read_timetable")
    page = post(
        "set_parameters",
        "/constraints/c0/variants/0",
        **{"v0:/max_callTimes": "2", "v0:/called first/0": "find_ferry"},
    )
    assert stored()["constraints"][0]["variants"] == [
        {"first": ["find_ferry"], "parameters": {"min_callTimes": 0, "max_callTimes": 2}}
    ]
    page = post("add_constraint", category="parallel dependencies", after="c1")
    assert "Constraint 3" in page.partition('id="inspector"')[2]
    assert "Group 2, number 1" in page
    page = post("move_constraint", "/constraints/c4", by="-1")
    page = post("delete_constraint", "/constraints/c3")
    assert [one["category"] for one in stored()["constraints"]][2:] == [
        "parallel dependencies", "interaction rounds", "content",
    ]  # fmt: skip

    page = post("add_round", name="find_ferry", after="r1")
    assert "Round 2" in page.partition('id="inspector"')[2]
    added = stored()["reference_trajectory"][1]
    anchor = f"/reference_trajectory/{added['id']}"
    page = post("add_call", anchor, name="read_timetable")
    call = stored()["reference_trajectory"][1]["calls"][1]
    place = f"{anchor}/calls/{call['id']}"
    page = post("set_argument_form", place, **{"arg__/ferry": "Tern"})
    page = post("set_observation", place, text="At 22:00.", **{"as": "text"})
    assert stored()["reference_trajectory"][1]["calls"][1] | {"id": ""} == {
        "id": "", "name": "read_timetable", "arguments": {"ferry": "Tern"}, "observation": "At 22:00.", "extra": {},
    }  # fmt: skip
    page = post("set_expected", "/unsolved_set/find_ferry", u__0="Gull", u__1="Tern")
    assert stored()["unsolved_set"]["find_ferry"] == ["Gull", "Tern"]
    page = post("delete_round", anchor)
    assert len(stored()["reference_trajectory"]) == 3
    response = client.post(reverse("workspace-undo", args=[slot]), {"at": "/"}, follow=True)
    assert len(stored()["reference_trajectory"]) == 4
    assert response.status_code == 200


def test_a_form_that_cannot_be_kept_is_refused_with_a_sentence(client: Client, team: Team) -> None:
    document = with_constraint("c0", category="specific tool call count", parameters={"max_calls_per_tool": {}})
    slot = working(client, team, document)
    posted = {"op": "set_parameters", "anchor": "/constraints/c0"}
    for n in range(2):
        posted |= {f"p:/max_calls_per_tool/{n}/key": "find_ferry", f"p:/max_calls_per_tool/{n}/value": "1"}
    response = client.post(reverse("workspace-edit", args=[slot]), posted)
    assert response.status_code == 422
    assert "find_ferry is listed twice" in response.content.decode()


@pytest.mark.parametrize(
    ("op", "place", "posted", "words"),
    [
        ("set_parameters", "/constraints/c0", {"p:/max_callTimes": "many"}, "Enter a whole number"),
        ("set_argument_form", CALL, {"arg:json:/extras": "[1,"}, "This is not JSON"),
        ("set_observation", CALL, {"text": '{"a": 1', "as": "json"}, "choose Text"),
        ("set_expected", "/unsolved_set/find_ferry", {"u:0": '{"a": 1,'}, "This is not JSON"),
    ],
)
def test_no_form_makes_a_text_of_a_value_that_is_half_typed(
    client: Client, team: Team, op: str, place: str, posted: dict[str, str], words: str
) -> None:
    document = case(unsolved_set={"find_ferry": [{"a": 1}]})
    document["reference_trajectory"][0]["calls"][0]["arguments"]["extras"] = [1]
    slot = working(client, team, document)
    response = client.post(reverse("workspace-edit", args=[slot]), {"op": op, "anchor": place, **posted})
    assert (response.status_code, words in response.content.decode()) == (422, True)
    assert Draft.objects.get().version == 0


@pytest.mark.parametrize(
    ("op", "anchor"),
    [
        ("set_expected", "/unsolved_set"),
        ("set_expected", ""),
        ("set_parameters", "/constraints"),
        ("set_parameters", "/constraints/c0/parameters"),
        ("set_parameters", "/unsolved_set/find_ferry/0/0"),
        ("set_argument_form", "/constraints/c0"),
    ],
)
def test_a_form_for_another_kind_of_place_is_refused(client: Client, team: Team, op: str, anchor: str) -> None:
    slot = working(client, team)
    posted = {"op": op, "anchor": anchor, "seen": "0", "u:0": "x"}
    response = client.post(f"/work/{slot}/edit/", posted, headers={"HX-Request": "true"})
    assert response.status_code == 422
    assert "that this form edits" in response.content.decode()


def test_a_refused_edit_comes_back_beside_what_is_stored(client: Client, team: Team) -> None:
    slot = working(client, team)
    posted = {"op": "set_json", "anchor": "/constraints/c0/parameters", "text": "{'a': 1}"}
    response = client.post(reverse("workspace-edit", args=[slot]), posted)
    assert response.status_code == 422
    assert "This is not JSON" in response.content.decode()
    page = client.post(reverse("workspace-edit", args=[slot]), posted | {"text": "3"}).content.decode()
    assert re.search(r"Constraint 1 \(tool call count\), parameters: </strong>\s+Must be an object", page)
    posted = {"op": "add_task", "anchor": ""}
    assert client.post(reverse("workspace-edit", args=[slot]), posted).status_code == 422


def test_the_way_to_a_verdict_speaks_of_the_case(client: Client, team: Team) -> None:
    slot = working(client, team)
    page = text_of(client.get(reverse("workspace-submit", args=[slot])))
    assert "constraint 1 (tool call count)" in page
    assert "round 1, call s1 find_ferry" in page


def test_a_dispute_about_a_case_is_settled_place_by_place(client: Client) -> None:
    team = make_team(annotators=3, seniors=1)
    adopt_preset(actor=team.administrator, project=team.project, preset="c3")
    dialogue = item_of(team)
    for person in (team.annotator, team.annotator):
        claim_and_submit(person, dialogue)
    left, right = current(dialogue), current(dialogue)
    left["constraints"][0]["text"] = "No more than four calls."
    right["constraints"][0]["text"] = "Four calls at most."
    right["constraints"][3]["parameters"]["max_responseLength"] = 25
    right["reference_trajectory"][1]["calls"][0]["arguments"]["ferry"] = "Tern"
    right["constraints"].append({**right["constraints"][2], "id": "c9", "text": "Six rounds."})
    for person, document in ((team.annotators[1], left), (team.annotators[2], right)):
        claim_and_submit(person, dialogue, "escalate", document=document, reason="See the changes.")
    slot = open_slot(Dialogue.objects.get(pk=dialogue.pk))
    claim_slot(actor=team.senior, slot=slot)
    client.force_login(team.senior)
    page = text_of(client.get(reverse("workspace", args=[slot.public_id]), follow=True))
    # A part that only one side has is taken or left out as a whole, and is shown as text.
    assert re.search(r"Only .{3,40} has this part. Use all of it or leave it out", page)
    assert "interaction rounds: Six rounds." in page
    for words in (
        "constraint 1 (tool call count), text",
        "Four calls",
        "call s2 read_timetable, argument ferry",
        "Tern",
    ):
        assert words.lower() in page.lower()

    bench = open_workbench(actor=team.senior, slot_id=str(slot.public_id))
    dispute = load_dispute(bench.work.slot)
    assert dispute is not None
    places = {place.anchor: place.label for place in dispute.discrepancies}
    assert places == {
        "/constraints/c0/text": "constraint",
        "/constraints/c3/parameters/max_responseLength": "constraint",
        "/constraints/c9": "constraint",
        "/reference_trajectory/r2/calls/s2/arguments/ferry": "arguments",
    }
    chosen = {
        "/constraints/c0/text": "right",
        "/constraints/c3/parameters/max_responseLength": "left",
        "/constraints/c9": "left",
        "/reference_trajectory/r2/calls/s2/arguments/ferry": "right",
    }
    document = resolve_choices(dispute.base, dispute.left.document, dispute.right.document, chosen)
    assert document["constraints"][0]["text"] == "Four calls at most."
    assert document["constraints"][3]["parameters"]["max_responseLength"] == 30
    assert len(document["constraints"]) == 5
    assert document["reference_trajectory"][1]["calls"][0]["arguments"] == {"ferry": "Tern"}


def test_code_is_looked_at_after_the_data_and_a_change_in_it_begins_the_count_anew(client: Client, team: Team) -> None:
    """The protocol as published: two in a row on the data, then two in a row on the validators' code."""
    one, two, three, four = team.annotators
    item = item_of(team)
    for person in (one, two):
        claim_and_submit(person, item, "approve")
    slot = open_slot(item)
    assert slot.stage == "validators"
    # The stage opens on the code, beside the sentence it is to keep.
    claim_slot(actor=three, slot=slot)
    client.force_login(three)
    page = text_of(client.get(reverse("workspace", args=[slot.public_id]), {"at": "/constraints/c4/validator/code"}))
    for words in (
        "Code verification",
        "Validator code",
        "def validate_punctuation",
        "End the answer with a full stop.",
    ):
        assert words in page
    claim_and_submit(three, item, "approve")
    changed = current(item)
    changed["constraints"][4]["validator"]["code"] = CODE.replace('"."', '(".", "!")')
    claim_and_submit(four, item, "fix", document=changed)
    # The approval before the change counts no more, and the data are not looked at again.
    claim_and_submit(one, item, "approve")
    item.refresh_from_db()
    assert (item.stage, item.status) == ("validators", DialogueStatus.IN_REVIEW)
    claim_and_submit(two, item, "approve")
    item.refresh_from_db()
    assert item.status == DialogueStatus.VERIFIED
    assert current(item)["constraints"][4]["validator"]["code"] == changed["constraints"][4]["validator"]["code"]
    fold_all()
    stages = revisions_of_repeating(team.project, read_accuracy(project=team.project))
    assert [(stage.stage, stage.items, stage.revised) for stage in stages] == [
        ("data", 1, {}),
        ("validators", 1, {1: 1}),
    ]


def test_a_faulty_validator_holds_nobody_up_before_the_stage_that_is_there_for_it(client: Client, team: Team) -> None:
    one, two, three, four = team.annotators
    lenient = {"code": "def validate_punctuation(response):\n    return True, ''\n", "function": "validate_punctuation"}
    item = item_of(team, with_constraint("c4", validator=lenient | {"good": [], "bad": []}))
    slot = open_slot(item)
    claim_slot(actor=one, slot=slot)
    trials.ensure_tried(subjects_of(current(item)))
    client.force_login(one)
    page = text_of(client.get(reverse("workspace", args=[slot.public_id])))
    # It is said all the same.
    assert "validator.matrix" in page
    assert "No issues" in page
    for person in (one, two):
        claim_and_submit(person, item, "approve")
    assert open_slot(item).stage == "validators"
    with pytest.raises(Invalid, match="Fix 1 error before approving"):
        claim_and_submit(three, item, "approve")
    mended = current(item)
    mended["constraints"][4]["validator"]["code"] = CODE
    claim_and_submit(three, item, "fix", document=mended)
    claim_and_submit(four, item, "approve")
    claim_and_submit(one, item, "approve")
    item.refresh_from_db()
    assert item.status == DialogueStatus.VERIFIED


def test_an_edit_that_makes_a_validator_reject_the_answer_has_to_be_repaired_or_waived(team: Team) -> None:
    one = team.annotators[0]
    item = item_of(team)
    slot = open_slot(item)
    changed = current(item)
    changed["reference_trajectory"][-1]["final"] = "It leaves at ten!"
    # Nobody has tried the validator on the answer under review: a later stage does.
    assert not [found for found in found_for(slot, changed) if found.severity in ("error", "warning")]
    trials.ensure_tried(subjects_of(current(item)))
    assert [found.check for found in found_for(slot, changed) if found.severity == "error"] == ["validator.untried"]
    trials.ensure_tried(subjects_of(changed))
    with pytest.raises(Invalid, match=r"waive 1 warning.*It rejects the reference"):
        claim_and_submit(one, item, "fix", document=changed)
    # What was so before the edit stays a note.
    assert "warning" not in {found.severity for found in found_for(slot, current(item))}
    waive_all(actor=one, slot=slot, reason="The sentence says so.", document=changed)
    assert claim_and_submit(one, item, "fix", document=changed).verdict == "fix"


def found_for(slot: Slot, document: dict[str, Any]) -> list[Finding]:
    seen, stage = slot.revision, stage_of(slot)
    return check_for_stage(document, seen.toolset_revision, project=slot.project, stage=stage, seen=seen)
