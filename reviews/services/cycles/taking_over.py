"""A dialogue that continues a verified one takes over what has changed there, and is reviewed again."""

from django.db import transaction
from django.utils.translation import gettext as _

from annotator.core.comparison.continuations import with_past
from annotator.errors import Conflict
from annotator.models import Continuation, Dialogue, Revision, User
from annotator.models.content import DialogueStatus
from annotator.services.access.permissions import require_administrator
from annotator.services.dialogues.continuations import continuation_of, lock_with_earlier
from annotator.services.dialogues.revisions import lock_dialogue, revise
from annotator.services.history.events import append_event
from reviews.models import Cycle, CycleState
from reviews.services.cycles.start import supersede_cycle
from reviews.services.protocols.versions import current_version


def last_verified(dialogue: Dialogue) -> Revision | None:
    """Return what was verified last of a dialogue, also while it is in review again; None if it was rejected last."""
    ended = Cycle.objects.in_effect().filter(dialogue=dialogue, state__in=[CycleState.VERIFIED, CycleState.REJECTED])
    rows = ended.select_related("exit_revision__toolset_revision").order_by("-number")
    last = rows.first()
    return None if last is None else last.exit_revision


def why_not_taken_over(row: Continuation) -> str:
    """Return why the changed tasks can't be taken over now, as a sentence; blank if they can."""
    before = row.continues
    if row.verified_id is None or before.status != DialogueStatus.VERIFIED:
        return _("%(id)s is not verified now. Wait until it is.") % {"id": before.external_id}
    if Continuation.objects.filter(dialogue=before, stale=True).exists():
        return _("%(id)s is stale itself. Take over the changed tasks there first.") % {"id": before.external_id}
    if row.dialogue.status == DialogueStatus.REJECTED:
        return _("This dialogue is rejected. Send it back into review first.")
    return ""


def take_over(*, actor: User, dialogue: Dialogue, seen: str) -> Revision:
    """Write a revision with the first tasks and the tools as they are verified now, and review it from the beginning.

    The dialogue's own tasks stay. ``seen``: the public id of its newest revision. Raises Denied for anyone but
    administrators; Conflict if there is nothing to take over or it can't be taken over now, if somebody has claimed the
    dialogue, or if it has changed; Invalid if the result is no valid dialogue.
    """
    require_administrator(actor=actor, project=dialogue.project)
    with transaction.atomic():
        lock_with_earlier(dialogue)
        dialogue = lock_dialogue(dialogue.pk)
        row = continuation_of(dialogue)
        head = dialogue.head
        if row is None or row.verified is None or head is None:
            raise Conflict(_("There are no changed tasks to take over."))
        if refusal := why_not_taken_over(row):
            raise Conflict(refusal)
        if head.public_id != seen:
            raise Conflict(_("The dialogue has changed since you looked. Reload the page."))
        past, name = row.verified, row.continues.external_id
        document = with_past(head.document(), past.document(), row.past.document(), row.tasks)
        tasks = min(row.tasks, len(past.document()["tasks"]))
        Continuation.objects.filter(pk=row.pk).update(past=past, tasks=tasks)
        reason = f"The first tasks of {name} were taken over, as they are in its revision {past.number}."
        revision = revise(
            actor=actor, dialogue=dialogue, seen=head, document=document, message=reason,
            toolset_revision=past.toolset_revision,
        )  # fmt: skip
        append_event(
            actor=actor, project=dialogue.project, dialogue=dialogue, kind="dialogue.past_taken_over",
            before={"content_hash": head.content_hash},
            after={
                "past": name, "number": past.number, "tasks": tasks, "past_hash": past.content_hash,
                "content_hash": revision.content_hash,
            },
        )  # fmt: skip
        if current_version(dialogue.project) is not None:
            supersede_cycle(actor=actor, dialogue=dialogue, reason=reason, if_idle=True)
    return revision
