"""Released dialogues as writers take them."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from annotator.models import Dialogue, Revision


@dataclass(slots=True, frozen=True)
class Item:
    """One dialogue at the revision that was verified (a ``benchmark.formats.DialogueLike``)."""

    external_id: str
    language: str
    variant_group: str
    document: dict[str, Any]
    tools: list[Any]
    content_hash: str
    toolset_hash: str

    @classmethod
    def of(cls, dialogue: Dialogue, revision: Revision) -> "Item":
        """Needs the revision's toolset loaded."""
        document = revision.document()
        return cls(
            external_id=dialogue.external_id,
            language=document.get("language") or "",
            variant_group=dialogue.variant_group,
            document=document,
            tools=_tools(revision.toolset_revision.content),
            content_hash=revision.content_hash,
            toolset_hash=revision.toolset_revision.content_hash,
        )


@lru_cache(maxsize=512)
def _tools(content: str) -> list[Any]:
    tools: list[Any] = orjson.loads(content)["tools"]
    return tools
