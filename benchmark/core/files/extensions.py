"""The names of files of records: a kind of content, and how it is packed."""

KINDS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
PACKINGS = (".gz", ".zst")
ARCHIVE = ".zip"
#: An archive with a log of Inspect AI.
LOG = ".eval"

#: Every ending that is written, and that is read.
WRITTEN_EXTENSIONS = (*(f"{kind}{packing}" for kind in KINDS for packing in ("", *PACKINGS)), ARCHIVE)
EXTENSIONS = (*WRITTEN_EXTENSIONS, LOG)
#: The last parts of these endings, by which a browser chooses files.
LAST_PARTS = (*KINDS, *PACKINGS, ARCHIVE, LOG)
#: The kinds of files in an archive, the endings that are written, and all endings, for people.
SHOWN_KINDS = f"{', '.join(KINDS)} (+ {', '.join(PACKINGS)})"
SHOWN_WRITTEN = f"{SHOWN_KINDS}, {ARCHIVE}"
SHOWN = f"{SHOWN_WRITTEN}, {LOG}"


def split_extension(filename: str) -> tuple[str, str]:
    """Return the kind of a file and its packing ("" if it is not packed); the kind is "" for other files."""
    name = filename.lower()
    for one in (ARCHIVE, LOG):
        if name.endswith(one):
            return one, ""
    packing = next((one for one in PACKINGS if name.endswith(one)), "")
    name = name.removesuffix(packing)
    return next(((kind, packing) for kind in KINDS if name.endswith(kind)), ("", ""))
