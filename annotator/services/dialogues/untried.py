"""The code that a document brings, and that must run before people pass it: validators of a constrained case, and the
trajectory of a single task.
"""

from collections.abc import Callable, Mapping
from typing import Any

from annotator.core.execution.subjects import Subject as Trajectory
from annotator.core.execution.subjects import subject_of
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.validators.trial import Subject as Validator
from annotator.core.validators.trial import subjects_of
from annotator.models import Dialogue, Job, Project, ToolsetRevision, User
from annotator.services.dialogues.executions import ensure_executed, start_execution
from annotator.services.dialogues.trials import ensure_tried, start_trials

#: Kinds of documents that bring code.
KINDS_WITH_CODE = frozenset(("constrained", "single_task"))

Runnable = Validator | Trajectory


def runnables(document: Mapping[str, Any], toolset_revision: ToolsetRevision) -> list[Runnable]:
    """Return what of a document can run; what cannot be read is left out."""
    if document["kind"] == "constrained":
        return list(subjects_of(document))
    if document["kind"] == "single_task":
        found = subject_of(document, CompiledToolset.of(toolset_revision.content))
        return [found] if isinstance(found, Trajectory) else []
    return []


def ensure_run(one: Runnable, *, beat: Callable[[], None] | None = None) -> bool:
    """Run it and store the result, unless it is known; return whether it ran. For workers and commands.

    Raises Conflict if the sandbox is not available.
    """
    if isinstance(one, Validator):
        return bool(ensure_tried([one]))
    return ensure_executed(one, beat=beat)


def start_runs(
    *,
    actor: User | None,
    project: Project,
    document: Mapping[str, Any],
    toolset_revision: ToolsetRevision,
    dialogue: Dialogue | None = None,
) -> Job | None:
    """Let a worker run what of a document has not run; None if all results are known.

    Raises Invalid, and Conflict if the person has too many such jobs.
    """
    if document["kind"] == "single_task":
        return start_execution(
            actor=actor, project=project, document=document, toolset_revision=toolset_revision, dialogue=dialogue
        )
    return start_trials(actor=actor, project=project, document=document, dialogue=dialogue)
