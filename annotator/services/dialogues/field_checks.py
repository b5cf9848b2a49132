"""The job after a change of a project's custom fields: bring findings, their counts and clean marks up to date."""

from typing import Any

from annotator.core.text import gettext_noop
from annotator.models import Dialogue, Revision
from annotator.services.custom_fields import CHECK_JOB
from annotator.services.dialogues.revisions import hold_dialogue, refresh_findings
from annotator.services.jobs.jobs import Running, job_kind

#: Dialogues that are looked up at once.
_AT_ONCE = 200


@job_kind(CHECK_JOB, gettext_noop("Check of custom fields"), quiet=True, repeatable=True)
def run_field_checks(running: Running) -> dict[str, Any]:
    """Check each dialogue of the project with the fields that it has by then. Nobody waits for more than one of them.

    Its head is read under the lock: a submission that began before the change may move it until then.
    """
    rows = Dialogue.objects.filter(project=running.job.project, published=True, head__isnull=False)
    total: int = running.checkpoint.get("total") or rows.count()
    done: int = running.checkpoint.get("done", 0)
    last: int = running.checkpoint.get("last", 0)
    while found := list(rows.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:_AT_ONCE]):
        for key in found:
            with running.chunk() as chunk:
                hold_dialogue(key)
                head = Dialogue.objects.filter(pk=key).values("head")
                revision = Revision.objects.select_related("toolset_revision", "dialogue").get(pk__in=head)
                refresh_findings(revision=revision, only=is_about_fields)
                last, done = key, done + 1
                chunk.advance(done=done, total=total, checkpoint={"total": total, "done": done, "last": last})
    return {"dialogues": done}


def is_about_fields(check: str) -> bool:
    """Return whether a check is about custom fields."""
    return check.startswith("field.")
