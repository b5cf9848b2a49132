"""The dialogues of a release as a table of texts: ``table.jsonl``.

Arguments and observations can have any type, and a loader that infers a type for each nested field fails at the second
record. So the document and the tools are JSON texts here.
"""

import orjson

from benchmark.core.formats.interface import CANARY

TABLE = "table.jsonl"
#: All of them texts.
ROW_COLUMNS = ("id", "language", "variant_group", "kind", "document", "tools", CANARY)


def write_row(*values: str) -> bytes:
    """Return a line of the table; ``values`` are those of ``ROW_COLUMNS``, in that order."""
    return orjson.dumps(dict(zip(ROW_COLUMNS, values, strict=True)), option=orjson.OPT_APPEND_NEWLINE)
