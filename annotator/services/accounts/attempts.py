"""Limits on guessing: sign-in, requests for a new password, and the old password when changing it.

Attempts are counted by name *and* address in the database, so nobody can lock a name or an address for others. After
``FREE`` attempts, each further one waits twice as long as the one before. An attempt is counted before it is checked,
so parallel attempts all count.
"""

import hashlib
import math
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from annotator.models import AttemptCount

FREE = 5
MAX_WAIT = timedelta(minutes=15)
FORGOTTEN = timedelta(days=1)

#: Passwords that one process checks in parallel: for one name, from browsers where that person has signed in before;
#: from other browsers, for one address and in total. Each takes a thread and half a second of computing.
OF_ONE_NAME, OF_ONE_ADDRESS, OF_STRANGERS = 2, 1, 2


def count_attempt(*, what: str, name: str, address: str) -> int:
    """Count an attempt at ``what``. Returns 0, or the seconds to wait; this attempt is then not checked."""
    now = timezone.now()
    with transaction.atomic():
        # One step: a successful attempt may remove the row at this moment.
        row, _ = AttemptCount.objects.select_for_update().get_or_create(
            key=_key(what, name, address), defaults={"last_at": now, "free_at": now}
        )
        # A later time comes from a clock that was ahead.
        if now < row.free_at <= now + MAX_WAIT:
            return math.ceil((row.free_at - now).total_seconds())
        row.count = 1 if now - row.last_at > FORGOTTEN else row.count + 1
        row.last_at = now
        if row.count >= FREE:
            row.free_at = now + min(MAX_WAIT, timedelta(seconds=2 ** min(row.count - FREE, 30)))
        row.save()
    return 0


def forget_attempts(*, what: str, name: str, address: str) -> None:
    """Restart counting after a successful attempt."""
    AttemptCount.objects.filter(key=_key(what, name, address)).delete()


def forget_old_attempts() -> int:
    """Remove rows without effect; returns how many."""
    return AttemptCount.objects.filter(last_at__lt=timezone.now() - FORGOTTEN).delete()[0]


def _key(what: str, name: str, address: str) -> str:
    return hashlib.sha256("\0".join((what, name.strip().casefold(), address)).encode()).hexdigest()
