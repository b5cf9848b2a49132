"""The base class of the tables of the review process."""

from django.db import models


class Row(models.Model):
    """A row that a shell or a failed test shows as its model and its public id, or its key if it has none."""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {getattr(self, 'public_id', self.pk)}"
