"""How often people accept the suggestions of models and scripts."""

from dataclasses import dataclass

from django.db.models import Count

from annotator.models import Dialogue, Project, StoredSuggestion, SuggestionDecision, User
from annotator.services.access.permissions import OVERSEERS, require_role
from reviews.core.agreement import Acceptance, acceptance


@dataclass(frozen=True, slots=True)
class SuggestionFigures:
    """The acceptance of each source; ``suggestions``: how many there are in all; ``decided``: decisions that count."""

    suggestions: int
    decided: int
    rows: list[Acceptance]


def read_acceptance(*, actor: User, project: Project) -> SuggestionFigures:
    """Return the acceptance of suggestions, from people's decisions in submitted reviews. Raises Denied for people who
    do not oversee the project.

    Decisions of a blind stage count when it has ended: a reviewer could otherwise tell from the counts what a colleague
    decided. Those on hidden check items never count.
    """
    require_role(actor=actor, project=project, roles=OVERSEERS)
    dialogues = Dialogue.objects.filter(project=project, published=True).counted()
    decisions = SuggestionDecision.objects.filter(
        dialogue__in=dialogues, draft__outcome="submitted", sealed=False
    ).order_by()
    rows = decisions.values_list("suggestion__source", "suggestion__kind", "outcome").annotate(count=Count("pk"))
    counts = {(source, kind, outcome): count for source, kind, outcome, count in rows}
    return SuggestionFigures(
        suggestions=StoredSuggestion.objects.filter(dialogue__in=dialogues, published=True).count(),
        decided=sum(counts.values()),
        rows=acceptance(counts),
    )


def has_suggestions(project: Project) -> bool:
    """Return whether the project has suggestions."""
    return StoredSuggestion.objects.filter(dialogue__project=project, published=True).exists()
