"""The daily mail: one a person and day, holding the notices that nobody has read and no earlier mail held.

Two steps, so that a killed worker neither loses nor doubles anything. First, in one transaction, the mail's row is
made (once a person and day, by constraint) and takes its notices: none can get into two mails. Then it is sent: a
worker takes the row by compare-and-swap, hands the mail to the server, marks the row. A row that was taken but not
marked is taken again after ``LEASE``. Should a worker die in the instant between the server's acceptance and the mark,
the mail goes out again with the same Message-ID, by which mail programs know it as the one they have.
"""

import logging
import smtplib
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.template.loader import render_to_string
from django.utils import timezone

from annotator.models import MAILED_BY_DEFAULT, Digest, Membership, Notice, NoticeSettings, User
from annotator.services.notices import veil_remarks

#: The local hour from which the day's mail is sent.
HOUR = 7
#: Longer than any mail server is waited for (``EMAIL_TIMEOUT``).
LEASE = timedelta(minutes=10)
MOST_ATTEMPTS = 12
#: Notices that one mail shows; the others are counted.
SHOWN = 50

_LOG = logging.getLogger(__name__)


def send_due_digests(*, now: datetime | None = None) -> int:
    """Make the mails that are due and send all that are not sent yet; returns how many went out."""
    now = now or timezone.now()
    compose_due(now=now)
    waiting = Digest.objects.filter(sent_at=None, attempts__lt=MOST_ATTEMPTS).order_by("pk")
    return sum(send(digest_id, now=now) for digest_id in list(waiting.values_list("pk", flat=True)))


def compose_due(*, now: datetime) -> int:
    """Make the day's mail for everybody whose day has begun and who has something to read; returns how many."""
    waiting = Notice.objects.filter(person=OuterRef("pk"), read_at=None, digest=None)
    people = User.objects.filter(Exists(waiting), is_active=True).exclude(email="").order_by("pk")
    chosen = {row.person_id: row for row in NoticeSettings.objects.filter(person__in=people)}
    count = 0
    for person in people:
        row = chosen.get(person.pk)
        daily = row.daily if row is not None else [kind.value for kind in MAILED_BY_DEFAULT]
        local = now.astimezone(_zone(person, row))
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
        # Another worker has just made it.
        return False
    return True


def send(digest_id: int, *, now: datetime) -> bool:
    """Send one mail, unless it is sent or somebody else is at it. Whether it went out.

    What the person has read meanwhile, or may not see any more, is left out; if nothing is left, so is the mail.
    """
    free = Q(taken_at=None) | Q(taken_at__lt=now - LEASE)
    taken = Digest.objects.filter(free, pk=digest_id, sent_at=None, attempts__lt=MOST_ATTEMPTS)
    if not taken.update(taken_at=now, attempts=F("attempts") + 1):
        return False
    digest = Digest.objects.select_related("person").get(pk=digest_id)
    rows = Notice.objects.visible_to(digest.person).unread().filter(digest=digest)
    rows = rows.select_related("project", "dialogue").defer("dialogue__search_text")
    notices = list(rows.order_by("project__name", "-pk"))
    veil_remarks(notices, actor=digest.person)
    error = ""
    if notices and digest.person.is_active:
        try:
            _mail(digest, notices).send()
        except (OSError, smtplib.SMTPException) as refusal:
            error = str(refusal)[:300] or type(refusal).__name__
            _LOG.warning("the daily mail %s could not be sent: %s", digest.public_id, error)
    if error:
        # Not freed: the next attempt comes when the lease has run out.
        Digest.objects.filter(pk=digest_id).update(error=error)
        return False
    Digest.objects.filter(pk=digest_id).update(sent_at=timezone.now(), error="")
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
        subject=f"Assay: {count} new notice{'s' if count != 1 else ''}",
        body=render_to_string("mail/digest.txt", context),
        to=[digest.person.email],
        headers={"Message-ID": f"<digest-{digest.public_id}@{host}>", "Auto-Submitted": "auto-generated"},
    )
    mail.attach_alternative(render_to_string("mail/digest.html", context), "text/html")
    return mail


def _zone(person: User, row: NoticeSettings | None) -> ZoneInfo:
    name = row.time_zone if row is not None else ""
    if not name:
        live = Membership.objects.filter(user=person, ended_at=None).order_by("pk")
        name = live.values_list("project__time_zone", flat=True).first() or "UTC"
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")
