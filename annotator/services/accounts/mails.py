"""Mails about an account, such as a link that confirms an address: sent in the background, by a worker if necessary."""

import logging
from typing import Any

from celery import shared_task
from django.core.mail import EmailMessage
from django.db import connections

from annotator.services.accounts.password_mails import MAIL_AGAIN, MAIL_TRIES, MAILING, refused_for_good

_LOG = logging.getLogger(__name__)


def send_aside(mail: EmailMessage) -> None:
    """Send the mail in the background, so that no request waits for the mail server."""
    MAILING.submit(_send_aside, str(mail.subject), str(mail.body), list(mail.to))


def _try(subject: str, body: str, to: list[str]) -> OSError | None:
    """Send a mail; return the error if another attempt may help. A final refusal is logged here."""
    try:
        EmailMessage(subject, body, to=to).send()
    except OSError as error:
        if not refused_for_good(error):
            return error
        _LOG.error("A mail about an account was permanently refused: %s", error)
    return None


@shared_task(name="annotator.tasks.mail_again", bind=True, max_retries=MAIL_TRIES)  # type: ignore[untyped-decorator]
def mail_again(self: Any, subject: str, body: str, to: list[str]) -> None:
    """Resend a mail that the mail server did not take."""
    error = _try(subject, body, to)
    if error is None:
        return
    if self.request.retries == MAIL_TRIES:
        _LOG.error("Gave up on a mail about an account after a day: %s", error)
        return
    raise self.retry(countdown=MAIL_AGAIN)


def _send_aside(subject: str, body: str, to: list[str]) -> None:
    try:
        if error := _try(subject, body, to):
            _LOG.warning("A mail about an account waits for the mail server: %s", error)
            mail_again.apply_async((subject, body, to), countdown=MAIL_AGAIN, retry=False)
    except Exception as error:
        _LOG.error("A mail about an account is lost: %s", error)
    finally:
        # The connections of this thread.
        connections.close_all()
