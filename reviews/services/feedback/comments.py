"""Comments on any place of a dialogue, hidden from colleagues while their author reviews blind.

The people mentioned or answered, and the owner, get a notice: immediately for an open comment, else when the stage
settles and unseals it. Nobody is notified of a sealed comment.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.comparison import AnchorMissing, resolve
from annotator.core.comparison.anchors import Document
from annotator.core.schema import value_hash
from annotator.core.schema.canonical import shortened
from annotator.core.text import Message, message
from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Dialogue, Draft, Notice, NoticeKind, Project, Revision, User
from annotator.services.access.blindness import blind_to, colleague, veil
from annotator.services.database.compiled import compiled
from annotator.services.dialogues.revisions import hold_dialogue
from annotator.services.history.events import append_event
from annotator.services.notices.notices import notify
from annotator.translation import place_name
from reviews.models import Comment, StageRun
from reviews.services.feedback.mentions import find_mentions, known_mentions, rename_mentions
from reviews.services.queue.slot_work import Work

MAX_TEXT = 4000
#: Comments of one person on one dialogue.
MAX_COMMENTS = 100
#: Other revisions, and own drafts, in which a missing place is searched.
MAX_LOOKED_AT = 10
#: Markdown characters that are removed in plain text.
_MARKS = re.compile(r"\*\*|`+")


@dataclass
class Thread:
    """A comment and its replies, with its place in words. ``outdated``: its text has changed since, or is gone."""

    comment: Comment
    place: str
    outdated: bool
    replies: list[Comment] = field(default_factory=list)


def comments_of(*, actor: User, dialogue: Dialogue) -> QuerySet[Comment]:
    """Return the dialogue's comments that the actor may see; ``veil_comments`` hides what they may not read in them."""
    rows = Comment.objects.visible_to(actor).filter(dialogue=dialogue)
    return rows.select_related("author", "resolved_by", "parent")


def comments_changed_since(dialogue: Dialogue) -> Callable[[QuerySet[Comment], datetime], QuerySet[Comment]]:
    """Return a function that narrows comments down to those that were written, edited or resolved since.

    All of them if the dialogue has changed: the end of a blind stage shows rows that were written before.
    """

    def changed(rows: QuerySet[Comment], moment: datetime) -> QuerySet[Comment]:
        if dialogue.updated_at >= moment:
            return rows
        return rows.filter(Q(created_at__gte=moment) | Q(edited_at__gte=moment) | Q(resolved_at__gte=moment))

    return changed


def load_comment(*, actor: User, dialogue: Dialogue, public_id: str) -> Comment:
    """Return a comment as the actor may see it. Raises Hidden."""
    rows = comments_of(actor=actor, dialogue=dialogue).filter(public_id=public_id)
    found = veil_comments(rows, actor=actor, dialogue=dialogue)
    if not found:
        raise Hidden(_("This comment doesn’t exist."))
    return found[0]


def visible_comments(*, actor: User, dialogue: Dialogue) -> list[Comment]:
    """Return the dialogue's comments that the actor may see, oldest first; authors are hidden in a blind stage."""
    # Most dialogues have none, and what the actor may see takes longest to find out.
    if not _first_comment(dialogue.pk):
        return []
    rows = comments_of(actor=actor, dialogue=dialogue).order_by("pk")
    return veil_comments(rows, actor=actor, dialogue=dialogue)


@compiled
def _first_comment(dialogue_id: int) -> QuerySet[Comment, int]:
    return Comment.objects.filter(dialogue=dialogue_id).values_list("pk", flat=True)[:1]


def veil_comments(rows: Iterable[Comment], *, actor: User, dialogue: Dialogue) -> list[Comment]:
    """Return comments of a dialogue; if the actor must be blind to it, without the names of others."""
    blind = blind_to(actor=actor, dialogues=[dialogue.pk])
    seen = veil(rows, actor=actor, blind=blind, people=["author", "resolved_by"])
    if blind:
        _veil_mentions([comment for comment in seen if comment.author_id != actor.pk], actor, dialogue)
    return seen


def _veil_mentions(comments: Sequence[Comment], actor: User, dialogue: Dialogue) -> None:
    """Replace mentions of colleagues by their pseudonyms in this dialogue."""
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
    """Return the comments as threads: open ones first, then resolved ones, each in order of time.

    ``document``: what is shown. ``compared``: the submitted revision, if a draft is shown; comments are about that.
    """
    comments = visible_comments(actor=actor, dialogue=dialogue)
    outdated = outdated_comments(comments, document if compared is None else compared)
    threads: dict[int, Thread] = {}
    for comment in comments:
        if comment.parent_id is None:
            place = place_name(document, comment.anchor) if comment.anchor else ""
            threads[comment.pk] = Thread(comment, place, comment.pk in outdated)
        elif comment.parent_id in threads:
            threads[comment.parent_id].replies.append(comment)
    return sorted(threads.values(), key=lambda thread: thread.comment.resolved_at is not None)


def outdated_comments(comments: Iterable[Comment], document: Document) -> set[int]:
    """Return the keys of the comments whose place has changed since, or is gone from the document."""
    hash_at = cache(partial(_hash_at, document))
    return {one.pk for one in comments if one.value_hash != "" and one.value_hash != hash_at(one.anchor)}


def add_comment(*, actor: User, work: Work, anchor: str, text: str, reply_to: str = "") -> Comment:
    """Add a comment to the dialogue of a claimed slot; ``anchor`` may be in the draft. Raises Invalid, Hidden."""
    slot = work.slot
    return _add(
        actor=actor, dialogue=slot.dialogue, revision=slot.revision, anchor=anchor, text=text, run=slot.stage_run,
        sealed=work.blind, reply_to=reply_to,
    )  # fmt: skip


def add_comment_once(*, actor: User, work: Work, anchor: str, text: str, reply_to: str = "") -> None:
    """Add a comment unless the actor has already written the same text at the same place in this stage run."""
    with transaction.atomic():
        # A second request at the same time waits here for the first.
        hold_dialogue(work.slot.dialogue_id)
        mine = Comment.objects.filter(author=actor, dialogue=work.slot.dialogue_id, stage_run=work.slot.stage_run_id)
        where = {"parent__public_id": reply_to} if reply_to else {"parent": None, "anchor": shortened(anchor)}
        if not mine.filter(text=text.strip(), **where).exists():
            add_comment(actor=actor, work=work, anchor=anchor, text=text, reply_to=reply_to)


def comment_on(*, actor: User, dialogue: Dialogue, anchor: str, text: str, reply_to: str = "") -> Comment:
    """Add a comment that everybody in the project can see. Raises Denied for somebody who reviews it blind now."""
    if reviews_blind(actor=actor, dialogue=dialogue):
        raise Denied(_("You review this dialogue independently. Comment in your workspace instead."))
    if dialogue.head is None:
        raise Invalid(_("This dialogue has no content to comment on yet."))
    with transaction.atomic():
        # The second request of a double click waits here for the first.
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
    """Return whether the actor has claimed or submitted a review in an open blind stage of the dialogue.

    Released claims count, because they may claim it again after the other reviewer has read their comment.
    """
    run = StageRun.objects.filter(cycle__dialogue=dialogue, state="open", blind=True).first()
    return run is not None and run.slots.filter(Q(holder=actor) | Q(claims__person=actor)).exists()


def resolve_comment(*, actor: User, public_id: str, dialogue: Dialogue | None = None, reopen: bool = False) -> Comment:
    """Resolve a comment, or reopen it, if it is not so already. Raises Hidden, or Denied for a blind reviewer."""
    with transaction.atomic():
        comment = _locked(actor, public_id, dialogue)
        resolved = comment.resolved_at is not None
        if resolved is reopen:
            comment.resolved_at, comment.resolved_by = (None, None) if reopen else (timezone.now(), actor)
            comment.save(update_fields=["resolved_at", "resolved_by"])
    return comment


def edit_comment(*, actor: User, public_id: str, dialogue: Dialogue, text: str) -> Comment:
    """Change the text of one's own comment, at most ``EDITABLE_FOR`` after it was written.

    The same text changes nothing. People whom only the new text mentions get their notice now. Raises Hidden, Denied
    for the comment of somebody else and for a blind reviewer, Conflict if it is too late, and Invalid.
    """
    text = _checked(text)
    mentioned = _mentioned(dialogue.project, text)
    with transaction.atomic():
        hold_dialogue(dialogue.pk)
        rows = (
            Comment.objects.visible_to(actor).select_for_update(of=("self",)).select_related("author", "parent__author")
        )
        comment = rows.filter(dialogue=dialogue, public_id=public_id).first()
        if comment is None:
            raise Hidden(_("This comment doesn’t exist."))
        if comment.author_id != actor.pk:
            raise Denied(_("You can only edit your own comments. Write a reply instead."))
        if comment.text == text:
            return comment
        if not comment.is_fresh:
            raise Conflict(_("A comment can be edited for five minutes. Write a reply instead."))
        if not comment.sealed and reviews_blind(actor=actor, dialogue=dialogue):
            raise Denied(_("You review this dialogue independently, so you can’t change what others read."))
        before, comment.text, comment.edited_at = comment.text, text, timezone.now()
        comment.save(update_fields=["text", "edited_at"])
        append_event(
            actor=actor,
            project=dialogue.project,
            dialogue=dialogue,
            kind="comment.edited",
            before={"comment": comment.public_id, "text": before},
            after={"comment": comment.public_id, "text": text},
            sealed=comment.sealed,
        )
        if not comment.sealed:
            known = Notice.objects.filter(subject=comment.public_id, kind=NoticeKind.MENTION, dialogue=dialogue)
            notified = set(known.values_list("person", flat=True))
            _notify(dialogue, comment, [one for one in mentioned if one.pk not in notified], edited=True)
    return comment


def notify_unsealed(dialogue: Dialogue, ids: Sequence[int]) -> None:
    """Send the notices of comments that were just unsealed."""
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
        raise Hidden(_("This comment doesn’t exist."))
    if not comment.sealed and reviews_blind(actor=actor, dialogue=comment.dialogue):
        raise Denied(
            _("You review this dialogue independently. You can resolve comments of others when the stage ends.")
        )
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
    text, anchor = _checked(text), shortened(anchor)
    mentioned = _mentioned(dialogue.project, text)
    parent = None
    if reply_to:
        seen = Comment.objects.visible_to(actor).select_related("parent", "author")
        parent = seen.filter(dialogue=dialogue, public_id=reply_to).first()
        if parent is None:
            raise Hidden(_("The comment you are replying to doesn’t exist."))
        parent = parent.parent or parent
        anchor = parent.anchor
    # A reply has the place of its comment, even if that place no longer exists.
    about = _hash_at(revision.document(), anchor) if parent else _hash_of_place(actor, revision, anchor)
    with transaction.atomic():
        # The lock serialises counting and writing.
        hold_dialogue(dialogue.pk)
        if Comment.objects.filter(dialogue=dialogue, author=actor).count() >= MAX_COMMENTS:
            raise Invalid(
                _("You can write at most %(limit)s comments on a dialogue.") % {"limit": MAX_COMMENTS}, field="text"
            )
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


def _checked(text: str) -> str:
    """Return the text of a comment without white space around it. Raises Invalid."""
    text = text.strip()
    if not text:
        raise Invalid(_("Enter a comment."), field="text")
    if len(text) > MAX_TEXT or "\x00" in text:
        raise Invalid(
            _("A comment may have at most %(limit)s characters and no NUL character.") % {"limit": f"{MAX_TEXT:,}"},
            field="text",
        )
    return text


def _hash_of_place(actor: User, revision: Revision, anchor: str) -> str:
    """Return the hash of the value at an anchor; blank if only the actor's draft has it.

    If the revision does not have the place, search others that the actor may see, because their page may show one of
    them. Raises Invalid for a place that none of the newest has.
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
        _("The dialogue has nothing at %(place)s. Choose another place, or comment on the whole dialogue.")
        % {"place": anchor[:200]},
        field="anchor",
    )


def _newest(rows: QuerySet[Draft] | QuerySet[Revision]) -> Iterator[Document]:
    """Yield the newest documents, one at a time: each can have millions of characters."""
    for pk in rows.order_by("-pk").values_list("pk", flat=True)[:MAX_LOOKED_AT]:
        yield from (row.document() for row in rows.model.objects.filter(pk=pk).only("content"))


def _hash_at(document: Document, anchor: str) -> str:
    """Return the hash of the value at an anchor; blank if there is none."""
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
            _(
                "@%(name)s isn’t a member of this project. Choose a name from the list, or put the word in "
                "`backticks` if it isn’t a name."
            )
            % {"name": unknown[0]},
            field="text",
        )
    return known


def _notify(dialogue: Dialogue, comment: Comment, mentioned: Iterable[User], *, edited: bool = False) -> None:
    """Notify each person once, with the most specific kind; of an edit, only the people mentioned."""
    author, parent = comment.author, comment.parent
    notified = {author.pk}
    said = {"author": str(author), "dialogue": dialogue.external_id, "text": _MARKS.sub("", comment.text)}
    circles: list[tuple[NoticeKind, Message, Iterable[int | None]]] = [
        (
            NoticeKind.MENTION,
            message("%(author)s mentioned you on %(dialogue)s: %(text)s", **said),
            [person.pk for person in mentioned],
        )
    ]
    if parent is not None and not edited:
        answered = Comment.objects.filter(parent=parent, sealed=False).values_list("author", flat=True)
        circles.append(
            (
                NoticeKind.REPLY,
                message("%(author)s replied to you on %(dialogue)s: %(text)s", **said),
                [parent.author_id, *answered.order_by().distinct()],
            )
        )
    commented = message("%(author)s commented on %(dialogue)s: %(text)s", **said)
    if not edited:
        circles.append((NoticeKind.COMMENT, commented, [dialogue.owner_id]))
    for kind, sentence, people in circles:
        new = [one for one in people if one is not None and one not in notified]
        notified.update(new)
        notify(
            actor=None,
            project=dialogue.project,
            people=new,
            kind=kind,
            text=sentence,
            target=f"{dialogue.get_absolute_url()}#c-{(parent or comment).public_id}",
            dialogue=dialogue,
            subject=comment.public_id,
        )
