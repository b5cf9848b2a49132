"""Names of browsers, for people who look at where they are signed in."""

from functools import lru_cache

from django.utils.translation import gettext as _


def device_name(user_agent: str) -> str:
    """Return browser and system in words, such as “Firefox 140 on Linux”."""
    browser, system = _parts(user_agent[:300])
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or system or _("Unknown browser")


@lru_cache(maxsize=256)
def _parts(user_agent: str) -> tuple[str, str]:
    # Its expressions take a second to read and some megabytes, which most processes never need.
    from ua_parser import parse

    found = parse(user_agent)
    browser = found.user_agent
    name = f"{browser.family} {browser.major or ''}".strip() if browser else ""
    return name, found.os.family if found.os else ""
