"""Which composites refer to which single tasks."""

from django.db import models

from annotator.models.content import Dialogue


class CompositeMember(models.Model):
    """A single task of a composite's head, by its id in the project: it may be imported later than the composite."""

    composite = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="composite_members")
    #: As the dialogue's ``external_id``.
    single = models.CharField(max_length=200)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["composite", "single"], name="composite_member_once"),
        ]
        indexes = [models.Index(fields=["single"], name="composite_member_by_single")]

    def __str__(self) -> str:
        return f"{self.composite_id} refers to {self.single}"
