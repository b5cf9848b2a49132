"""Lists of toolsets: what narrows them down, and what they consist of together."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, QuerySet, Sum

from annotator.core.tags import tag_of
from annotator.core.tools.facts import total_of
from annotator.core.tools.statistics import ToolStatistics
from annotator.models import Project, Toolset, ToolsetRevision, ToolsetTag
from annotator.services.database.filters import one_of

#: Values of the filter ``findings``.
FINDINGS = ("errors", "warnings", "clean")
#: The value of ``category`` for toolsets without one.
NO_CATEGORY = "-"
FILTERS = ("q", "category", "tag", "findings")
_MAX_QUERY = 200


@dataclass(frozen=True, slots=True)
class Filters:
    """What a list of toolsets shows; blank shows all. ``q``: part of a name."""

    q: str = ""
    category: str = ""
    tag: str = ""
    findings: str = ""

    @property
    def any(self) -> bool:
        return bool(self.q or self.category or self.tag or self.findings)


def read_filters(query: Mapping[str, Any], project: Project) -> Filters:
    """Return the filters of a query string. Raises UnknownFilter for a value that does not exist."""

    def categories() -> list[str]:
        return [NO_CATEGORY, *project.toolset_categories.order_by("name").values_list("name", flat=True)]

    return Filters(
        q=str(query.get("q", "")).strip()[:_MAX_QUERY],
        category=one_of(query, "category", categories),
        tag=tag_of(str(query.get("tag", ""))),
        findings=one_of(query, "findings", FINDINGS),
    )


def narrowed(project: Project, filters: Filters) -> QuerySet[Toolset]:
    """Return the toolsets of a project that the filters show."""
    rows = Toolset.objects.filter(project=project)
    if filters.q:
        rows = rows.filter(name__icontains=filters.q)
    if filters.category:
        none = filters.category == NO_CATEGORY
        rows = rows.filter(category=None) if none else rows.filter(category__name=filters.category)
    if filters.tag:
        rows = rows.filter(pk__in=ToolsetTag.objects.filter(name=filters.tag).values("toolset"))
    if filters.findings == "errors":
        rows = rows.filter(head__facts__errors__gt=0)
    elif filters.findings == "warnings":
        rows = rows.filter(head__facts__warnings__gt=0)
    elif filters.findings == "clean":
        rows = rows.filter(head__facts__errors=0, head__facts__warnings=0)
    return rows


def project_tags(project: Project) -> list[str]:
    """Return the tags that toolsets of the project have, by name."""
    return list(
        ToolsetTag.objects.filter(toolset__project=project).order_by("name").values_list("name", flat=True).distinct()
    )


def statistics_of(rows: QuerySet[Toolset]) -> ToolStatistics:
    """Return what the newest revisions of toolsets consist of."""
    facts = rows.values_list("head__facts", flat=True)
    return total_of(one for one in facts.iterator(chunk_size=2_000) if one)


def changed_since(toolsets: QuerySet[Toolset], moment: datetime) -> QuerySet[Toolset]:
    """Narrow toolsets down to those with a revision since."""
    return toolsets.filter(pk__in=ToolsetRevision.objects.filter(created_at__gte=moment).values("toolset"))


def tools_by_category(rows: QuerySet[Toolset]) -> list[tuple[str, int, int]]:
    """Return (category, toolsets, tools) for each category that the rows have, most tools first; blank for none."""
    counted = rows.order_by().values_list("category__name").annotate(Count("pk"), tools=Sum("head__tool_count"))
    found = [(name or "", count, tools or 0) for name, count, tools in counted]
    return sorted(found, key=lambda row: (-row[2], row[0]))
