"""Comments: comments on any place of a dialogue, hidden from colleagues while their author reviews blind.

Whoever is mentioned, answered, or owns the dialogue gets a notice: at once where the comment is open, else when its
stage settles and it is opened. A sealed comment tells nobody that it is there.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from annotator.core.comparison import AnchorMissing, describe, resolve
from annotator.core.comparison.anchors import Document
from annotator.core.schema import value_hash
from annotator.core.schema.canonical import shortened
from annotator.errors import Denied, Hidden, Invalid
from annotator.models import Dialogue, Draft, NoticeKind, Project, Revision, User
from annotator.services.access.blindness import blind_to, colleague, veil
from annotator.services.dialogues.revisions import hold_dialogue
from annotator.services.notices.notices import notify
from reviews.models import Comment, StageRun
from reviews.services.feedback.mentions import find_mentions, known_mentions, rename_mentions
from reviews.services.queue.slot_work import Work

MAX_TEXT = 4000
#: Of one person on one dialogue, whose pages show them all.
MAX_COMMENTS = 100
#: Other versions, and drafts of one's own, in which a place is looked for that the one at hand does not have.
MAX_LOOKED_AT = 10
#: Signs of Markdown that mean nothing in a line of plain text.
_MARKS = re.compile(r"\*\*|`+")


@dataclass
class Thread:
    """A comment and its replies, with its place in words. ``outdated``: its text has changed since, or is gone."""

    comment: Comment
    place: str
    outdated: bool
    replies: list[Comment] = field(default_factory=list)


def visible_comments(*, actor: User, dialogue: Dialogue) -> list[Comment]:
    """The dialogue's comments that the actor may see, oldest first; whose they are is hidden in a blind stage."""
    rows = Comment.objects.visible_to(actor).filter(dialogue=dialogue)
    rows = rows.select_related("author", "resolved_by").order_by("pk")
    blind = blind_to(actor=actor, dialogues=[dialogue.pk])
    seen = veil(rows, actor=actor, blind=blind, people=["author", "resolved_by"])
    if blind:
        _veil_mentions([comment for comment in seen if comment.author_id != actor.pk], actor, dialogue)
    return seen


def _veil_mentions(comments: Sequence[Comment], actor: User, dialogue: Dialogue) -> None:
    """Let the words of others call colleagues by what stands for them in this dialogue."""
    mentioned = list(dict.fromkeys(name for comment in comments for name in find_mentions(comment.text)))
    names = {
        name.casefold(): colleague(person, dialogue.pk).username
        for person in known_mentions(dialogue.project, mentioned)
        if person.pk != actor.pk
        for name in (person.username, person.pseudonym)
    }
    for comment in comments:
        comment.text = rename_mentions(comment.text, names)


def read_threads(
    *, actor: User, dialogue: Dialogue, document: Document, compared: Document | None = None
) -> list[Thread]:
    """The same as threads: open ones first, then those dealt with, each as they came.

    ``document``: what is shown. ``compared``: what was handed in last, where a draft is shown: a comment is about that.
    """
    compared = document if compared is None else compared
    hash_at = cache(partial(_hash_at, compared))
    threads: dict[int, Thread] = {}
    for comment in visible_comments(actor=actor, dialogue=dialogue):
        if comment.parent_id is None:
            outdated = comment.value_hash != "" and comment.value_hash != hash_at(comment.anchor)
            place = describe(document, comment.anchor) if comment.anchor else ""
            threads[comment.pk] = Thread(comment, place, outdated)
        elif comment.parent_id in threads:
            threads[comment.parent_id].replies.append(comment)
    return sorted(threads.values(), key=lambda thread: thread.comment.resolved_at is not None)


def add_comment(*, actor: User, work: Work, anchor: str, text: str, reply_to: str = "") -> Comment:
    """Comment on a place of the dialogue one works on; ``anchor`` may also lie in one's draft.

    Raises Invalid, for a place there is not, too.
    """
    slot = work.slot
    return _add(
        actor=actor, dialogue=slot.dialogue, revision=slot.revision, anchor=anchor, text=text, run=slot.stage_run,
        sealed=work.blind, reply_to=reply_to,
    )  # fmt: skip


def add_comment_once(*, actor: User, work: Work, anchor: str, text: str, reply_to: str = "") -> None:
    """As above, but the same words at the same place in this cycle are one comment, however often they come."""
    with transaction.atomic():
        # Of two that come at once the second waits here until the first is there.
        hold_dialogue(work.slot.dialogue_id)
        mine = Comment.objects.filter(author=actor, dialogue=work.slot.dialogue_id, stage_run=work.slot.stage_run_id)
        where = {"parent__public_id": reply_to} if reply_to else {"parent": None, "anchor": shortened(anchor)}
        if not mine.filter(text=text.strip(), **where).exists():
            add_comment(actor=actor, work=work, anchor=anchor, text=text, reply_to=reply_to)


def comment_on(*, actor: User, dialogue: Dialogue, anchor: str, text: str, reply_to: str = "") -> Comment:
    """Comment on a dialogue one looks at, open to everybody in the project.

    Raises Denied for somebody who reviews it blind at this moment: what they comment belongs into their review.
    """
    if reviews_blind(actor=actor, dialogue=dialogue):
        raise Denied("You review this dialogue independently; comment on it in the workspace, where it stays your own.")
    if dialogue.head is None:
        raise Invalid("There is nothing to comment on yet.")
    with transaction.atomic():
        # A double click says it once: the second waits here until the first has said it.
        hold_dialogue(dialogue.pk)
        last = Comment.objects.filter(author=actor, dialogue=dialogue).select_related("parent").order_by("-pk").first()
        if last is not None and last.stage_run_id is None and last.text == text.strip():
            last_parent = last.parent.public_id if last.parent is not None else ""
            if last_parent == reply_to and (reply_to or last.anchor == shortened(anchor)):
                return last
        return _add(
            actor=actor, dialogue=dialogue, revision=dialogue.head, anchor=anchor, text=text, run=None, sealed=False,
            reply_to=reply_to,
        )  # fmt: skip


def reviews_blind(*, actor: User, dialogue: Dialogue) -> bool:
    """Whether the actor holds, or has handed in, a review in a blind stage of the dialogue that has not settled.

    Who gave it back counts as well: they may take it again, and the other reviewer would have read what they said.
    """
    run = StageRun.objects.filter(cycle__dialogue=dialogue, state="open", blind=True).first()
    return run is not None and run.slots.filter(Q(holder=actor) | Q(claims__person=actor)).exists()


def resolve_comment(*, actor: User, public_id: str, dialogue: Dialogue | None = None) -> Comment:
    """Mark a comment as dealt with; one that is so stays as it is. Raises Hidden, or Denied for a blind reviewer."""
    with transaction.atomic():
        comment = _locked(actor, public_id, dialogue)
        if comment.resolved_at is None:
            comment.resolved_at, comment.resolved_by = timezone.now(), actor
            comment.save(update_fields=["resolved_at", "resolved_by"])
    return comment


def reopen_comment(*, actor: User, public_id: str, dialogue: Dialogue | None = None) -> Comment:
    """Take back that a comment is dealt with; one that is open stays so. Raises Hidden, or Denied as above."""
    with transaction.atomic():
        comment = _locked(actor, public_id, dialogue)
        if comment.resolved_at is not None:
            comment.resolved_at, comment.resolved_by = None, None
            comment.save(update_fields=["resolved_at", "resolved_by"])
    return comment


def notify_unsealed(dialogue: Dialogue, ids: Sequence[int]) -> None:
    """Tell people of comments that have just been opened, as they would have been told had these never been sealed."""
    if not ids:
        return
    rows = Comment.objects.filter(pk__in=ids).select_related("author", "parent__author").order_by("pk")
    for comment in rows:
        _notify(dialogue, comment, known_mentions(dialogue.project, find_mentions(comment.text)))


def _locked(actor: User, public_id: str, dialogue: Dialogue | None) -> Comment:
    rows = Comment.objects.visible_to(actor).select_for_update(of=("self",)).select_related("dialogue")
    rows = rows.filter(public_id=public_id, parent=None)
    if dialogue is not None:
        rows = rows.filter(dialogue=dialogue)
    comment = rows.first()
    if comment is None:
        raise Hidden("There is no such comment.")
    if not comment.sealed and reviews_blind(actor=actor, dialogue=comment.dialogue):
        raise Denied("You review this dialogue independently; leave what others commented as it is until that is over.")
    return comment


def _add(
    *,
    actor: User,
    dialogue: Dialogue,
    revision: Revision,
    anchor: str,
    text: str,
    run: StageRun | None,
    sealed: bool,
    reply_to: str,
) -> Comment:
    text, anchor = text.strip(), shortened(anchor)
    if not text:
        raise Invalid("Write something first.", field="text")
    if len(text) > MAX_TEXT or "\x00" in text:
        raise Invalid(f"A comment has at most {MAX_TEXT:,} characters, none of them NUL.", field="text")
    mentioned = _mentioned(dialogue.project, text)
    parent = None
    if reply_to:
        seen = Comment.objects.visible_to(actor).select_related("parent", "author")
        parent = seen.filter(dialogue=dialogue, public_id=reply_to).first()
        if parent is None:
            raise Hidden("There is no such comment to answer.")
        parent = parent.parent or parent
        anchor = parent.anchor
    # An answer stands where the comment does that it answers, whatever has become of that place.
    about = _hash_at(revision.document(), anchor) if parent else _hash_of_place(actor, revision, anchor)
    with transaction.atomic():
        # Counted and written by one at a time.
        hold_dialogue(dialogue.pk)
        if Comment.objects.filter(dialogue=dialogue, author=actor).count() >= MAX_COMMENTS:
            raise Invalid(f"You have commented {MAX_COMMENTS} times on this dialogue: no more can be.", field="text")
        comment = Comment.objects.create(
            dialogue=dialogue,
            author=actor,
            parent=parent,
            stage_run=run,
            anchor=anchor,
            value_hash=about,
            text=text,
            sealed=sealed,
        )
        if not sealed:
            _notify(dialogue, comment, mentioned)
    return comment


def _hash_of_place(actor: User, revision: Revision, anchor: str) -> str:
    """The hash of what stands at an anchor; blank where only the actor's draft has it: nothing there can change yet.

    What the version at hand has lost, or does not have yet, may stand in another one that the actor sees, on a page
    that was opened earlier, say. Raises Invalid for a place that none of the newest has.
    """
    if about := _hash_at(revision.document(), anchor):
        return about
    dialogue = revision.dialogue_id
    if any(_hash_at(one, anchor) for one in _newest(Draft.objects.filter(author=actor, dialogue=dialogue))):
        return ""
    for other in _newest(Revision.objects.visible_to(actor).filter(dialogue=dialogue).exclude(pk=revision.pk)):
        if about := _hash_at(other, anchor):
            return about
    raise Invalid(
        f"The dialogue has nothing at {anchor[:200]}; choose another place, or comment on the dialogue as a whole.",
        field="anchor",
    )


def _newest(rows: QuerySet[Draft] | QuerySet[Revision]) -> Iterator[Document]:
    """The newest few of these documents, one at a time: each can have millions of characters."""
    for pk in rows.order_by("-pk").values_list("pk", flat=True)[:MAX_LOOKED_AT]:
        yield from (row.document() for row in rows.model.objects.filter(pk=pk).only("content"))


def _hash_at(document: Document, anchor: str) -> str:
    """The hash of what stands at an anchor; blank where there is nothing."""
    try:
        return value_hash(resolve(document, anchor.rstrip("/")))
    except AnchorMissing:
        return ""


def _mentioned(project: Project, text: str) -> list[User]:
    names = find_mentions(text)
    known = known_mentions(project, names)
    found = {name.casefold() for person in known for name in (person.username, person.pseudonym)}
    unknown = [name for name in names if name.casefold() not in found]
    if unknown:
        raise Invalid(
            f"Nobody in this project is called @{unknown[0]}. Choose a name from the list, or put the word in "
            "`backticks` if it names no person.",
            field="text",
        )
    return known


def _notify(dialogue: Dialogue, comment: Comment, mentioned: Iterable[User]) -> None:
    """Each person once, for the reason that concerns them most."""
    author, parent = comment.author, comment.parent
    notified = {author.pk}
    circles: list[tuple[NoticeKind, str, Iterable[int | None]]] = [
        (NoticeKind.MENTION, "mentions you", [person.pk for person in mentioned])
    ]
    if parent is not None:
        answered = Comment.objects.filter(parent=parent, sealed=False).values_list("author", flat=True)
        circles.append((NoticeKind.REPLY, "answers you", [parent.author_id, *answered.order_by().distinct()]))
    circles.append((NoticeKind.COMMENT, "comments", [dialogue.owner_id]))
    for kind, verb, people in circles:
        new = [one for one in people if one is not None and one not in notified]
        notified.update(new)
        notify(
            actor=None,
            project=dialogue.project,
            people=new,
            kind=kind,
            text=f"{author} {verb} on {dialogue.external_id}: {_MARKS.sub('', comment.text)}",
            target=f"{dialogue.get_absolute_url()}#c-{(parent or comment).public_id}",
            dialogue=dialogue,
            subject=comment.public_id,
        )
