"""Outcomes of validator trials, stored by content without dialogue and person."""

from django.db import models
from django.utils import timezone


class ValidatorTrial(models.Model):
    """The outcome of one validator. ``key`` is the hash of everything that determines it.

    Only people who can see a validator can compute its key, so a trial reveals nothing.
    """

    key = models.CharField(max_length=64, unique=True)
    row_count = models.PositiveIntegerField()
    error_count = models.PositiveIntegerField()
    warning_count = models.PositiveIntegerField()
    #: Sentences about the validator; limited in number.
    errors = models.JSONField(default=list)
    warnings = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"trial {self.key[:12]}"


class TrialRows(models.Model):
    """The matrix of one trial, read only by its page."""

    trial = models.OneToOneField(ValidatorTrial, on_delete=models.CASCADE, primary_key=True, related_name="matrix")
    #: Rows as ``annotator.core.validators.trial`` writes them.
    rows = models.JSONField()

    def __str__(self) -> str:
        return f"matrix of {self.trial_id}"
