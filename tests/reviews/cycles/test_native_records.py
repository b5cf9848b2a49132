"""Reviews of dialogues that hold more of their native record than a document says: what counts as a change."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue, Revision
from annotator.services.dialogues.drafts import open_draft, replace_draft
from annotator.services.dialogues.revisions import lock_dialogue, revise
from benchmark.core.formats import FORMATS
from reviews.models import Review, StageRun
from reviews.services.protocols.versions import adopt_preset
from reviews.services.queue.claims import claim_slot
from reviews.services.submission.submit import submit_review
from reviews.services.submission.workbench import open_workbench
from tests.annotator.case_documents import LIMIT, TOOLS, case, with_constraint
from tests.factories import Team, begin, claim_and_submit, current, make_dialogue, make_toolset, open_slot
from tests.reviews.rulings import disputed_anchors

pytestmark = pytest.mark.django_db

Document = dict[str, Any]
DEMO = Path(__file__).parents[3] / "benchmark/demo/data/dialogues.jsonl"
OTHER = {"reason_kind": "answer_wrong", "reason": "As it was."}


TEAM = {"seniors": 2}


@pytest.fixture
def item(team: Team) -> Dialogue:
    """The demo's dialogue about a railway, of a record with labels of its own, in the cross-check."""
    [raw] = [one for one in map(json.loads, DEMO.read_text().splitlines()) if one["id"] == "rail-travel-01"]
    raw["told"] = {"words of the desk": raw["english_tasks"][3]}
    [read] = FORMATS["wild"].read(raw)
    dialogue = make_dialogue(team.project, read.document, toolset=make_toolset(team.project, read.tools, "rail"))
    begin(team.project, [dialogue])
    for _ in range(2):
        claim_and_submit(team.annotator, dialogue)
    return dialogue


def label(document: Document) -> None:
    document["tasks"][2]["information"] = "coreferential_reference"


def label_as_api(document: Document) -> None:
    document["tasks"][2] |= {"information": "coreferential_reference", "native_information": None}


def graph(document: Document) -> None:
    for n, step in enumerate(document["tasks"][0]["steps"][1:]):
        step["depends_on"] = [{"id": f"s{n}", "kind": "logical"}]


def question(document: Document) -> None:
    document["tasks"][2]["steps"][0]["question"] = "Which class, and how do we reach you?"


def message(document: Document) -> None:
    document["tasks"][3]["user_message"] = "Thanks, that is all."


def edited(document: Document, *edits: Callable[[Document], None]) -> Document:
    document = deepcopy(document)
    for edit in edits:
        edit(document)
    return document


def settle(team: Team, item: Dialogue, choice: str, **more: Any) -> Review:
    item.refresh_from_db()
    rulings = {anchor: {"choice": choice, **OTHER} for anchor in disputed_anchors(open_slot(item))}
    assert rulings
    review: Review = claim_and_submit(team.seniors[0], item, rulings=rulings, **more)
    return review


def graph_as_api(document: Document) -> None:
    graph(document)
    document["tasks"][0]["extra"]["@native"]["label"] = "Sequential Multi-Tool"


@pytest.mark.parametrize("edit", [label, label_as_api, graph, graph_as_api, question, message])
def test_an_expert_who_upholds_the_version_under_review_approves_it_and_writes_none(
    team: Team, item: Dialogue, edit: Callable[[Document], None]
) -> None:
    seen = current(item)
    claim_and_submit(team.annotators[1], item, "approve")
    fix = claim_and_submit(team.annotators[2], item, "fix", document=edited(seen, edit))
    review = settle(team, item, "left")
    assert (review.verdict, review.made_revision) == ("approve", None)
    run = StageRun.objects.get(pk=review.stage_run_id)
    assert (run.outcome, run.exit_revision_id) == ("pass", fix.seen_revision_id)
    assert current(item) == seen
    assert not Revision.objects.filter(parent__content_hash=F("content_hash")).exists()


def test_a_ruling_keeps_of_the_record_what_speaks_of_no_change(team: Team, item: Dialogue) -> None:
    """Storing a colleague's version took more from the record than the ruling keeps."""
    seen = current(item)
    claim_and_submit(team.annotators[1], item, "approve")
    claim_and_submit(team.annotators[2], item, "fix", document=edited(seen, question, label, message))
    item.refresh_from_db()
    anchors = disputed_anchors(open_slot(item))
    rulings = {
        anchor: {"choice": "right" if anchor.endswith("/information") else "left", **OTHER} for anchor in anchors
    }
    review = claim_and_submit(team.seniors[0], item, rulings=rulings)
    assert (review.verdict, len(rulings)) == ("fix", 3)
    assert current(item) == edited(seen, label_as_api)


def test_what_storing_undoes_is_no_change_and_the_page_says_so_too(team: Team, item: Dialogue, client: Client) -> None:
    document = current(item)
    document["tasks"][1]["native_information"] = None
    person = team.annotators[1]
    claim = claim_slot(actor=person, slot=open_slot(item))
    with pytest.raises(Invalid, match="You haven’t changed anything"):
        submit_review(actor=person, slot=claim.slot, token=claim.token, verdict="fix", document=document)
    slot = claim.slot
    draft = open_draft(actor=person, dialogue=item, base=slot.revision, branch=f"slot-{slot.public_id}")
    replace_draft(actor=person, draft=draft, document=edited(document, label), operation="late")
    assert open_workbench(actor=person, slot_id=slot.public_id).changed
    draft.refresh_from_db()
    replace_draft(actor=person, draft=draft, document=document, operation="late")
    assert not open_workbench(actor=person, slot_id=slot.public_id).changed
    review = submit_review(actor=person, slot=slot, token=claim.token, verdict="approve")
    assert (review.verdict, review.made_revision) == ("approve", None)


def test_no_version_says_what_its_parent_says(team: Team, item: Dialogue) -> None:
    document = current(item)
    document["tasks"][1]["native_information"] = None
    item = lock_dialogue(item.pk)
    assert item.head is not None
    with pytest.raises(Conflict, match="Nothing was changed"):
        revise(actor=team.annotator, dialogue=item, seen=item.head, document=document, message="Nothing")


def test_copies_of_a_constraints_words_are_no_place_to_rule_on_and_come_back_with_them(team: Team) -> None:
    adopt_preset(actor=team.administrator, project=team.project, preset="cctu")
    copies = {"max_callTimes": 4, "constraint": ["Interact", "Call Times", LIMIT]}
    document = with_constraint("c0", parameters=case()["constraints"][0]["parameters"] | copies)
    item = make_dialogue(team.project, document, toolset=make_toolset(team.project, TOOLS, "ferries"))
    begin(team.project, [item])
    seen = current(item)
    corrected = edited(seen, lambda one: one["constraints"][0].update(text="Call tools four times at most."))
    review = claim_and_submit(team.annotator, item, "escalate", document=corrected)
    assert review.made_revision.document()["constraints"][0]["parameters"] != seen["constraints"][0]["parameters"]
    assert disputed_anchors(open_slot(item)) == ["/constraints/c0/text"]
    review = settle(team, item, "left")
    assert (review.verdict, review.made_revision, current(item)) == ("approve", None, seen)
