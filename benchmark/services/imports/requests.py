"""Imports as people meet them: begin one, look at it, stop it, repeat a dry run for real."""

from pathlib import Path
from typing import Any, BinaryIO

from django.db import transaction
from django.db.models import QuerySet

from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Job, JobState, Project, User
from annotator.models.keys import new_public_id
from annotator.models.work import JOB_ENDED
from annotator.services.access.permissions import require_administrator
from annotator.services.jobs.jobs import cancel_job, lock_requester, start_job
from benchmark.core.formats import READERS
from benchmark.core.formats.files import EXTENSIONS
from benchmark.models import ImportBatch, ImportNote
from benchmark.services.imports.report import REOPENED, WORKED_ON
from benchmark.services.stored_files import Readable, StoredFile, full_path, store

SEVERITIES = ("error", "warning", "info")


def start_import(
    *,
    actor: User | None,
    project: Project,
    filename: str,
    native_format: str,
    upload: Readable | None = None,
    path: Path | None = None,
    dry_run: bool = False,
    revise: bool = False,
    reopen: bool = False,
    wake_worker: bool = True,
) -> ImportBatch:
    """Store a file of candidates and ask for its import. ``actor`` None is the command line.

    The file is an ``upload`` or stands at ``path``. It lies under a name of ours; ``filename`` is only shown and says
    what kind of file it is. ``revise``: known ids with other content become revisions; ``reopen``: also of dialogues
    that people have worked on, where a dry run of the same file has named them. Whoever asks for what is under way for
    them already, by a second click, gets that. Raises Denied for whoever is no
    administrator, Invalid for an unknown format or kind of file, and for ``reopen`` without ``revise``.
    """
    if actor is not None:
        require_administrator(actor=actor, project=project)
    if native_format not in READERS:
        raise Invalid(f"There is no format called “{native_format}”; choose one of: {', '.join(READERS)}.")
    if reopen and not revise:
        raise Invalid("To reopen dialogues, revise them: choose “revise” as well.")
    filename = shown_filename(filename)
    if not filename.lower().endswith(EXTENSIONS):
        raise Invalid(f"{filename} is not of a kind that is read: {', '.join(EXTENSIONS)}.")
    public_id = new_public_id()
    name = f"imports/{public_id}"
    stored = _store(upload, path, name)
    asked = {"native_format": native_format, "dry_run": dry_run, "revise": revise, "reopen": reopen}
    try:
        with transaction.atomic():
            if actor is not None:
                lock_requester(actor.pk)
                same = asked | {"requester": actor, "filename": filename, "sha256": stored.sha256}
                begun = unfinished_import(project=project, **same)
                if begun is not None:
                    full_path(name).unlink()
                    return begun
            job = start_job(
                actor=actor,
                project=project,
                kind="import",
                parameters={
                    "import": public_id,
                    "format": native_format,
                    "dry_run": dry_run,
                    "revise": revise,
                    "reopen": reopen,
                    # Whoever runs this job itself runs what follows from it, too.
                    "wake_worker": wake_worker,
                },
                wake_worker=wake_worker,
            )
            return ImportBatch.objects.create(
                public_id=public_id,
                project=project,
                job=job,
                requester=actor,
                filename=filename,
                file=stored.name,
                bytes=stored.bytes,
                sha256=stored.sha256,
                **asked,
            )
    except BaseException:
        full_path(name).unlink(missing_ok=True)
        raise


def _store(upload: Readable | None, path: Path | None, name: str) -> StoredFile:
    if upload is not None:
        return store(upload, name)
    if path is None:
        raise ValueError("an import needs a file")
    try:
        file = path.open("rb")
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror or error}.") from None
    with file:
        return store(file, name)


def may_repeat(batch: ImportBatch) -> str:
    """What importing the file again would be: ``for_real`` after a dry run, ``again`` after a bad end, or nothing.

    A dry run by which nothing would be created, revised or, if somebody asks for that, reopened has nothing to do for
    real. An uploaded file that has been removed meanwhile (``annotator.services.jobs.retention``) has no name any more.
    """
    if not batch.file:
        return ""
    if batch.dry_run and batch.job.state == JobState.DONE:
        return "for_real" if batch.created or batch.revised or worked_on(batch).exists() else ""
    return "again" if batch.job.state in (JobState.FAILED, JobState.CANCELLED) else ""


def repeat_import(*, actor: User, batch: ImportBatch, reopen: bool = False) -> ImportBatch:
    """Import the stored file again: for real after a dry run that ended well, else as before.

    ``reopen``: after a dry run, dialogues that it named as worked on are revised as well. Raises Conflict where there
    is nothing to repeat, Invalid where the file has been removed meanwhile.
    """
    require_administrator(actor=actor, project=batch.project)
    repeat = may_repeat(batch)
    if not repeat:
        raise Conflict(
            "There is nothing to repeat: it has not ended, its records are in the project, or all would stay out."
        )
    with open_upload(batch) as file:
        return start_import(
            actor=actor,
            project=batch.project,
            upload=file,
            filename=batch.filename,
            native_format=batch.native_format,
            dry_run=batch.dry_run and repeat == "again",
            revise=batch.revise,
            reopen=reopen if repeat == "for_real" else batch.reopen,
        )


def worked_on(batch: ImportBatch) -> QuerySet[ImportNote]:
    """What a dry run says of dialogues that people have worked on, and that could be reopened; in file order."""
    notes = ImportNote.objects.filter(batch=batch, batch__dry_run=True)
    return notes.filter(check_id__in=[WORKED_ON, REOPENED]).order_by("pk")


def cancel_import(*, actor: User, batch: ImportBatch) -> None:
    """Stop an import; what it has written is discarded. Raises Conflict when it has ended."""
    require_administrator(actor=actor, project=batch.project)
    cancel_job(actor=actor, job=batch.job)


def list_imports(*, actor: User, project: Project) -> QuerySet[ImportBatch]:
    """The project's imports. Raises Denied for whoever is no administrator."""
    require_administrator(actor=actor, project=project)
    return ImportBatch.objects.filter(project=project).select_related("job__cancellation", "requester")


def load_import(*, actor: User, project: Project, public_id: str) -> ImportBatch:
    """One import with its job. Raises Denied or Hidden."""
    batch = list_imports(actor=actor, project=project).filter(public_id=public_id).first()
    if batch is None:
        raise Hidden("There is no such import in this project.")
    batch.project = project
    return batch


def unfinished_import(*, project: Project, **asked: Any) -> ImportBatch | None:
    """An import that was asked for like that (``sha256`` and the rules), and neither has ended nor is to be stopped."""
    return (
        ImportBatch.objects.filter(
            project=project, job__state__in=[JobState.QUEUED, JobState.RUNNING], job__cancellation=None, **asked
        )
        .select_related("job", "project")
        .order_by("-id")
        .first()
    )


def notes_of(batch: ImportBatch, *, severity: str = "") -> QuerySet[ImportNote]:
    """The rows of the report, of one severity where it is named; their keys are in file order."""
    rows = ImportNote.objects.filter(batch=batch)
    return rows.filter(severity=severity) if severity in SEVERITIES else rows


def shown_filename(name: str) -> str:
    """The last part of a file's name, fit for a page; never a path."""
    name = name.replace("\\", "/").rpartition("/")[2]
    shown = "".join(character if character.isprintable() else "�" for character in name).strip()
    if not shown:
        return "file"
    return shown if len(shown) <= 255 else f"{shown[:120]}…{shown[-120:]}"


def follow_up(batch: ImportBatch) -> Job | None:
    """The job that an import has started at its end, until that has ended."""
    jobs = Job.objects.filter(project=batch.project, kind="near_duplicates", parameters__import=batch.public_id)
    return jobs.exclude(state__in=JOB_ENDED).first()


def open_upload(batch: ImportBatch) -> BinaryIO:
    """The stored file. Raises Invalid where it is gone."""
    try:
        return full_path(batch.file).open("rb")
    except OSError as error:
        raise Invalid(f"The stored file of {batch.filename} is gone ({error.strerror}); upload it again.") from None
