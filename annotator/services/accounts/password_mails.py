"""Mails with a link to a new password: sent beside the answer, and again by a worker while the mail server is away."""

import logging
import smtplib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from allauth.account.internal.flows.password_reset import request_password_reset
from allauth.account.internal.userkit import filter_users_by_email
from celery import shared_task
from django.db import connections

_LOG = logging.getLogger(__name__)
#: Replies of a mail server from here on are final.
_FOR_GOOD = 500
#: Seconds between two tries to send a mail about a password, and how often: for a day, as long as somebody may want it.
MAIL_AGAIN, MAIL_TRIES = 300, 288

#: What is sent aside goes out one by one; how often somebody may ask for it is limited.
MAILING = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mail")


def mail_aside(email: str) -> None:
    """Send that mail beside the answer: a slow mail server would delay the answer only where there is an account."""
    MAILING.submit(_mail_aside, email)


def send_new_password(email: str) -> None:
    """Mail whoever has that address a link to a new password, made now. Raises OSError if no mail server takes it."""
    people = filter_users_by_email(email, is_active=True, prefer_verified=True, for_login=True)
    request_password_reset(None, email, people, None)


def try_new_password(email: str) -> OSError | None:
    """``send_new_password``; returns the error if it is worth another try. A final refusal is logged here."""
    try:
        send_new_password(email)
    except OSError as error:
        if not _refused_for_good(error):
            return error
        _LOG.error("A mail about a password was refused for good: %s", error)
    return None


def _refused_for_good(error: OSError) -> bool:
    """Whether a mail server that was there said that it will never take this mail (RFC 5321: 5xx).

    That it refuses the sender is for the operator to mend, so that the mail may go out later.
    """
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return all(code >= _FOR_GOOD for code, _ in error.recipients.values())
    return isinstance(error, smtplib.SMTPDataError) and error.smtp_code >= _FOR_GOOD


@shared_task(name="annotator.tasks.mail_new_password", bind=True, max_retries=MAIL_TRIES)  # type: ignore[untyped-decorator]
def mail_new_password(self: Any, email: str) -> None:
    """Mail what the mail server did not take. Only the address waits; the link is made when it is sent."""
    error = try_new_password(email)
    if error is None:
        return
    if self.request.retries == MAIL_TRIES:
        _LOG.error("A mail about a password was given up after a day: %s", error)
        return
    raise self.retry(countdown=MAIL_AGAIN)


def _mail_later(email: str) -> None:
    """Have a worker try again."""
    try:
        mail_new_password.apply_async((email,), countdown=MAIL_AGAIN, retry=False)
    except Exception as error:
        _LOG.error("A mail about a password is lost, because no broker took the message for it: %s", error)


def _mail_aside(email: str) -> None:
    try:
        if error := try_new_password(email):
            _LOG.warning("A mail about a password waits for the mail server: %s", error)
            _mail_later(email)
    except Exception:
        _LOG.exception("A mail about a password could not be made.")
    finally:
        # This thread's own.
        connections.close_all()
