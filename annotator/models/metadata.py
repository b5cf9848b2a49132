"""Metadata of dialogues, by which lists are filtered."""

from django.db import models

from annotator.core.metadata import MAX_KEY, MAX_VALUE
from annotator.models.content import Dialogue
from annotator.models.foreign_keys import UNENFORCED
from annotator.models.people import Project


class DialogueMetadata(models.Model):
    """A key and a value from the metadata of a dialogue's head (``annotator.core.metadata``)."""

    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="metadata", db_index=False)
    #: Copied from the dialogue, for the index.
    project = models.ForeignKey(Project, related_name="+", **UNENFORCED)
    key = models.CharField(max_length=MAX_KEY)
    value = models.CharField(max_length=MAX_VALUE)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["dialogue", "key", "value"], name="dialogue_metadata_once"),
        ]
        indexes = [
            models.Index(fields=["project", "key", "value", "dialogue"], name="dialogue_metadata_by_value"),
        ]

    def __str__(self) -> str:
        return f"{self.key}={self.value}"
