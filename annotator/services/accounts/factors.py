"""Second factors: authenticator apps, passkeys and recovery codes (django-allauth), and who needs one."""

from io import BytesIO
from typing import Any

import qrcode
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_removed
from allauth.mfa.totp.internal.auth import SECRET_SESSION_KEY
from django.conf import settings
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from qrcode.image.svg import SvgPathImage

from annotator.errors import Hidden
from annotator.models import Membership, User
from annotator.services.access.operators import is_operator
from annotator.services.accounts.sessions import end_all_sessions
from annotator.services.outgoing.encryption import decrypt, encrypt

_PURPOSE = b"annotator.second_factor"
#: The session's key of what is known about the second factor: until when (Unix seconds) none is asked for.
SESSION_KEY = "second_factor"
#: Seconds until the roles of a person without a second factor are looked up again.
LOOKED_UP_AGAIN = 60
#: Seconds until it is looked up again whether a person still has one.
KNOWN_FOR = 3600
#: In the year 5138, after every session.
AS_LONG_AS_THE_SESSION = 10**11
#: Types that count as a second factor; recovery codes only replace a lost one.
FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)


class FactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """allauth's, with secrets encrypted in the database, and required factors that can't be removed."""

    def encrypt(self, text: str) -> str:
        return encrypt(text, purpose=_PURPOSE)

    def decrypt(self, encrypted_text: str) -> str:
        return decrypt(encrypted_text, purpose=_PURPOSE)

    def build_totp_svg(self, url: str) -> str:
        """Return nothing: the page shows the image of ``app_code``, since images from data: are forbidden."""
        return ""

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        """Return whether another factor is left, or none is required."""
        others = Authenticator.objects.filter(user_id=authenticator.user_id, type__in=FACTORS)
        if authenticator.type not in FACTORS or others.exclude(pk=authenticator.pk).exists():
            return True
        return not required_for(authenticator.user)

    def generate_authenticator_name(self, user: User, type: Authenticator.Type) -> str:
        number = Authenticator.objects.filter(user_id=user.pk, type=type).count() + 1
        return _("Passkey %(number)d") % {"number": number}


def app_code(request: HttpRequest) -> bytes:
    """Return the code that an authenticator app scans, as SVG. Raises Hidden if the person is not setting up an app."""
    secret = request.session.get(SECRET_SESSION_KEY)
    if not secret:
        raise Hidden(_("You aren’t setting up an app."))
    out = BytesIO()
    address = FactorAdapter().build_totp_url(request.user, secret)
    qrcode.make(address, image_factory=SvgPathImage, border=2).save(out)
    return out.getvalue()


def required_for(person: User) -> bool:
    """Return whether one of the person's roles needs a second factor (setting REQUIRE_SECOND_FACTOR)."""
    roles = settings.REQUIRE_SECOND_FACTOR
    if not roles:
        return False
    if "operator" in roles and is_operator(person):
        return True
    return Membership.objects.live().filter(user=person, role__in=roles).exists()


def has_second_factor(person: User) -> bool:
    """Return whether the person has an authenticator app or a passkey."""
    return bool(Authenticator.objects.filter(user_id=person.pk, type__in=FACTORS).exists())


def must_add_second_factor(request: HttpRequest, person: User) -> bool:
    """Return whether the person needs a second factor, has none, and may do nothing else until they add one.

    The session remembers a no: for an hour if they have one, otherwise for a minute.
    """
    if not settings.REQUIRE_SECOND_FACTOR:
        return False
    now = timezone.now().timestamp()
    if request.session.get(SESSION_KEY, 0) > now:
        return False
    if has_second_factor(person):
        request.session[SESSION_KEY] = now + KNOWN_FOR
        return False
    if required_for(person):
        return True
    request.session[SESSION_KEY] = now + LOOKED_UP_AGAIN
    return False


def accept_factor_of_provider(request: HttpRequest) -> None:
    """Remember that an identity provider has asked for a second factor."""
    request.session[SESSION_KEY] = AS_LONG_AS_THE_SESSION


@receiver([authenticator_added, authenticator_removed])
def _forget(request: HttpRequest, user: User, **_more: Any) -> None:
    """Look it up again; without the last factor, the other sessions, which remember that there was one, end."""
    request.session.pop(SESSION_KEY, None)
    if not has_second_factor(user):
        end_all_sessions(user, but=request.session.session_key)
