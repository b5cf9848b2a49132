"""The bytes of the files that a project stores: uploads, archives of releases, and the newest export."""

from collections import Counter
from collections.abc import Collection

from django.db.models import QuerySet, Sum

from annotator.models import Job, JobState
from benchmark.models import ImportBatch, PredictionFile, Release
from benchmark.services.project_data.export import KIND as EXPORT


def file_sizes(project_ids: Collection[int]) -> Counter[int]:
    """Return the bytes of the files of each project. Reports of imports are not counted."""
    total: Counter[int] = Counter()
    imports = ImportBatch.objects.filter(project__in=project_ids).exclude(file="")
    releases = Release.objects.filter(project__in=project_ids).exclude(archive="")
    predictions = PredictionFile.objects.filter(release__project__in=project_ids).exclude(file="")
    total.update(_sums(imports, "project", "bytes"))
    total.update(_sums(releases, "project", "archive_bytes"))
    total.update(_sums(predictions, "release__project", "bytes"))
    # Only the newest export is kept.
    exports = Job.objects.filter(project__in=project_ids, kind=EXPORT, state=JobState.DONE).order_by("pk")
    total.update({project: result.get("bytes", 0) for project, result in exports.values_list("project", "result")})
    return total


def _sums(rows: QuerySet, project: str, column: str) -> dict[int, int]:  # type: ignore[type-arg]
    return dict(rows.order_by().values_list(project).annotate(total=Sum(column)))
