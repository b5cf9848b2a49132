"""Claims: who works on which generation."""

from django.db import models
from django.db.models import F, Q

from annotator.models import Project, User
from benchmark.models.generation import Generation
from reviews.models import ClaimState


class GenerationClaim(models.Model):
    """A person's exclusive right to act in a generation until it expires. Kept as a record; times are the database's.

    Submitted: the person acted, and the generation went on.
    """

    generation = models.ForeignKey(Generation, on_delete=models.PROTECT, related_name="claims")
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="generation_claims", db_index=False)
    #: That of the generation.
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_index=False)
    state = models.CharField(max_length=10, choices=ClaimState, default=ClaimState.LIVE)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["generation"], condition=Q(state="live"), name="generation_claimed_once"),
            models.CheckConstraint(condition=Q(state__in=ClaimState.values), name="generation_claim_state_known"),
            models.CheckConstraint(
                condition=Q(state="live") ^ Q(ended_at__isnull=False), name="generation_claim_ended_has_time"
            ),
            models.CheckConstraint(condition=Q(expires_at__gt=F("created_at")), name="generation_claim_lasts"),
        ]
        indexes = [
            models.Index(fields=["expires_at"], condition=Q(state="live"), name="generation_claim_expiry"),
            models.Index(fields=["project", "person"], condition=Q(state="live"), name="generation_claim_live"),
        ]

    def __str__(self) -> str:
        return f"{self.generation}: {self.person}"
