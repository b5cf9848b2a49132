"""What a person hears of by mail."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotator.errors import Conflict, Invalid
from annotator.models import MAILED_BY_DEFAULT, NoticeKind, NoticeSettings, User
from annotator.services.projects import time_zones


def settings_of(person: User) -> NoticeSettings:
    """What the person has chosen, else what holds for everybody; unsaved where nothing was chosen."""
    found = NoticeSettings.objects.filter(person=person).first()
    return found or NoticeSettings(person=person, daily=[kind.value for kind in MAILED_BY_DEFAULT])


def change_settings(
    *, actor: User, daily: Iterable[str], time_zone: str, seen: dict[str, Any] | None = None
) -> NoticeSettings:
    """Choose which kinds come in the daily mail, and whose morning it is sent in.

    ``seen``: what the page showed, ``daily`` and ``time_zone``; what another window has changed since stays. Raises
    Invalid, and Conflict where both chose a time zone; its ``daily`` are the kinds with what both have changed.
    """
    chosen = set(daily)
    unknown = sorted(kind for kind in chosen if kind not in NoticeKind.values)
    if unknown:
        raise Invalid(f"There is no kind of notice called “{unknown[0]}”.", field="daily")
    if time_zone and time_zone not in time_zones():
        raise Invalid(f"“{time_zone}” is no time zone; write it as in Europe/Kyiv.", field="time_zone")
    with transaction.atomic():
        defaults = {"daily": [kind.value for kind in MAILED_BY_DEFAULT]}
        stored, _ = NoticeSettings.objects.select_for_update().get_or_create(person=actor, defaults=defaults)
        if seen is not None:
            shown = set(seen["daily"])
            chosen = (set(stored.daily) - (shown - chosen)) | (chosen - shown)
            if time_zone == seen["time_zone"]:
                time_zone = stored.time_zone
            elif stored.time_zone not in (seen["time_zone"], time_zone):
                words = stored.time_zone or "that of your first project"
                raise Conflict(
                    f"Another window has chosen a time zone meanwhile: {words}. Nothing is saved yet; save again to "
                    "put yours in its place.",
                    field="time_zone",
                    daily=sorted(chosen),
                )
        stored.daily, stored.time_zone, stored.updated_at = sorted(chosen), time_zone, timezone.now()
        stored.save(update_fields=["daily", "time_zone", "updated_at"])
    return stored
