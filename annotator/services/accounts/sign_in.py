"""What is remembered at sign-in: the browser, and its language."""

from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.core import signing
from django.db.models import Q
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils.translation import get_language_from_request

from annotator.models import User

DEVICE_COOKIE = "known_device"
_DEVICE_SALT = "annotator.known_device"
_DEVICE_DAYS = 365
#: People remembered by one browser: colleagues may share a machine.
_MAX_PEOPLE = 8


def is_known_device(request: HttpRequest, login: str) -> bool:
    """Return whether the person with this name or email has signed in from this browser with the current password."""
    known = dict(_read_device(request))
    named = Q(username__iexact=login) | Q(email__iexact=login)
    people = User.objects.filter(named, public_id__in=known) if known else ()
    return any(_mark(person) == known[person.public_id] for person in people)


def has_signed_in_here(request: HttpRequest, person: User) -> bool:
    """Return whether the person has signed in from this browser before, with whatever password."""
    return person.public_id in dict(_read_device(request))


def remember_device(request: HttpRequest, response: HttpResponse, person: User) -> None:
    """Remember that ``person`` has signed in from this browser."""
    others = [(public_id, mark) for public_id, mark in _read_device(request) if public_id != person.public_id]
    people = [(person.public_id, _mark(person)), *others][:_MAX_PEOPLE]
    response.set_cookie(
        DEVICE_COOKIE,
        signing.dumps(people, salt=_DEVICE_SALT),
        max_age=_DEVICE_DAYS * 86400,
        path="/accounts/",
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


@receiver(user_logged_in)
def remember_language(user: User, request: HttpRequest, **_more: object) -> None:
    """Remember the language of the person's browser, for their mails until they choose a language."""
    language = get_language_from_request(request)
    if user.language != language:
        user.language = language
        user.save(update_fields=["language"])


def _read_device(request: HttpRequest) -> list[tuple[str, str]]:
    try:
        text = request.COOKIES.get(DEVICE_COOKIE, "")
        return [(one, mark) for one, mark in signing.loads(text, salt=_DEVICE_SALT, max_age=_DEVICE_DAYS * 86400)]
    except signing.BadSignature:
        return []


def _mark(person: User) -> str:
    """Return a mark that changes with the password."""
    return person.get_session_auth_hash()[:16]
