"""Toolset revisions of an import, found or made by content hash, each looked up once."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone

from annotator.models import Project, Toolset, ToolsetRevision
from annotator.models.keys import new_public_ids
from annotator.services.database import bulk_insert

_NAMED_TOOLS = 3


class ToolsetStore:
    """Knows the toolsets of one import by hash: their content until they are stored, their keys from then on."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._contents: dict[str, Mapping[str, Any]] = {}
        self._keys: dict[str, int] = {}

    def learn(self, toolsets: Mapping[str, Mapping[str, Any]]) -> None:
        """Take note of toolsets that were met: {hash: {"content", "names"}}."""
        self._contents.update({found: told for found, told in toolsets.items() if found not in self._keys})

    def committed(self) -> None:
        """What was written is there to stay: only the keys are needed from now on."""
        for found in self._contents.keys() & self._keys.keys():
            del self._contents[found]

    def forget_keys(self) -> None:
        """The transaction in which keys were given was rolled back: look everything up again."""
        self._keys.clear()

    def keys(self, hashes: Sequence[str]) -> dict[str, int]:
        """The keys of these toolsets' revisions; those the project has not yet are written."""
        wanted = set(hashes)
        missing = [found for found in dict.fromkeys(hashes) if found not in self._keys]
        if missing:
            known = ToolsetRevision.objects.filter(project=self._project, content_hash__in=missing)
            self._keys.update(known.values_list("content_hash", "pk"))
            self._write([found for found in missing if found not in self._keys])
        return {found: self._keys[found] for found in wanted}

    def _write(self, hashes: list[str]) -> None:
        if not hashes:
            return
        now = timezone.now()
        toolset_ids = bulk_insert.allocate_ids(Toolset, len(hashes))
        revision_ids = bulk_insert.allocate_ids(ToolsetRevision, len(hashes))
        bulk_insert.insert_rows(
            Toolset,
            ("id", "public_id", "name"),
            [
                (key, public_id, _name(found, self._contents[found]["names"]))
                for key, public_id, found in zip(toolset_ids, new_public_ids(len(hashes)), hashes, strict=True)
            ],
            constants={"project_id": self._project.pk, "created_at": now},
        )
        bulk_insert.insert_rows(
            ToolsetRevision,
            ("id", "toolset_id", "tool_count", "content_hash", "content"),
            [
                (key, toolset_id, len(self._contents[found]["names"]), found, self._contents[found]["content"])
                for key, toolset_id, found in zip(revision_ids, toolset_ids, hashes, strict=True)
            ],
            constants={"project_id": self._project.pk, "number": 1, "created_at": now},
        )
        self._keys.update(zip(hashes, revision_ids, strict=True))


def _name(found: str, names: list[str]) -> str:
    """What people call a toolset that came with a file: its first tools; the hash keeps it apart from others."""
    first = ", ".join(names[:_NAMED_TOOLS]) or "No tools"
    more = f" and {len(names) - _NAMED_TOOLS} more" if len(names) > _NAMED_TOOLS else ""
    return f"{first[:80]}{more} ({found[:8]})"
