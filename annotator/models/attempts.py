"""How often somebody tried what may not be guessed."""

from django.db import models


class Attempts(models.Model):
    """Tries at one thing from one address (``services.accounts.attempts``). Rows are deleted after a day."""

    #: SHA-256 of what was tried and from where: names that people mistype for a password are not kept.
    key = models.CharField(max_length=64, unique=True)
    count = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField(db_index=True)
    #: Before this moment no further try is looked at.
    free_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.count} tries"
