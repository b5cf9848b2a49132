"""Start, show, cancel and repeat imports."""

from pathlib import Path
from typing import Any, BinaryIO

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Job, JobState, Project, User
from annotator.models.jobs import JOB_ENDED
from annotator.models.keys import new_public_id
from annotator.services.access.permissions import require_administrator
from annotator.services.jobs.jobs import cancel_job, lock_requester, start_job
from annotator.services.quotas import hold_quota
from benchmark.core.files.extensions import EXTENSIONS, SHOWN
from benchmark.core.formats import FORMATS
from benchmark.core.formats.mapping import read_mapping
from benchmark.models import AtConflicts, ImportBatch, ImportNote
from benchmark.services.imports.folders import FolderArchive
from benchmark.services.imports.reopening import require_reopening_stage
from benchmark.services.imports.report import REOPENED, WORKED_ON
from benchmark.services.stored_files import Readable, StoredFile, full_path, store


def start_import(
    *,
    actor: User | None,
    project: Project,
    filename: str,
    native_format: str = "",
    mapping: dict[str, str] | None = None,
    upload: Readable | None = None,
    path: Path | None = None,
    dry_run: bool = False,
    revise: bool = False,
    reopen: bool = False,
    reopen_at: str = "",
    at_conflicts: str = "",
    suggest_dependencies: bool = False,
    preview: bool = False,
    wake_worker: bool = True,
) -> ImportBatch:
    """Store a file of candidates and start a job that imports it. ``actor`` None is the command line.

    The file is an ``upload`` or is at ``path``, which may be a folder: it is stored as a zip archive, under a generated
    name. ``filename`` is only shown, and its ending says what kind of file it is. Without a ``native_format``, the
    import recognises it; ``mapping``: role → field of the file (``core.formats.mapping``). ``preview``: only find out
    what the file has. ``revise``: known ids with new content become revisions; ``reopen``: also of dialogues that
    people have worked on, if a dry run of the same file has listed them; ``reopen_at``: the stage in which the review
    of reviewed and verified ones starts again, one of the protocol's ``entry_stages`` (blank: the first).
    ``at_conflicts``: whose value to take where people and a record changed the same place (``AtConflicts``); without
    it, such a dialogue is not changed.
    ``suggest_dependencies``: the dependencies of the records become suggestions.

    A repeated request (a second click) returns the unfinished import. Raises Denied for anyone but administrators,
    OverQuota if the file would exceed the project's quota, Invalid for an unknown format or kind of file, for a mapping
    that does not fit, for ``reopen`` and ``reopen_at`` without ``revise``, and for a stage in which no cycle can start.
    """
    if actor is not None:
        require_administrator(actor=actor, project=project)
    if native_format and native_format not in FORMATS:
        raise Invalid(
            _("There is no format “%(name)s”. Choose one of: %(formats)s.")
            % {"name": native_format, "formats": ", ".join(FORMATS)}
        )
    if mapping and not native_format:
        raise Invalid(_("Choose the format to which the mapping applies."))
    if mapping:
        try:
            mapping = read_mapping(mapping, native_format)
        except ValueError as error:
            raise Invalid(str(error)) from None
    if at_conflicts and at_conflicts not in AtConflicts.values:
        raise Invalid(
            _("There is no choice “%(name)s” at conflicts. Choose one of: %(names)s.")
            % {"name": at_conflicts, "names": ", ".join(AtConflicts.values)}
        )
    if reopen and not revise:
        raise Invalid(_("To reopen dialogues, choose “revise” as well."))
    if reopen_at and not revise:
        raise Invalid(_("To reopen dialogues at a stage, choose “revise” as well."), field="reopen_at")
    require_reopening_stage(project, reopen_at)
    filename = shown_filename(filename)
    if not filename.lower().endswith(EXTENSIONS):
        raise Invalid(
            _("Assay can’t read %(file)s. Use a file that ends in one of: %(endings)s.")
            % {"file": filename, "endings": SHOWN}
        )
    public_id = new_public_id()
    name = f"imports/{public_id}"
    stored = _store(upload, path, name)
    asked = {
        "native_format": native_format, "mapping": mapping or {}, "dry_run": dry_run, "revise": revise,
        "reopen": reopen, "reopen_at": reopen_at, "at_conflicts": at_conflicts,
        "suggest_dependencies": suggest_dependencies, "preview": preview,
    }  # fmt: skip
    try:
        with transaction.atomic():
            if actor is not None:
                lock_requester(actor.pk)
                same = asked | {"requester": actor, "filename": filename, "sha256": stored.sha256}
                # An import without a format gets one when it runs.
                same["job__parameters__format"] = same.pop("native_format")
                if not native_format:
                    del same["mapping"]
                begun = unfinished_import(project=project, **same)
                if begun is not None:
                    full_path(name).unlink()
                    return begun
                hold_quota(project, stored.bytes)
            job = start_job(
                actor=actor,
                project=project,
                kind="import_preview" if preview else "import",
                parameters={
                    "import": public_id,
                    "format": native_format,
                    "dry_run": dry_run,
                    "revise": revise,
                    "reopen": reopen,
                    "reopen_at": reopen_at,
                    "at_conflicts": at_conflicts,
                    # A command that runs this job itself also runs the jobs that follow.
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
    if path.is_dir():
        return store(FolderArchive(path), name)
    try:
        file = path.open("rb")
    except OSError as error:
        raise Invalid(
            _("Can’t read %(file)s: %(reason)s.") % {"file": path, "reason": error.strerror or error}
        ) from None
    with file:
        return store(file, name)


def may_repeat(batch: ImportBatch) -> str:
    """Return what importing the file again would be: ``for_real`` after a dry run, ``again`` after a failure, or "".

    After a dry run, there must be something to create, revise or reopen. A removed upload
    (``annotator.services.jobs.retention``) has no file name any more.
    """
    if not batch.file:
        return ""
    if batch.preview:
        return "again" if batch.job.state in (JobState.FAILED, JobState.CANCELLED) else ""
    if batch.dry_run and batch.job.state == JobState.DONE:
        changes = batch.created or batch.revised or batch.suggestions
        return "for_real" if changes or worked_on(batch).exists() else ""
    return "again" if batch.job.state in (JobState.FAILED, JobState.CANCELLED) else ""


def repeat_import(*, actor: User, batch: ImportBatch, reopen: bool = False) -> ImportBatch:
    """Import the stored file again: for real after a successful dry run, else as before.

    ``reopen``: after a dry run, also revise dialogues that it listed as worked on. Raises Conflict if there is nothing
    to repeat, Invalid if the file has been removed.
    """
    require_administrator(actor=actor, project=batch.project)
    repeat = may_repeat(batch)
    if not repeat:
        raise Conflict(
            _(
                "This import can’t be repeated: it hasn’t ended, all its records are already in the project, or all "
                "would be rejected."
            )
        )
    with open_upload(batch) as file:
        return start_import(
            actor=actor,
            project=batch.project,
            upload=file,
            filename=batch.filename,
            native_format=batch.native_format,
            mapping=batch.mapping,
            preview=batch.preview,
            dry_run=batch.dry_run and repeat == "again",
            revise=batch.revise,
            reopen=reopen if repeat == "for_real" else batch.reopen,
            reopen_at=batch.reopen_at,
            at_conflicts=batch.at_conflicts,
            suggest_dependencies=batch.suggest_dependencies,
        )


def worked_on(batch: ImportBatch) -> QuerySet[ImportNote]:
    """Return a dry run's notes on dialogues that people have worked on and that could be reopened, in file order."""
    notes = ImportNote.objects.filter(batch=batch, batch__dry_run=True)
    return notes.filter(check_id__in=[WORKED_ON, REOPENED]).order_by("pk")


def cancel_import(*, actor: User, batch: ImportBatch) -> None:
    """Stop an import and discard what it has written. Raises Conflict if it has ended."""
    require_administrator(actor=actor, project=batch.project)
    cancel_job(actor=actor, job=batch.job)


def list_imports(*, actor: User, project: Project) -> QuerySet[ImportBatch]:
    """Return the project's imports without previews. Raises Denied for anyone but administrators."""
    return _batches(actor, project).filter(preview=False)


def _batches(actor: User, project: Project) -> QuerySet[ImportBatch]:
    require_administrator(actor=actor, project=project)
    return ImportBatch.objects.filter(project=project).select_related("job__cancellation", "requester")


def load_import(*, actor: User, project: Project, public_id: str) -> ImportBatch:
    """Return one import with its job. Raises Denied or Hidden."""
    batch = _batches(actor, project).filter(public_id=public_id).first()
    if batch is None:
        raise Hidden(_("This import doesn’t exist in the project."))
    batch.project = project
    return batch


def unfinished_import(*, project: Project, **asked: Any) -> ImportBatch | None:
    """Return an unfinished import of the same file (``sha256``) with the same options that is not being cancelled."""
    return (
        ImportBatch.objects.filter(
            project=project, job__state__in=[JobState.QUEUED, JobState.RUNNING], job__cancellation=None, **asked
        )
        .select_related("job", "project")
        .order_by("-id")
        .first()
    )


def shown_filename(name: str) -> str:
    """Return the last part of a file's name, fit for a page; never a path."""
    name = name.replace("\\", "/").rpartition("/")[2]
    shown = "".join(character if character.isprintable() else "�" for character in name).strip()
    if not shown:
        return "file"
    return shown if len(shown) <= 255 else f"{shown[:120]}…{shown[-120:]}"


def follow_up(batch: ImportBatch) -> Job | None:
    """Return the unfinished job that an import has started at its end."""
    jobs = Job.objects.filter(project=batch.project, kind="near_duplicates", parameters__import=batch.public_id)
    return jobs.exclude(state__in=JOB_ENDED).first()


def open_upload(batch: ImportBatch) -> BinaryIO:
    """Open the stored file. Raises Invalid if it is gone."""
    try:
        return full_path(batch.file).open("rb")
    except OSError as error:
        raise Invalid(
            _("The stored file of %(file)s is gone (%(reason)s). Upload it again.")
            % {"file": batch.filename, "reason": error.strerror}
        ) from None
