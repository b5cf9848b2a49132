"""Remove files of predictions that were scored long ago, and parts of interrupted uploads. Predictions stay."""

from datetime import datetime, timedelta

from django.utils import timezone

from annotator.models.jobs import JOB_ENDED
from annotator.services.jobs.retention import remove_files, retention
from benchmark.models import PredictionFile
from benchmark.services.stored_files import full_path

#: A file without a row that has not grown for this long has no owner.
_ORPHANED = timedelta(days=1)


@retention("uploaded files of predictions", days="uploads")
def _uploads(before: datetime) -> int:
    ended = PredictionFile.objects.filter(job__state__in=JOB_ENDED, job__ended_at__lt=before).exclude(file="")
    count = 0
    for pk, name in ended.order_by("pk").values_list("pk", "file").iterator():
        full_path(name).unlink(missing_ok=True)
        # Do this last, so that it is repeated if the process is killed before.
        PredictionFile.objects.filter(pk=pk).update(file="")
        count += 1
    return count


@retention("files of interrupted uploads of predictions")
def _orphans(now: datetime) -> int:
    folder = full_path("predictions")
    files = {file: file.name.partition(".")[0] for file in (folder.glob("*") if folder.is_dir() else ())}
    known = set(PredictionFile.objects.filter(public_id__in=files.values()).values_list("public_id", flat=True))
    orphans = [file for file, name in files.items() if name not in known or file.suffix == ".part"]
    return remove_files(orphans, min(now, timezone.now()) - _ORPHANED)
