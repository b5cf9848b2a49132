"""Find out what a file has before it is imported: its format, its fields, its first dialogues."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import Any, BinaryIO, cast

from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.schema import Problem, SchemaProblem
from annotator.core.schema.exact_json import dumps
from annotator.core.text import gettext_noop, message
from annotator.errors import Conflict, Invalid
from annotator.models import Job, Project, User
from annotator.services.access.permissions import require_administrator
from annotator.services.custom_fields import fields_of
from annotator.services.jobs.jobs import Running, job_kind
from benchmark.core.formats import ReadDialogue
from benchmark.core.formats.detecting import Detection, Sample, detect, sample
from benchmark.models import ImportBatch, ImportMapping
from benchmark.services.imports.near_duplicates import repeats_of_sample
from benchmark.services.imports.preparing import MAX_SECONDS, TOO_LONG, TookTooLong, patience
from benchmark.services.imports.requests import open_upload, start_import

#: Seconds of reading after which the worker sends a heartbeat.
BEAT = 5.0
#: Bytes of a dialogue that a preview stores; a longer one is cut after a task.
_STORED = 200_000
#: Warnings, and names of tools of a dialogue, that a preview lists.
_WARNINGS, _TOOLS = 20, 100
#: Characters of a tool's name.
_NAME = 200


class Heard:
    """A file that sends heartbeats while it is read. Gigabytes without a record produce no writes, and a silent worker
    would be considered dead."""

    def __init__(self, file: BinaryIO, running: Running) -> None:
        self._file, self._running = file, running
        self._beaten = monotonic()

    def read(self, size: int = -1, /) -> bytes:
        """Read; may raise Lost or Cancelled as well."""
        if monotonic() - self._beaten > BEAT:
            self._running.beat()
            self._beaten = monotonic()
        return self._file.read(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@job_kind("import_preview", gettext_noop("Preview of a file"), queue="imports", untrusted=True, quiet=True)
def run_preview(running: Running) -> dict[str, Any]:
    """Recognise a file and read its first records; the result is what the preview shows."""
    batch = ImportBatch.objects.select_related("project").get(job=running.job)
    with open_upload(batch) as upload:
        file = cast(BinaryIO, Heard(upload, running))
        found = detect(file, batch.filename)
        saved = None if batch.native_format else _saved(batch.project, found)
        if batch.native_format:
            found.format, found.mapping = batch.native_format, batch.mapping
        elif saved is not None:
            found.format, found.mapping = saved.native_format, saved.mapping
        _require_records(found)
        read = Sample(problems=found.problems)
        if found.format:
            asked, patience = fields_of(batch.project), partial(_patience, file)
            read = sample(file, batch.filename, found.format, found.mapping, fields=asked, patience=patience)
    return {
        "format": found.format,
        "guess": found.guess,
        "mapping": found.mapping,
        "saved": saved is not None,
        "columns": list(found.columns.items()),
        "kept": sorted(read.kept),
        "records": read.records,
        "refused": read.refused,
        "problems": read.problems,
        "warnings": read.warnings.most_common(_WARNINGS),
        "suggestions": read.suggestions,
        "repeats": repeats_of_sample(batch.project, read.texts),
        "dialogues": [_shown(one) for one in read.dialogues],
    }


def recognise(batch: ImportBatch, running: Running) -> None:
    """Set the format and the mapping of an import that has none. Raises Invalid if the records are of no known
    format.
    """
    with open_upload(batch) as upload:
        found = detect(cast(BinaryIO, Heard(upload, running)), batch.filename)
    _require_records(found)
    saved = _saved(batch.project, found)
    if saved is not None:
        found.format, found.mapping = saved.native_format, saved.mapping
    if not found.format:
        raise Invalid(
            message(
                "Assay doesn’t recognise the format of this file. Choose a format, or map its fields in the preview."
            )
        )
    batch.native_format, batch.mapping = found.format, batch.mapping or found.mapping
    batch.save(update_fields=["native_format", "mapping"])


def confirm_preview(
    *,
    actor: User,
    batch: ImportBatch,
    native_format: str,
    mapping: dict[str, str],
    remember: bool = True,
    preview: bool = False,
    dry_run: bool = False,
    revise: bool = False,
    reopen: bool = False,
    reopen_at: str = "",
    at_conflicts: str = "",
    suggest_dependencies: bool = False,
) -> ImportBatch:
    """Import the file of a preview, or (``preview``) look at it again, in this format and with this mapping.

    ``remember``: use both for the next files of the project with the same fields; otherwise forget what was saved for
    them. The other options are those of ``start_import``. Raises Conflict if the preview has not ended, else as
    ``start_import``.
    """
    require_administrator(actor=actor, project=batch.project)
    if not batch.preview or not batch.job.ended or not batch.file:
        raise Conflict(_("The preview hasn’t ended, or its file has been removed. Upload the file again."))
    if not native_format:
        raise Invalid(_("Choose a format."))
    with open_upload(batch) as file:
        started = start_import(
            actor=actor,
            project=batch.project,
            upload=file,
            filename=batch.filename,
            native_format=native_format,
            mapping=mapping,
            preview=preview,
            dry_run=dry_run,
            revise=revise,
            reopen=reopen,
            reopen_at=reopen_at,
            at_conflicts=at_conflicts,
            suggest_dependencies=suggest_dependencies,
        )
    found = batch.job.result
    columns = [name for name, _example in found.get("columns", ())]
    if columns and not started.preview:
        key = _key(found.get("guess", ""), columns)
        if remember:
            # When it has read something.
            parameters = started.job.parameters | {"remember": key}
            Job.objects.filter(pk=started.job_id).update(parameters=parameters)
        else:
            ImportMapping.objects.filter(project=batch.project, columns=key).delete()
    return started


def save_mapping(batch: ImportBatch, key: str) -> None:
    """Save what was chosen for files like this one."""
    if batch.requester is not None:
        ImportMapping.objects.update_or_create(
            project=batch.project,
            columns=key,
            defaults={
                "native_format": batch.native_format, "mapping": batch.mapping, "changed_by": batch.requester,
                "changed_at": timezone.now(),
            },
        )  # fmt: skip


def _require_records(found: Detection) -> None:
    """Raise Invalid if nothing in a file is a record, so that no format helps."""
    if found.columns:
        return
    if not found.problems:
        raise Invalid(message("The file has no records: every line is blank, or its list is empty."))
    line, member, _pointer, sentence = found.problems[0]
    place = ", ".join(filter(None, (member, f"line {line}" if line else "")))
    raise Invalid(f"{place}: {sentence}" if place else sentence)


def _saved(project: Project, found: Detection) -> ImportMapping | None:
    return ImportMapping.objects.filter(project=project, columns=_key(found.guess, found.columns)).first()


def _key(guess: str, columns: Iterable[str]) -> str:
    """Return the key of files like this one. With the format that was recognised: records of two formats may have the
    same fields.
    """
    return hashlib.sha256(dumps([guess, *sorted(columns)])).hexdigest()


@contextmanager
def _patience(file: BinaryIO) -> Iterator[None]:
    # Reading a record may take seconds; this sends a heartbeat.
    file.read(0)
    try:
        with patience():
            yield
    except TookTooLong:
        raise SchemaProblem([Problem("", TOO_LONG.format(MAX_SECONDS))]) from None


def _shown(dialogue: ReadDialogue) -> dict[str, Any]:
    """Return a dialogue for the preview; without a document if it is too long to be shown."""
    document: dict[str, Any] | None = dialogue.document
    tasks = dialogue.document.get("tasks", ())
    count = len(tasks)
    while document is not None and len(dumps(document)) > _STORED:
        count //= 2
        document = dialogue.document | {"tasks": tasks[:count]} if count else None
    found = [tool.get("function", tool).get("name") for tool in dialogue.tools[:_TOOLS] if type(tool) is dict]
    return {
        "external_id": dialogue.external_id,
        "language": dialogue.language,
        "document": document,
        "left_out": len(tasks) - count,
        "tools": [name[:_NAME] for name in found if type(name) is str],
    }
