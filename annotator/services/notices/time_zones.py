"""The time zone of a person, in which mails are sent and days are counted."""

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from annotator.models import Membership, NoticeSettings, User


def zone_of(person: User, settings: NoticeSettings | None) -> ZoneInfo:
    """Return the person's time zone: the one in their settings, that of their first project, or UTC."""
    name = settings.time_zone if settings is not None else ""
    if not name:
        live = Membership.objects.live().filter(user=person).order_by("pk")
        name = live.values_list("project__time_zone", flat=True).first() or "UTC"
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")
