"""Executions of single tasks: stored by content, run only in workers.

Pages and checks read known executions (``known_executions_of``) and start a job for the others (``start_execution``).
"""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from annotator.core.execution.running import Execution
from annotator.core.execution.subjects import Record, Subject, run_subject, subject_of
from annotator.core.sandbox.results import SandboxUnavailable, Status
from annotator.core.sandbox.sharing import shared_sandbox
from annotator.core.sandbox.trajectories import Trajectory, TrajectoryRun
from annotator.core.schema.exact_json import dumps
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.text import message
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Dialogue, Job, Project, Revision, ToolsetRevision, User
from annotator.models import Execution as StoredExecution
from annotator.models.jobs import JOB_ENDED
from annotator.services.jobs.jobs import Running, job_kind, start_job

KIND = "execution"
#: Running executions of one person.
MAX_RUNNING = 3
#: What of a document a run needs.
_PARTS = ("initial_state", "now", "seed", "tasks")


def known_executions_of(document: Mapping[str, Any], toolset: CompiledToolset) -> dict[str, Record]:
    """Return {key: execution} of a single task in exactly this version; empty if it has not run, or cannot."""
    known = _known(document, toolset)
    return {known[0].key: known[1]} if known else {}


def execution_of(document: Mapping[str, Any], toolset: CompiledToolset) -> Execution | None:
    """Return what the calls of a single task came to in exactly this version; None if it has not run, or cannot."""
    known = _known(document, toolset)
    return known[1].execution(known[0]) if known else None


def _known(document: Mapping[str, Any], toolset: CompiledToolset) -> tuple[Subject, Record] | None:
    subject = subject_of(document, toolset) if document["kind"] == "single_task" else ""
    found = read_execution(subject) if isinstance(subject, Subject) else None
    return (subject, found) if isinstance(subject, Subject) and found else None


def execution_of_revision(revision: Revision, document: Mapping[str, Any]) -> Execution | None:
    """Return what the calls of a revision came to; ``document`` is its content."""
    return execution_of(document, CompiledToolset.of(revision.toolset_revision.content))


def read_execution(subject: Subject) -> Record | None:
    """Return the execution of exactly this trajectory, if it has run."""
    found = StoredExecution.objects.filter(key=subject.key).first()
    return Record.from_json(found.data()) if found else None


def start_execution(
    *,
    actor: User | None,
    project: Project,
    document: Mapping[str, Any],
    toolset_revision: ToolsetRevision,
    dialogue: Dialogue | None = None,
) -> Job | None:
    """Let a worker run a single task's trajectory; None if its execution is known.

    ``dialogue``: the document's dialogue, for finding the job. Raises Invalid if it cannot be run, and Conflict if the
    person has too many executions in progress.
    """
    if document["kind"] != "single_task":
        raise Invalid(_("Only single tasks can be run. Other dialogues have no stateful tools."))
    subject = subject_of(document, CompiledToolset.of(toolset_revision.content))
    if isinstance(subject, str):
        raise Invalid(subject)
    if StoredExecution.objects.filter(key=subject.key).exists():
        return None
    parameters = {
        "dialogue": dialogue.public_id if dialogue else "",
        "key": subject.key,
        "toolset_revision": toolset_revision.pk,
        "task": {part: document[part] for part in _PARTS},
    }
    with transaction.atomic():
        if actor is not None:
            # One request of a person at a time, so that two windows can't exceed the limit together.
            User.objects.select_for_update(no_key=True).get(pk=actor.pk)
            waiting = list(Job.objects.filter(requester=actor, kind=KIND).exclude(state__in=JOB_ENDED).order_by("-pk"))
            for job in waiting:
                if job.parameters["key"] == subject.key:
                    return job
            if len(waiting) >= MAX_RUNNING:
                sentence = ngettext(
                    "You have %(count)d run in progress. Wait until it has ended.",
                    "You have %(count)d runs in progress. Wait until one has ended.",
                    len(waiting),
                )
                raise Conflict(sentence % {"count": len(waiting)})
        return start_job(actor=actor, project=project, kind=KIND, parameters=parameters)


def load_execution_job(*, actor: User, dialogue: Dialogue, public_id: str) -> Job:
    """Return a run of a dialogue's trajectory that the actor started. Raises Hidden."""
    job = Job.objects.filter(requester=actor, kind=KIND, public_id=public_id).first()
    if job is None or job.parameters["dialogue"] != dialogue.public_id:
        raise Hidden(_("This run doesn’t exist, or you can’t see it."))
    return job


# --- in a worker -----------------------------------------------------------------------------------------------------


@job_kind(KIND, gettext_noop("Run of a trajectory"), quiet=True, untrusted=True)
def run_execution(running: Running) -> dict[str, Any]:
    """Run the job kind ``execution``."""
    parameters = running.job.parameters
    revision = ToolsetRevision.objects.get(pk=parameters["toolset_revision"], project=running.job.project)
    subject = subject_of(parameters["task"], CompiledToolset.of(revision.content))
    if isinstance(subject, str):
        raise Invalid(subject)
    with running.chunk() as chunk:
        chunk.advance(done=0, total=1)
    ensure_executed(subject, beat=running.beat)
    with running.chunk() as chunk:
        chunk.advance(done=1)
    return {"key": subject.key}


def ensure_executed(subject: Subject, *, beat: Any = None) -> bool:
    """Run a trajectory whose execution is not known, and store it; returns whether it was run.

    For workers and commands. ``beat`` is called between runs. Raises Conflict if the sandbox is not available; then
    nothing is stored.
    """
    if StoredExecution.objects.filter(key=subject.key).exists():
        return False

    def run(trajectory: Trajectory, twice: bool) -> TrajectoryRun:
        found = shared_sandbox().run_trajectory(trajectory, twice=twice)
        if beat is not None:
            beat()
        return found

    try:
        record = run_subject(run, subject)
    except SandboxUnavailable as why:
        raise Conflict(
            message(
                "%(status)s This isn’t a problem with the tools. %(reason)s",
                status=Status.SANDBOX_UNAVAILABLE.words,
                reason=str(why),
            )
        ) from None
    StoredExecution.objects.get_or_create(key=subject.key, defaults={"record": dumps(record.as_json()).decode()})
    return True
