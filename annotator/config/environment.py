"""What operators set in the environment, read so that a mistake is a sentence at the start, and none is guessed at.

No sentence repeats an address that may hold a password.
"""

import os
import re
from email.utils import parseaddr
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured
from django.core.mail.backends.base import BaseEmailBackend
from django.utils.module_loading import import_string

env = environ.Env()

_YES, _NO = ("1", "true", "yes", "y", "on", "ok"), ("0", "false", "no", "n", "off")
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
#: A century: what is older than that is older than any date.
MAX_DAYS = 36_500
#: PostgreSQL counts milliseconds in 31 bits.
MAX_SECONDS = 2_000_000


def text(name: str, *, default: str = "") -> str:
    """A text without the blanks around it; a blank one counts as not set."""
    return env.str(name, default="").strip() or default


def yes_no(name: str, *, default: bool) -> bool:
    """Whether something is wanted. Neither yes nor no is refused: taken as no, it could open what was closed."""
    said = text(name)
    if said.lower() in (*_YES, *_NO) or not said:
        return said.lower() in _YES if said else default
    raise ImproperlyConfigured(f"{name} is “{said}”; it must be 1 (yes) or 0 (no).")


def whole(name: str, *, default: int, least: int = 0, most: int = 10**9 - 1) -> int:
    """A whole number, never less than 0: of days to keep something, -1 would mean all that will ever be."""
    said = text(name, default=str(default))
    if not (said.isascii() and said.isdigit() and len(said) < 10):
        raise ImproperlyConfigured(f"{name} is “{said}”; it must be a whole number, 0 or more.")
    if not least <= int(said) <= most:
        raise ImproperlyConfigured(f"{name} is {said}; it must be a whole number from {least} to {most}.")
    return int(said)


def days(name: str, *, default: int) -> int:
    """How many days something is kept."""
    return whole(name, default=default, most=MAX_DAYS)


def seconds(name: str, *, default: int, least: int = 0) -> int:
    """How long something may take."""
    return whole(name, default=default, least=least, most=MAX_SECONDS)


def names(name: str, *, default: list[str]) -> list[str]:
    """Texts separated by commas."""
    return [one.strip() for one in text(name).split(",") if one.strip()] or default


def hosts(*, default: list[str]) -> list[str]:
    """Names the server answers to."""
    found = names("ALLOWED_HOSTS", default=default)
    for one in found:
        if not _is_host(one):
            raise ImproperlyConfigured(
                f"ALLOWED_HOSTS has “{one}”; it must be names like assay.example.org, separated by commas, without "
                "https:// or a port."
            )
    return found


def _is_host(said: str) -> bool:
    """Whether it can be one name or address (IPv6 has more colons than one), without scheme, port or path."""
    return "/" not in said and said.count(":") != 1 and len(said.split()) < 2


def origins() -> list[str]:
    """Addresses that forms may come from."""
    found = names("CSRF_TRUSTED_ORIGINS", default=[])
    for one in found:
        parts = _parts(one)
        if parts is None or one != f"{parts.scheme}://{parts.netloc}" or parts.scheme not in ("https", "http"):
            raise ImproperlyConfigured(
                f"CSRF_TRUSTED_ORIGINS has “{one}”; it must be addresses like https://assay.example.org, separated by "
                "commas, with nothing behind the name, not even a slash."
            )
    return found


def folder(name: str, path: Path) -> Path:
    """A folder that is there from now on and that one can write to. ``name``: the variable that says where."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{path} cannot be made ({error.strerror}): set {name} to a folder that this user may write to."
        ) from None
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise ImproperlyConfigured(
            f"{path} is closed to this user: have its owner give it away, or set {name} to a folder of your own."
        )
    return path


def content(name: str) -> str:
    """What is in the file that a variable names; blank where it names none."""
    file = text(name)
    if not file:
        return ""
    try:
        found = Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ImproperlyConfigured(f"{name} names {file}, which cannot be read: {why}.") from None
    if not found:
        raise ImproperlyConfigured(f"{name} names {file}, which is empty.")
    return found


def database(*, sqlite: dict[str, Any] | None) -> dict[str, Any]:
    """The database. ``sqlite``: what is taken where none is named; None where one has to be."""
    address = text("DATABASE_URL")
    if not address:
        if sqlite is None:
            raise ImproperlyConfigured(
                "Server mode needs PostgreSQL: set DATABASE_URL to postgres://user:password@host:port/name."
            )
        return sqlite
    parts = _parts(address)
    kinds = {"postgres": _POSTGRESQL, "postgresql": _POSTGRESQL} | ({"sqlite": _SQLITE} if sqlite is not None else {})
    if parts is None or parts.scheme not in kinds or not parts.path.strip("/"):
        raise ImproperlyConfigured(
            f"DATABASE_URL cannot be read; it must be {' or '.join(dict.fromkeys(kinds.values()))}. In a password, "
            "characters that mean something in an address are written as %2F, %40 and the like."
        )
    found: dict[str, Any] = env.db_url_config(address)
    return found


_POSTGRESQL, _SQLITE = "postgres://user:password@host:port/name", "sqlite:///path"


def _parts(address: str) -> SplitResult | None:
    """An address in its parts; None for what is none."""
    try:
        parts = urlsplit(address)
        # Whether that is a number is only found out by asking.
        _ = parts.port
    except ValueError:
        return None
    return parts if "://" in address else None


def redis(*, required: bool) -> str:
    """The address of Redis; blank where there is none."""
    address = text("REDIS_URL")
    if required and not address:
        raise ImproperlyConfigured("Server mode needs Redis: set REDIS_URL to redis://host:port/0.")
    parts = _parts(address)
    # Some libraries read a path that is no number as 0, others refuse it.
    usable = parts and parts.scheme in ("redis", "rediss") and parts.hostname and _DATABASE_PATH.fullmatch(parts.path)
    if address and not usable:
        raise ImproperlyConfigured("REDIS_URL cannot be read; it must be redis://host:port/0, or rediss:// for TLS.")
    return address


_DATABASE_PATH = re.compile(r"/?[0-9]*")


def mail_host(*, default: str) -> str:
    """The name of the mail server."""
    said = text("EMAIL_HOST", default=default)
    if not _is_host(said):
        raise ImproperlyConfigured(
            f"EMAIL_HOST is “{said}”; it must be a name like mail.example.org alone. EMAIL_PORT sets the port."
        )
    return said


def mail_backend(*, default: str) -> str:
    """The class that sends mail."""
    name = text("EMAIL_BACKEND", default=default)
    try:
        found = import_string(name)
    except ImportError:
        found = None
    if not (isinstance(found, type) and issubclass(found, BaseEmailBackend)):
        raise ImproperlyConfigured(
            f"EMAIL_BACKEND is “{name}”, which there is not; django.core.mail.backends.smtp.EmailBackend sends through "
            "a mail server."
        )
    return name


def mail_address(name: str, *, default: str) -> str:
    """Who mail comes from."""
    said = text(name, default=default)
    if "@" not in parseaddr(said)[1].strip("@"):
        raise ImproperlyConfigured(f"{name} is “{said}”; it must be an address like Assay <assay@example.org>.")
    return said


def level(name: str, *, default: str) -> str:
    """What is worth a line in the log."""
    said = text(name, default=default).upper()
    if said not in _LEVELS:
        raise ImproperlyConfigured(f"{name} is “{said}”; it must be one of {', '.join(_LEVELS)}.")
    return said
