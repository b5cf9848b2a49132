"""Beside generations: files of recorded answers, and what became of the answers of each role."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotator.models import User
from benchmark.core.generation.outcomes import Outcome
from benchmark.core.generation.purposes import Purpose, Role
from benchmark.models.generation import Generation

_PURPOSES = [(one.value, one.value) for one in Purpose]
_ROLES = [(one.value, one.value) for one in Role]


class Recording(models.Model):
    """The recorded answers from which a generation runs instead of asking models (``core.generation.records``)."""

    generation = models.OneToOneField(Generation, on_delete=models.PROTECT, related_name="recording")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    #: JSON lines.
    content = models.TextField()

    def __str__(self) -> str:
        return str(self.generation)


class ProposalOutcome(models.TextChoices):
    CHOSEN = Outcome.CHOSEN.value, _("Chosen")
    EDITED = Outcome.EDITED.value, _("Edited and chosen")
    PASSED_OVER = Outcome.PASSED_OVER.value, _("Not chosen")
    REJECTED = Outcome.REJECTED.value, _("Rejected")
    ACCEPTED = Outcome.ACCEPTED.value, _("Accepted")
    REFUSED = Outcome.REFUSED.value, _("Refused")


class Proposal(models.Model):
    """What became of a candidate or of another answer. Rows are added as it happens.

    ``task``: its number, from 0. ``model``: blank if a person wrote it. ``tries``: the answers to the same request up
    to this one. ``decided_by``: the person who decided; None for models and programs. ``event``: the events of the
    generation before the one that decided. ``superseded``: a person has gone back to before that event.
    """

    generation = models.ForeignKey(Generation, on_delete=models.PROTECT, related_name="proposals")
    role = models.CharField(max_length=9, choices=_ROLES)
    purpose = models.CharField(max_length=12, choices=_PURPOSES)
    model = models.CharField(max_length=120, blank=True)
    task = models.PositiveSmallIntegerField()
    relation = models.CharField(max_length=30, blank=True)
    outcome = models.CharField(max_length=11, choices=ProposalOutcome.choices)
    tries = models.PositiveSmallIntegerField(default=1)
    code = models.CharField(max_length=40, blank=True)
    decided_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    event = models.PositiveIntegerField(default=0)
    superseded = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(tries__gt=0), name="proposal_tries_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.purpose}: {self.outcome}"
