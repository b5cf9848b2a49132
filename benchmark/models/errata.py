"""Mistakes in released items: reports of them, and the errata log of a release."""

from typing import Any

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.core.schema.exact_json import load_stored
from annotator.models import User
from annotator.models.keys import new_public_id
from benchmark.core.archives.errata import MAX_PLACE
from benchmark.models.releases import Release, ReleaseItem
from benchmark.models.runs import EntryStatistic, new_token


class ErrataLink(models.Model):
    """A page on which everyone who knows the link can report a mistake. The row is deleted when that ends."""

    release = models.OneToOneField(Release, on_delete=models.PROTECT, related_name="errata_link")
    token = models.CharField(max_length=32, unique=True, default=new_token, editable=False)
    requester = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"error reports of {self.release_id}"


class ReportState(models.TextChoices):
    OPEN = "open", _("Open")
    CONFIRMED = "confirmed", _("Confirmed")
    DECLINED = "declined", _("Declined")


class ErratumReport(models.Model):
    """What somebody says is wrong in a released item, and what an administrator decided."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="erratum_reports")
    item = models.ForeignKey(ReleaseItem, on_delete=models.PROTECT, related_name="+")
    #: None for somebody who used the public link.
    reporter = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    #: The entry whose scores gave rise to it, if any.
    statistic = models.ForeignKey(EntryStatistic, on_delete=models.PROTECT, null=True, related_name="+")
    text = models.TextField()
    #: A JSON pointer or the name of a field.
    place = models.CharField(max_length=MAX_PLACE, blank=True)
    state = models.CharField(max_length=10, choices=ReportState, default=ReportState.OPEN)
    decided_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True)
    #: Why it was declined.
    reason = models.TextField(blank=True)
    #: Whether the item was sent back to review when it was confirmed, and otherwise why not.
    reopened = models.BooleanField(default=False)
    not_reopened = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(state__in=ReportState.values), name="erratum_report_state_known"),
            models.CheckConstraint(
                condition=Q(state="open", decided_at=None) | (~Q(state="open") & Q(decided_at__isnull=False)),
                name="erratum_report_decided_at",
            ),
            models.CheckConstraint(
                condition=~Q(state="declined") | ~Q(reason=""), name="erratum_report_declined_with_reason"
            ),
            models.UniqueConstraint(
                fields=["statistic"], condition=Q(state="confirmed"), name="erratum_confirmed_once_per_entry"
            ),
        ]
        indexes = [models.Index(fields=["release", "state", "-id"], name="erratum_report_by_state")]

    def __str__(self) -> str:
        return f"report {self.public_id} of {self.release_id}"


class Erratum(models.Model):
    """One line of the errata log of a release. Append-only; ``core.archives.errata`` says what is hashed."""

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="errata")
    #: From 1, without gaps.
    number = models.PositiveIntegerField()
    item = models.ForeignKey(ReleaseItem, on_delete=models.PROTECT, related_name="errata")
    report = models.OneToOneField(ErratumReport, on_delete=models.PROTECT, related_name="erratum")
    #: The line as ``errata.jsonl`` has it, without its line break.
    line = models.TextField()
    sha256 = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["release", "number"], name="erratum_number_once"),
            models.CheckConstraint(condition=Q(number__gte=1), name="erratum_number_from_one"),
        ]

    def __str__(self) -> str:
        return f"erratum {self.number} of {self.release_id}"

    @property
    def record(self) -> dict[str, Any]:
        """The values of the line."""
        record: dict[str, Any] = load_stored(self.line)
        return record
