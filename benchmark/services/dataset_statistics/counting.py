"""Count what revisions consist of; their contents are read in slices."""

from collections.abc import Sequence

from django.db.models import QuerySet

from annotator.core.dataset_statistics.statistics import DatasetStatistics
from annotator.core.dataset_statistics.tool_use import Definitions, definitions_of
from annotator.core.schema import load_text
from annotator.core.tools.parameters import each_tool
from annotator.models import Revision, ToolsetRevision

#: Revisions whose contents are in memory at a time.
SLICE = 100
#: Toolsets whose definitions are kept for the next slices.
_MAX_TOOLSETS = 1_000


class Counting:
    """Statistics that grow with each slice of revisions."""

    def __init__(self) -> None:
        self.statistics = DatasetStatistics()
        self._definitions: dict[int, Definitions] = {}

    def add(self, revisions: QuerySet[Revision], keys: Sequence[int]) -> None:
        """Count those of the revisions that have these keys, at most SLICE."""
        rows = revisions.filter(pk__in=keys).order_by("pk").values_list(
            "content", "toolset_revision", "toolset_revision__toolset__category__name"
        )  # fmt: skip
        found = list(rows)
        self._read_toolsets({toolset for _, toolset, _ in found})
        for content, toolset, category in found:
            self.statistics.add(load_text(content), self._definitions[toolset], category or "")

    def _read_toolsets(self, wanted: set[int]) -> None:
        missing = wanted - self._definitions.keys()
        if len(self._definitions) + len(missing) > _MAX_TOOLSETS:
            self._definitions.clear()
            missing = wanted
        for toolset in ToolsetRevision.objects.filter(pk__in=missing):
            self._definitions[toolset.pk] = definitions_of(each_tool(toolset.tools()))
