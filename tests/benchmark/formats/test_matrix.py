"""Every format in every kind of file, as the table in the documentation says."""

import pytest

from benchmark.core.files.extensions import KINDS as READ_KINDS
from benchmark.core.formats import FORMATS
from scripts import format_matrix
from scripts.format_matrix import KINDS, NOT, PAGE, cells

ROWS = {
    columns[0].strip(" `"): [cell.strip() for cell in columns[1:]]
    for line in PAGE.read_text().partition(format_matrix.BEGIN)[2].partition(format_matrix.END)[0].splitlines()
    if line.startswith("| `")
    for columns in [line.strip("|").split("|")]
}


def test_the_table_has_every_format_and_kind() -> None:
    assert list(ROWS) == list(FORMATS)
    assert {*KINDS, ".ndjson"} == set(READ_KINDS)
    assert all(len(row) == len(KINDS) for row in ROWS.values())


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("name", list(FORMATS))
def test_a_cell_is_what_happens(name: str, kind: str) -> None:
    found = cells(name, kind)
    assert " / ".join(found) == ROWS[name][list(KINDS).index(kind)], "Run scripts/format_matrix.py."
    assert (found[1:] == (NOT, NOT)) == (not FORMATS[name].writes)
