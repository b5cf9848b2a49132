"""Who reviewed how much, how long it took and which errors were named: counts, and the reviews that wait for them."""

from django.db import models

from annotator.models import Project
from reviews.models.reviews import Review


class WorkloadCount(models.Model):
    """How many reviews, or errors, count under one key. See ``reviews.services.statistics.workload``."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    #: What is counted: "day", "time", "named" or "received".
    what = models.CharField(max_length=10)
    stage = models.CharField(max_length=40)
    #: The person's pseudonym; blank for what nobody here wrote.
    person = models.CharField(max_length=12, blank=True)
    #: A day (of the project's zone), seconds, or a kind of the taxonomy.
    key = models.CharField(max_length=40)
    count = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "what", "stage", "person", "key"], name="workload_count_once")
        ]

    def __str__(self) -> str:
        return f"{self.what} {self.stage} {self.key}: {self.count}"


class WorkloadPending(models.Model):
    """The outbox: a review, written as it is handed in, removed as it is counted."""

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="+", db_index=False)
    # Copied from the review.
    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    #: The errors it names, which wait until its stage has settled; otherwise that there is a review, and its time.
    errors = models.BooleanField(default=False, db_default=False)
    #: Why it cannot be counted: set aside, so that the others go on. Blank while it waits. The database's default is
    #: for the statement with which somebody hands in.
    problem = models.CharField(max_length=500, blank=True, default="", db_default="")

    def __str__(self) -> str:
        return f"review {self.review_id}"
