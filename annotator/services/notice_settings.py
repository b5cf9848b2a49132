"""What a person hears of by mail."""

from collections.abc import Iterable
from typing import Any

from django.utils import timezone

from annotator.errors import Invalid
from annotator.models import MAILED_BY_DEFAULT, NoticeKind, NoticeSettings, User
from annotator.services.projects import time_zones


def settings_of(person: User) -> NoticeSettings:
    """What the person has chosen, else what holds for everybody; unsaved where nothing was chosen."""
    found = NoticeSettings.objects.filter(person=person).first()
    return found or NoticeSettings(person=person, daily=[kind.value for kind in MAILED_BY_DEFAULT])


def change_settings(*, actor: User, daily: Iterable[str], time_zone: str) -> NoticeSettings:
    """Choose which kinds come in the daily mail, and whose morning it is sent in. Raises Invalid."""
    chosen = sorted(set(daily))
    unknown = [kind for kind in chosen if kind not in NoticeKind.values]
    if unknown:
        raise Invalid(f"There is no kind of notice called “{unknown[0]}”.", field="daily")
    if time_zone and time_zone not in time_zones():
        raise Invalid(f"“{time_zone}” is no time zone; write it as in Europe/Kyiv.", field="time_zone")
    values: dict[str, Any] = {"daily": chosen, "time_zone": time_zone, "updated_at": timezone.now()}
    settings, _ = NoticeSettings.objects.update_or_create(person=actor, defaults=values)
    return settings
