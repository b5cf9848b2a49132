"""Notices: written by whichever transition somebody should hear of, in its own transaction; read, and marked as read.

What a notice says is settled when it is written, so a transition only tells what each person may know at that moment:
nothing of a blind stage before it has settled.
"""

from collections.abc import Callable, Iterable, Sequence

from django.utils import timezone

from annotator.errors import Hidden
from annotator.models import Dialogue, Event, Membership, Notice, NoticeKind, Project, Role, User
from annotator.services.access.blindness import blind_to
from annotator.services.database.keyset import KeyPage, read_page, up_to

PAGE = 50
_COMMENTS = (NoticeKind.MENTION, NoticeKind.REPLY, NoticeKind.COMMENT)
#: More than this is shown as “99+”: nobody counts further, so neither does the database.
MAX_COUNTED = 99


def notify(
    *,
    actor: User | None,
    project: Project,
    people: Iterable[int | None],
    kind: NoticeKind,
    text: str,
    target: str,
    dialogue: Dialogue | None = None,
    subject: str = "",
    key: str = "",
) -> list[int]:
    """Tell people (ids; None and the actor are passed over) something, in the caller's transaction; returns whom.

    ``key``: while an unread notice of a person has it, they are not told once more.
    """
    wanted = [one for one in dict.fromkeys(people) if one is not None and (actor is None or one != actor.pk)]
    # In one order everywhere: two transitions that tell the same people wait for each other instead of both.
    rows = [
        Notice(
            person_id=person,
            project=project,
            kind=kind,
            dialogue=dialogue,
            subject=subject,
            key=key,
            text=_short(text),
            target=target[:300],
        )
        for person in sorted(wanted)
    ]
    if rows:
        Notice.objects.bulk_create(rows, ignore_conflicts=bool(key))
    return wanted


def members_with(project: Project, role: Role) -> list[int]:
    """Ids of the people who hold a role in the project now."""
    held = Membership.objects.active().filter(project=project, role=role)
    return list(held.order_by("user_id").values_list("user_id", flat=True).distinct())


# --- what administrators hear of, whoever writes the event -----------------------------------------------------------


def _alarm(event: Event) -> str:
    stage, rate = event.after.get("title") or event.after.get("stage", "a stage"), event.after.get("rate")
    share = f" ({100 * rate:.0f} %)" if isinstance(rate, int | float) else ""
    return f"Reviewers of {stage} differ more often than the protocol’s limit allows{share}."


def _stratum(event: Event) -> str:
    count = event.after.get("sent_back", event.after.get("items", event.after.get("dialogues")))
    many = f"{count} dialogues go" if isinstance(count, int) and count != 1 else "Work goes"
    return f"{many} back to review: the random sample found too many errors in one person’s stratum."


#: Kind of event → what administrators are told. An alarm that nobody has read yet is not raised twice.
_TOLD: dict[str, Callable[[Event], str]] = {
    "protocol.discrepancy_alarm": _alarm,
    "stratum.sent_back": _stratum,
}


def notify_of_events(events: Iterable[Event]) -> None:
    """Tell administrators of the events that concern them. Called by whoever writes events, in their transaction."""
    for event in events:
        words = _TOLD.get(event.kind)
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
    """How many notices wait, up to ``MAX_COUNTED`` + 1: one look at an index of unread ones alone."""
    return Notice.objects.visible_to(user).unread()[: MAX_COUNTED + 1].count()


def list_notices(
    *, actor: User, unread: bool = False, kind: str = "", before: str | None = None, after: str | None = None
) -> KeyPage[Notice]:
    """The actor's notices, newest first, by key."""
    rows = Notice.objects.visible_to(actor).select_related("project", "dialogue").defer("dialogue__search_text")
    if unread:
        rows = rows.unread()
    if kind:
        rows = rows.filter(kind=kind)
    page = read_page(rows, before=before, after=after, size=PAGE, newest_first=True)
    veil_comments(page.rows, actor=actor)
    return page


def veil_comments(notices: Sequence[Notice], *, actor: User) -> None:
    """Say neither who commented on a dialogue nor what, where the actor must not know its authors now. Never saved."""
    said = [row for row in notices if row.kind in _COMMENTS and row.dialogue_id is not None]
    blind = blind_to(actor=actor, dialogues=[row.dialogue_id for row in said if row.dialogue_id is not None])
    for row in said:
        if row.dialogue_id in blind and row.dialogue is not None:
            row.text = f"A colleague comments on {row.dialogue.external_id}."


def unread_notices(*, actor: User, limit: int) -> list[Notice]:
    """The actor's newest notices that they have not read."""
    rows = Notice.objects.visible_to(actor).unread().select_related("project", "dialogue")
    newest = list(rows.defer("dialogue__search_text").order_by("-created_at", "-public_id")[:limit])
    veil_comments(newest, actor=actor)
    return newest


def mark_read(*, actor: User, public_id: str) -> Notice:
    """Mark a notice of one's own as read; one that is read already stays as it is. Raises Hidden."""
    notice = Notice.objects.visible_to(actor).filter(public_id=public_id).first()
    if notice is None:
        raise Hidden("There is no such notice for you.")
    if notice.read_at is None:
        notice.read_at = timezone.now()
        notice.save(update_fields=["read_at"])
    return notice


def mark_all_read(*, actor: User, through: str | None = None) -> int:
    """Mark all of one's notices as read (up to a cursor: what came since stays new); returns how many there were."""
    return up_to(Notice.objects.visible_to(actor).unread(), through).update(read_at=timezone.now())


def _short(text: str) -> str:
    # An error's sentence may quote anything, what no database stores included.
    text = " ".join(text.replace("\x00", "�").split())
    return text if len(text) <= 500 else f"{text[:499]}…"
