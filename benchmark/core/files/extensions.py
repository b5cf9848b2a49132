"""The names of files of records: a kind of content, and how it is packed."""

KINDS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
PACKINGS = (".gz", ".zst")
ARCHIVE = ".zip"

#: Every ending that is read.
EXTENSIONS = (*(f"{kind}{packing}" for kind in KINDS for packing in ("", *PACKINGS)), ARCHIVE)
#: The last parts of these endings, by which a browser chooses files.
LAST_PARTS = (*KINDS, *PACKINGS, ARCHIVE)
#: The kinds of files in an archive, and all endings, for people.
SHOWN_KINDS = f"{', '.join(KINDS)} (+ {', '.join(PACKINGS)})"
SHOWN = f"{SHOWN_KINDS}, {ARCHIVE}"


def split_extension(filename: str) -> tuple[str, str]:
    """Return the kind of a file and its packing ("" if it is not packed); the kind is "" for other files."""
    name = filename.lower()
    if name.endswith(ARCHIVE):
        return ARCHIVE, ""
    packing = next((one for one in PACKINGS if name.endswith(one)), "")
    name = name.removesuffix(packing)
    return next(((kind, packing) for kind in KINDS if name.endswith(kind)), ("", ""))
