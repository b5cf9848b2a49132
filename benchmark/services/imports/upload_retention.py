"""Remove uploaded files of imports that ended long ago, and parts of interrupted uploads. Reports stay."""

from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from annotator.models.jobs import JOB_ENDED
from annotator.services.jobs.retention import remove_files, retention
from benchmark.models import ImportBatch
from benchmark.services.stored_files import full_path

#: A file without an import that has not grown for this long has no owner; an upload is stored before its import.
_ORPHANED = timedelta(days=1)


@retention("uploaded files of imports", days="uploads")
def _uploads(before: datetime) -> int:
    batches = ImportBatch.objects.filter(job__state__in=JOB_ENDED, job__ended_at__lt=before).exclude(file="")
    count = 0
    for batch in batches.order_by("pk").iterator():
        full_path(batch.file).unlink(missing_ok=True)
        # Do this last, so that it is repeated if the process is killed before.
        ImportBatch.objects.filter(pk=batch.pk).update(file="")
        count += 1
    return count


@retention("files of interrupted uploads")
def _orphans(now: datetime) -> int:
    folder = full_path("imports")
    files = {file: file.name.partition(".")[0] for file in (folder.glob("*") if folder.is_dir() else ())}
    known = set(ImportBatch.objects.filter(public_id__in=files.values()).values_list("public_id", flat=True))
    orphans = [file for file, name in files.items() if name not in known or file.suffix == ".part"]
    # A killed web server leaves the part that it had read.
    orphans += Path(settings.FILE_UPLOAD_TEMP_DIR).glob("*")
    return remove_files(orphans, min(now, timezone.now()) - _ORPHANED)
