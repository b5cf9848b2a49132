"""Three weeks of the demo's team: self-checks, cross-checks, disputes, an audit, and gold items among the work."""

from typing import Any

from annotator.errors import Invalid
from annotator.models import Dialogue, User
from annotator.models.content import DialogueStatus
from annotator.services.dialogues import drafts
from annotator.services.dialogues.revisions import check_document
from benchmark.demo.desk import CROSS, ERROR_TYPES, EXPERT, MULTI, SINGLE, Cast, do, document_of, open_slot, submit
from reviews.core.gold import errors_in
from reviews.models import Claim, GoldItem, Review, Slot, SlotState
from reviews.services.feedback import comments
from reviews.services.gold import creation, settings
from reviews.services.queue import claims
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.sampling import draws
from reviews.services.submission.rulings import load_dispute

#: Nobody has begun these: they are there for whoever tries the demo.
UNTOUCHED = ("library-counter-02", "rail-travel-02", "city-events-04", "warehouse-stock-04", "home-energy-04")
#: Cross-checks that are left open for whoever tries the demo.
LEFT_OPEN = 6


def play_first_weeks(cast: Cast) -> None:
    """Bring two thirds of the dialogues as far as their place in the file says, draw the audit, make gold items."""
    finished = 0
    todo = _worked_on(cast)
    first = [(n, dialogue) for n, dialogue in enumerate(todo) if n % 3 != 2]
    for place, (n, dialogue) in enumerate(first):
        cast.begin_day(1 + 6 * place // len(first))
        name = dialogue.external_id
        owner, one, other = cast.next_annotators(3)
        if not _self_checks(cast, owner, dialogue, n):
            continue
        do(cast, one, dialogue, CROSS, "approve")
        if n % 8 == 6:
            # Half of the cross-check is in, blind: the second colleague still has to look.
            continue
        if name in cast.disagreements:
            do(cast, other, dialogue, CROSS, "fix", **_of_another_opinion(cast, dialogue))
            if finished % 3 == 0:
                _settle(cast, dialogue)
            finished += 1
        else:
            do(cast, other, dialogue, CROSS, "approve")
    cast.begin_day(7)
    draws.close_population_and_draw(actor=cast.administrator, project=cast.project)
    sampled = Slot.objects.filter(
        project=cast.project, stage=EXPERT, state=SlotState.OPEN, stage_run__entered_as="sampled"
    ).select_related("dialogue")
    for slot in sampled:
        do(cast, cast.seniors[1], slot.dialogue, EXPERT, "approve")
    _make_gold(cast)


def play_last_week(cast: Cast) -> None:
    """The others come, and people find gold items among their cross-checks. What passes waits for the next draw."""
    rest = [(n, dialogue) for n, dialogue in enumerate(_worked_on(cast)) if n % 3 == 2]
    for place, (n, dialogue) in enumerate(rest):
        cast.begin_day(7 + 3 * place // len(rest), hour=10)
        _self_checks(cast, cast.next_annotators(1)[0], dialogue, n)
    for name in ("library-counter-02", "rail-travel-02"):
        dialogue = Dialogue.objects.get(project=cast.project, external_id=name)
        owner = cast.next_annotators(1)[0]
        _self_check(cast, owner, dialogue)
        do(cast, owner, dialogue, MULTI, "approve")
    cast.begin_day(10)
    _cross_check_as_it_comes(cast)


def play_since_the_release(cast: Cast) -> None:
    """Two disputes are settled, and the next gold items are made of them: their answers are in no release."""
    waiting = Slot.objects.filter(project=cast.project, stage=EXPERT, state=SlotState.OPEN).select_related("dialogue")
    for slot in waiting.order_by("pk")[:2]:
        _settle(cast, slot.dialogue)
        slot.dialogue.refresh_from_db()
        if slot.dialogue.status == DialogueStatus.VERIFIED:
            _plant(cast, slot.dialogue, document_of(cast.disagreements[slot.dialogue.external_id]["record"]))
    settings.set_gold_rate(actor=cast.administrator, project=cast.project, stage=CROSS, rate=0.1, reveal=True)


def leave_half_finished(cast: Cast) -> None:
    """What Amina is at when somebody opens the demo."""
    amina = cast.annotators[0]
    dialogue = Dialogue.objects.get(project=cast.project, external_id="warehouse-stock-04")
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
        text="Is this still one request, or two? I would keep it as one.",
    )


def _worked_on(cast: Cast) -> list[Dialogue]:
    dialogues = Dialogue.objects.filter(project=cast.project, gold_role__in=("", "answer")).order_by("pk")
    return [dialogue for dialogue in dialogues if dialogue.external_id in cast.records.keys() - {*UNTOUCHED}]


def _self_checks(cast: Cast, owner: User, dialogue: Dialogue, n: int) -> bool:
    """Both self-checks, as far as the dialogue's place says; whether it came through."""
    name = dialogue.external_id
    if cast.corrections.get(name, {}).get("verdict") == "reject":
        do(cast, owner, dialogue, SINGLE, "escalate", reason=cast.corrections[name]["reason"])
        do(cast, cast.seniors[0], dialogue, EXPERT, "reject", reason=cast.corrections[name]["reason"])
        return False
    if n % 9 == 7 and name not in cast.corrections:
        return False
    _self_check(cast, owner, dialogue)
    if n % 7 == 5:
        return False
    do(cast, owner, dialogue, MULTI, "approve")
    return True


def _self_check(cast: Cast, person: User, dialogue: Dialogue) -> None:
    correction = cast.corrections.get(dialogue.external_id)
    if correction is None:
        do(cast, person, dialogue, SINGLE, "approve")
    else:
        do(cast, person, dialogue, SINGLE, "fix", record=correction["record"], reason=correction["reason"])


def _of_another_opinion(cast: Cast, dialogue: Dialogue) -> dict[str, Any]:
    other = cast.disagreements[dialogue.external_id]
    return {"record": other["record"], "reason": other["reason"]}


def _settle(cast: Cast, dialogue: Dialogue) -> None:
    """The expert takes one reviewer's side throughout."""
    dispute = load_dispute(open_slot(dialogue, EXPERT))
    if dispute is None:
        return
    rulings = {
        place.anchor: {
            "choice": "left",
            "reason_kind": ERROR_TYPES.get(dialogue.external_id, "other"),
            "reason": "The version under review holds.",
        }
        for place in dispute.discrepancies
    }
    do(cast, cast.seniors[0], dialogue, EXPERT, "", rulings=rulings)


# --- gold items -------------------------------------------------------------------------------------------------------


def _make_gold(cast: Cast) -> None:
    """For each annotator an item with a planted error and one without, of dialogues they had no hand in."""
    verified = list(
        Dialogue.objects.filter(project=cast.project, status=DialogueStatus.VERIFIED, gold_role="").order_by("pk")
    )
    for person in cast.annotators:
        for wrong in (True, False):
            for source in verified:
                if (source.external_id in cast.corrections) is not wrong or not _is_test_of(cast, source, person):
                    continue
                if wrong and not _plant(cast, source, _with_less_said(source)):
                    continue
                if not wrong:
                    creation.make_gold_item(actor=cast.administrator, project=cast.project, source=source, stage=CROSS)
                verified.remove(source)
                break
    settings.set_gold_rate(
        actor=cast.administrator, project=cast.project, stage=CROSS, rate=settings.MAX_RATE, reveal=True
    )


def _is_test_of(cast: Cast, source: Dialogue, person: User) -> bool:
    return person in creation.preview(project=cast.project, source=source, stage=CROSS).people


def _with_less_said(source: Dialogue) -> dict[str, Any]:
    """What was verified, with an answer that breaks off: the error it came in with was mended in its history."""
    assert source.head is not None  # noqa: S101 - it is verified
    document = source.head.document()
    answers = (step for task in document["tasks"] for step in task["steps"] if ". " in (step.get("text") or ""))
    for answer in list(answers)[:1]:
        answer["text"] = answer["text"].partition(". ")[0] + "."
    return document


def _plant(cast: Cast, source: Dialogue, document: dict[str, Any]) -> bool:
    """Make an item that is shown as ``document``; False where the checks alone would tell its errors."""
    assert source.head is not None  # noqa: S101 - it is verified
    found = check_document(document, source.head.toolset_revision, project=cast.project, stage="submit")
    if any(finding.severity == "error" for finding in found):
        return False
    try:
        creation.make_gold_item(
            actor=cast.administrator, project=cast.project, source=source, stage=CROSS, document=document
        )
    except Invalid:
        # The expert took this side: then it is no error.
        return False
    return True


def _cross_check_as_it_comes(cast: Cast) -> None:
    """Everybody takes the next item, over and over, until only a few are left."""
    busy = [*cast.annotators]
    ordinary = Slot.objects.filter(project=cast.project, stage=CROSS, state=SlotState.OPEN)
    begun = ordinary.count()
    while busy and (left := ordinary.count()) > LEFT_OPEN:
        cast.begin_day(10 + (left <= (begun + LEFT_OPEN) // 2))
        person = busy.pop(0)
        claim = claims.claim_next(actor=person, project=cast.project, stage=CROSS)
        if claim is None:
            continue
        item = GoldItem.objects.filter(stage_run=claim.slot.stage_run_id).select_related("answer").first()
        if item is None:
            _cross_check(cast, claim)
        else:
            _answer(cast, claim, item)
        busy.append(person)


def _cross_check(cast: Cast, claim: Claim) -> None:
    second = Review.objects.filter(stage_run=claim.slot.stage_run_id).exists()
    if second and claim.slot.dialogue.external_id in cast.disagreements:
        other = _of_another_opinion(cast, claim.slot.dialogue)
        kind = ERROR_TYPES[claim.slot.dialogue.external_id]
        submit(
            cast,
            claim,
            "fix",
            document=document_of(other["record"]),
            named_errors=[{"kind": kind, "anchor": "", "note": ""}],
            reason=other["reason"],
        )
    else:
        submit(cast, claim, "approve")


def _answer(cast: Cast, claim: Claim, item: GoldItem) -> None:
    """What each makes of a gold item: one sees everything, one overlooks it, one names it, one also changes more."""
    answer, shown = item.answer.document(), claim.slot.revision.document()
    errors = errors_in(shown, answer)
    habit = cast.annotators.index(claim.person)
    if habit == 3 and not errors:
        # A change for its own sake.
        answer["tasks"][0]["user_message"] += " Thank you!"
        submit(cast, claim, "fix", document=answer, reason="More polite like this.")
    elif not errors or habit == 1:
        submit(cast, claim, "approve")
    elif habit == 2:
        named_errors = [{"kind": "other", "anchor": error.anchor, "note": "This cannot be."} for error in errors]
        submit(cast, claim, "escalate", named_errors=named_errors, reason="I am not sure how to mend this.")
    else:
        submit(cast, claim, "fix", document=answer, reason="Mended.")
