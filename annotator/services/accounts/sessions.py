"""Where a person is signed in: sessions are listed, ended by people, and end by themselves."""

from datetime import datetime, timedelta

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.models import Session
from django.db import transaction
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.errors import Hidden
from annotator.models import User
from annotator.services.client_address import stored_address
from annotator.services.jobs.retention import retention
from annotator.services.security_log import log_security

#: Keys of a session: when the person signed in, and when they last did something (Unix seconds).
BEGAN, SEEN = "began", "seen"
#: How often the last use is written.
USE_RESOLUTION = timedelta(minutes=5)
_AGENT = UserSession._meta.get_field("user_agent").max_length
#: Digits of the number of a session.
MAX_DIGITS = 18
#: Sessions that a page shows.
LISTED = 100


def list_sessions(person: User) -> list[UserSession]:
    """Return the person's live sessions, the one used last first."""
    live = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    found = UserSession.objects.filter(user=person, session_key__in=live)
    return list(found.order_by("-last_seen_at", "-pk")[:LISTED])


def end_session(*, actor: User, request: HttpRequest, key: str) -> bool:
    """End one of the actor's sessions; return whether it is the one of this request, which the caller ends.

    Raises Hidden if it is none, or has ended.
    """
    with transaction.atomic():
        number = int(key) if key.isascii() and key.isdigit() and len(key) < MAX_DIGITS else 0
        session = UserSession.objects.select_for_update().filter(user=actor, pk=number).first()
        if session is None:
            raise Hidden(_("This session has ended already."))
        if session.session_key == request.session.session_key:
            return True
        _end([session])
        log_security("session_ended", person=actor, actor=actor, request=request, sessions=1)
    return False


def end_other_sessions(*, actor: User, request: HttpRequest) -> int:
    """End all of the actor's sessions but this one. Returns how many."""
    with transaction.atomic():
        others = UserSession.objects.select_for_update().filter(user=actor)
        sessions = list(others.exclude(session_key=request.session.session_key))
        _end(sessions)
        if sessions:
            log_security("session_ended", person=actor, actor=actor, request=request, sessions=len(sessions))
    return len(sessions)


def end_all_sessions(person: User, *, but: str | None = None) -> int:
    """End a person's sessions, except the one with the key ``but``. Returns how many."""
    with transaction.atomic():
        sessions = list(UserSession.objects.select_for_update().filter(user=person).exclude(session_key=but or ""))
        _end(sessions)
    return len(sessions)


def _end(sessions: list[UserSession]) -> None:
    Session.objects.filter(session_key__in=[one.session_key for one in sessions]).delete()
    UserSession.objects.filter(pk__in=[one.pk for one in sessions]).delete()


@receiver(user_logged_in)
def begin_session(request: HttpRequest, user: User, **_more: object) -> None:
    """Note the session of a person who has signed in."""
    now = timezone.now().timestamp()
    request.session[BEGAN] = request.session[SEEN] = now
    _write(request, user)


def has_timed_out(request: HttpRequest, *, now: datetime | None = None) -> bool:
    """Return whether the session is too old, or was not used for too long."""
    moment = (now or timezone.now()).timestamp()
    session, idle, most = request.session, settings.SESSION_IDLE_MINUTES * 60, settings.SESSION_MAX_HOURS * 3600
    if idle and moment - session.get(SEEN, moment) > idle:
        return True
    return bool(most and moment - session.get(BEGAN, moment) > most)


def note_use(request: HttpRequest) -> None:
    """Write that the session is used, unless that was written a short time ago.

    A session from before sessions were noted is noted now.
    """
    now = timezone.now()
    seen = request.session.get(SEEN)
    if seen is not None and now.timestamp() - seen < USE_RESOLUTION.total_seconds():
        return
    request.session.setdefault(BEGAN, now.timestamp())
    request.session[SEEN] = now.timestamp()
    if isinstance(request.user, User):
        _write(request, request.user)


def _write(request: HttpRequest, user: User) -> None:
    """Write the row of a session."""
    if not request.session.session_key:
        request.session.save()
    values = {
        "user": user,
        "ip": stored_address(request),
        "user_agent": request.headers.get("User-Agent", "")[:_AGENT],
        "last_seen_at": timezone.now(),
    }
    UserSession.objects.update_or_create(session_key=request.session.session_key, defaults=values)


@retention("ended sessions of people")
def _remove_ended(_moment: datetime) -> int:
    gone = UserSession.objects.exclude(session_key__in=Session.objects.values("session_key"))
    return int(gone.delete()[0])
