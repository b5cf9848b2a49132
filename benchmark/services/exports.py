"""The list of dialogues as a file, in pieces: CSV, JSON lines or Parquet.

The list is read in pages, so the memory does not depend on its length, and no transaction stays open while a slow
client reads. A dialogue whose place changes in the meantime may be missing or there twice, unless the list is in the
order of import.
"""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from annotator.core.schema.exact_json import dumps
from annotator.models import Dialogue, Project, Revision, User
from annotator.services.database.keyset import Order, read_page
from annotator.services.dialogues.listing import Filters, shown_dialogues, veil_owners
from annotator.services.dialogues.metadata import metadata_of
from benchmark.core.archives.table import NUMBER, TEXT, TEXTS, TableWriter
from benchmark.core.files.csv_records import escape_formula
from benchmark.services.releases.items import Item

#: Dialogues that are read at a time, and documents, which may be large.
_PAGE = 500
_DOCUMENTS = 5
#: Column → type.
COLUMNS = {
    "id": TEXT, "public_id": TEXT, "title": TEXT, "kind": TEXT, "language": TEXT, "variant_group": TEXT,
    "status": TEXT, "stage": TEXT, "policies": TEXTS, "topologies": TEXTS, "information": TEXTS, "tasks": NUMBER,
    "calls": NUMBER, "errors": NUMBER, "warnings": NUMBER, "owner": TEXT, "owner_id": TEXT, "labels": TEXTS,
    "created_at": TEXT, "updated_at": TEXT, "metadata": TEXT,
    "tags": TEXTS,
}  # fmt: skip
#: Further columns of Parquet, with JSON texts.
_CONTENT = {"document": TEXT, "tools": TEXT}
#: Format → content type.
TYPES = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
}

Batch = tuple[list[Dialogue], Mapping[int, dict[str, list[str]]]]


def export_dialogues(
    *, actor: User, project: Project, filters: Filters, order: Order, form: str, columns: Sequence[str] = ()
) -> Iterator[bytes]:
    """Yield the file with a list as the actor, a member, sees it. ``form``: a key of TYPES.

    ``columns``: keys of metadata that are columns of their own in CSV.
    """
    rows = shown_dialogues(actor=actor, project=project, filters=filters)
    return _WRITERS[form](rows, actor, order, columns)


def _pages(rows: Any, actor: User, order: Order) -> Iterator[list[Dialogue]]:
    """Yield the dialogues in pages, with the owners and tags that the actor may know."""
    after: str | None = None
    while True:
        page = read_page(rows, size=_PAGE, after=after, by=order.by, newest_first=order.newest_first)
        yield veil_owners(page.rows, actor=actor)
        after = page.after
        if after is None:
            return


def _csv(rows: Any, actor: User, order: Order, columns: Sequence[str]) -> Iterator[bytes]:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([as_cell(name) for name in (*COLUMNS, *(f"metadata.{key}" for key in columns))])
    for page in _pages(rows, actor, order):
        found = metadata_of([row.pk for row in page])
        for row in page:
            values = found.get(row.pk, {})
            chosen = (values.get(key, []) for key in columns)
            cells = [*_row(row, values).values(), *(one[0] if len(one) == 1 else one for one in chosen)]
            writer.writerow([as_cell(value) for value in cells])
        yield out.getvalue().encode()
        out.seek(0)
        out.truncate()


def as_cell(value: Any) -> str:
    """Return a cell: a list as JSON, nothing for an empty one, and no text that a spreadsheet runs as a formula."""
    if value is None or value == []:
        return ""
    return escape_formula(value) if isinstance(value, str) else dumps(value).decode()


def _jsonl(rows: Any, actor: User, order: Order, columns: Sequence[str]) -> Iterator[bytes]:
    for page in _pages(rows, actor, order):
        for _row, item in _contents(page, actor):
            yield item.neutral()


def _parquet(rows: Any, actor: User, order: Order, columns: Sequence[str]) -> Iterator[bytes]:
    pieces: list[bytes] = []
    table = TableWriter(COLUMNS | _CONTENT, pieces.append)
    for page in _pages(rows, actor, order):
        found = metadata_of([row.pk for row in page])
        for row, item in _contents(page, actor):
            content = {"document": item.text, "tools": item.tools_text.decode()}
            table.add(_row(row, found.get(row.pk, {})) | content)
            if pieces:
                yield b"".join(pieces)
                pieces.clear()
    table.close()
    yield b"".join(pieces)


_WRITERS: dict[str, Callable[[Any, User, Order, Sequence[str]], Iterator[bytes]]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "parquet": _parquet,
}


def _row(row: Dialogue, metadata: dict[str, list[str]]) -> dict[str, Any]:
    """Return the values of COLUMNS."""
    owner = row.owner
    single = {key: values[0] if len(values) == 1 else values for key, values in metadata.items()}
    return {
        "id": row.external_id,
        "public_id": row.public_id,
        "title": row.title,
        "kind": row.kind,
        "language": row.language,
        "variant_group": row.variant_group,
        "status": row.status,
        "stage": row.stage,
        "policies": row.policy_list,
        "topologies": _listed(row.topologies),
        "information": _listed(row.information),
        "tasks": row.task_count,
        "calls": row.call_count,
        "errors": row.error_count,
        "warnings": row.warning_count,
        "owner": str(owner) if owner else None,
        "owner_id": owner.public_id if owner else None,
        "labels": row.labels.strip("\n").split("\n") if row.labels else [],
        "created_at": row.created_at.isoformat(),
        "updated_at": row.updated_at.isoformat(),
        "metadata": dumps(single).decode() if single else None,
        "tags": list(row.tag_names),
    }


def _listed(stored: str) -> list[str]:
    return stored[1:-1].split(",") if stored else []


def _contents(page: list[Dialogue], actor: User) -> Iterator[tuple[Dialogue, Item]]:
    """Yield the dialogues that have a head which the actor may see, each with it; a few are in memory at a time."""
    for begin in range(0, len(page), _DOCUMENTS):
        some = page[begin : begin + _DOCUMENTS]
        # The list has shown these dialogues.
        heads = Revision.objects.unsealed_for(actor).filter(pk__in=[row.head_id for row in some])
        found = {head.pk: head for head in heads.select_related("toolset_revision")}
        for row in some:
            head = found.get(row.head_id) if row.head_id else None
            if head is not None:
                yield row, Item.of(row, head)
