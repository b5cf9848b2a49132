"""Starting failed jobs again."""

from django.db import transaction
from django.utils.translation import gettext as _

from annotator.core import log_context
from annotator.errors import Conflict, Hidden
from annotator.models import Job, JobState, Project, User
from annotator.services.access.operators import is_operator
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import is_repeatable, kind_title, wake


def retry_job(*, actor: User, job: Job) -> Job:
    """Start a failed job again as a new one, which goes on where it failed. Returns the new job.

    For operators and administrators of its project. Its requester stays the same; the event names the actor. Raises
    Hidden, or Conflict if it has not failed, has been started again, or is of a kind that its own page starts again.
    """
    administered = Project.objects.administered_by(actor).filter(pk=job.project_id)
    if not is_operator(actor) and not administered.exists():
        raise Hidden(_("This job doesn’t exist, or you can’t see it."))
    with transaction.atomic():
        job = Job.objects.select_for_update(of=("self",)).select_related("project").get(pk=job.pk)
        if job.state != JobState.FAILED:
            raise Conflict(_("Only failed jobs can be started again."))
        if not is_repeatable(job.kind):
            raise Conflict(
                _("“%(job)s” can only be started again on its own page, by an administrator of its project.")
                % {"job": kind_title(job.kind)}
            )
        if Job.objects.filter(project=job.project, kind=job.kind, parameters=job.parameters, pk__gt=job.pk).exists():
            raise Conflict(_("This job has already been started again."))
        again = Job.objects.create(
            project=job.project,
            requester_id=job.requester_id,
            kind=job.kind,
            parameters=job.parameters,
            checkpoint=job.checkpoint,
            request_id=log_context.request_id.get() or None,
        )
        after = {"job": again.public_id, "kind": job.kind, "instead_of": job.public_id}
        append_event(actor=actor, project=job.project, kind="job.started", after=after)
        transaction.on_commit(lambda: wake(again))
    return again
