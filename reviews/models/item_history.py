"""How close each finished item was to its verified content after every stage, as counts."""

from django.db import models

from annotator.models import Dialogue, Project
from annotator.models.foreign_keys import UNENFORCED
from reviews.models.rows import Row


class ItemHistory(Row):
    """What one item adds to the counts of accuracy; kept to subtract it if the item is reopened."""

    dialogue = models.OneToOneField(Dialogue, on_delete=models.PROTECT, related_name="+", primary_key=True)
    # Copied from the dialogue.
    project = models.ForeignKey(Project, related_name="+", **UNENFORCED)
    #: The keys it counts under, each once: [[axis, point, stratum, value] …], sorted.
    keys = models.JSONField()


class ItemHistoryCount(Row):
    """The number of items with a key, from which pages compute accuracy. See ``statistics.item_history``."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    axis = models.CharField(max_length=12)
    point = models.CharField(max_length=60, blank=True)
    #: The owner's pseudonym; blank without an owner.
    stratum = models.CharField(max_length=12, blank=True)
    value = models.CharField(max_length=12)
    count = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "axis", "point", "stratum", "value"], name="item_history_count_once"
            )
        ]


class ItemHistoryPending(Row):
    """Outbox: an item whose cycle has ended or was reopened. Deleted when it is counted."""

    dialogue = models.ForeignKey(Dialogue, related_name="+", **UNENFORCED)
    # Copied from the dialogue.
    project = models.ForeignKey(Project, related_name="+", **UNENFORCED)
    #: Why it cannot be counted, so that it does not block others; blank while it waits.
    problem = models.CharField(max_length=500, blank=True, default="", db_default="")
