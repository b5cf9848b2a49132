"""Notices: written by a transition in its own transaction, listed, and marked as read.

A notice is fixed when it is written, so it may only contain what the person may know at that moment:
nothing about a blind stage before it has settled.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from urllib.parse import urlsplit

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.text import Message, counted_message, message
from annotator.errors import Hidden
from annotator.models import Dialogue, Event, Membership, Notice, NoticeKind, Project, Role, User
from annotator.services.access.blindness import blind_to
from annotator.services.database.compiled import compiled
from annotator.services.database.keyset import KeyPage, read_page, up_to

PAGE = 50
_COMMENTS = (NoticeKind.MENTION, NoticeKind.REPLY, NoticeKind.COMMENT)
#: Higher counts are shown as “99+”.
MAX_COUNTED = 99


def notify(
    *,
    actor: User | None,
    project: Project,
    people: Iterable[int | None],
    kind: NoticeKind,
    text: Message,
    target: str,
    dialogue: Dialogue | None = None,
    subject: str = "",
    key: str = "",
) -> list[int]:
    """Notify people (ids; None and the actor are skipped) in the caller's transaction; returns the ids notified.

    ``key``: a person with an unread notice of the same key gets no second one.
    """
    wanted = [one for one in dict.fromkeys(people) if one is not None and (actor is None or one != actor.pk)]
    # Sorted, so that two transitions that notify the same people do not deadlock.
    rows = [
        Notice(
            person_id=person,
            project=project,
            kind=kind,
            dialogue=dialogue,
            subject=subject,
            key=key,
            message=text,
            target=target[:300],
        )
        for person in sorted(wanted)
    ]
    if rows:
        Notice.objects.bulk_create(rows, ignore_conflicts=bool(key))
    return wanted


def members_with(project: Project, role: Role) -> list[int]:
    """Return the ids of people who now have a role in the project."""
    held = Membership.objects.active().filter(project=project, role=role)
    return list(held.order_by("user_id").values_list("user_id", flat=True).distinct())


# --- events that administrators are notified of ----------------------------------------------------------------------


def _alarm(event: Event) -> Message:
    stage, rate = str(event.after.get("title") or event.after.get("stage", "")), event.after.get("rate")
    if not isinstance(rate, int | float):
        return message("Reviewers of “%(stage)s” disagree more often than the protocol allows.", stage=stage)
    return message(
        "Reviewers of “%(stage)s” disagree more often than the protocol allows (%(percent)d %%).",
        stage=stage,
        percent=round(100 * rate),
    )


def _stratum(event: Event) -> Message:
    count = event.after.get("sent_back", event.after.get("items", event.after.get("dialogues")))
    return counted_message(
        "%(count)s dialogue is back in review: a random sample found too many errors in one person’s work.",
        "%(count)s dialogues are back in review: a random sample found too many errors in one person’s work.",
        count if isinstance(count, int) else 1,
    )


#: Kind of event → the notice for administrators. An unread alarm is not repeated.
_MESSAGES: dict[str, Callable[[Event], Message]] = {
    "protocol.discrepancy_alarm": _alarm,
    "stratum.sent_back": _stratum,
}


def notify_of_events(events: Iterable[Event]) -> None:
    """Notify administrators of alarms among the events, in the caller's transaction."""
    for event in events:
        words = _MESSAGES.get(event.kind)
        if words is None:
            continue
        notify(
            actor=None,
            project=event.project,
            people=members_with(event.project, Role.ADMINISTRATOR),
            kind=NoticeKind.ALARM,
            text=words(event),
            target=event.project.get_absolute_url(),
            key=f"{event.kind}:{event.project_id}:{event.after.get('stage', '')}"[:80],
        )


# --- reading ---------------------------------------------------------------------------------------------------------


def unread_count(user: User) -> int:
    """Return the number of unread notices, up to ``MAX_COUNTED`` + 1."""
    return len(_unread(user.pk)) if user.is_active else 0


@compiled
def _unread(user_id: int) -> QuerySet[Notice, int]:
    projects = Membership.objects.live().filter(user=user_id).values("project")
    unread = Notice.objects.filter(person=user_id, project__in=projects).unread()
    return unread.values_list("pk", flat=True)[: MAX_COUNTED + 1]


def notices_of(*, actor: User, unread: bool = False, kind: str = "") -> QuerySet[Notice]:
    """Return the actor's notices; ``veil_comments`` hides what they may not read in them."""
    rows = Notice.objects.visible_to(actor).select_related("project", "dialogue").defer("dialogue__search_text")
    if unread:
        rows = rows.unread()
    return rows.filter(kind=kind) if kind else rows


def notices_changed_since(rows: QuerySet[Notice], moment: datetime) -> QuerySet[Notice]:
    """Narrow notices down to those that were written or read since."""
    return rows.filter(Q(created_at__gte=moment) | Q(read_at__gte=moment))


def list_notices(
    *, actor: User, unread: bool = False, kind: str = "", before: str | None = None, after: str | None = None
) -> KeyPage[Notice]:
    """Return a page of the actor's notices, newest first."""
    rows = notices_of(actor=actor, unread=unread, kind=kind)
    page = read_page(rows, before=before, after=after, size=PAGE, newest_first=True)
    veil_comments(page.rows, actor=actor)
    return page


def veil_comments(notices: Sequence[Notice], *, actor: User) -> None:
    """Hide the author and the text of comments on dialogues that the actor must see blind. Do not save the notices."""
    said = [row for row in notices if row.kind in _COMMENTS and row.dialogue_id is not None]
    blind = blind_to(actor=actor, dialogues=[row.dialogue_id for row in said if row.dialogue_id is not None])
    for row in said:
        if row.dialogue_id in blind and row.dialogue is not None:
            row.message = message("A colleague commented on %(dialogue)s.", dialogue=row.dialogue.external_id)


def unread_notices(*, actor: User, limit: int) -> list[Notice]:
    """Return the actor's newest unread notices."""
    rows = Notice.objects.visible_to(actor).unread().select_related("project", "dialogue")
    newest = list(rows.defer("dialogue__search_text").order_by("-created_at", "-public_id")[:limit])
    veil_comments(newest, actor=actor)
    return newest


def mark_read(*, actor: User, public_id: str) -> Notice:
    """Mark one of the actor's notices as read; a read one stays as it is. Raises Hidden."""
    notice = Notice.objects.visible_to(actor).filter(public_id=public_id).first()
    if notice is None:
        raise Hidden(_("This notice doesn’t exist."))
    if notice.read_at is None:
        notice.read_at = timezone.now()
        notice.save(update_fields=["read_at"])
    return notice


def mark_page_read(*, actor: User, path: str) -> None:
    """Mark the actor's notices that lead to this page as read, because they have opened it.

    Not feedback: its list has pages, so it marks what it shows. Writes only if there is something to mark.
    """
    # Served by the index of a person's unread notices. The path is also the beginning of other pages' paths.
    unread = Notice.objects.filter(person=actor, target__startswith=path).exclude(kind=NoticeKind.FEEDBACK).unread()
    found = [pk for pk, target in unread.values_list("pk", "target") if urlsplit(target).path == path]
    if found:
        Notice.objects.filter(pk__in=found, read_at=None).update(read_at=timezone.now())


def mark_all_read(*, actor: User, through: str | None = None) -> int:
    """Mark all of the actor's notices up to a cursor as read; returns how many."""
    return up_to(Notice.objects.visible_to(actor).unread(), through).update(read_at=timezone.now())
