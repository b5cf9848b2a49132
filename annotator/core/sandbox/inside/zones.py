"""Time zones, read before no file can be read any more."""

import zoneinfo

#: Keeps the zones in memory, because ``ZoneInfo`` itself forgets unused ones.
_ZONES: list[zoneinfo.ZoneInfo] = []


def read_zones() -> None:
    """Read all time zones of the machine, if it has any, so that ``ZoneInfo(name)`` finds them."""
    try:
        _ZONES.extend(zoneinfo.ZoneInfo(name) for name in sorted(zoneinfo.available_timezones()))
    except (OSError, zoneinfo.ZoneInfoNotFoundError, ValueError):
        # Then a tool that asks for one gets Python's own error.
        return
