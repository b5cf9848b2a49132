"""The page of a dispute: whole calls, what goes with them, reasons for all that follow, and what comes back."""

import re
from copy import deepcopy
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.core.comparison import added_alike, consequences, resolve_choices, same_additions
from annotator.core.comparison.anchors import split
from annotator.core.comparison.consequences import moot_anchors
from annotator.core.comparison.discrepancies import discrepancies
from annotator.core.schema import load_text
from annotator.core.schema.canonical import escape
from annotator.errors import Invalid
from annotator.models import Dialogue, Notice, User, Waiver
from annotator.presentation.graph_pairs import pair_graphs
from reviews.models import Claim, Review, ReviewError, Ruling
from reviews.services.adjudication.disputes import ROWS_PER_PAGE, RulingSheet, effective_rulings, read_ruling_sheet
from reviews.services.feedback.comments import comment_on
from reviews.services.queue.claims import claim_slot
from reviews.services.submission.review_forms import store_form
from reviews.services.submission.rulings import RulingLine, load_dispute, settle_document
from reviews.services.submission.workbench import open_workbench
from tests.annotator.case_documents import case
from tests.factories import Team, claim_and_submit, current, depends, make_document, make_item, open_slot
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

TEXT = "/tasks/t1/steps/s1/text"
MESSAGE = "/tasks/t1/user_message"
NEEDS = "/tasks/t1/steps/s1/depends_on"
SKY = "/tasks/t1/steps/s0/observation/sky"
REASON = {"reason_kind": "answer_wrong", "reason": "As observed."}


TEAM = {"seniors": 2}


def with_call(document: dict[str, Any], key: str = "s2", *, name: str = "find_trains", used: bool = True) -> Any:
    """A copy with one more call, on which the answer depends."""
    copy = deepcopy(document)
    steps = copy["tasks"][0]["steps"]
    arguments = {"origin": "Ghent", "destination": "Bruges"} if name == "find_trains" else {"city": "Bruges"}
    call = {
        "id": key, "type": "call", "name": name, "arguments": arguments, "observation": {"trains": 4},
        "depends_on": [],
    }  # fmt: skip
    steps.insert(len(steps) - 1, call)
    if used:
        steps[-1]["depends_on"] += depends(key)
    copy["tasks"][0]["policy"] = "multi_tool"
    return copy


def disputed(team: Team, left: Any, right: Any, document: dict[str, Any] | None = None) -> Dialogue:
    """Two colleagues disagree; each is a function of the document. They escalate, so no check blocks them."""
    item = make_item(team, "cross_check", document or make_document("x"))
    for person, edit in ((team.annotators[1], left), (team.annotators[2], right)):
        claim_and_submit(person, item, "escalate", document=edit(current(item)), reason="See the changes.")
    item.refresh_from_db()
    return item


def same(document: dict[str, Any]) -> dict[str, Any]:
    return document


def at_desk(team: Team, item: Dialogue) -> str:
    """The expert holds the item; returns the slot's id."""
    slot = open_slot(item)
    claim_slot(actor=team.senior, slot=slot)
    return str(slot.public_id)


def sheet_of(team: Team, slot: str) -> RulingSheet:
    bench = open_workbench(actor=team.senior, slot_id=slot)
    dispute = load_dispute(bench.work.slot)
    assert dispute is not None
    return read_ruling_sheet(
        actor=team.senior, slot=bench.work.slot, dispute=dispute, draft=bench.draft, protocol=bench.work.protocol,
        given=bench.form["rulings"],
    )  # fmt: skip


def rule(team: Team, slot: str, **rulings: Any) -> RulingSheet:
    bench = open_workbench(actor=team.senior, slot_id=slot)
    store_form(actor=team.senior, work=bench.work, changes={"rulings": rulings["rulings"]})
    return sheet_of(team, slot)


# --- whole calls ------------------------------------------------------------------------------------------------------


def test_a_call_that_one_side_added_is_one_place(team: Team) -> None:
    slot = at_desk(team, disputed(team, same, with_call))
    rows = {row.anchor: row for row in sheet_of(team, slot).rows}
    call = rows["/tasks/t1/steps/s2"]
    assert (call.left, call.one_sided, call.editor, call.may_be_none) == (None, "call", "json", False)
    assert call.right is not None
    assert "find_trains" in call.right
    assert NEEDS not in rows  # the edge to the call is part of the call


def test_leaving_the_call_out_takes_its_edges_along(team: Team) -> None:
    item = disputed(team, same, with_call)
    slot = at_desk(team, item)
    rulings = {"/tasks/t1/steps/s2": {"choice": "left", **REASON}, "/tasks/t1/policy": {"choice": "left", **REASON}}
    sheet = rule(team, slot, rulings=rulings)
    assert sheet.outcome.notes == ["Task 1, call s2 find_trains is left out, so answer s1 no longer waits for it."]
    assert sheet.outcome.clean
    review = claim_and_submit(team.senior, item, rulings=rulings)
    assert review.verdict == "approve"


def test_taking_the_call_brings_its_edges(team: Team) -> None:
    item = disputed(team, same, with_call)
    rulings = {"/tasks/t1/steps/s2": {"choice": "right", **REASON}, "/tasks/t1/policy": {"choice": "right", **REASON}}
    slot = at_desk(team, item)
    outcome = rule(team, slot, rulings=rulings).outcome
    assert outcome.ready
    assert not outcome.problem
    # The values of the new call come from nowhere: its expert is told before the submission, with the place.
    assert {one.anchor.rpartition("/")[0] for one in outcome.warnings} == {"/tasks/t1/steps/s2/arguments"}


def two_tools(document: dict[str, Any]) -> tuple[Any, Any]:
    left = with_call(document, name="get_weather")
    right = with_call(document, name="find_trains")
    right["tasks"][0]["steps"][-1]["depends_on"] = depends("s0")
    # The same id with another tool: a content that neither alignment nor comparison can split.
    left["tasks"][0]["steps"][1]["observation"] = {"sky": "grey"}
    return left, right


def test_neither_of_two_calls_leaves_nothing_and_moots_the_edges_to_it(team: Team) -> None:
    left, right = two_tools(make_document("x"))
    places = discrepancies(left, right)
    anchors = [place.anchor for place in places]
    assert anchors == ["/tasks/t1/steps/s2", NEEDS]
    none = {"/tasks/t1/steps/s2": {"absent": True}}
    moot = moot_anchors(left, right, places, none)
    assert moot == {NEEDS: "The only differences are dependencies on what is left out: task 1, call s2 get_weather."}
    settled = resolve_choices(make_document("x"), left, right, none | {NEEDS: "left"})
    steps = settled["tasks"][0]["steps"]
    assert [step["id"] for step in steps] == ["s0", "s1"]
    assert steps[-1]["depends_on"] == depends("s0")
    assert moot_anchors(left, right, places, {"/tasks/t1/steps/s2": "left"}) == {}


def test_a_moot_place_needs_no_ruling(team: Team) -> None:
    left, right = two_tools(make_document("x"))
    item = disputed(team, lambda document: left, lambda document: right)
    rulings: dict[str, Any] = {"/tasks/t1/steps/s2": {"choice": "none", **REASON}}
    sheet = rule(team, at_desk(team, item), rulings=rulings)
    row = next(row for row in sheet.rows if row.anchor == NEEDS)
    assert row.moot
    assert row.settled
    with pytest.raises(Invalid, match="policy"):  # the task has one call now: the label is checked like any other
        claim_and_submit(team.senior, item, rulings=rulings)
    own = current(item)
    own["tasks"][0]["policy"] = "single_tool"
    assert sheet.settled == len(sheet.rows)


def test_a_third_version_cannot_depend_on_what_is_left_out(team: Team) -> None:
    left, right = two_tools(make_document("x"))
    item = disputed(team, lambda document: left, lambda document: right)
    rulings = {
        "/tasks/t1/steps/s2": {"choice": "none", **REASON},
        NEEDS: {"choice": "third", "value": depends("s2"), **REASON},
    }
    with pytest.raises(Invalid, match=r"You leave out s2, so .* cannot depend on it"):
        claim_and_submit(team.senior, item, rulings=rulings)


def test_what_both_deleted_stays_deleted_and_renamed_steps_are_the_same(team: Team) -> None:
    document = with_call(make_document("x"), name="get_weather")
    document["tasks"][0]["user_message"] = "What is the weather like in Ghent x and in Bruges?"

    def fewer(content: dict[str, Any], key: str, text: str) -> dict[str, Any]:
        copy = deepcopy(content)
        task = copy["tasks"][0]
        task["steps"] = [step for step in task["steps"] if step["id"] != "s2"]
        twin = deepcopy(task["steps"][0]) | {"id": key, "arguments": {"city": "Bruges"}}
        task["steps"].insert(1 if text else 0, twin)
        task["steps"][-1]["depends_on"] = depends("s0", key)
        if text:
            task["steps"][-1]["text"] = text
        return copy

    # Both delete s2 and add the same call: one as s3 after s0, one as s7 before it.
    item = disputed(team, lambda d: fewer(d, "s3", "Clear in both."), lambda d: fewer(d, "s7", ""), document)
    slot = at_desk(team, item)
    sheet = sheet_of(team, slot)
    assert [row.anchor for row in sheet.rows] == [TEXT]
    outcome = rule(team, slot, rulings={TEXT: {"choice": "left", **REASON}}).outcome
    assert outcome.ready
    assert not outcome.problem


def test_an_order_has_no_third_version() -> None:
    document = make_document("x", tasks=3)
    other = deepcopy(document)
    other["tasks"] = [other["tasks"][i] for i in (0, 2, 1)]
    from annotator.core.comparison.choices import ChoiceProblem

    with pytest.raises(ChoiceProblem, match="there is no third option"):
        resolve_choices(document, document, other, {"/tasks#order": {"absent": True}})
    assert [t["id"] for t in resolve_choices(document, document, other, {"/tasks#order": "right"})["tasks"]] == [
        "t1", "t3", "t2",
    ]  # fmt: skip


def test_an_order_is_moot_where_only_tasks_left_out_differ() -> None:
    document = make_document("x", tasks=3)
    other = deepcopy(document)
    other["tasks"] = [other["tasks"][i] for i in (1, 0, 2)]
    left = deepcopy(document)
    places = discrepancies(left, other)
    assert [place.anchor for place in places] == ["/tasks#order"]
    assert moot_anchors(left, other, places, {}) == {}


def test_places_with_keys_of_any_length_are_settled(team: Team) -> None:
    key = "k/" * 350
    document = make_document("x")
    document["tasks"][0]["steps"][0]["observation"] = {
        "sky": {f"{key}a": 1, f"{key}b": 2},
        "degrees": 18,
    }

    def edit(number: int) -> Any:
        def made(document: dict[str, Any]) -> dict[str, Any]:
            copy = deepcopy(document)
            sky = copy["tasks"][0]["steps"][0]["observation"]["sky"]
            sky[f"{key}a"] = sky[f"{key}b"] = number
            return copy

        return made

    item = disputed(team, edit(5), edit(7), document)
    claim_and_submit(
        team.senior, item, rulings={SKY: {"choice": "right", **REASON}},
        named_errors=[{"kind": "answer_wrong", "anchor": f"{SKY}/{escape(key)}a", "note": "Seven."}],
    )  # fmt: skip
    assert current(item)["tasks"][0]["steps"][0]["observation"]["sky"] == {f"{key}a": 7, f"{key}b": 7}
    assert ReviewError.objects.get().anchor == SKY
    comment = comment_on(actor=team.senior, dialogue=item, anchor=f"{SKY}/{escape(key)}b", text="Seven, too.")
    assert comment.anchor == SKY


# --- what both have added alike ---------------------------------------------------------------------------------------

ADDED = "/tasks/t1/steps/s2"


def both_add(team: Team) -> Dialogue:
    """Both add the same call, under ids of their own, and differ on the answer's text."""

    def edit(key: str, words: str) -> Any:
        def made(document: dict[str, Any]) -> dict[str, Any]:
            copy = with_call(document, key)
            copy["tasks"][0]["steps"][-1]["text"] = words
            return copy

        return made

    return disputed(team, edit("s2", "Four trains."), edit("s7", "4 trains."))


def test_what_both_added_alike_may_become_something_else(team: Team) -> None:
    item = both_add(team)
    slot = at_desk(team, item)
    sheet = sheet_of(team, slot)
    assert [row.anchor for row in sheet.rows] == [TEXT]
    fields = {"name", "arguments", "observation", "inferable", "depends_on"}
    assert {row.anchor for row in sheet.alike} == {f"{ADDED}/{field}" for field in fields}
    agreed = {one.anchor: one for group in sheet.groups for one in group.agreed}
    assert agreed[f"{ADDED}/arguments"].row is not None
    assert agreed["/tasks/t1/user_message"].row is None
    rulings = {
        TEXT: {"choice": "left", **REASON},
        f"{ADDED}/arguments": {"choice": "third", "value": {"origin": "Ghent x", "destination": "Ghent"}, **REASON},
        f"{ADDED}/depends_on": {"choice": "third", "value": [{"id": "s0", "kind": "logical"}], **REASON},
    }
    assert rule(team, slot, rulings=rulings).outcome.ready
    claim_and_submit(team.senior, item, rulings=rulings)
    added = current(item)["tasks"][0]["steps"][1]
    assert (added["id"], added["arguments"]) == ("s2", {"origin": "Ghent x", "destination": "Ghent"})
    assert (added["depends_on"], added["observation"]) == ([{"id": "s0", "kind": "logical"}], {"trains": 4})
    assert current(item)["tasks"][0]["steps"][2]["text"] == "Four trains."
    assert set(Ruling.objects.values_list("anchor", "choice")) == {
        (TEXT, "left"), (f"{ADDED}/arguments", "third"), (f"{ADDED}/depends_on", "third"),
    }  # fmt: skip


def test_rulings_on_what_both_added_copy_the_two_versions_once(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    slot = open_slot(both_add(team))
    copies: list[Any] = []
    monkeypatch.setattr(same_additions, "copied", lambda document: copies.append(1) or deepcopy(document))
    values = {"arguments": {"origin": "Ghent", "destination": "Ostend"}, "observation": {"trains": 5}, "depends_on": []}
    lines = [RulingLine(f"{ADDED}/{key}", "third", "answer_wrong", "", one, True) for key, one in values.items()]
    text, _ = settle_document(
        slot=slot, text=slot.revision.content, lines=[RulingLine(TEXT, "left", "answer_wrong"), *lines],
        kinds=frozenset({"answer_wrong"}),
    )  # fmt: skip
    added = load_text(text)["tasks"][0]["steps"][1]
    assert {key: added[key] for key in values} == values
    assert len(copies) == 2


def test_what_is_left_out_is_gathered_once_whatever_depends_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def splits(count: int) -> int:
        left = make_document("x")
        steps = left["tasks"][0]["steps"]
        answers = [steps[1] | {"id": f"a{n}", "depends_on": depends("s0")} for n in range(count)]
        right = deepcopy(left)
        right["tasks"][0]["steps"] = [steps[0], *answers]
        new = [steps[0] | {"id": f"n{n}", "arguments": {"city": f"n{n}"}} for n in range(count)]
        left["tasks"][0]["steps"] = [
            steps[0],
            *new,
            *(one | {"depends_on": depends("n0")} for one in deepcopy(answers)),
        ]
        places = discrepancies(left, right)
        calls.clear()
        moot_anchors(left, right, places, {place.anchor: "right" for place in places})
        return len(calls)

    calls: list[str] = []
    monkeypatch.setattr(consequences, "split", lambda anchor: calls.append(anchor) or split(anchor))
    assert splits(40) < 2.5 * splits(20)


def test_what_both_added_alike_needs_no_ruling_and_none_is_taken_from_either(team: Team) -> None:
    item = both_add(team)
    slot = at_desk(team, item)
    ruled = {TEXT: {"choice": "right", **REASON}}
    sheet = rule(team, slot, rulings=ruled)
    assert (sheet.settled, sheet.outcome.ready) == (1, True)
    for wrong, words in (
        ({f"{ADDED}/name": {"choice": "left", **REASON}}, "Both reviewers agree on"),
        ({f"{ADDED}/arguments": {"choice": "third", **REASON}}, "Write the third version"),
        ({f"{ADDED}/arguments": {"choice": "third", "value": "5", **REASON}}, "arguments"),
        ({f"{ADDED}/name": {"choice": "third", "value": "x", "reason_kind": ""}}, "Choose a reason"),
        ({"/tasks/t1/steps/s0/name": {"choice": "third", "value": "x", **REASON}}, "There is no dispute"),
    ):
        with pytest.raises(Invalid, match=words):
            claim_and_submit(team.senior, item, rulings=ruled | wrong)
    # One that is not finished holds the settlement up, and says why.
    open_ = rule(team, slot, rulings=ruled | {f"{ADDED}/arguments": {"choice": "third", "value": "{", **REASON}})
    assert not open_.outcome.ready
    assert "This is not JSON" in next(row for row in open_.alike if row.anchor == f"{ADDED}/arguments").problem


def test_the_page_takes_a_third_version_of_what_both_added(client: Client, team: Team) -> None:
    item = both_add(team)
    slot = at_desk(team, item)
    url = page_of(client, team.senior, slot)
    page = one_line(client.get(url))
    place = f"{ADDED}/observation"
    assert f'<input type="checkbox" name="ruling:{place}" value="third" data-third>' in page
    form = {f"ruling:{TEXT}": "left", f"why:{TEXT}": "answer_wrong"} | {
        f"ruling:{place}": "third", f"third:{place}": '{"trains": 5}', f"why:{place}": "answer_wrong",
    }  # fmt: skip
    client.post(reverse("workspace-settle-keep", args=[slot]), form)
    kept = one_line(client.get(url))
    assert f'name="ruling:{place}" value="third" data-third checked' in kept
    assert "&quot;trains&quot;: 5" in kept
    part = client.post(
        reverse("workspace-settle-keep", args=[slot]), form | {f"third:{place}": "{"}, headers={"HX-Request": "true"}
    )
    assert "This is not JSON" in one_line(part)


def test_of_added_tasks_and_parts_of_a_case_each_field_is_one_place() -> None:
    two = make_document("x", tasks=2)
    anchors = [place.anchor for place in added_alike(make_document("x"), two, deepcopy(two))]
    answer = two["tasks"][1]["steps"][-1]["id"]
    assert {"/tasks/t2/user_message", f"/tasks/t2/steps/{answer}/text"} <= set(anchors)
    assert not [one for one in anchors if not one.startswith("/tasks/t2/") or one.endswith(("/steps", "/id", "/type"))]
    base = case(constraints=case()["constraints"][:4], reference_trajectory=case()["reference_trajectory"][1:])
    right = case()
    right["constraints"][4]["text"] = "End it with a stop."
    anchors = [place.anchor for place in added_alike(base, case(), right)]
    assert "/constraints/c4/validator" in anchors
    assert "/constraints/c4/text" not in anchors  # they differ on it: it is disputed
    assert "/reference_trajectory/r1/calls/s1/arguments" in anchors


# --- graphs -----------------------------------------------------------------------------------------------------------


def test_graphs_side_by_side_name_what_differs() -> None:
    left = with_call(make_document("x"))
    right = with_call(make_document("x"))
    right["tasks"][0]["steps"][1]["depends_on"] = [{"id": "s0", "kind": "logical"}]
    pair = pair_graphs(left, right, "t1")
    assert pair is not None
    assert pair.differences == ["Right only: s2 depends on s0 (order only)."]
    assert [(one.edge.step, one.edge.needs, one.note) for one in pair.right.edges if one.differs] == [
        ("s2", "s0", "only here")
    ]
    assert not any(one.differs for one in pair.left.edges)
    assert pair_graphs(left, left, "t1") is None


# --- three ways -------------------------------------------------------------------------------------------------------


def test_three_columns_where_neither_side_is_as_it_was(team: Team) -> None:
    def text(words: str) -> Any:
        def edit(document: dict[str, Any]) -> dict[str, Any]:
            copy = deepcopy(document)
            copy["tasks"][0]["steps"][1]["text"] = words
            return copy

        return edit

    slot = at_desk(team, disputed(team, text("Clear."), text("Sunny.")))
    (row,) = sheet_of(team, slot).rows
    assert (row.three_way, row.base, row.base_is) == (True, "It is clear and 18 degrees in Ghent x.", "")
    slot = at_desk(team, disputed(team, same, text("Sunny."), make_document("y")))
    (row,) = sheet_of(team, slot).rows
    assert (row.three_way, row.base, row.base_is) == (False, None, "left")


# --- reasons, drafts, values ------------------------------------------------------------------------------------------


def three_places(document: dict[str, Any]) -> dict[str, Any]:
    copy = deepcopy(document)
    task = copy["tasks"][0]
    task["user_message"] = "Weather in Ghent x?"
    task["steps"][0]["observation"]["sky"] = "grey"
    task["steps"][1]["text"] = "It is grey and 18 degrees in Ghent x."
    return copy


def test_the_same_reason_for_all_that_follow(team: Team) -> None:
    slot = at_desk(team, disputed(team, same, three_places))
    bench = open_workbench(actor=team.senior, slot_id=slot)
    dispute = load_dispute(bench.work.slot)
    assert dispute is not None
    given = {
        MESSAGE: {"choice": "left", "reason_kind": "message_unnatural", "reason": "Too short.", "follow": True},
        SKY: {"choice": "right", "reason_kind": "", "reason": ""},
        TEXT: {"choice": "right", "reason_kind": "answer_wrong", "reason": ""},
    }
    out = effective_rulings(dispute, given)
    assert [(row["reason_kind"], row["reason"]) for row in out.values()] == [
        ("message_unnatural", "Too short."),
        ("message_unnatural", "Too short."),
        ("answer_wrong", ""),
    ]
    sheet = rule(team, slot, rulings=given)
    assert [row.settled for row in sheet.rows] == [True, True, True]
    assert sheet.rows[1].inherited == (1, "message_unnatural")


def test_json_is_read_on_the_server_and_refused_in_a_sentence(team: Team) -> None:
    def grey(document: dict[str, Any]) -> dict[str, Any]:
        copy = deepcopy(document)
        copy["tasks"][0]["steps"][0]["observation"]["degrees"] = 19
        return copy

    anchor = "/tasks/t1/steps/s0/observation/degrees"
    slot = at_desk(team, disputed(team, same, grey))
    bad = {anchor: {"choice": "third", "value": "{18", **REASON}}
    sheet = rule(team, slot, rulings=bad)
    assert sheet.settled == 0
    assert "This is not JSON (line 1, column 2" in sheet.rows[0].problem
    good = {anchor: {"choice": "third", "value": "20", **REASON}}
    assert rule(team, slot, rulings=good).rows[0].problem == ""


# --- the page ---------------------------------------------------------------------------------------------------------


def page_of(client: Client, person: User, slot: str, name: str = "workspace-settle") -> str:
    client.force_login(person)
    return reverse(name, args=[slot])


def test_leaving_and_coming_back_loses_nothing(client: Client, team: Team) -> None:
    slot = at_desk(team, disputed(team, same, three_places))
    keep = page_of(client, team.senior, slot, "workspace-settle-keep")
    form = {f"ruling:{TEXT}": "third", f"third:{TEXT}": "Grey, I fear.", f"why:{TEXT}": "answer_wrong",
            f"note:{TEXT}": "Looked it up.", f"why:{MESSAGE}": "", f"why:{SKY}": "",
            "reason": "Half done."}  # fmt: skip
    answer = client.post(keep, form)
    assert answer.status_code == 302
    text = one_line(client.get(reverse("workspace-settle", args=[slot])))
    for words in ("Grey, I fear.", "Looked it up.", "Half done.", "<strong>1 of 3</strong>"):
        assert words in text
    part = client.post(keep, {**form, f"ruling:{SKY}": "right", f"why:{SKY}": "other"}, headers={"HX-Request": "true"})
    assert "<strong>2 of 3</strong>" in one_line(part)


def test_many_places_come_page_by_page_and_are_settled_together(client: Client, team: Team) -> None:
    """A form of thousands of places would be refused as too large, and take minutes to make."""

    def many(document: dict[str, Any]) -> dict[str, Any]:
        copy = deepcopy(document)
        copy["tasks"][0]["steps"][0]["observation"] |= {f"k{n}": n for n in range(ROWS_PER_PAGE + 20)}
        return copy

    def others(document: dict[str, Any]) -> dict[str, Any]:
        copy = many(document)
        copy["tasks"][0]["steps"][0]["observation"] |= {f"k{n}": -1 for n in range(ROWS_PER_PAGE + 20)}
        return copy

    slot = at_desk(team, disputed(team, many, others, many(make_document("x"))))
    url = page_of(client, team.senior, slot)
    anchors = [row.anchor for row in sheet_of(team, slot).rows]
    assert len(anchors) == ROWS_PER_PAGE + 20
    for start, first, last in ((0, 1, ROWS_PER_PAGE), (ROWS_PER_PAGE, ROWS_PER_PAGE + 1, ROWS_PER_PAGE + 20)):
        page = one_line(client.get(f"{url}?from={start}"))
        assert re.findall(r'<fieldset[^>]* id="place-(\d+)"', page) == [str(n) for n in range(first, last + 1)]
        assert f'?from={ROWS_PER_PAGE - start}"' in page
        assert ("where both agree" in page) == (start == 0)
        form = {f"why:{one}": "answer_wrong" for one in anchors[start:last]} | {"from": str(start), "reason": "Seen."}
        form |= {f"ruling:{one}": "right" for one in anchors[start:last]}
        kept = one_line(client.post(f"{url}keep/", form, headers={"HX-Request": "true"}))
        assert f"<strong>{last} of {ROWS_PER_PAGE + 20}</strong>" in kept
        assert kept.count('hx-target="#note-') == last - start
        if not start:
            refused = client.post(url, form)
            assert refused.status_code == 422
            assert f'href="?from={ROWS_PER_PAGE}#place-{ROWS_PER_PAGE + 1}"' in one_line(refused)
    assert client.post(url, form).status_code == 302
    assert Ruling.objects.filter(review__stage_kind="expert", choice="right").count() == ROWS_PER_PAGE + 20


def test_the_page_settles_in_one_post_without_scripts(client: Client, team: Team) -> None:
    slot = at_desk(team, disputed(team, same, three_places))
    url = page_of(client, team.senior, slot)
    form = {f"ruling:{place}": "right" for place in (TEXT, MESSAGE, SKY)} | {
        f"why:{place}": "" for place in (TEXT, MESSAGE, SKY)
    }
    refused = client.post(url, form)
    assert refused.status_code == 422
    assert 'href="#place-1"' in one_line(refused)
    form |= {f"why:{MESSAGE}": "message_unnatural", f"follow:{MESSAGE}": "on"}
    assert client.post(url, form).status_code == 302
    review = Review.objects.get(stage_kind="expert")
    assert review.verdict == "fix"
    assert set(Ruling.objects.filter(review=review).values_list("reason_kind", flat=True)) == {"message_unnatural"}


def test_errors_of_the_result_link_to_their_place_and_warnings_are_waived_there(client: Client, team: Team) -> None:
    slot = at_desk(team, disputed(team, same, three_places))
    url = page_of(client, team.senior, slot)
    form = {f"ruling:{place}": "left" for place in (MESSAGE, SKY)} | {
        f"ruling:{TEXT}": "third", f"third:{TEXT}": "TODO: the weather",
    } | {f"why:{place}": "other" for place in (TEXT, MESSAGE, SKY)}  # fmt: skip
    refused = client.post(url, form)
    assert refused.status_code == 422
    text = one_line(refused)
    assert 'href="#place-3"' in text
    key = text.split('name="waive-key:0" value="', 1)[1].split('"', 1)[0]
    keep = reverse("workspace-settle-keep", args=[slot])
    assert client.post(keep, {**form, "waive": "0", "waive-key:0": key, f"waive-reason:{key}": ""}).status_code == 422
    client.post(keep, {**form, "waive": "0", "waive-key:0": key, f"waive-reason:{key}": "It is the title of a film."})
    assert Waiver.objects.get().anchor == TEXT
    assert client.post(url, form).status_code == 302


def test_a_notice_leads_to_its_dialogue_whose_page_opens_the_dispute(client: Client, team: Team) -> None:
    item = disputed(team, same, three_places)
    dialogue = reverse("dialogue", args=[team.project.slug, item.public_id])
    senior, other = team.seniors
    for person in (team.annotator, team.administrator):
        client.force_login(person)
        assert "Settle the dispute" not in client.get(dialogue).content.decode()
    client.force_login(senior)
    notice = Notice.objects.get(person=senior)
    assert client.post(reverse("notice-read", args=[notice.public_id]), {"open": "1"}).url == dialogue
    assert "Settle the dispute" in client.get(dialogue).content.decode()
    settle = reverse("dialogue-settle", args=[team.project.slug, item.public_id])
    assert client.post(settle).url == page_of(client, senior, str(open_slot(item).public_id))
    assert "Continue to settle the dispute" in client.get(dialogue).content.decode()
    client.force_login(other)
    assert "somebody else has claimed it" in client.post(settle, follow=True).content.decode()
    assert "Settle the dispute" not in client.get(dialogue).content.decode()


def test_a_claim_that_is_lost_is_said_in_words(client: Client, team: Team) -> None:
    item = disputed(team, same, three_places)
    slot = at_desk(team, item)
    url = page_of(client, team.senior, slot)
    client.post(reverse("workspace-settle-keep", args=[slot]), {f"ruling:{TEXT}": "left", f"why:{TEXT}": "other"})
    Claim.objects.filter(slot__public_id=slot).update(expires_at="2001-01-01T00:00:00Z")
    claim_slot(actor=team.seniors[1], slot=open_slot(item))
    for answer in (client.get(url), client.post(url, {f"ruling:{TEXT}": "left", f"why:{TEXT}": "other"})):
        assert answer.status_code == 409
        assert "Your claim expired, and a colleague has claimed this item. Your draft is kept." in one_line(answer)
