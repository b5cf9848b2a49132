"""The job after a change of a single task: check the composites that refer to it."""

from typing import Any

from annotator.core.text import gettext_noop
from annotator.models import Dialogue
from annotator.services.dialogues.composites import KIND, composites_of
from annotator.services.dialogues.revisions import refresh_findings
from annotator.services.jobs.jobs import Running, job_kind


@job_kind(KIND, gettext_noop("Check of composites"), quiet=True, repeatable=True)
def run_composite_checks(running: Running) -> dict[str, Any]:
    """Run the job kind ``composites``. Repeating it does no harm, so it keeps no checkpoint."""
    dialogue = Dialogue.objects.get(project=running.job.project, public_id=running.job.parameters["dialogue"])
    done = 0
    for revision in composites_of(dialogue):
        with running.chunk() as chunk:
            refresh_findings(revision=revision)
            done += 1
            chunk.advance(done=done)
    return {"composites": done}
