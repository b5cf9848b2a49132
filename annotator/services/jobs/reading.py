"""The jobs of a project, for its administrators."""

from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotator.errors import Hidden
from annotator.models import Job, Project, User
from annotator.services.access.permissions import require_administrator


def jobs_of(*, actor: User, project: Project) -> QuerySet[Job]:
    """Return the project's jobs. Raises Denied for all but administrators."""
    require_administrator(actor=actor, project=project)
    return Job.objects.filter(project=project).select_related("requester", "cancellation")


def load_job(*, actor: User, project: Project, public_id: str) -> Job:
    """Return a job of the project. Raises Denied for all but administrators, Hidden."""
    job = jobs_of(actor=actor, project=project).filter(public_id=public_id).first()
    if job is None:
        raise Hidden(_("This job doesn’t exist in the project."))
    return job


def jobs_changed_since(jobs: QuerySet[Job], moment: datetime) -> QuerySet[Job]:
    """Narrow jobs down to those that were created or have ended since, and those in progress."""
    return jobs.filter(Q(created_at__gte=moment) | Q(ended_at__gte=moment) | Q(ended_at=None))
