"""What came of trying validators. Told by content alone: a row knows no dialogue and no person."""

from django.db import models
from django.utils import timezone


class ValidatorTrial(models.Model):
    """The outcome for one validator and all that decides it; ``key`` is the hash over that.

    Whoever may see a validator can compute its key, and nobody else can: so a trial betrays nothing.
    """

    key = models.CharField(max_length=64, unique=True)
    row_count = models.PositiveIntegerField()
    error_count = models.PositiveIntegerField()
    warning_count = models.PositiveIntegerField()
    #: The sentences, bounded: what checks say of the validator.
    errors = models.JSONField(default=list)
    warnings = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"trial {self.key[:12]}"


class TrialRows(models.Model):
    """The matrix of one trial: what only its page reads."""

    trial = models.OneToOneField(ValidatorTrial, on_delete=models.CASCADE, primary_key=True, related_name="matrix")
    #: Rows as ``annotator.core.validators.trial`` writes them.
    rows = models.JSONField()

    def __str__(self) -> str:
        return f"matrix of {self.trial_id}"
