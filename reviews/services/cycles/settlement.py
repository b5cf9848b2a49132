"""Settles a stage: after its last review, looks up the outcome and moves the dialogue on."""

from functools import partial
from itertools import combinations

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotator.core.comparison import discrepancies, same_content
from annotator.models import Revision
from annotator.services.database.compiled import compiled
from annotator.services.database.statements import update
from annotator.services.dialogues.composites import SINGLE
from annotator.services.dialogues.revisions import move_head
from reviews.core.agreement import RunFacts
from reviews.core.protocols import Outcome, Stage, StageKind, decide
from reviews.models import Review, Slot, SlotState, StageRun, StageRunState, Verdict
from reviews.services.cycles.sending_back import judge_owner
from reviews.services.feedback.creation import report_audit_error, report_ruling
from reviews.services.queue.notifications import pass_escalation_on
from reviews.services.sampling.draws import tend_rounds
from reviews.services.sampling.rounds import count_settled
from reviews.services.statistics.agreement import await_counting
from reviews.services.statistics.audits import is_error
from reviews.services.statistics.round_errors import found_by_running
from reviews.services.transitions.moves import CycleContext, advance
from reviews.services.transitions.sealing import unseal_stage


def settle_if_complete(context: CycleContext, run: StageRun, stage: Stage, latest: Review) -> Outcome | None:
    """Settle the run if ``latest`` was its last review; return None while others are missing.

    The dialogue is locked: if two reviewers submit at the same time, the second sees that the first slot is done, so
    exactly one settles the run.
    """
    if stage.reviewers == 1:
        outcome = _settle(context, run, stage, [latest])
        latest.sealed = False
        return outcome
    if _unfinished(run.pk):
        return None
    outcome = _settle(context, run, stage, _reviews(run.pk))
    latest.sealed = False
    return outcome


@compiled
def _unfinished(run_id: int) -> QuerySet[Slot, int]:
    return Slot.objects.filter(stage_run=run_id).exclude(state=SlotState.DONE).values_list("pk", flat=True)[:1]


@compiled
def _reviews(run_id: int) -> QuerySet[Review]:
    return Review.objects.filter(stage_run=run_id).select_related("made_revision").order_by("slot__index")


def _settle(context: CycleContext, run: StageRun, stage: Stage, reviews: list[Review]) -> Outcome:
    entry, journal, dialogue = run.entry_revision, context.journal, context.dialogue
    if dialogue.kind == SINGLE:
        # Before the head moves, because findings are only kept for the head.
        run.found = found_by_running(entry)
    same = same_fixes(reviews)
    equal = contents_equal(reviews, same)
    outcome = decide(stage, [review.verdict for review in reviews], equal, len(same))
    if outcome is Outcome.PASS and stage.consecutive > 1 and reviews[0].slot.confirms + 1 < stage.consecutive:
        outcome = Outcome.CONFIRM
    if run.blind:
        fixes = [review.made_revision for review in reviews if review.made_revision]
        # Also unseals reviews of an earlier run that was cancelled.
        unseal_stage(dialogue, fixes, only=run.round == 1 and context.cycle.number == 1)
        journal.unseal()
    revision = entry
    fix = _fix_to_take(outcome, reviews, equal, same)
    if fix is not None:
        if fix.toolset_revision_id == entry.toolset_revision_id:
            fix.toolset_revision = entry.toolset_revision
        revision = fix
        move_head(dialogue=dialogue, revision=revision)
    run.state, run.outcome, run.exit_revision, run.settled_at = StageRunState.SETTLED, outcome, revision, timezone.now()
    if len(reviews) > 1:
        run.discrepancy_count = _count_discrepancies(entry, reviews)
    update(run, "state", "outcome", "exit_revision", "settled_at", "discrepancy_count", "found")
    journal.event(
        "stage.settled",
        after={
            "stage": run.stage,
            "round": run.round,
            "outcome": outcome.value,
            "discrepancies": run.discrepancy_count,
            "content_hash": revision.content_hash,
        },
    )
    journal.count(f"outcome:{run.stage}:{outcome}")
    if run.discrepancy_count is not None:
        journal.count(f"compared:{run.stage}")
        journal.count(f"discrepant:{run.stage}", 1 if run.discrepancy_count else 0)
    if run.blind and len(reviews) > 1:
        await_counting(
            run=run,
            run_facts=RunFacts(stage.kind, run.blind, len(reviews), run.look, context.cycle.number),
        )
    error = is_error(outcome, [review.verdict for review in reviews])
    if run.entered_as == "sampled":
        journal.count(f"sampled:{run.stage}")
        journal.count(f"sampled_errors:{run.stage}", int(error))
    if stage.kind is StageKind.EXPERT:
        _report(context, run, reviews[-1], revision, error)
        if run.entered_as == "sampled":
            judge_owner(context=context, run=run, stage=stage, review=reviews[-1])
    changed = revision.content_hash != entry.content_hash
    round_of = count_settled(context, run, stage, changed)
    advance(context, run, outcome, revision)
    if round_of:
        # After the commit: if several settle at the same time, the last one sees that all are done.
        tend = partial(tend_rounds, project_id=run.project_id, stage=round_of)
        transaction.on_commit(tend, robust=True)
    dialogue.updated_at = run.settled_at
    return outcome


def contents_equal(reviews: list[Review], same: list[Revision]) -> bool:
    """Return whether all who approve, with or without a fix, submit equivalent content. ``same``: such fixes."""
    fixes = _fixes(reviews)
    if fixes and any(review.verdict == Verdict.APPROVE for review in reviews):
        return False
    return len(same) == len(fixes)


def same_fixes(reviews: list[Review]) -> list[Revision]:
    """Return the largest group of equivalent fixes; of two equally large, the one with the earliest fix."""
    groups: list[list[Revision]] = []
    for one in sorted(_fixes(reviews), key=lambda revision: revision.pk):
        for group in groups:
            if one.content_hash == group[0].content_hash or same_content(group[0].document(), one.document()):
                group.append(one)
                break
        else:
            groups.append([one])
    return max(groups, key=len, default=[])


def _fixes(reviews: list[Review]) -> list[Revision]:
    return [review.made_revision for review in reviews if review.verdict == Verdict.FIX and review.made_revision]


def _fix_to_take(outcome: Outcome, reviews: list[Review], equal: bool, same: list[Revision]) -> Revision | None:
    """Return the fix that becomes the dialogue's content: one that passes, or the base of a restarted stage."""
    again = outcome in (Outcome.RESTART, Outcome.RETURN)
    takes = outcome is Outcome.PASS_WITH_FIX or (again and (equal or len(_fixes(reviews)) == 1))
    return same[0] if takes and same else None


def _count_discrepancies(entry: Revision, reviews: list[Review]) -> int:
    # Versions with the same bytes need no comparison; most reviewers approve what they saw.
    submitted = [review.made_revision or entry for review in reviews]
    versions = [one.document() for one in {one.content_hash: one for one in submitted}.values()]
    places = {place.anchor for left, right in combinations(versions, 2) for place in discrepancies(left, right)}
    # A fix counts as an approval here: its changes are counted above.
    said = {"pass" if review.verdict in (Verdict.APPROVE, Verdict.FIX) else review.verdict for review in reviews}
    return len(places) + (1 if len(said) > 1 else 0)


def _report(context: CycleContext, run: StageRun, review: Review, revision: Revision, error: bool) -> None:
    journal, dialogue = context.journal, context.dialogue
    if run.entered_as == "sampled":
        if not error:
            return
        people = report_audit_error(
            review=review, cycle=context.cycle, protocol=context.protocol, owner_id=dialogue.owner_id
        )
        journal.event("audit.error", after={"review": review.public_id, "people": len(people)})
    elif run.entered_as == "escalated":
        report_ruling(review=review, run=run, revision=revision, protocol=context.protocol, owner_id=dialogue.owner_id)
        pass_escalation_on(dialogue=dialogue, stage=context.protocol.stage(run.stage))
