"""Suggestions of programs for places of dialogues, and what people decided about them."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.models.content import Dialogue, Draft
from annotator.models.exact import ExactJSONField
from annotator.models.foreign_keys import UNENFORCED
from annotator.models.keys import new_public_id
from annotator.models.people import User


class StoredSuggestion(models.Model):
    """A value that a model or script proposes for a place of a dialogue (``core.suggestions``).

    It is never part of a document: a person who accepts it makes the value theirs, in their own draft.
    """

    public_id = models.CharField(max_length=12, default=new_public_id, editable=False)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="suggestions", db_index=False)
    place = models.CharField(max_length=600)
    #: A PlaceKind.
    kind = models.CharField(max_length=12)
    value = ExactJSONField()
    source = models.CharField(max_length=120)
    score = models.FloatField(null=True)
    #: The import that brought it; invisible until that import's last step.
    batch = models.ForeignKey("annotator.Job", null=True, related_name="+", **UNENFORCED)
    published = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["public_id"], name="suggestion_public_id_once"),
            models.UniqueConstraint(
                fields=["dialogue", "place", "source"], condition=Q(published=True), name="suggestion_place_once"
            ),
            models.CheckConstraint(
                condition=Q(score__isnull=True) | Q(score__gte=0, score__lte=1), name="suggestion_score_is_share"
            ),
            models.CheckConstraint(condition=~Q(source=""), name="suggestion_has_source"),
        ]
        indexes = [models.Index(fields=["batch"], condition=Q(published=False), name="suggestion_unpublished")]

    def __str__(self) -> str:
        return f"{self.source} at {self.place}"


class DecisionOutcome(models.TextChoices):
    """What became of a suggestion in one person's work on one item."""

    ACCEPTED = "accepted", _("Accepted")
    REFUSED = "refused", _("Refused")
    #: Accepted first, but the submitted value is another one.
    CHANGED = "changed", _("Accepted, then changed")


class SuggestionDecision(models.Model):
    """One person's decision on a suggestion, in their draft of one item. It counts when the draft is submitted."""

    suggestion = models.ForeignKey(StoredSuggestion, on_delete=models.PROTECT, related_name="decisions")
    #: Copied from the suggestion.
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+", db_constraint=False)
    draft = models.ForeignKey(Draft, on_delete=models.PROTECT, related_name="decisions", db_index=False)
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    outcome = models.CharField(max_length=8, choices=DecisionOutcome)
    #: True while its person reviews blind.
    sealed = models.BooleanField(default=False)
    decided_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["draft", "suggestion"], name="suggestion_decided_once_in_draft"),
            models.CheckConstraint(
                condition=Q(outcome__in=DecisionOutcome.values), name="suggestion_decision_outcome_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.outcome}: {self.suggestion_id}"
