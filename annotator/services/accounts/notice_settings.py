"""Which notices a person gets by mail."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Invalid
from annotator.models import MAILED_BY_DEFAULT, NoticeKind, NoticeSettings, User
from annotator.services.projects import time_zones


def settings_of(person: User) -> NoticeSettings:
    """Return the person's settings; unsaved defaults if they have chosen nothing."""
    found = NoticeSettings.objects.filter(person=person).first()
    return found or NoticeSettings(person=person, daily=[kind.value for kind in MAILED_BY_DEFAULT])


def change_settings(
    *, actor: User, daily: Iterable[str], time_zone: str, seen: dict[str, Any] | None = None
) -> NoticeSettings:
    """Choose the kinds in the daily mail and the time zone in which it is sent.

    ``seen``: the ``daily`` and ``time_zone`` that the page showed. Changes from another window since then are kept.
    Raises Invalid, and Conflict if both windows changed the time zone; its ``daily`` are the merged kinds.
    """
    chosen = set(daily)
    unknown = sorted(kind for kind in chosen if kind not in NoticeKind.values)
    if unknown:
        raise Invalid(_("There is no kind of notice “%(kind)s”.") % {"kind": unknown[0]}, field="daily")
    if time_zone and time_zone not in time_zones():
        sentence = _("“%(zone)s” isn’t a time zone. Use a name like Europe/Kyiv.")
        raise Invalid(sentence % {"zone": time_zone}, field="time_zone")
    with transaction.atomic():
        defaults = {"daily": [kind.value for kind in MAILED_BY_DEFAULT]}
        stored, __ = NoticeSettings.objects.select_for_update().get_or_create(person=actor, defaults=defaults)
        if seen is not None:
            shown = set(seen["daily"])
            chosen = (set(stored.daily) - (shown - chosen)) | (chosen - shown)
            if time_zone == seen["time_zone"]:
                time_zone = stored.time_zone
            elif stored.time_zone not in (seen["time_zone"], time_zone):
                sentence = _(
                    "Another window changed the time zone to “%(zone)s”. Nothing was saved. Save again to overwrite it."
                )
                raise Conflict(
                    sentence % {"zone": stored.time_zone or _("Time zone of my first project")},
                    field="time_zone",
                    daily=sorted(chosen),
                )
        stored.daily, stored.time_zone, stored.updated_at = sorted(chosen), time_zone, timezone.now()
        stored.save(update_fields=["daily", "time_zone", "updated_at"])
    return stored
