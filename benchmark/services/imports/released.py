"""Whether a record is what a release would write of a dialogue that is there.

A release writes all that the published evaluators read, some of which the dialogue's own record did not have, and in
words of its own. Read again, such a record gives another document, though nothing has changed.
"""

from collections.abc import Iterable, Sequence

from annotator.core.schema import SchemaProblem, content_hash
from annotator.core.schema.exact_json import dumps, loads
from annotator.core.schema.layout import lay_out
from annotator.models import Dialogue
from benchmark.core.formats import READERS, WRITERS
from benchmark.services.releases.items import Item, line_of


def released_as(native_format: str, groups: Iterable[Sequence[int]]) -> dict[int, str]:
    """The content hash of each dialogue as it is read back from a release, by key.

    ``groups``: keys of the dialogues of one record each. What cannot be written in the format, or read back, is left
    out.
    """
    groups = [list(keys) for keys in groups]
    rows = Dialogue.objects.filter(pk__in=[key for keys in groups for key in keys], head__isnull=False)
    rows = rows.annotate(line=line_of(native_format, dialogue="pk", number="head__number"))
    rows = rows.select_related("head__toolset_revision").defer("search_text")
    items = {row.pk: Item.of(row, row.head, row.line or "") for row in rows if row.head is not None}
    found: dict[int, str] = {}
    for keys in groups:
        if items.keys() >= set(keys):
            found.update(zip(keys, _read_back(native_format, [items[key] for key in keys]), strict=False))
    return found


def _read_back(native_format: str, items: list[Item]) -> list[str]:
    writer, reader = WRITERS[native_format], READERS[native_format]
    try:
        record = writer.write(items, full=True)
        # As it is laid out, since some fields repeat others as text, in the same order of keys.
        line = next((item.line for item in items if item.line), "")
        record = loads(lay_out(record, line) if line else dumps(record))
        return [content_hash(dialogue.text) for dialogue in reader.read(record)]
    except (SchemaProblem, ValueError, KeyError):
        return []
