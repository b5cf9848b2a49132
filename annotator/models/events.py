"""Events: who did what and when, in a hash chain."""

from typing import Self

from django.db import models
from django.db.models import Q

from annotator.models.foreign_keys import UNENFORCED
from annotator.models.people import Project, User

#: A change of tags. Only people who see tags see it.
TAGS_CHANGED = "dialogue.tags_changed"


class EventQuerySet(models.QuerySet["Event"]):
    def visible_to(self, user: User) -> Self:
        """Return events of the user's projects, except those of other people's unsettled blind reviews.

        Changes of tags are only visible to people who oversee the project.
        """
        seen = self.filter(Q(sealed=False) | Q(actor=user), project__in=Project.objects.visible_to(user))
        return seen.filter(~Q(kind=TAGS_CHANGED) | Q(project__in=Project.objects.overseen_by(user)))


class Event(models.Model):
    """Who did what and when, with values before and after. Append-only; hash-chained per dialogue."""

    project = models.ForeignKey(Project, related_name="events", **UNENFORCED)
    dialogue = models.ForeignKey(
        "annotator.Dialogue", on_delete=models.PROTECT, null=True, related_name="events", db_index=False
    )
    #: Place in the dialogue's chain, from 1; null for events of the project as a whole.
    number = models.PositiveIntegerField(null=True)
    actor = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    kind = models.CharField(max_length=60)
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    created_at = models.DateTimeField()
    #: True while it would reveal a colleague's work to a blind reviewer. Not part of the hash.
    sealed = models.BooleanField(default=False)
    previous_hash = models.CharField(max_length=64, blank=True)
    hash = models.CharField(max_length=64)

    objects = EventQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["dialogue", "number"], name="event_number_once_per_dialogue"),
        ]
        indexes = [
            models.Index(fields=["project", "-id"], name="event_by_project"),
            # Settings, members and jobs: few among the many events of dialogues.
            models.Index(fields=["project", "kind", "-id"], condition=Q(dialogue=None), name="event_of_project"),
            models.Index(fields=["project", "-id"], condition=Q(dialogue=None), name="event_of_no_dialogue"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} at {self.created_at:%Y-%m-%d %H:%M}"
