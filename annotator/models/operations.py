"""What an installation knows about itself: its workers, its versions, and how much it has stored."""

from django.db import models
from django.db.models import Q
from django.utils import timezone


class Worker(models.Model):
    """A Celery worker that runs, or stopped without saying so; see ``annotator.services.operations.workers``."""

    #: Random, for each start: two workers may have the same name.
    key = models.CharField(max_length=32, unique=True)
    #: Celery's name, such as ``untrusted@host``.
    name = models.CharField(max_length=200)
    queues = models.JSONField(default=list)
    #: Assay's version.
    version = models.CharField(max_length=40)
    started_at = models.DateTimeField(default=timezone.now)
    heartbeat_at = models.DateTimeField(default=timezone.now)
    #: Keys of the jobs that its processes run.
    jobs = models.JSONField(default=list)
    #: Bytes of memory of all its processes, shared pages counted once; 0: unknown.
    memory = models.BigIntegerField(default=0)
    #: What isolates untrusted code there (``annotator.core.sandbox.walls``); null: it runs none.
    walls = models.JSONField(null=True)
    #: Why no untrusted code can run there, as an English sentence; blank: it can.
    sandbox_error = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return self.name


class InstalledVersion(models.Model):
    """A version of Assay that has migrated this database; see ``annotator.services.operations.updates``."""

    version = models.CharField(max_length=40, unique=True)
    installed_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.version


class DailySize(models.Model):
    """How much was stored on one day (UTC)."""

    date = models.DateField(unique=True)
    database_bytes = models.BigIntegerField()
    file_bytes = models.BigIntegerField()
    #: Free space of the data folder's disk.
    free_bytes = models.BigIntegerField()
    dialogues = models.BigIntegerField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(database_bytes__gte=0, file_bytes__gte=0, free_bytes__gte=0, dialogues__gte=0),
                name="daily_size_not_negative",
            )
        ]

    def __str__(self) -> str:
        return f"sizes of {self.date}"
