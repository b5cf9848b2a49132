"""Released dialogues as writers take them."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from annotator.models import Dialogue, Revision
from annotator.schema import load_text
from benchmark.formats import WRITERS

_NEUTRAL = WRITERS["neutral"]


@dataclass(slots=True, frozen=True)
class Item:
    """One dialogue at the revision that was verified (a ``benchmark.formats.DialogueLike``)."""

    external_id: str
    language: str
    variant_group: str
    document: dict[str, Any]
    tools: list[Any]
    #: Both as they are stored, in JSON: the document's canonical text, and the list of tools.
    text: str
    tools_text: bytes

    @classmethod
    def of(cls, dialogue: Dialogue, revision: Revision) -> "Item":
        """Needs the revision's toolset loaded."""
        return cls.read(
            dialogue.external_id, dialogue.variant_group, revision.content, revision.toolset_revision.content
        )

    @classmethod
    def read(cls, external_id: str, variant_group: str, content: str, toolset: str) -> "Item":
        """From what is stored of a dialogue, its revision, and the revision's toolset."""
        document = load_text(content)
        tools, tools_text = _tools(toolset)
        return cls(
            external_id=external_id,
            language=document.get("language") or "",
            variant_group=variant_group,
            document=document,
            tools=tools,
            text=content,
            tools_text=tools_text,
        )

    def neutral(self, canary: str) -> bytes:
        """The neutral record as a line. What is stored as JSON goes out as it is stored."""
        record = _NEUTRAL.write([self], canary=canary)
        record |= {"document": orjson.Fragment(self.text), "tools": orjson.Fragment(self.tools_text)}
        return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


@lru_cache(maxsize=512)
def _tools(content: str) -> tuple[list[Any], bytes]:
    tools: list[Any] = orjson.loads(content)["tools"]
    return tools, orjson.dumps(tools)
