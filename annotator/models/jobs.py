"""Jobs and periodic tasks."""

from collections.abc import Callable
from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.models.keys import new_public_id
from annotator.models.messages import MessageField
from annotator.models.people import Project, User
from annotator.translation import translated


class JobState(models.TextChoices):
    QUEUED = "queued", _("Queued")
    RUNNING = "running", _("Running")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")


#: Final states.
JOB_ENDED = (JobState.DONE, JobState.FAILED, JobState.CANCELLED)


class JobQuerySet(models.QuerySet["Job"]):
    def visible_to(self, user: User) -> Self:
        """Return jobs of projects that ``user`` administers, and the user's own in projects they still belong to."""
        own = Q(requester=user, project__in=Project.objects.visible_to(user))
        return self.filter(Q(project__in=Project.objects.administered_by(user)) | own)


class Job(models.Model):
    """Long work as a row; Celery only runs it. See ``annotator.services.jobs.jobs``."""

    #: Its page: see ABSOLUTE_URL_OVERRIDES in the settings.
    get_absolute_url: Callable[[], str]

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="jobs")
    requester = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    kind = models.CharField(max_length=40)
    parameters = models.JSONField(default=dict)
    state = models.CharField(max_length=12, choices=JobState, default=JobState.QUEUED)
    #: Raised each time a worker starts the job; fences every commit of a chunk.
    attempt = models.PositiveIntegerField(default=0)
    heartbeat_at = models.DateTimeField(null=True)
    #: Where the next attempt continues; its content depends on the kind.
    checkpoint = models.JSONField(default=dict)
    progress_done = models.BigIntegerField(default=0)
    progress_total = models.BigIntegerField(null=True)
    progress_note = models.CharField(max_length=200, blank=True)
    result = models.JSONField(default=dict)
    #: Why it failed, as a sentence for the requester.
    error_message = MessageField(null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    #: The request that started it, as logs name it; blank: the command line, or a periodic task.
    request_id = models.CharField(max_length=64, null=True)  # noqa: DJ001 - so SQLite keeps the table and its triggers

    objects = JobQuerySet.as_manager()

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(state__in=JobState.values), name="job_state_known")]
        indexes = [
            models.Index(fields=["project", "-id"], name="job_by_project"),
            models.Index(fields=["heartbeat_at"], condition=Q(state__in=["queued", "running"]), name="job_not_ended"),
            models.Index(fields=["-ended_at"], condition=Q(ended_at__isnull=False), name="job_by_end"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.public_id}"

    @property
    def ended(self) -> bool:
        return self.state in JOB_ENDED

    @property
    def error(self) -> str:
        """Return why it failed in the active language, or a blank."""
        return "" if self.error_message is None else translated(self.error_message)

    @property
    def cancel_requested(self) -> bool:
        return hasattr(self, "cancellation")


class JobCancellation(models.Model):
    """A request to stop a job. Not in the job's row, which a worker locks during each chunk."""

    job = models.OneToOneField(Job, on_delete=models.CASCADE, primary_key=True, related_name="cancellation")
    asked_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"cancellation of job {self.job_id}"


class PeriodicTask(models.Model):
    """A periodic task of beat: when it last ran, and its outcome."""

    name = models.CharField(max_length=40, unique=True)
    ran_at = models.DateTimeField()
    outcome = models.JSONField(default=dict)

    def __str__(self) -> str:
        return self.name
