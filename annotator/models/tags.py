"""Tags of dialogues. They are not part of the content, and only people who oversee the project see them."""

from django.db import models
from django.db.models import Q

from annotator.core.tags import MAX_LENGTH, MAX_TAGS
from annotator.models.content import Dialogue
from annotator.models.foreign_keys import UNENFORCED
from annotator.models.people import Project


class DialogueTag(models.Model):
    """A tag of a dialogue."""

    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="tags", db_index=False)
    # Copied from the dialogue.
    project = models.ForeignKey(Project, related_name="+", **UNENFORCED)
    name = models.CharField(max_length=MAX_LENGTH)
    #: The lowest number that was free, so that a dialogue has no more than ``MAX_TAGS``.
    number = models.PositiveSmallIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["dialogue", "name"], name="tag_once_per_dialogue"),
            models.UniqueConstraint(fields=["dialogue", "number"], name="tag_number_once_per_dialogue"),
            models.CheckConstraint(condition=Q(number__lt=MAX_TAGS), name="tag_number_below_limit"),
            models.CheckConstraint(condition=~Q(name=""), name="tag_has_name"),
        ]
        indexes = [models.Index(fields=["project", "name", "dialogue"], name="tag_by_name")]

    def __str__(self) -> str:
        return self.name
