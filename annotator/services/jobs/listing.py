"""The jobs of a project, for its administrators."""

from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotator.errors import Hidden
from annotator.models import Job, Project, User
from annotator.services.access.permissions import require_administrator


def list_jobs(*, actor: User, project: Project) -> QuerySet[Job]:
    """Return the jobs of a project. Raises Denied for anyone but administrators."""
    require_administrator(actor=actor, project=project)
    return Job.objects.filter(project=project).select_related("requester", "cancellation")


def load_job(*, actor: User, project: Project, public_id: str) -> Job:
    """Return one job. Raises Denied, and Hidden if the project has no such job."""
    found = list_jobs(actor=actor, project=project).filter(public_id=public_id).first()
    if found is None:
        raise Hidden(_("This job doesn’t exist in the project."))
    return found


def jobs_changed_since(rows: QuerySet[Job], moment: datetime) -> QuerySet[Job]:
    """Return the jobs that were started or have ended since, and those in progress."""
    return rows.filter(Q(created_at__gte=moment) | Q(ended_at__gte=moment) | Q(ended_at=None))
