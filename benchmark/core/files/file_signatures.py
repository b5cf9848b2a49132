"""Recognise a file by its first bytes, to report a wrong name."""

from benchmark.core.files.extensions import ARCHIVE
from benchmark.core.files.record_lines import BOM

GZIP = b"\x1f\x8b"
#: The mark of a zstd frame, and those of frames to skip, with which some programs begin.
ZSTD = (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + n]) + b"\x2a\x4d\x18" for n in range(16)))
PARQUET = b"PAR1"
ENCRYPTED_PARQUET = b"PARE"
#: Packing → how its content begins.
PACKED: dict[str, bytes | tuple[bytes, ...]] = {".gz": GZIP, ".zst": ZSTD}
ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")

_MAGIC = (
    (b"%PDF", "a PDF document"),
    (b"\xd0\xcf\x11\xe0", "an old Office document"),
    (b"BZh", "packed with bzip2"),
    (b"\xfd7zXZ\x00", "packed with xz"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"\x7fELF", "a program"),
    (b"ARROW1", "an Arrow file"),
)
_ADVICE = "Export the records as JSON lines (one object per line, UTF-8) or as CSV."


def refuse_content(head: bytes, kind: str, packing: str = "") -> str | None:
    """Return why content beginning with ``head`` cannot be records in text, as a sentence; None if it may be.

    ``kind`` and ``packing``: the ending of the file's name.
    """
    extension = f"{kind}{packing}"
    for other, begin in PACKED.items():
        if head.startswith(begin):
            what = "gzip" if other == ".gz" else "zstd"
            plain = ".jsonl" if kind == ARCHIVE else kind
            return f"The file is compressed with {what}, but its name ends in {extension}. Rename it to {plain}{other}."
    # A table in text may have a column of this name.
    if head.startswith(PARQUET) and not head[4:5].decode("latin-1").isprintable() and not head[4:5].isspace():
        return f"The file is a Parquet file, but its name ends in {extension}. Rename it to .parquet{packing}."
    if head.startswith(ZIP):
        office = _zip_kind(head)
        if office:
            return f"The file is {office}, but its name ends in {extension}. {_ADVICE}"
        return f"The file is a zip archive, but its name ends in {extension}. Rename it to .zip."
    for magic, known in _MAGIC:
        if head.startswith(magic):
            return f"The file is {known}, but its name ends in {extension}. {_ADVICE}"
    if head[257:262] == b"ustar":
        return f"The file is a tar archive, but its name ends in {extension}. {_ADVICE}"
    encoding = _other_encoding(head)
    if encoding:
        return f"The file is {encoding} (seen at line 1, byte 1), not UTF-8. Save it as UTF-8."
    text = head.removeprefix(BOM).lstrip()[:200].lower()
    if text.startswith((b"<!doctype", b"<html", b"<?xml", b"<head", b"<body")):
        kind = "an XML document" if text.startswith(b"<?xml") else "a web page, perhaps a sign-in or error page"
        return f"The file is {kind}, not records. {_ADVICE}"
    return None


def refuse_parquet(head: bytes, packing: str = "") -> str | None:
    """Return why content beginning with ``head`` is not a Parquet file that can be read, as a sentence."""
    if head.startswith(PARQUET):
        return None
    if head.startswith(ENCRYPTED_PARQUET):
        return "The file is an encrypted Parquet file. Write it again without encryption."
    return refuse_content(head, ".parquet", packing) or (
        f"The file is not a Parquet file, but its name ends in .parquet{packing}. Give it the ending of what it is."
    )


def refuse_zip(names: list[str]) -> str | None:
    """Return why a zip archive with these members is not an archive of records."""
    if "[Content_Types].xml" in names:
        if any(name.startswith("xl/") for name in names):
            return f"The file is an Excel workbook, not records. {_ADVICE}"
        return f"The file is an Office document, not records. {_ADVICE}"
    if "mimetype" in names and "META-INF/manifest.xml" in names:
        return f"The file is an OpenDocument file, not records. {_ADVICE}"
    return None


def _zip_kind(head: bytes) -> str | None:
    if b"[Content_Types].xml" in head[:200] or b"_rels/.rels" in head[:200]:
        return "an Office document (such as an Excel workbook)"
    return None


def _other_encoding(head: bytes) -> str | None:
    if head.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "UTF-32"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    # Without a byte order mark: every other byte of ASCII text in UTF-16 is NUL.
    sample = head[:64]
    if len(sample) >= 4 and sample.count(0) >= len(sample) // 4:
        even, odd = sample[::2].count(0), sample[1::2].count(0)
        if max(even, odd) > 4 * min(even, odd):
            return "UTF-16"
    return None
