"""Comments: remarks on any place of a dialogue, hidden from colleagues while their author reviews blind."""

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotator.comparison import AnchorMissing, resolve
from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Dialogue, Revision, User
from annotator.schema import value_hash
from reviews.models import Comment, StageRun
from reviews.services.claims import Work

MAX_TEXT = 4000


def visible_comments(*, actor: User, dialogue: Dialogue) -> QuerySet[Comment]:
    """The dialogue's comments that the actor may see, oldest first."""
    return Comment.objects.visible_to(actor).filter(dialogue=dialogue).select_related("author").order_by("pk")


def add_comment(*, actor: User, work: Work, anchor: str, text: str) -> Comment:
    """Remark on a place of the dialogue one works on; ``anchor`` may also lie in one's draft. Raises Invalid."""
    slot = work.slot
    return _add(
        actor=actor, dialogue=slot.dialogue, revision=slot.revision, anchor=anchor, text=text, run=slot.stage_run,
        sealed=work.blind,
    )  # fmt: skip


def is_said(*, actor: User, work: Work, anchor: str, text: str) -> bool:
    """Whether the actor has remarked this, word for word, at this place in this passage already."""
    mine = Comment.objects.filter(author=actor, dialogue=work.slot.dialogue, stage_run=work.slot.stage_run)
    return mine.filter(anchor=anchor[:600], text=text.strip()).exists()


def comment_on(*, actor: User, dialogue: Dialogue, anchor: str, text: str) -> Comment:
    """Remark on a dialogue one looks at, open to everybody in the project.

    Raises Denied for somebody who reviews it blind at this moment: what they remark belongs into their review.
    """
    run = StageRun.objects.filter(cycle__dialogue=dialogue, state="open", blind=True).first()
    if run is not None and run.slots.filter(holder=actor).exists():
        raise Denied("You review this dialogue independently; remark on it in the workspace, where it stays your own.")
    if dialogue.head is None:
        raise Invalid("There is nothing to remark on yet.")
    return _add(
        actor=actor, dialogue=dialogue, revision=dialogue.head, anchor=anchor, text=text, run=None, sealed=False
    )


def resolve_comment(*, actor: User, public_id: str) -> Comment:
    """Mark a remark as dealt with. Raises Hidden, or Conflict where it is already."""
    with transaction.atomic():
        comment = Comment.objects.visible_to(actor).select_for_update(of=("self",)).filter(public_id=public_id).first()
        if comment is None:
            raise Hidden("There is no such comment.")
        if comment.resolved_at is not None:
            raise Conflict("This comment has been dealt with already.")
        comment.resolved_at, comment.resolved_by = timezone.now(), actor
        comment.save(update_fields=["resolved_at", "resolved_by"])
    return comment


def _add(
    *, actor: User, dialogue: Dialogue, revision: Revision, anchor: str, text: str, run: StageRun | None, sealed: bool
) -> Comment:
    text = text.strip()
    if not text:
        raise Invalid("Write something first.")
    if len(text) > MAX_TEXT or "\x00" in text:
        raise Invalid(f"A comment has at most {MAX_TEXT:,} characters, none of them NUL.")
    try:
        about = value_hash(resolve(revision.document(), anchor.rstrip("/")))
    except AnchorMissing:
        # A step that only the draft has: there is no value yet that could change.
        about = ""
    return Comment.objects.create(
        dialogue=dialogue,
        author=actor,
        stage_run=run,
        anchor=anchor[:600],
        value_hash=about,
        text=text,
        sealed=sealed,
    )
