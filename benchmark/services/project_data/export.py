"""Exports a whole project: every row of it and every file, as a zip archive with checksums.

Each table is a file of lines in JSON, with the values of its columns; secrets are left out. Rows name others by their
keys. Rows are read in portions, so memory does not grow with the project. While people work in a project, later files
may have rows that earlier ones do not know; an archived project does not change.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import reduce
from operator import add
from pathlib import Path
from time import monotonic
from typing import Any

from django.db import transaction
from django.db.models import ForeignKey, JSONField, QuerySet, TextField, Value
from django.db.models.functions import Cast, Coalesce, Length
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotator.core.schema.exact_json import dumps
from annotator.core.text import Message, gettext_noop
from annotator.errors import Conflict, Hidden
from annotator.models import Job, JobState, Project, User
from annotator.models.jobs import JOB_ENDED
from annotator.services.access.permissions import require_administrator
from annotator.services.jobs.jobs import Running, job_kind, start_job
from annotator.services.jobs.outages import require_room
from benchmark.core.archives.archive import DeterministicZip, MemberWriter
from benchmark.services.project_data.tables import ProjectTable, project_tables, stored_files
from benchmark.services.stored_files import full_path, sha256_of

KIND = "project_export"
#: The version of the layout.
LAYOUT = 1
#: Rows in memory at a time, and the length of their texts and JSON (one row may have more); bytes of a file.
_ROWS, _LENGTH, _PIECE = 1000, 4 << 20, 1 << 20
#: Seconds between two updates of the job.
_PAUSE = 2.0
#: Table → columns that are left out: secrets, and what is made from the others. The address of a webhook often contains
#: a secret of its receiver.
LEFT_OUT: dict[str, frozenset[str]] = {
    "annotator.invitation": frozenset({"secret_hash"}),
    "annotator.webhook": frozenset({"secret", "old_secret", "url"}),
    "annotator.dialogue": frozenset({"search_text"}),
    "reviews.claim": frozenset({"token"}),
    "reviews.goldrate": frozenset({"secret"}),
    "benchmark.endpoint": frozenset({"key"}),
    "benchmark.sharedboard": frozenset({"token"}),
    "benchmark.erratalink": frozenset({"token"}),
}
#: Tables that are left out: which tokens of people are limited to the project.
_NOT_EXPORTED = frozenset({"annotator.apitoken_projects"})


def start_export(*, actor: User, project: Project) -> Job:
    """Start an export, or return the one in progress. Raises Denied."""
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        # A second request waits here, then finds the job of the first.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        last = last_export(project)
        if last is not None and not last.ended:
            return last
        return start_job(actor=actor, project=project, kind=KIND, parameters={})


def last_export(project: Project) -> Job | None:
    """Return the newest export, running or ended."""
    return Job.objects.filter(project=project, kind=KIND).order_by("-pk").first()


def complete_export(project: Project) -> Job | None:
    """Return the newest export whose archive exists."""
    done = Job.objects.filter(project=project, kind=KIND, state=JobState.DONE).order_by("-pk").first()
    return done if done is not None and export_path(done).is_file() else None


def export_since_archived(project: Project) -> Job | None:
    """Return the newest export that has everything: it began after the project was archived. None if there is none."""
    export = complete_export(project)
    if export is None or project.archived_at is None or export.created_at < project.archived_at:
        return None
    return export


def load_export(*, actor: User, project: Project) -> tuple[Path, str, str]:
    """Return the path, the name for downloads and the SHA-256 of the newest export. Raises Denied, Hidden, Conflict."""
    require_administrator(actor=actor, project=project)
    last, done = last_export(project), complete_export(project)
    if done is None:
        if last is not None and last.state not in JOB_ENDED:
            raise Conflict(_("The export is still being written. Wait until it has ended."))
        raise Hidden(_("There is no export of this project. Start one first."))
    return export_path(done), f"{slugify(project.slug)}-export-{done.public_id}.zip", str(done.result["sha256"])


def export_path(job: Job) -> Path:
    """Return the path of an export's archive."""
    return full_path(f"exports/{job.public_id}.zip")


def export_files(jobs: QuerySet[Job]) -> Iterator[Path]:
    """Yield the archives of exports, and the parts that killed workers have left of them."""
    known = set(jobs.filter(kind=KIND).values_list("public_id", flat=True))
    for path in full_path("exports").glob("*"):
        if path.name.removeprefix(".").partition(".")[0] in known:
            yield path


@job_kind(KIND, gettext_noop("Export of a project"), repeatable=True, writes_files=True)
def _run(running: Running) -> dict[str, Any]:
    job = running.job
    path = export_path(job)
    path.parent.mkdir(parents=True, exist_ok=True)
    # What a killed worker has left. One that was only slow can't finish without it, so it replaces nothing.
    for left in export_files(Job.objects.filter(pk=job.pk)):
        left.unlink(missing_ok=True)
    with DeterministicZip(path) as archive:
        counts = _Export(running, archive).write()
        running.beat()
    # Only the newest is kept.
    for old in export_files(Job.objects.filter(project=job.project, pk__lt=job.pk)):
        old.unlink(missing_ok=True)
    return {"bytes": path.stat().st_size, "sha256": sha256_of(path), "rows": sum(counts.values())}


class _Export:
    def __init__(self, running: Running, archive: DeterministicZip) -> None:
        self.running = running
        self.archive = archive
        self.project = running.job.project
        self.done = 0
        self.told_at = 0.0
        #: Keys of everyone whom a row names.
        self.people: set[int] = set()

    def write(self) -> dict[str, int]:
        """Write all members of the archive; return table → rows."""
        counts = {}
        for table in project_tables():
            if table.label not in _NOT_EXPORTED:
                with self.archive.member(f"tables/{table.label}.jsonl") as out:
                    counts[table.label] = self._write_rows(table, out)
        with self.archive.member("people.jsonl") as out:
            for line in self._people():
                out.write(line)
        for name in stored_files(self.project.pk):
            with self.archive.member(f"files/{name}") as out:
                self._copy(full_path(name), out)
        self.archive.add("SHA256SUMS", "".join(f"{one.sha256}  {one.path}\n" for one in self.archive.files).encode())
        self.archive.add("manifest.json", dumps(self._manifest()) + b"\n")
        return counts

    def _write_rows(self, table: ProjectTable, out: MemberWriter) -> int:
        left_out = LEFT_OUT.get(table.label, frozenset())
        fields = [field for field in table.model._meta.concrete_fields if field.name not in left_out]
        names = [field.attname for field in fields]
        people = [n for n, f in enumerate(fields) if isinstance(f, ForeignKey) and f.related_model is User]
        texts = [field.name for field in fields if isinstance(field, TextField | JSONField)]
        every, count = table.rows(self.project.pk), 0
        for first, last in _portions(every, texts):
            rows = list(every.filter(pk__gte=first, pk__lte=last).values_list(*names))
            for row in rows:
                out.write(dumps({name: _plain(value) for name, value in zip(names, row, strict=True)}) + b"\n")
            self.people.update(row[n] for row in rows for n in people if row[n] is not None)
            count += len(rows)
            self._advance(len(rows))
        return count

    def _people(self) -> Iterator[bytes]:
        """Yield a line for each person whom a row names: what their colleagues see of them."""
        for person in User.objects.filter(pk__in=self.people).order_by("pk"):
            found = {
                "id": person.pk, "public_id": person.public_id, "pseudonym": person.pseudonym, "name": str(person)
            }  # fmt: skip
            yield dumps(found) + b"\n"

    def _copy(self, path: Path, out: MemberWriter) -> None:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                out.write(piece)
                self._advance(0)

    def _advance(self, count: int) -> None:
        self.done += count
        if monotonic() - self.told_at < _PAUSE:
            return
        require_room(_PIECE)
        with self.running.chunk() as chunk:
            chunk.advance(done=self.done)
        self.told_at = monotonic()

    def _manifest(self) -> dict[str, Any]:
        # It may have been restored since the export began.
        self.project.refresh_from_db(fields=["archived_at"])
        return {
            "format": "assay-project",
            "layout": LAYOUT,
            "project": {"slug": self.project.slug, "name": self.project.name, "public_id": self.project.public_id},
            "exported_at": timezone.now().isoformat(),
            "archived_at": _plain(self.project.archived_at),
            "files": [
                {"path": one.path, "sha256": one.sha256, "bytes": one.bytes, "records": one.records}
                for one in self.archive.files
            ],
        }


class _Size(Length):
    """The bytes of a text; on SQLite its characters. Counting characters, PostgreSQL would have to unpack each text."""

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, function="OCTET_LENGTH", **context)


def _portions(rows: QuerySet[Any], texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and last key of each portion of rows to read at once. ``texts``: columns of any length."""
    sizes = (Coalesce(_Size(Cast(name, TextField())), 0) for name in texts)
    size, after = reduce(add, sizes, Value(0)), 0
    while found := list(rows.filter(pk__gt=after).values_list("pk", size)[:_ROWS]):
        first, together = found[0][0], 0
        for key, length in found:
            if together and together + length > _LENGTH:
                yield first, after
                first, together = key, 0
            after, together = key, together + length
        yield first, after


def _plain(value: Any) -> Any:
    """Return a column's value as JSON: times in ISO form, amounts as text, durations in seconds."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value.to_json() if isinstance(value, Message) else value
