"""Dialogues that continue a verified one, and whether they still do."""

from django.db import models
from django.db.models import Q

from annotator.models.content import Dialogue, Revision


class Continuation(models.Model):
    """A dialogue whose first tasks are those of a verified dialogue."""

    dialogue = models.OneToOneField(Dialogue, on_delete=models.PROTECT, related_name="continuation")
    #: The dialogue that it continues, copied from the revision.
    continues = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="continuations")
    #: The verified revision from which its first tasks were taken, and how many they are.
    past = models.ForeignKey(Revision, on_delete=models.PROTECT, related_name="+")
    tasks = models.PositiveSmallIntegerField()
    #: What was verified last of the dialogue that it continues; None if that was rejected last.
    verified = models.ForeignKey(Revision, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    #: Whether its first tasks or its tools differ from what is verified, or those of a dialogue before it do.
    stale = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(tasks__gt=0), name="continuation_has_tasks"),
            models.CheckConstraint(condition=~Q(dialogue=models.F("continues")), name="continuation_of_another"),
        ]
        indexes = [models.Index(fields=["dialogue"], condition=Q(stale=True), name="continuation_stale")]

    def __str__(self) -> str:
        return f"{self.dialogue_id} continues {self.continues_id}"
