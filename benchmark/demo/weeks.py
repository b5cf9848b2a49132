"""Three weeks of work in the demo: self-checks, cross-checks, disputes, an audit and gold items."""

from typing import Any

from annotator.errors import Invalid
from annotator.models import Dialogue, User
from annotator.models.content import DialogueStatus
from annotator.services.dialogues import drafts
from annotator.services.dialogues.revisions import check_document
from benchmark.demo import slip
from benchmark.demo.reviewing import (
    CROSS,
    ERROR_TYPES,
    EXPERT,
    MULTI,
    SINGLE,
    Scenario,
    document_of,
    open_slot,
    review,
    submit,
)
from reviews.core.gold import errors_in
from reviews.models import Claim, GoldItem, Review, Slot, SlotState
from reviews.services.feedback import comments
from reviews.services.gold import creation, settings
from reviews.services.queue import claims
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.sampling import draws
from reviews.services.submission.rulings import load_dispute

#: Nobody starts these, so that people who try the demo can.
UNTOUCHED = ("library-counter-02", "rail-travel-02", "city-events-04", "warehouse-stock-04", "home-energy-04")
#: Number of cross-checks left for people who try the demo.
LEFT_OPEN = 6


def play_first_weeks(scenario: Scenario) -> None:
    """Review two thirds of the dialogues, each up to a point that depends on its position in the file; then audit, and
    create gold items.
    """
    finished = 0
    todo = _dialogues_in_review(scenario)
    first = [(n, dialogue) for n, dialogue in enumerate(todo) if n % 3 != 2]
    for place, (n, dialogue) in enumerate(first):
        scenario.begin_day(1 + 6 * place // len(first))
        name = dialogue.external_id
        owner, one, other = scenario.next_annotators(3)
        if not _self_checks(scenario, owner, dialogue, n):
            continue
        review(scenario, one, dialogue, CROSS, "approve")
        if n % 8 == 6:
            # The second cross-check is still open.
            continue
        if name in scenario.disagreements:
            review(scenario, other, dialogue, CROSS, "fix", **_disagreement(scenario, dialogue))
            if finished % 3 == 0:
                _settle(scenario, dialogue)
            finished += 1
        else:
            review(scenario, other, dialogue, CROSS, "approve")
    scenario.begin_day(7)
    draws.close_population_and_draw(actor=scenario.administrator, project=scenario.project)
    sampled = Slot.objects.filter(
        project=scenario.project, stage=EXPERT, state=SlotState.OPEN, stage_run__entered_as="sampled"
    ).select_related("dialogue")
    for slot in sampled:
        review(scenario, scenario.seniors[1], slot.dialogue, EXPERT, "approve")
    _make_gold(scenario)


def play_last_week(scenario: Scenario) -> None:
    """Review the other dialogues, with gold items among the cross-checks. Approved ones wait for the next draw."""
    rest = [(n, dialogue) for n, dialogue in enumerate(_dialogues_in_review(scenario)) if n % 3 == 2]
    for place, (n, dialogue) in enumerate(rest):
        scenario.begin_day(7 + 3 * place // len(rest), hour=10)
        _self_checks(scenario, scenario.next_annotators(1)[0], dialogue, n)
    for name in ("library-counter-02", "rail-travel-02"):
        dialogue = Dialogue.objects.get(project=scenario.project, external_id=name)
        owner = scenario.next_annotators(1)[0]
        _self_check(scenario, owner, dialogue)
        review(scenario, owner, dialogue, MULTI, "approve")
    scenario.begin_day(10)
    _cross_check_from_queue(scenario)


def play_after_release(scenario: Scenario) -> None:
    """Settle two disputes and create gold items from them. Their answers are in no release."""
    waiting = Slot.objects.filter(project=scenario.project, stage=EXPERT, state=SlotState.OPEN).select_related(
        "dialogue"
    )
    for slot in waiting.order_by("pk")[:2]:
        _settle(scenario, slot.dialogue)
        slot.dialogue.refresh_from_db()
        if slot.dialogue.status == DialogueStatus.VERIFIED:
            _make_gold_with_errors(
                scenario, slot.dialogue, document_of(scenario.disagreements[slot.dialogue.external_id]["record"])
            )
    settings.set_gold_rate(actor=scenario.administrator, project=scenario.project, stage=CROSS, rate=0.1, reveal=True)


def leave_half_finished(scenario: Scenario) -> None:
    """Leave Amina with an item in progress, an edit and a comment."""
    amina = scenario.annotators[0]
    dialogue = Dialogue.objects.get(project=scenario.project, external_id="warehouse-stock-04")
    claim = claims.claim_slot(actor=amina, slot=open_slot(dialogue, SINGLE))
    slot = claim.slot
    draft = drafts.open_draft(actor=amina, dialogue=dialogue, base=slot.revision, branch="main")
    task = draft.document()["tasks"][0]
    drafts.edit_draft(
        actor=amina,
        draft=draft,
        operation={
            "op": "set",
            "anchor": f"/tasks/{task['id']}/user_message",
            "value": task["user_message"] + " Thanks!",
        },
        seen=draft.version,
    )
    comments.add_comment(
        actor=amina,
        work=load_slot_work(actor=amina, public_id=slot.public_id),
        anchor=f"/tasks/{task['id']}",
        text="Is this one request or two? I would keep it as one.",
    )


def _dialogues_in_review(scenario: Scenario) -> list[Dialogue]:
    dialogues = Dialogue.objects.filter(project=scenario.project, gold_role__in=("", "answer")).order_by("pk")
    return [dialogue for dialogue in dialogues if dialogue.external_id in scenario.records.keys() - {*UNTOUCHED}]


def _self_checks(scenario: Scenario, owner: User, dialogue: Dialogue, n: int) -> bool:
    """Do both self-checks, or only part of them, depending on the dialogue's position. Return whether it passed."""
    name = dialogue.external_id
    if scenario.corrections.get(name, {}).get("verdict") == "reject":
        review(scenario, owner, dialogue, SINGLE, "escalate", reason=scenario.corrections[name]["reason"])
        review(scenario, scenario.seniors[0], dialogue, EXPERT, "reject", reason=scenario.corrections[name]["reason"])
        return False
    if n % 9 == 7 and name not in scenario.corrections:
        return False
    _self_check(scenario, owner, dialogue)
    if n % 7 == 5:
        return False
    review(scenario, owner, dialogue, MULTI, "approve")
    return True


def _self_check(scenario: Scenario, person: User, dialogue: Dialogue) -> None:
    correction = scenario.corrections.get(dialogue.external_id)
    if dialogue.external_id == slip.NAME:
        record = slip.with_slip(scenario.records[slip.NAME])
        review(scenario, person, dialogue, SINGLE, "fix", record=record, reason="The other telescope is reserved.")
    elif correction is None:
        review(scenario, person, dialogue, SINGLE, "approve")
    else:
        review(scenario, person, dialogue, SINGLE, "fix", record=correction["record"], reason=correction["reason"])


def _disagreement(scenario: Scenario, dialogue: Dialogue) -> dict[str, Any]:
    other = scenario.disagreements[dialogue.external_id]
    return {"record": other["record"], "reason": other["reason"]}


def _settle(scenario: Scenario, dialogue: Dialogue) -> None:
    """Settle the dispute in favour of one reviewer everywhere."""
    dispute = load_dispute(open_slot(dialogue, EXPERT))
    if dispute is None:
        return
    rulings = {
        place.anchor: {
            "choice": "left",
            "reason_kind": ERROR_TYPES.get(dialogue.external_id, "other"),
            "reason": "The revision under review is correct.",
        }
        for place in dispute.discrepancies
    }
    review(scenario, scenario.seniors[0], dialogue, EXPERT, "", rulings=rulings)


# --- gold items -------------------------------------------------------------------------------------------------------


def _make_gold(scenario: Scenario) -> None:
    """Create two gold items for each annotator, one with an error, from dialogues they did not work on."""
    verified = list(
        Dialogue.objects.filter(project=scenario.project, status=DialogueStatus.VERIFIED, gold_role="").order_by("pk")
    )
    for person in scenario.annotators:
        for wrong in (True, False):
            for source in verified:
                if (source.external_id in scenario.corrections) is not wrong or source.external_id == slip.NAME:
                    continue
                if not _can_test(scenario, source, person):
                    continue
                if wrong and not _make_gold_with_errors(scenario, source, _with_shortened_answer(source)):
                    continue
                if not wrong:
                    creation.make_gold_item(
                        actor=scenario.administrator, project=scenario.project, source=source, stage=CROSS
                    )
                verified.remove(source)
                break
    settings.set_gold_rate(
        actor=scenario.administrator, project=scenario.project, stage=CROSS, rate=settings.MAX_RATE, reveal=True
    )


def _can_test(scenario: Scenario, source: Dialogue, person: User) -> bool:
    return person in creation.preview(project=scenario.project, source=source, stage=CROSS).people


def _with_shortened_answer(source: Dialogue) -> dict[str, Any]:
    """Return the verified dialogue with an answer that ends after its first sentence."""
    assert source.head is not None  # noqa: S101 - it is verified
    document = source.head.document()
    answers = (step for task in document["tasks"] for step in task["steps"] if ". " in (step.get("text") or ""))
    for answer in list(answers)[:1]:
        answer["text"] = answer["text"].partition(". ")[0] + "."
    return document


def _make_gold_with_errors(scenario: Scenario, source: Dialogue, document: dict[str, Any]) -> bool:
    """Create a gold item that is shown as ``document``. Return False if the checks would reveal its errors."""
    assert source.head is not None  # noqa: S101 - it is verified
    found = check_document(document, source.head.toolset_revision, project=scenario.project, stage="submit")
    if any(finding.severity == "error" for finding in found):
        return False
    try:
        creation.make_gold_item(
            actor=scenario.administrator, project=scenario.project, source=source, stage=CROSS, document=document
        )
    except Invalid:
        # The senior reviewer preferred this revision, so it has no error.
        return False
    return True


def _cross_check_from_queue(scenario: Scenario) -> None:
    """Let everybody claim the next item in turn until only a few are left."""
    busy = [*scenario.annotators]
    ordinary = Slot.objects.filter(project=scenario.project, stage=CROSS, state=SlotState.OPEN)
    begun = ordinary.count()
    while busy and (left := ordinary.count()) > LEFT_OPEN:
        scenario.begin_day(10 + (left <= (begun + LEFT_OPEN) // 2))
        person = busy.pop(0)
        claim = claims.claim_next(actor=person, project=scenario.project, stage=CROSS)
        if claim is None:
            continue
        item = GoldItem.objects.filter(stage_run=claim.slot.stage_run_id).select_related("answer").first()
        if item is None:
            _cross_check(scenario, claim)
        else:
            _review_gold_item(scenario, claim, item)
        busy.append(person)


def _cross_check(scenario: Scenario, claim: Claim) -> None:
    second = Review.objects.filter(stage_run=claim.slot.stage_run_id).exists()
    if second and claim.slot.dialogue.external_id in scenario.disagreements:
        submit(scenario, claim, "fix", **_disagreement(scenario, claim.slot.dialogue))
    else:
        submit(scenario, claim, "approve")


def _review_gold_item(scenario: Scenario, claim: Claim, item: GoldItem) -> None:
    """Review a gold item. Each annotator has a habit: fix it, miss the error, escalate, or change too much."""
    answer, shown = item.answer.document(), claim.slot.revision.document()
    errors = errors_in(shown, answer)
    habit = scenario.annotators.index(claim.person)
    if habit == 3 and not errors:
        # An unnecessary change.
        answer["tasks"][0]["user_message"] += " Thank you!"
        submit(scenario, claim, "fix", document=answer, named_errors=[], reason="This is more polite.")
    elif not errors or habit == 1:
        submit(scenario, claim, "approve")
    elif habit == 2:
        named_errors = [{"kind": "other", "anchor": error.anchor, "note": "This is wrong."} for error in errors]
        submit(scenario, claim, "escalate", named_errors=named_errors, reason="I am not sure how to fix this.")
    else:
        submit(scenario, claim, "fix", document=answer, named_errors=[], reason="Fixed.")
