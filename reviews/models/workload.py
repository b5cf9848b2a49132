"""Counts of reviews, time and error types per person, and the reviews that wait to be counted."""

from django.db import models

from annotator.models import Project
from annotator.models.foreign_keys import UNENFORCED
from reviews.models.reviews import Review
from reviews.models.rows import Row


class WorkloadCount(Row):
    """The number of reviews or errors with a key. See ``reviews.services.statistics.workload``."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    #: What is counted: "day", "time", "asked", "together", "named" or "received".
    what = models.CharField(max_length=10)
    stage = models.CharField(max_length=40)
    #: The person's pseudonym; blank for the author of content that was imported.
    person = models.CharField(max_length=12, blank=True)
    #: A day in the project's time zone, seconds, tenths of a second, or an error type; blank for "together".
    key = models.CharField(max_length=40)
    count = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "what", "stage", "person", "key"], name="workload_count_once")
        ]


class WorkloadPending(Row):
    """Outbox: a review. Written when it is submitted, deleted when it is counted."""

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="+", db_index=False)
    # Copied from the review.
    project = models.ForeignKey(Project, related_name="+", **UNENFORCED)
    #: True: count its errors, after its stage has ended. False: count the review and its time.
    errors = models.BooleanField(default=False, db_default=False)
    #: Why it cannot be counted, so that it does not block others; blank while it waits. The default in the database
    #: serves the statement that submits a review.
    problem = models.CharField(max_length=500, blank=True, default="", db_default="")
