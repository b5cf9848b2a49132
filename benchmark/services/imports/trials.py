"""The job after an import of dialogues that bring code, or refer to others: run and check them before people look."""

import time
from collections.abc import Iterator
from typing import Any

from annotator.core.text import gettext_noop
from annotator.models import Job, Revision
from annotator.models.jobs import JOB_ENDED
from annotator.services.dialogues.composites import COMPOSITE, SINGLE, check_composites_of
from annotator.services.dialogues.revisions import refresh_findings
from annotator.services.dialogues.trials import BUDGET
from annotator.services.dialogues.untried import KINDS_WITH_CODE, ensure_run, runnables
from annotator.services.jobs.jobs import Running, job_kind, start_job
from benchmark.models import ImportBatch

KIND = "validators_of_import"
#: Kinds of documents whose findings are complete only after the import.
FINISHED_LATER = KINDS_WITH_CODE | {COMPOSITE}
#: Dialogues read at a time.
SLICE = 50


@job_kind(KIND, gettext_noop("Trial of imported code"), quiet=True, untrusted=True)
def run_import_trials(running: Running) -> dict[str, Any]:
    """Run trials. A job runs for a limited time; the rest goes to the end of the queue, so that nobody waits long."""
    parameters = running.job.parameters
    if running.checkpoint.get("late"):
        return {"goes_on": True}
    batch = ImportBatch.objects.select_related("project", "job").get(public_id=parameters["import"])
    begin = time.monotonic()
    after: int = running.checkpoint.get("after", parameters.get("after", 0))
    counts = {"dialogues": running.checkpoint.get("dialogues", 0), "tried": running.checkpoint.get("tried", 0)}
    for revision in _revisions(batch, after=after):
        document = revision.document()
        unfinished = document["kind"] in FINISHED_LATER
        late = False
        for one in runnables(document, revision.toolset_revision):
            if late:
                # The next job starts with this document again; the results so far are known by then.
                break
            # One at a time, with a heartbeat after each: a validator may take its whole time limit.
            tried = ensure_run(one, beat=running.beat)
            counts["tried"] += tried
            running.beat()
            late = tried and time.monotonic() - begin > BUDGET
        else:
            after = revision.pk
        with running.chunk() as chunk:
            if unfinished and after == revision.pk:
                refresh_findings(revision=revision, stage="import")
                if document["kind"] == SINGLE:
                    check_composites_of(revision.dialogue)
                counts["dialogues"] += 1
            late = late or time.monotonic() - begin > BUDGET
            if late:
                start_job(
                    actor=batch.requester,
                    project=batch.project,
                    kind=KIND,
                    parameters={**parameters, "after": after},
                    wake_worker=parameters.get("wake_worker", True),
                )
            chunk.advance(
                done=counts["dialogues"], checkpoint={"after": after, **counts} | ({"late": True} if late else {})
            )
        if late:
            return {**counts, "goes_on": True}
    return counts


def start_import_trials(*, batch: ImportBatch, wake_worker: bool) -> Job | None:
    """Start running the code that an import published; None if it has none."""
    if not Revision.objects.filter(batch=batch.job, sealed=False, dialogue__policies="").exists():
        return None
    parameters = {"import": batch.public_id, "wake_worker": wake_worker}
    return start_job(
        actor=batch.requester, project=batch.project, kind=KIND, parameters=parameters, wake_worker=wake_worker
    )


def trials_of(batch: ImportBatch) -> Job | None:
    """Return the unfinished run of an import's code."""
    mine = Job.objects.filter(project=batch.project, kind=KIND, parameters__import=batch.public_id)
    return mine.exclude(state__in=JOB_ENDED).first()


def _revisions(batch: ImportBatch, *, after: int) -> Iterator[Revision]:
    # They have no policies. If nothing else was imported with them, this finds them without reading all.
    rows = Revision.objects.filter(batch=batch.job, sealed=False, dialogue__policies="").order_by("pk")
    rows = rows.select_related("dialogue__project", "toolset_revision").defer("dialogue__search_text")
    while found := list(rows.filter(pk__gt=after)[:SLICE]):
        after = found[-1].pk
        yield from found
