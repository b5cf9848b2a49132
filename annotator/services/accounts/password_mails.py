"""Mails with a link to a new password: sent in the background, and again by a worker while the mail server is away."""

import logging
import smtplib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from allauth.account.internal.flows.password_reset import request_password_reset
from allauth.account.internal.userkit import filter_users_by_email
from celery import shared_task
from django.db import connections

_LOG = logging.getLogger(__name__)
#: A mail server's replies from this code on are final.
_FOR_GOOD = 500
#: Seconds between attempts to send a mail about a password, and how many: for a day.
MAIL_AGAIN, MAIL_TRIES = 300, 288

#: One mail at a time; requests for mails are limited.
MAILING = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mail")


def mail_aside(email: str) -> None:
    """Send the mail in the background, so that the response time does not reveal whether there is an account."""
    MAILING.submit(_mail_aside, email)


def send_new_password(email: str) -> None:
    """Mail a new password link to the people with that address. Raises OSError if no mail server takes it."""
    people = filter_users_by_email(email, is_active=True, prefer_verified=True, for_login=True)
    request_password_reset(None, email, people, None)


def try_new_password(email: str) -> OSError | None:
    """Call ``send_new_password``; return the error if another attempt may help. A final refusal is logged here."""
    try:
        send_new_password(email)
    except OSError as error:
        if not refused_for_good(error):
            return error
        _LOG.error("A password mail was permanently refused: %s", error)
    return None


def refused_for_good(error: OSError) -> bool:
    """Return whether a mail server said that it will never take this mail (RFC 5321: 5xx).

    A refused sender is not final: the operator can fix it, and the mail goes out later.
    """
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return all(code >= _FOR_GOOD for code, _ in error.recipients.values())
    return isinstance(error, smtplib.SMTPDataError) and error.smtp_code >= _FOR_GOOD


@shared_task(name="annotator.tasks.mail_new_password", bind=True, max_retries=MAIL_TRIES)  # type: ignore[untyped-decorator]
def mail_new_password(self: Any, email: str) -> None:
    """Resend a mail that the mail server did not take. The link is made when the mail is sent."""
    error = try_new_password(email)
    if error is None:
        return
    if self.request.retries == MAIL_TRIES:
        _LOG.error("Gave up on a password mail after a day: %s", error)
        return
    raise self.retry(countdown=MAIL_AGAIN)


def _mail_later(email: str) -> None:
    """Let a worker try again."""
    try:
        mail_new_password.apply_async((email,), countdown=MAIL_AGAIN, retry=False)
    except Exception as error:
        _LOG.error("A password mail is lost because the broker did not accept its message: %s", error)


def _mail_aside(email: str) -> None:
    try:
        if error := try_new_password(email):
            _LOG.warning("A password mail waits for the mail server: %s", error)
            _mail_later(email)
    except Exception:
        _LOG.exception("A password mail could not be created.")
    finally:
        # The connections of this thread.
        connections.close_all()
