"""Released dialogues, as writers take them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
from django.db.models import OuterRef, Subquery

from annotator.core.schema import SchemaProblem, content_hash, load_text
from annotator.core.schema.exact_json import dumps, escape, load_stored, loads, same
from annotator.core.schema.layout import lay_out
from annotator.models import Dialogue, Revision
from benchmark.core.archives.table import answers_of, label_columns
from benchmark.core.files.cctu_check_files import CHECK_CODE
from benchmark.core.formats import FORMATS, ReadDialogue
from benchmark.core.formats.cctu_writing import LOOSE, numbered
from benchmark.core.formats.interface import CANARY
from benchmark.core.formats.native_remainder import NATIVE, native, unknown
from benchmark.models import NativeLine

#: Under this key, an item's line names the fields of its document that no native record of the release has.
NOT_NATIVE = "not_in_native_record"
_NEUTRAL = FORMATS["neutral"]


@dataclass(slots=True, kw_only=True)
class Item(ReadDialogue):
    """One dialogue at its verified revision. ``text`` is the document as it is stored."""

    #: The list of tools in JSON, as it is stored.
    tools_text: bytes
    #: The line it was imported from; empty if that is not in the release's format.
    line: str = ""

    @classmethod
    def of(cls, dialogue: Dialogue, revision: Revision, line: str = "") -> "Item":
        """Return the item. Needs the revision's toolset loaded."""
        tools = revision.toolset_revision.content
        return cls.read(dialogue.external_id, dialogue.variant_group, revision.content, tools, line)

    @classmethod
    def read(cls, external_id: str, variant_group: str, content: str, toolset: str, line: str = "") -> "Item":
        """Build the item from the stored dialogue, its revision, and the revision's toolset."""
        document = load_text(content)
        tools, tools_text, implementation = _tools(toolset)
        return cls(
            external_id=external_id,
            language=document.get("language") or "",
            variant_group=variant_group,
            document=document,
            tools=tools,
            text=content,
            tools_text=tools_text,
            implementation=implementation,
            line=line,
        )

    def not_in(self, record: dict[str, Any]) -> list[str]:
        """Return the places that a native record does not represent: fields that Assay does not know, and files without
        a constraint whose number is now a constraint's.
        """
        places = [
            f"/extra/{escape(key)}"
            for key, value in unknown(self.document).items()
            if key not in record or not same(record[key], value)
        ]
        loose = native(self.document).get(LOOSE)
        if self.document["kind"] == "constrained" and isinstance(loose, dict):
            beside = record.get(CHECK_CODE, {})
            taken = numbered(len(self.document["constraints"]))
            places += [
                f"/extra/{NATIVE}/{LOOSE}/{escape(name)}" for name in loose if name in taken or name not in beside
            ]
        return places

    def neutral(self, canary: str | None = None) -> bytes:
        """Return the neutral record as a line. What is stored as JSON is written as it is stored."""
        record = _NEUTRAL.write([self], canary=canary)
        record |= {"document": orjson.Fragment(self.text), "tools": orjson.Fragment(self.tools_text)}
        return dumps(record, option=orjson.OPT_APPEND_NEWLINE)

    def answers(self, canary: str) -> Iterator[dict[str, Any]]:
        """Yield the dialogue's rows in the table of labels."""
        for row in answers_of(self.document):
            spans = None if row["spans"] is None else dumps(row["spans"]).decode()
            yield {"id": self.external_id, "language": self.language, **row, "spans": spans, CANARY: canary}

    def row(self, canary: str) -> dict[str, Any]:
        """Return the dialogue as a row of the default table."""
        return label_columns(self.document) | {
            "id": self.external_id,
            "language": self.language,
            "variant_group": self.variant_group,
            "document": self.text,
            "tools": self.tools_text.decode(),
            CANARY: canary,
        }


def line_of(native_format: str, *, dialogue: str, number: str) -> Subquery:
    """Return the line that sets the layout of a revision: its own, or that of the latest imported one before it.

    ``dialogue`` and ``number``: the fields of the outer query with the revision's dialogue and number.
    """
    lines = NativeLine.objects.filter(
        native_format=native_format, revision__dialogue=OuterRef(dialogue), revision__number__lte=OuterRef(number)
    ).order_by("-revision__number")
    return Subquery(lines.values("text")[:1])


def released_as(native_format: str, groups: Iterable[Sequence[int]]) -> dict[int, str]:
    """Return the content hash of each dialogue when it is read back from a release, by key.

    A release writes all that the published evaluators read, some of which the dialogue's own record did not have, and
    in its own words. Read again, such a record gives another document, although nothing has changed. ``groups``: keys
    of the dialogues of one record each. Dialogues that cannot be written in the format, or read back, are left out.
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
    form = FORMATS[native_format]
    try:
        record = form.write(items, full=True)
        # With its layout, since some fields repeat others as text, in the same order of keys.
        line = next((item.line for item in items if item.line), "")
        record = loads(lay_out(record, line) if line else dumps(record))
        return [content_hash(dialogue.text) for dialogue in form.read(record)]
    except (SchemaProblem, ValueError, KeyError):
        return []


@lru_cache(maxsize=512)
def _tools(content: str) -> tuple[list[Any], bytes, dict[str, Any] | None]:
    stored = load_stored(content)
    return stored["tools"], dumps(stored["tools"]), stored.get("implementation")
