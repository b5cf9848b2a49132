"""Confirmed pairs of language variants."""

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from annotator.models.content import Revision
from annotator.models.people import User


class VariantMatch(models.Model):
    """A confirmation that revisions of two variants say the same."""

    #: The revision of the older dialogue.
    first = models.ForeignKey(Revision, on_delete=models.PROTECT, related_name="+", db_index=False)
    second = models.ForeignKey(Revision, on_delete=models.PROTECT, related_name="+")
    author = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["first", "second"], name="variant_match_once"),
            models.CheckConstraint(condition=~Q(first=F("second")), name="variant_match_of_two"),
        ]

    def __str__(self) -> str:
        return f"{self.first_id} and {self.second_id} say the same"
