"""Sends an owner's other items back if the audit of a draw finds too many errors.

The protocol sets the error rate and the least number of audited items of one owner in one draw. Items that the draw did
not select then restart the protocol with their owner, once for each draw and owner.
"""

from collections import Counter as Tally

from django.db.models import Exists, F, OuterRef, QuerySet

from annotator.core.text import counted_message, gettext_noop, message
from annotator.errors import Conflict
from annotator.models import Dialogue, User
from annotator.services.dialogues.revisions import lock_dialogue
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import Running, job_kind, start_job
from reviews.core.protocols import Stage
from reviews.models import Cycle, CycleState, Draw, DrawItem, Review, SentBackStratum, StageRun, StageRunState
from reviews.services.cycles.start import supersede_cycle
from reviews.services.feedback.creation import report_sent_back
from reviews.services.statistics.audits import IS_ERROR
from reviews.services.transitions.moves import NOT_DRAWN, CycleContext

JOB = "send_items_back"


def judge_owner(*, context: CycleContext, run: StageRun, stage: Stage, review: Review) -> SentBackStratum | None:
    """After an audited item is settled, send its owner's other items of the draw back if there are too many errors.

    Runs in the caller's transaction, which has locked the dialogue. A job sends the items back.
    """
    evidence = stage.entry.send_back
    item = DrawItem.objects.filter(stage_run=run).first() if evidence is not None else None
    if evidence is None or item is None or not item.stratum:
        return None
    # Lock the draw: if two of its audits settle at the same time, the second sees the result of the first.
    draw = Draw.objects.select_for_update(no_key=True).get(pk=item.draw_id)
    owner = User.objects.get(pseudonym=item.stratum)
    looked_at = StageRun.objects.filter(
        draw_item__draw=draw, draw_item__stratum=item.stratum, draw_item__selected=True, state=StageRunState.SETTLED
    )
    audited = looked_at.count()
    errors = looked_at.filter(IS_ERROR).count()
    if not evidence.is_reached(audited=audited, errors=errors):
        return None
    if SentBackStratum.objects.filter(draw=draw, owner=owner).exists():
        return None
    items = _rest(draw, item.stratum).count()
    if not items:
        return None
    sent = SentBackStratum.objects.create(draw=draw, owner=owner, audited=audited, errors=errors, items=items)
    share = f"{100 * errors / audited:.0f} %"
    report_sent_back(
        review=review,
        owner_id=owner.pk,
        text=message(
            "%(result)s %(consequence)s",
            result=counted_message(
                "Your dialogue audited in draw %(draw)s had errors (%(share)s; the limit is %(limit)s).",
                "%(errors)s of your %(count)s dialogues audited in draw %(draw)s had errors "
                "(%(share)s; the limit is %(limit)s).",
                audited,
                draw=draw.number,
                errors=errors,
                share=share,
                limit=f"{100 * evidence.above:g} %",
            ),
            consequence=counted_message(
                "Your other dialogue, which wasn’t drawn, was sent back to you. Check it for the same errors.",
                "Your other %(count)s dialogues, which weren’t drawn, were sent back to you. Check them for the same "
                "errors.",
                items,
            ),
        ),
    )
    append_event(
        actor=None,
        project=context.journal.project,
        kind="stratum.sent_back",
        after={
            "draw": draw.public_id, "stage": draw.stage, "number": draw.number, "owner": owner.public_id,
            "audited": audited, "errors": errors, "items": items,
        },
    )  # fmt: skip
    start_job(actor=None, project=context.journal.project, kind=JOB, parameters={"sent_back": sent.pk})
    return sent


@job_kind(JOB, gettext_noop("Send an owner’s items back"), repeatable=True)
def _run(running: Running) -> dict[str, int]:
    sent = SentBackStratum.objects.select_related("draw", "owner").get(pk=running.job.parameters["sent_back"])
    reason = f"Draw {sent.draw.number}: {sent.errors} of {sent.audited} audited dialogues of this owner had errors."
    counts: Tally[str] = Tally(running.checkpoint.get("counts", {}))
    last: int = running.checkpoint.get("last", 0)
    while True:
        left = _rest(sent.draw, sent.owner.pseudonym).filter(pk__gt=last)
        portion = list(left.select_related("dialogue", "draw").order_by("pk")[:200])
        for item in portion:
            with running.chunk() as chunk:
                done = _send_back(item, reason)
                if done:
                    SentBackStratum.objects.filter(pk=sent.pk).update(returned=F("returned") + 1)
                counts["returned" if done else "skipped"] += 1
                last = item.pk
                chunk.advance(
                    done=counts.total(), total=max(sent.items, counts.total()),
                    checkpoint={"last": last, "counts": dict(counts)},
                )  # fmt: skip
        if not portion:
            return dict(counts)


def _send_back(item: DrawItem, reason: str) -> bool:
    lock_dialogue(item.dialogue_id)
    if not _rest(item.draw, item.stratum).filter(pk=item.pk).exists():
        # It was restarted after the portion was read, and may be claimed.
        return False
    try:
        supersede_cycle(actor=None, dialogue=item.dialogue, reason=reason, force=True, for_owner=True)
    except Conflict:
        # It is in another draw or has become a gold item, and is reviewed there.
        return False
    return True


def may_be_sent_back(*dialogues: Dialogue | int) -> bool:
    """Return whether an audit can still send one of these dialogues, which its draw did not select, back to its owner.

    ``dialogues``: rows or keys.
    """
    audits = StageRun.objects.filter(draw_item__draw=OuterRef("draw"), draw_item__selected=True)
    pending = audits.exclude(state__in=(StageRunState.SETTLED, StageRunState.CANCELLED))
    sent = SentBackStratum.objects.filter(draw=OuterRef("draw"), owner__pseudonym=OuterRef("stratum"))
    return _not_selected().filter(Exists(pending) | Exists(sent), dialogue__in=dialogues).exists()


def _rest(draw: Draw, stratum: str) -> QuerySet[DrawItem]:
    """Return the owner's items that the draw did not select and that have not restarted since."""
    return _not_selected().filter(draw=draw, stratum=stratum)


def _not_selected() -> QuerySet[DrawItem]:
    """Return items that their draw did not select and that have not restarted since."""
    later = Cycle.objects.in_effect().filter(
        dialogue=OuterRef("dialogue"), number__gt=OuterRef("stage_run__cycle__number")
    )
    return DrawItem.objects.filter(
        ~Exists(later),
        selected=False,
        stage_run__outcome=NOT_DRAWN,
        stage_run__cycle__state__in=[CycleState.VERIFIED, CycleState.ACTIVE],
        dialogue__archived_at=None,
    )
