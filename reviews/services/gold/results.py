"""Reads gold items and results: those of everyone for overseers, and people's own."""

from collections import Counter as Tally
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Exists, F, OuterRef, Prefetch, Q, QuerySet
from django.utils.translation import gettext as _

from annotator.errors import Denied, Hidden
from annotator.models import Dialogue, Event, Project, Role, User
from annotator.models.content import GoldRole
from annotator.services.access.permissions import OVERSEERS, require_role, roles_in
from reviews.core.agreement import Figure, wilson
from reviews.core.gold import AnchorResult, reason_against_gold
from reviews.core.protocols import Stage
from reviews.models import (
    Claim,
    ClaimState,
    Cycle,
    CycleState,
    Example,
    GoldItem,
    GoldRate,
    GoldScore,
    Review,
    Slot,
    StageRun,
    StageRunState,
)
from reviews.services.gold.creation import PUBLIC_IN, gold_stage, versions_like_now
from reviews.services.protocols.versions import current_protocol

#: Dialogues suggested as gold items.
SUGGESTED = 20


@dataclass(frozen=True)
class StageGold:
    """One stage of the current protocol: its rate of gold items, or why it can have none."""

    stage: Stage
    rate: float
    reveal: bool
    #: Why there can be none, as a sentence; else blank.
    barred: str
    #: Items in use.
    items: int

    @property
    def percent(self) -> str:
        """The rate in per cent."""
        return f"{100 * self.rate:g}"


@dataclass
class Result:
    """One person's result over all gold items they submitted."""

    person: User
    reviews: int = 0
    right: int = 0
    errors: int = 0
    found: int = 0
    false_changes: int = 0
    #: Missed errors: label → count.
    missed: Tally[str] = field(default_factory=Tally)

    @property
    def verdicts(self) -> Figure:
        """Share of correct verdicts, with Wilson's interval."""
        return wilson("Correct verdicts", self.right, self.reviews)

    @property
    def sight(self) -> Figure:
        """Share of errors found."""
        return wilson("Errors found", self.found, self.errors, none="None of these items had an error.")


@dataclass(frozen=True)
class GoldOverview:
    """The content of the page of gold items."""

    stages: list[StageGold]
    #: Newest first, those in use before the retired ones; each with ``submitted``, ``right`` and ``out``.
    items: list[GoldItem]
    #: By name.
    results: list[Result]
    everybody: Result | None


def read_gold(*, actor: User, project: Project) -> GoldOverview:
    """Return the project's gold items and results. Raises Denied."""
    require_role(actor=actor, project=project, roles=OVERSEERS)
    items = list(_items(project))
    live = Tally(item.stage for item in items if item.live)
    rates = {rate.stage: rate for rate in GoldRate.objects.filter(project=project)}
    protocol = current_protocol(project)
    stages = [
        StageGold(
            stage=stage,
            rate=rates[stage.key].rate if stage.key in rates else 0.0,
            reveal=stage.key in rates and rates[stage.key].reveal,
            barred=reason_against_gold(stage),
            items=live[stage.key],
        )
        for stage in (protocol.stages if protocol else ())
    ]
    scores = GoldScore.objects.filter(project=project).select_related("person").order_by("pk")
    results = sum_up(scores)
    return GoldOverview(stages=stages, items=items, results=results, everybody=_together(results))


def sum_up(scores: Iterable[GoldScore]) -> list[Result]:
    """Return one result for each person, by name."""
    results: dict[int, Result] = {}
    for score in scores:
        result = results.setdefault(score.person_id, Result(score.person))
        result.reviews += 1
        result.right += score.verdict_right
        result.errors += score.errors
        result.found += score.found
        result.false_changes += score.false_changes
        result.missed.update(place["label"] for place in score.places if place["result"] == AnchorResult.MISSED)
    return sorted(results.values(), key=lambda result: (str(result.person), result.person.pk))


def load_gold_item(*, actor: User, project: Project, public_id: str) -> GoldItem:
    """Return an item with its dialogues and its answer. Raises Denied or Hidden."""
    require_role(actor=actor, project=project, roles=OVERSEERS)
    item = _items(project).select_related("answer", "stage_run__entry_revision").filter(public_id=public_id).first()
    if item is None:
        raise Hidden(_("This gold item doesn’t exist."))
    return item


def list_gold_items(*, actor: User, project: Project) -> QuerySet[GoldItem]:
    """Return the project's gold items. Raises Denied."""
    require_role(actor=actor, project=project, roles=OVERSEERS)
    return _items(project)


def gold_changed_since(items: QuerySet[GoldItem], moment: datetime) -> QuerySet[GoldItem]:
    """Narrow gold items down to those that were created, retired or reviewed since."""
    reviewed = GoldScore.objects.filter(item=OuterRef("pk"), created_at__gte=moment)
    return items.filter(Q(created_at__gte=moment) | Q(retired_at__gte=moment) | Exists(reviewed))


def scores_of(item: GoldItem) -> list[GoldScore]:
    """Return the results on an item, oldest first."""
    scores = GoldScore.objects.filter(item=item).select_related("person", "review").order_by("pk")
    return list(scores)


def not_scored(item: GoldItem) -> list[Slot]:
    """Return an item's slots without a score: in progress, released, or submitted after it was retired."""
    slots = Slot.objects.filter(stage_run=item.stage_run_id).exclude(review__in=item.scores.values("review"))
    return list(
        slots.order_by("pk").prefetch_related(Prefetch("claims", Claim.objects.select_related("person").order_by("pk")))
    )


def own_results(*, actor: User, project: Project) -> list[GoldScore]:
    """Return the actor's results on retired items of stages that show results, newest first; never of items in use.

    Raises Denied if no results are shown, Hidden for an outsider.
    """
    if not roles_in(project, actor):
        raise Hidden(_("This project doesn’t exist, or you aren’t a member of it."))
    scores = _revealed_to(actor, project)
    if scores is None:
        raise Denied(_("Only administrators and senior reviewers of this project can see these results."))
    return list(scores.select_related("item__dialogue", "review").order_by("-item__retired_at", "-pk"))


def count_own_results(*, actor: User, project: Project, roles: Iterable[Role]) -> int | None:
    """Return how many of their own results the actor can read; None if none are shown, and for overseers."""
    scores = None if OVERSEERS & set(roles) else _revealed_to(actor, project)
    return None if scores is None else scores.count()


def _revealed_to(person: User, project: Project) -> QuerySet[GoldScore] | None:
    revealed = list(GoldRate.objects.filter(project=project, reveal=True).values_list("stage", flat=True))
    if not revealed:
        return None
    return GoldScore.objects.filter(
        project=project, person=person, item__retired_at__isnull=False, item__stage__in=revealed
    )


def suggest(*, project: Project, stage: str) -> list[Dialogue]:
    """Return verified dialogues that were fixed in the stage or later: their original revisions have real errors.

    Excludes dialogues that can't become an item because of their later history or that of a variant.
    """
    fit = _fit(project, gold_stage(project, stage))
    group = OuterRef("cycle__dialogue__variant_group")
    # Not of a blank group: that of all dialogues that have no variants.
    others = Dialogue.objects.filter(project=project, variant_group=group, published=True, archived_at=None)
    others = others.exclude(variant_group="").exclude(gold_role=GoldRole.GOLD)
    barred = others.filter(~Exists(fit.filter(cycle__dialogue=OuterRef("pk"))))
    runs = (
        fit.filter(Q(cycle__dialogue__variant_group="") | ~Exists(barred))
        .exclude(entry_revision__content_hash=F("cycle__exit_revision__content_hash"))
        .select_related("cycle__dialogue")
        .only(
            *(f"cycle__dialogue__{name}" for name in ("public_id", "external_id", "title", "variant_group", "project"))
        )
        .order_by("-pk")
    )
    found = {run.cycle.dialogue_id: run.cycle.dialogue for run in runs[:SUGGESTED]}.values()
    return [dialogue for dialogue in found if not any(ask(dialogue) for ask in PUBLIC_IN)]


def _fit(project: Project, stage: Stage) -> QuerySet[StageRun]:
    """Return runs of the stage whose dialogue can become an item, by the rules of ``creation``."""
    alike = versions_like_now(project, stage)
    runs = StageRun.objects.filter(
        cycle__protocol__in=list(alike),
        project=project,
        stage=stage.key,
        state=StageRunState.SETTLED,
        cycle__state=CycleState.VERIFIED,
        cycle__dialogue__gold_role="",
        cycle__dialogue__archived_at=None,
        cycle__dialogue__status="verified",
    )
    shown = Example.objects.filter(dialogue=OuterRef("cycle__dialogue"), withdrawn_at=None)
    later = Cycle.objects.in_effect().filter(dialogue=OuterRef("cycle__dialogue"), number__gt=OuterRef("cycle__number"))
    restarted = Review.objects.filter(
        stage_run__cycle=OuterRef("cycle"), stage_run__stage=stage.key, stage_run__state=StageRunState.CANCELLED
    )
    begun = Event.objects.filter(
        dialogue=OuterRef("cycle__dialogue"),
        kind="cycle.begun",
        after__cycle=1,
        after__protocol__in=list(alike.values()),
    )
    return runs.filter(
        Q(cycle__number=1) | Exists(begun),
        ~Exists(shown),
        ~Exists(later),
        ~Exists(restarted.filter(stage_run__lt=OuterRef("pk"))),
    )


def find_source(*, actor: User, project: Project, name: str) -> Dialogue:
    """Return the dialogue with this id (the one in files, or the one in its address). Raises Hidden."""
    dialogues = Dialogue.objects.visible_to(actor).filter(project=project).exclude(gold_role=GoldRole.GOLD)
    found = dialogues.filter(Q(external_id=name) | Q(public_id=name)).first() if name else None
    if found is None:
        raise Hidden(_("This project has no dialogue “%(name)s”.") % {"name": name})
    found.project = project
    return found


def _items(project: Project) -> QuerySet[GoldItem]:
    items = GoldItem.objects.filter(project=project).select_related(
        "dialogue", "source", "stage_run", "created_by", "retired_by"
    )
    items = items.defer("dialogue__search_text", "source__search_text")
    return items.annotate(
        submitted=Count("scores", distinct=True),
        right=Count("scores", filter=Q(scores__verdict_right=True), distinct=True),
        out=Count("stage_run__slots__claims", filter=Q(stage_run__slots__claims__state=ClaimState.LIVE), distinct=True),
    ).order_by(F("retired_at").desc(nulls_first=True), "-pk")


def _together(results: list[Result]) -> Result | None:
    if len(results) < 2:
        return None
    total = Result(results[0].person)
    for one in results:
        total.reviews += one.reviews
        total.right += one.right
        total.errors += one.errors
        total.found += one.found
        total.false_changes += one.false_changes
        total.missed += one.missed
    return total
