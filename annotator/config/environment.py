"""Read settings from environment variables. A wrong value stops the start with a message.

Messages do not repeat addresses, because they may contain passwords.
"""

import os
import re
from email.utils import parseaddr
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured
from django.core.mail.backends.base import BaseEmailBackend
from django.utils.module_loading import import_string

from annotator.core.rates import Rate, read_rate

env = environ.Env()

_YES, _NO = ("1", "true", "yes", "y", "on", "ok"), ("0", "false", "no", "n", "off")
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
#: A century. More would be before the first date.
MAX_DAYS = 36_500
#: PostgreSQL counts milliseconds in 31 bits.
MAX_SECONDS = 2_000_000


def text(name: str, *, default: str = "") -> str:
    """Return the value without surrounding spaces, or the content of the file that ``NAME_FILE`` names.

    A blank value counts as not set. The variable itself goes before its file.
    """
    said = env.str(name, default="").strip()
    return said or (file_content(f"{name}_FILE") if os.environ.get(f"{name}_FILE", "").strip() else default)


def boolean(name: str, *, default: bool) -> bool:
    """Read yes or no. Refuses anything else, because a wrong guess could be unsafe."""
    said = text(name)
    if said.lower() in (*_YES, *_NO) or not said:
        return said.lower() in _YES if said else default
    raise ImproperlyConfigured(f"{name} is “{said}”; it must be 1 (yes) or 0 (no).")


def choice(name: str, choices: tuple[str, ...], *, default: str) -> str:
    """Read one of a few words."""
    said = text(name, default=default)
    if said not in choices:
        raise ImproperlyConfigured(f"{name} is “{said}”; it must be one of {', '.join(choices)}.")
    return said


def integer(name: str, *, default: int, minimum: int = 0, maximum: int = 10**9 - 1) -> int:
    """Read a whole number. Negative ones are refused: in a number of days to keep data, -1 would delete everything."""
    said = text(name, default=str(default))
    if not (said.isascii() and said.isdigit() and len(said) < 10):
        raise ImproperlyConfigured(f"{name} is “{said}”; it must be a whole number, 0 or more.")
    if not minimum <= int(said) <= maximum:
        raise ImproperlyConfigured(f"{name} is {said}; it must be a whole number from {minimum} to {maximum}.")
    return int(said)


def days(name: str, *, default: int) -> int:
    """Read a number of days."""
    return integer(name, default=default, maximum=MAX_DAYS)


def seconds(name: str, *, default: int, minimum: int = 0) -> int:
    """Read a number of seconds."""
    return integer(name, default=default, minimum=minimum, maximum=MAX_SECONDS)


def rate(name: str, *, default: str) -> Rate | None:
    """Read a rate limit such as 100/minute; None: no limit."""
    said = text(name, default=default)
    try:
        return read_rate(said)
    except ValueError:
        raise ImproperlyConfigured(
            f"{name} is “{said}”; it must be a number of requests, as in 100/second, 100/minute or 100/hour, or 0 for "
            "no limit."
        ) from None


def items(name: str, *, default: list[str]) -> list[str]:
    """Read values separated by commas."""
    return [one.strip() for one in text(name).split(",") if one.strip()] or default


def hosts(*, default: list[str]) -> list[str]:
    """Read ALLOWED_HOSTS."""
    found = items("ALLOWED_HOSTS", default=default)
    for one in found:
        if not _is_host(one):
            raise ImproperlyConfigured(
                f"ALLOWED_HOSTS has “{one}”; it must be names like assay.example.org, separated by commas, without "
                "https:// or a port."
            )
    return found


def _is_host(said: str) -> bool:
    """Return whether this can be one name or address, without scheme, port or path. IPv6 has several colons."""
    return "/" not in said and said.count(":") != 1 and len(said.split()) < 2


def origins() -> list[str]:
    """Read CSRF_TRUSTED_ORIGINS."""
    found = items("CSRF_TRUSTED_ORIGINS", default=[])
    for one in found:
        parts = _parts(one)
        if parts is None or one != f"{parts.scheme}://{parts.netloc}" or parts.scheme not in ("https", "http"):
            raise ImproperlyConfigured(
                f"CSRF_TRUSTED_ORIGINS has “{one}”; it must be addresses like https://assay.example.org, separated by "
                "commas, with nothing after the name, not even a slash."
            )
    return found


def folder(name: str, path: Path) -> Path:
    """Create a folder if it is missing, and check that we can write to it. ``name``: the variable that sets it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"Can't create {path} ({error.strerror}). Set {name} to a folder that this user may write to."
        ) from None
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise ImproperlyConfigured(
            f"This user can't write to {path}. Ask its owner to change that, or set {name} to a folder of your own."
        )
    return path


def file_content(name: str) -> str:
    """Return the content of the file that a variable names; blank if the variable is not set."""
    file = env.str(name, default="").strip()
    if not file:
        return ""
    try:
        found = Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ImproperlyConfigured(f"{name} is {file}, which can't be read: {why}.") from None
    if not found:
        raise ImproperlyConfigured(f"{name} is {file}, which is empty.")
    return found


def database(*, sqlite: dict[str, Any] | None) -> dict[str, Any]:
    """Read DATABASE_URL. ``sqlite``: the default database; None if the variable is required."""
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
            f"DATABASE_URL is not valid; it must be {' or '.join(dict.fromkeys(kinds.values()))}. In a password, "
            "write special characters as %2F (slash), %40 (at) and so on."
        )
    found: dict[str, Any] = env.db_url_config(address)
    password = text("DATABASE_PASSWORD")
    return found | {"PASSWORD": password} if password and parts.scheme != "sqlite" else found


_POSTGRESQL, _SQLITE = "postgres://user:password@host:port/name", "sqlite:///path"


def _parts(address: str) -> SplitResult | None:
    """Split an address into its parts. Return None if it is not an address."""
    try:
        parts = urlsplit(address)
        # Raises ValueError if it is not a number.
        _ = parts.port
    except ValueError:
        return None
    return parts if "://" in address else None


def redis(*, required: bool) -> str:
    """Read REDIS_URL, with the password of REDIS_PASSWORD; blank if it is not set."""
    address = text("REDIS_URL")
    if required and not address:
        raise ImproperlyConfigured("Server mode needs Redis: set REDIS_URL to redis://host:port/0.")
    parts = _parts(address)
    # Libraries disagree on a path that is not a number.
    usable = parts and parts.scheme in ("redis", "rediss") and parts.hostname and _DATABASE_PATH.fullmatch(parts.path)
    if address and not usable:
        raise ImproperlyConfigured("REDIS_URL is not valid; it must be redis://host:port/0, or rediss:// for TLS.")
    password = text("REDIS_PASSWORD")
    if parts is None or not password:
        return address
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{parts.username or ''}:{quote(password, safe='')}@{host}").geturl()


_DATABASE_PATH = re.compile(r"/?[0-9]*")


def mail_host(*, default: str) -> str:
    """Read EMAIL_HOST."""
    said = text("EMAIL_HOST", default=default)
    if not _is_host(said):
        raise ImproperlyConfigured(
            f"EMAIL_HOST is “{said}”; it must be a name like mail.example.org. Set the port with EMAIL_PORT."
        )
    return said


def mail_backend(*, default: str) -> str:
    """Read EMAIL_BACKEND, the class that sends mail."""
    name = text("EMAIL_BACKEND", default=default)
    try:
        found = import_string(name)
    except ImportError:
        found = None
    if not (isinstance(found, type) and issubclass(found, BaseEmailBackend)):
        raise ImproperlyConfigured(
            f"EMAIL_BACKEND is “{name}”, which does not exist. To send through a mail server, use "
            "django.core.mail.backends.smtp.EmailBackend."
        )
    return name


def mail_address(name: str, *, default: str) -> str:
    """Read the sender of mails."""
    said = text(name, default=default)
    if "@" not in parseaddr(said)[1].strip("@"):
        raise ImproperlyConfigured(f"{name} is “{said}”; it must be an address like Assay <assay@example.org>.")
    return said


def level(name: str, *, default: str) -> str:
    """Read a log level."""
    said = text(name, default=default).upper()
    if said not in _LEVELS:
        raise ImproperlyConfigured(f"{name} is “{said}”; it must be one of {', '.join(_LEVELS)}.")
    return said
