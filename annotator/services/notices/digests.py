"""The daily mail: at most one for each person and day, with the unread notices that no earlier mail contained.

It takes two steps, so that a killed worker loses and repeats nothing. First, one transaction creates the mail's row
(one for each person and day, by constraint) and assigns its notices, so that no notice is in two mails. Then a worker
takes the row by compare-and-swap, sends the mail and marks the row. A row that was taken but not marked is taken again
after ``LEASE``, then after twice as long, and so on. If a worker dies between sending and marking, or the database
can't store the mark, the mail goes out again with the same Message-ID, which mail programs recognise.

While the mail server is away, no mail is tried and no attempt is counted; workers wait for it once a round.
"""

import logging
import smtplib
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from time import monotonic

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import Exists, F, OuterRef
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import ngettext, override

from annotator.models import MAILED_BY_DEFAULT, Digest, Notice, NoticeSettings, User
from annotator.services.notices.notices import veil_comments
from annotator.services.notices.time_zones import zone_of

#: The local hour from which the day's mail is sent.
HOUR = 7
#: Longer than ``EMAIL_TIMEOUT``. The time between attempts grows up to ``MAX_PAUSE``, so the last is after three days.
LEASE = timedelta(minutes=10)
MAX_PAUSE = timedelta(hours=16)
MAX_ATTEMPTS = 12
#: A round stops after this time and leaves the rest to the next one, so a slow server occupies only one worker.
ROUND = timedelta(minutes=5)
#: Notices that one mail shows; the others are counted.
SHOWN = 50

#: The connection is lost, as opposed to one refused mail. (All errors of ``smtplib`` are OSErrors.)
_GONE = (ConnectionError, TimeoutError, smtplib.SMTPServerDisconnected)

_LOG = logging.getLogger(__name__)


def send_due_digests(*, now: datetime | None = None) -> int:
    """Create the mails that are due and send all unsent ones; returns how many were sent."""
    now = now or timezone.now()
    compose_due(now=now)
    # The one tried longest ago comes first, so that failing mails do not delay the others.
    oldest = (F("taken_at").asc(nulls_first=True), "pk")
    waiting = Digest.objects.filter(sent_at=None, attempts__lt=MAX_ATTEMPTS).order_by(*oldest)
    due = [one for one in waiting if one.taken_at is None or not _is_taken(one.taken_at, one.attempts, now)]
    return _send_all(due, now=now) if due else 0


def _is_taken(at: datetime, attempts: int, now: datetime) -> bool:
    # A time far in the future comes from a worker whose clock was ahead.
    return now - _pause(attempts) <= at <= now + LEASE


def _pause(attempts: int) -> timedelta:
    return min(MAX_PAUSE, LEASE * (1 << max(0, attempts - 1)))


def _send_all(due: Sequence[Digest], *, now: datetime) -> int:
    """Send through one connection until it is lost or time is up; returns how many were sent."""
    count, end = 0, monotonic() + ROUND.total_seconds()
    try:
        server = get_connection()
        server.open()
    except Exception as error:
        _LOG.warning("no mail server: %s mails wait: %s", len(due), error)
        return 0
    try:
        for digest in due:
            if monotonic() > end:
                break
            try:
                count += send(digest, server=server, now=now)
            except _GONE as error:
                _LOG.warning("lost the connection to the mail server; the other mails wait: %s", error)
                break
    finally:
        with suppress(Exception):
            server.close()
    return count


def compose_due(*, now: datetime) -> int:
    """Create the day's mail for everybody with unread notices after 7:00 local time; returns how many."""
    waiting = Notice.objects.filter(person=OuterRef("pk"), read_at=None, digest=None)
    people = User.objects.filter(Exists(waiting), is_active=True).exclude(email="").order_by("pk")
    chosen = {row.person_id: row for row in NoticeSettings.objects.filter(person__in=people)}
    count = 0
    for person in people:
        row = chosen.get(person.pk)
        daily = row.daily if row is not None else [kind.value for kind in MAILED_BY_DEFAULT]
        local = now.astimezone(zone_of(person, row))
        if daily and local.hour >= HOUR:
            count += _compose(person, local.date(), daily)
    return count


def _compose(person: User, day: date, daily: list[str]) -> bool:
    if Digest.objects.filter(person=person, day=day).exists():
        return False
    rows = Notice.objects.visible_to(person).unread().filter(digest=None, kind__in=daily)
    try:
        with transaction.atomic():
            if not rows.exists():
                return False
            digest = Digest.objects.create(person=person, day=day)
            rows.update(digest=digest)
    except IntegrityError:
        # Another worker has just created it.
        return False
    return True


def send(digest: Digest, *, server: BaseEmailBackend, now: datetime) -> bool:
    """Send one mail unless it is sent or another worker has taken it; returns whether it was sent.

    Notices that the person has read meanwhile or may no longer see are left out; without notices, no mail is sent.
    Errors of this mail are stored with it; a lost connection is raised.
    """
    taken = Digest.objects.filter(pk=digest.pk, sent_at=None, attempts=digest.attempts)
    if not taken.update(taken_at=now, attempts=F("attempts") + 1):
        return False
    digest = Digest.objects.select_related("person").get(pk=digest.pk)
    rows = Notice.objects.visible_to(digest.person).unread().filter(digest=digest)
    rows = rows.select_related("project", "dialogue").defer("dialogue__search_text")
    notices = list(rows.order_by("project__name", "-pk"))
    veil_comments(notices, actor=digest.person)
    if notices and digest.person.is_active:
        try:
            with override(digest.person.reading_language):
                server.send_messages([_mail(digest, notices)])
        except DatabaseError:
            raise
        except Exception as refusal:
            # The row stays taken until the next attempt is due. The address itself may be invalid.
            error = str(refusal)[:300] or type(refusal).__name__
            Digest.objects.filter(pk=digest.pk).update(error=error)
            _LOG.warning("the daily mail %s could not be sent: %s", digest.public_id, error)
            if isinstance(refusal, _GONE):
                raise
            return False
    Digest.objects.filter(pk=digest.pk).update(sent_at=timezone.now(), error="")
    return bool(notices)


def _mail(digest: Digest, notices: list[Notice]) -> EmailMultiAlternatives:
    count = len(notices)
    context = {
        "person": digest.person,
        "day": digest.day,
        "notices": notices[:SHOWN],
        "more": max(0, count - SHOWN),
        "site": settings.SITE_URL,
    }
    host = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].strip("<> ") or "localhost"
    mail = EmailMultiAlternatives(
        subject=ngettext("Assay: %(count)d new notice", "Assay: %(count)d new notices", count) % {"count": count},
        body=render_to_string("mail/digest.txt", context),
        to=[digest.person.email],
        headers={"Message-ID": f"<digest-{digest.public_id}@{host}>", "Auto-Submitted": "auto-generated"},
    )
    mail.attach_alternative(render_to_string("mail/digest.html", context), "text/html")
    return mail
