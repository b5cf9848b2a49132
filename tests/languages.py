"""A second language of the site, without files from outside."""

import struct
from pathlib import Path
from typing import Any

_HEADER = "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=(n != 1);\n"


def add_german(settings: Any, folder: Path, texts: dict[str, str]) -> None:
    """Add German with these translations; the forms of a plural are separated by NUL."""
    catalog = folder / "de" / "LC_MESSAGES"
    catalog.mkdir(parents=True)
    for domain in ("django", "djangojs"):
        (catalog / f"{domain}.mo").write_bytes(_compiled({"": _HEADER, **texts}))
    settings.LOCALE_PATHS = [folder]
    settings.LANGUAGES = [("en", "English"), ("de", "German")]


def _compiled(texts: dict[str, str]) -> bytes:
    """Return what msgfmt makes of a translation (the format is in the manual of GNU gettext)."""
    encoded = sorted((text.encode(), translated.encode()) for text, translated in texts.items())
    header, table, strings = 28, b"", b""
    start = header + 16 * len(encoded)
    for column in zip(*encoded, strict=True):
        for text in column:
            table += struct.pack("<2I", len(text), start + len(strings))
            strings += text + b"\0"
    return struct.pack("<7I", 0x950412DE, 0, len(encoded), header, header + 8 * len(encoded), 0, 0) + table + strings
