"""Reads accuracy after each stage and round, revision rates, and the audit's estimates from counts."""

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

from django.db.models import Count
from django.utils.translation import gettext as _

from annotator.core.text import gettext_noop
from annotator.models import Project, User
from annotator.models.content import DialogueStatus
from reviews.core.agreement import (
    Closeness,
    Figure,
    Residual,
    RevisionRates,
    Sensitivity,
    Stratum,
    accuracy_after,
    residual_error,
    revision_rates,
)
from reviews.core.agreement.item_history import BASELINE
from reviews.models import Cycle, CycleState, Draw, ItemHistoryCount, ItemHistoryPending, SentBackStratum
from reviews.services.protocols.versions import newest_stages, stage_titles
from reviews.services.statistics.counters import read_counters
from reviews.services.statistics.hidden_gold import hidden_item_histories
from reviews.services.statistics.item_history import ITEM_HISTORY
from reviews.services.statistics.sensitivity import read_sensitivity

#: Why the last point has no interval.
BY_DEFINITION = gettext_noop("No interval: after the last stage, items equal their verified revision by definition.")

_IN_REVIEW = (DialogueStatus.IN_REVIEW, DialogueStatus.ESCALATED, DialogueStatus.POOLED)


@dataclass(frozen=True)
class PointAccuracy:
    """The accuracy of finished items at one point of the protocol."""

    #: "baseline", the key of a stage, or the number of a round.
    key: str
    title: str
    right: int
    #: Right except for a user message.
    message: int
    #: Right except for labels that are missing, and perhaps user messages.
    unlabelled: int
    of: int
    #: Whether this is the end of the protocol: items then have their verified content, unless they were reopened later.
    last: bool = False

    @cached_property
    def figure(self) -> Figure:
        """Return the share of items with exactly the verified content: labels, calls, answers and messages."""
        return self._share(self.right)

    @cached_property
    def without_messages(self) -> Figure:
        """Return the same share if user messages that were rewritten later do not count as errors."""
        return self._share(self.right + self.message)

    @cached_property
    def without_missing_labels(self) -> Figure:
        """Return the same share if labels that are missing do not count as errors either."""
        return self._share(self.right + self.message + self.unlabelled)

    def _share(self, right: int) -> Figure:
        figure = accuracy_after(self.title, right, self.of)
        return replace(figure, low=None, high=None, interval=BY_DEFINITION) if self.last else figure


@dataclass(frozen=True)
class StageRounds:
    """Accuracy after each round of a stage; round 0 is the content with which items entered it."""

    stage: str
    title: str
    rounds: list[PointAccuracy]


@dataclass(frozen=True)
class StageRevisions:
    """How many items a stage revised, by the number of rounds they needed (CCTU, table 3)."""

    stage: str
    title: str
    #: {rounds that changed the content, 1 or more: items}
    revised: dict[int, int]
    #: Items reviewed in the stage.
    items: int
    #: Items that entered the stage but were not drawn.
    not_drawn: int = 0

    @property
    def count(self) -> int:
        """Return the number of revised items."""
        return sum(self.revised.values())

    @cached_property
    def rates(self) -> RevisionRates:
        return revision_rates(self.revised, self.items)


@dataclass(frozen=True)
class StageAudit:
    """The estimates from a stage's draws about their populations. The strata of each draw are owners (pseudonyms)."""

    stage: str
    title: str
    strata: list[Stratum]
    sensitivity: Sensitivity
    #: Drawn items whose audit or further review is not finished.
    unfinished: int = 0

    @cached_property
    def residual(self) -> Residual:
        return residual_error(self.strata, sensitivity=self.sensitivity)

    @property
    def population(self) -> int:
        return sum(one.population for one in self.strata)

    @property
    def audited(self) -> int:
        return sum(one.audited for one in self.strata)

    @property
    def errors(self) -> int:
        return sum(one.errors for one in self.strata)


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of a project's finished items at each point of the protocol."""

    #: Baseline, the stages in order.
    by_stage: list[PointAccuracy]
    by_round: list[StageRounds]
    revisions: list[StageRevisions]
    audits: list[StageAudit]
    verified: int
    rejected: int
    #: Unfinished items, which no figure includes. None for one person's items.
    unfinished: int | None
    #: Finished items that wait to be counted, and those that can't be, with the reason.
    waiting: int
    set_aside: list[str]

    @property
    def any_unlabelled(self) -> bool:
        """Return whether items at some point were correct except for missing labels."""
        return any(one.unlabelled for one in self.by_stage)

    @property
    def finished(self) -> int:
        return self.verified + self.rejected


def read_accuracy(
    *, project: Project, owner: User | None = None, hide_answers: bool = False, public: Collection[int] = ()
) -> Accuracy:
    """Return the accuracy of a project's items, or of those that one person owns.

    ``hide_answers``: for people who must not know that the dialogue of a gold item is finished. ``public``: keys of
    answers that are about to become public, which are not hidden. Reads only counts, whose number depends on stages,
    rounds and owners, not on items.
    """
    rows = ItemHistoryCount.objects.filter(project=project)
    if owner is not None:
        rows = rows.filter(stratum=owner.pseudonym)
    axes: dict[str, dict[str, Tally[str]]] = defaultdict(lambda: defaultdict(Tally))
    strata: dict[str, dict[tuple[str, str], Tally[str]]] = defaultdict(lambda: defaultdict(Tally))
    less = hidden_item_histories(project, public=public) if hide_answers else {}
    for axis, point, stratum, value, count in rows.values_list("axis", "point", "stratum", "value", "count"):
        count -= less.get((axis, point, stratum, value), 0)
        axes[axis][point][value] += count
        if axis == "audit":
            stage, _, draw = point.partition(":")
            strata[stage][stratum, draw][value] += count
    titles = stage_titles(project)
    outbox = ItemHistoryPending.objects.filter(project=project)
    counters = read_counters(project, with_gold=hide_answers) if owner is None else {}
    items = axes["item"][""]
    return Accuracy(
        by_stage=_by_stage(axes["stage"], titles),
        by_round=[
            _by_round(stage, title, axes["round"], axes["ended"])
            for stage, title in titles.items()
            if f"{stage}:0" in axes["round"]
        ],
        revisions=[
            _revisions(stage, title, axes["revised"][stage], axes["not_drawn"][stage].total())
            for stage, title in titles.items()
            if axes["revised"][stage] or axes["not_drawn"][stage]
        ],
        audits=_audits(project, {stage: title for stage, title in titles.items() if strata[stage]}, strata),
        verified=items["verified"],
        rejected=items["rejected"],
        unfinished=sum(counters.get(f"status:{status}", 0) for status in _IN_REVIEW) if owner is None else None,
        waiting=outbox.filter(problem="").values("dialogue").distinct().count(),
        set_aside=ITEM_HISTORY.set_aside(project),
    )  # fmt: skip


def repeating_stages(project: Project) -> dict[str, str]:
    """Return key → title of the stages that repeat after a change, in order."""
    return {key: stage.title for key, stage in newest_stages(project).items() if stage.repeats}


def revisions_of_repeating(project: Project, found: Accuracy) -> list[StageRevisions]:
    """Return how many items each stage that repeats after a change revised (CCTU, table 3), in order.

    A stage that no finished item entered has no items. A round counts if its reviewer changed the content; changes made
    in a settlement do not count here.
    """
    known = {one.stage: one for one in found.revisions}
    return [known.get(key) or StageRevisions(key, title, {}, 0) for key, title in repeating_stages(project).items()]


def _by_stage(points: dict[str, Tally[str]], titles: dict[str, str]) -> list[PointAccuracy]:
    named = {BASELINE: _("Baseline"), **titles}
    found = [_point(key, title, points[key]) for key, title in named.items() if points[key]]
    return [*found[:-1], replace(found[-1], last=True)] if len(found) > 1 else found


def _by_round(stage: str, title: str, during: dict[str, Tally[str]], ended: dict[str, Tally[str]]) -> StageRounds:
    rounds = []
    #: Items whose last round has ended keep the content they had then.
    past: Tally[str] = Tally()
    number = 0
    while f"{stage}:{number}" in during:
        key = f"{stage}:{number}"
        name = _("Round %(number)s") % {"number": number} if number else _("Before round 1")
        rounds.append(_point(str(number), name, during[key] + past))
        past += ended.get(key, Tally())
        number += 1
    return StageRounds(stage, title, rounds)


def _point(key: str, title: str, values: Tally[str]) -> PointAccuracy:
    return PointAccuracy(
        key, title, values[Closeness.RIGHT], values[Closeness.MESSAGE], values[Closeness.UNLABELLED], values.total()
    )


def _revisions(stage: str, title: str, values: Tally[str], not_drawn: int) -> StageRevisions:
    revised = {int(rounds): count for rounds, count in values.items() if rounds != "0" and count}
    return StageRevisions(stage, title, dict(sorted(revised.items())), values.total(), not_drawn)


def _audits(
    project: Project, titles: dict[str, str], strata: dict[str, dict[tuple[str, str], Tally[str]]]
) -> list[StageAudit]:
    if not titles:
        return []
    draws = Draw.objects.filter(project=project, stage__in=titles)
    sent = SentBackStratum.objects.filter(draw__in=draws)
    sent_back = {
        (stage, owner, str(number))
        for stage, owner, number in sent.values_list("draw__stage", "owner__pseudonym", "draw__number")
    }
    sensitivity = read_sensitivity(project, list(titles))
    drawn = Cycle.objects.filter(project=project, state=CycleState.ACTIVE, stage_runs__entered_as="sampled")
    unfinished = dict(drawn.order_by().values_list("stage_runs__stage").annotate(Count("pk", distinct=True)))
    return [
        StageAudit(
            stage,
            title,
            [
                Stratum(
                    owner, values.total(), values["right"] + values["error"], values["error"], draw,
                    (stage, owner, draw) in sent_back,
                )
                for (owner, draw), values in sorted(strata[stage].items(), key=lambda one: (one[0][0], int(one[0][1])))
                if values.total()
            ],
            sensitivity[stage].total,
            unfinished.get(stage, 0),
        )
        for stage, title in titles.items()
    ]  # fmt: skip
