"""Write the table of formats and kinds of files in docs/formats.md: what is read, written, and comes back.

Every cell is found by doing it with the example files of the formats.
"""

import argparse
import io
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from annotator.core.comparison import differ_in_remainder_only  # noqa: E402 - the path is set above
from benchmark.core.files.reading import RecordError, parse_line, read_lines  # noqa: E402
from benchmark.core.files.writing import open_writer  # noqa: E402
from benchmark.core.formats import FORMATS, ReadDialogue  # noqa: E402
from benchmark.core.formats.converting import Converter  # noqa: E402
from benchmark.core.formats.examples import example_file  # noqa: E402

PAGE = ROOT / "docs" / "formats.md"
BEGIN, END = "<!-- matrix: written by scripts/format_matrix.py -->", "<!-- end of matrix -->"
KINDS = {".jsonl": "JSON lines", ".json": "JSON", ".csv": "CSV", ".tsv": "TSV", ".parquet": "Parquet"}
#: The same in every respect, or only the dialogue.
SAME, ALIKE, NOT = "same", "alike", "–"
#: Formats of one kind of dialogue, by the format whose example is converted to them.
_FROM = {"cctu": "neutral", "async": "bfcl_single", "bfcl_single": "async"}


class Different(Exception):
    """What was read is not what was written."""


def cells(name: str, kind: str) -> tuple[str, str, str]:
    """Return the results of a format and a kind of file: of importing its example from such a file, of writing the
    example in its own format, and of writing another format's example in it.

    Raises Different if something is missing or another dialogue.
    """
    lines = example_file(name)
    wanted = _read(name, lines, "a.jsonl")
    imported = _compare(wanted, _read(name, _written(lines.splitlines(), kind), f"a{kind}"))
    if not FORMATS[name].writes:
        return imported, NOT, NOT
    back = _compare(wanted, _read(name, _converted(name, name, lines, kind), f"a{kind}"))
    source = _FROM.get(name, "openai" if name != "openai" else "sharegpt")
    # Only cctu and Assay's own documents have constraints.
    other = _converted("cctu", "neutral", lines, ".jsonl") if name == "cctu" else example_file(source)
    direct = _read(name, _converted(source, name, other, ".jsonl"), "a.jsonl")
    return imported, back, _compare(direct, _read(name, _converted(source, name, other, kind), f"a{kind}"))


def row(name: str) -> str:
    """Return the row of a format."""
    found = [cells(name, kind) for kind in KINDS]
    return f"| `{name}` | " + " | ".join(" / ".join(cell) for cell in found) + " |"


def table() -> str:
    """Return the whole table."""
    return "\n".join(
        [
            "| format | " + " | ".join(KINDS.values()) + " |",
            "|" + "---|" * (len(KINDS) + 1),
            *map(row, FORMATS),
        ]
    )


def losses() -> str:
    """Return what reading a format drops of every record."""
    return "\n".join(f"- `{name}`: {' '.join(one.losses)}" for name, one in FORMATS.items() if one.losses)


def page(text: str, body: str) -> str:
    """Return the page with this matrix in it."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{body}\n\n{END}{after}"


def _read(name: str, content: bytes, filename: str) -> list[ReadDialogue]:
    out = []
    for item in read_lines(io.BytesIO(content), filename, format_name=name):
        record = item if isinstance(item, RecordError) else parse_line(item)
        if isinstance(record, RecordError):
            raise Different(f"{name}, {filename}: {record}")
        out += FORMATS[name].read(record.data)
    return out


def _written(lines: list[bytes], kind: str) -> bytes:
    out = io.BytesIO()
    with open_writer(out, f"a{kind}") as writer:
        for line in lines:
            writer.add(line)
    return out.getvalue()


def _converted(source: str, target: str, content: bytes, kind: str) -> bytes:
    converter = Converter(source, target)
    lines: list[bytes] = []
    for item in read_lines(io.BytesIO(content), "a.jsonl", format_name=source):
        if isinstance(item, RecordError):
            raise Different(f"{source}: {item}")
        done = converter.convert(item)
        lines += [line.encode() for line in done.lines]
    if not lines:
        raise Different(f"Nothing of the example of {source} can be written as {target}.")
    return _written(lines, kind)


def _compare(wanted: list[ReadDialogue], found: list[ReadDialogue]) -> str:
    if [one.external_id for one in wanted] != [one.external_id for one in found]:
        raise Different(f"{len(wanted)} dialogues became {len(found)}, or their ids differ.")
    pairs = list(zip(wanted, found, strict=True))
    for one, other in pairs:
        if one.tools != other.tools or not differ_in_remainder_only(one.document, other.document):
            raise Different(f"{one.external_id} is another dialogue.")
    return SAME if all(one.text == other.text for one, other in pairs) else ALIKE


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args(arguments)
    PAGE.write_text(page(PAGE.read_text(), "\n\n".join(filter(None, (table(), losses())))))


if __name__ == "__main__":
    main()
