"""Counted attempts at sign-in and the like."""

from django.db import models


class AttemptCount(models.Model):
    """Counts attempts at one thing from one address (``services.accounts.attempts``). Rows are deleted after a day."""

    #: SHA-256 of name and address: people mistype passwords as names, so names are not stored.
    key = models.CharField(max_length=64, unique=True)
    count = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField(db_index=True)
    #: Attempts before this moment are not checked.
    free_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.count} attempts"
