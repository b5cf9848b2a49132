"""Figures of the project page and My work, read from counters and the heads of queues, never by counting dialogues."""

from dataclasses import dataclass, field, replace
from functools import partial

from annotator.models import Project, Role, User
from annotator.models.content import DialogueStatus
from annotator.services.abilities import roles_and_abilities
from annotator.services.access.permissions import OVERSEERS
from reviews.core.protocols import Outcome, Protocol, Stage
from reviews.models import Claim, ClaimState, GoldItem, Review, TraineeState
from reviews.services.protocols.versions import parse, roles_of_members, shortfalls, stage_titles
from reviews.services.queue.gold_claims import items_for
from reviews.services.queue.lapsed import lapsed_for
from reviews.services.queue.order import (
    queues_for,
    read_positions,
    read_versions,
)
from reviews.services.queue.pauses import pauses_for, sentence
from reviews.services.queue.stuck import Stuck, count_stuck, stuck_sentence
from reviews.services.queue.trainees import Standing, standing_of
from reviews.services.statements import count_waiting
from reviews.services.statistics.counters import read_counters

#: My work counts up to this number in each queue, then says “or more”.
MANY = 100


@dataclass(frozen=True)
class StageProgress:
    """The number of items in a stage, and the outcomes of those that left it."""

    stage: Stage
    #: Open, claimed and done slots.
    open: int
    claimed: int
    done: int
    #: Items that wait for the draw.
    pooled: int
    #: Items that left the stage, and how.
    settled: int
    outcomes: dict[str, int]
    #: Items that two or more people reviewed independently, and those of them on which they disagreed.
    compared: int
    discrepant: int
    alarm_above: float
    #: Compared items needed before there can be an alarm.
    alarm_after: int
    #: Drawn items that were reviewed, and those with errors.
    sampled: int
    sampled_errors: int
    #: Items that nobody can review; only for overseers.
    stuck: Stuck | None = None

    @property
    def key(self) -> str:
        return self.stage.key

    @property
    def title(self) -> str:
        return self.stage.title

    @property
    def discrepancy_rate(self) -> float | None:
        """Return the share of compared items on which reviewers disagreed; None if none was compared."""
        return self.discrepant / self.compared if self.compared else None

    @property
    def percent(self) -> str:
        """Return the discrepancy rate in per cent, with one digit."""
        return f"{100 * (self.discrepancy_rate or 0):.1f}"

    @property
    def alarm_percent(self) -> str:
        return f"{100 * self.alarm_above:g}"

    @property
    def alarm(self) -> bool:
        """Return whether the discrepancy rate is above the protocol's limit, once enough items are compared."""
        rate = self.discrepancy_rate
        return rate is not None and self.compared >= self.alarm_after and rate > self.alarm_above

    @property
    def sample_error_rate(self) -> float | None:
        return self.sampled_errors / self.sampled if self.sampled else None


@dataclass(frozen=True)
class Progress:
    """The number of items by status and stage in a project."""

    #: Status → published dialogues; every status is there.
    statuses: dict[str, int]
    stages: list[StageProgress]
    protocol: Protocol | None
    #: Sentences about stages with too few people.
    shortfalls: list[str]

    @property
    def total(self) -> int:
        return sum(self.statuses.values())

    @property
    def verified(self) -> int:
        return self.statuses[DialogueStatus.VERIFIED]

    @property
    def pooled(self) -> int:
        """Return the number of items that wait for a draw."""
        return sum(stage.pooled for stage in self.stages)

    @property
    def alarms(self) -> list[StageProgress]:
        return [stage for stage in self.stages if stage.alarm]


@dataclass(frozen=True)
class Waiting:
    """The number of items that wait in one stage for a person. ``count`` is at most ``MANY`` for each queue."""

    key: str
    title: str
    count: int
    #: Whether the person cannot claim anything of it now.
    paused: bool = False
    #: Further items that nobody can review; only for overseers.
    stuck: Stuck | None = None

    @property
    def more(self) -> bool:
        """Return whether the true number may be larger."""
        return self.count >= MANY


@dataclass(frozen=True)
class MyWork:
    """One person's work in one project."""

    project: Project
    roles: frozenset[Role]
    #: Their live claims, most recently worked on first.
    claims: list[Claim]
    #: The stages they take part in, in the protocol's order, including those without waiting items.
    waiting: list[Waiting] = field(default_factory=list)
    #: Sentences about pauses that concern them.
    pauses: list[str] = field(default_factory=list)
    #: Sentences about items that nobody can review.
    stuck: list[str] = field(default_factory=list)
    #: Where they are in the training, if they get only its items or have passed it and not reviewed anything else yet.
    training: Standing | None = None

    @property
    def can_start(self) -> bool:
        """Return whether they can claim something new."""
        in_training = self.training is not None and self.training.state == TraineeState.TRAINING
        return bool(self.total) or (in_training and not self.pauses)

    @property
    def total(self) -> int:
        """Return the number of items they can claim, without paused stages."""
        return sum(stage.count for stage in self.waiting if not stage.paused)


def read_progress(*, project: Project, roles: frozenset[Role] | None = None, viewer: User | None = None) -> Progress:
    """Return the progress of a project. ``roles``: of the ``viewer``; without them, without gold items.

    Viewers who may not know gold items see them counted like ordinary items.
    """
    versions = read_versions(project)
    counts = read_counters(project, with_gold=roles is not None and not roles & OVERSEERS, viewer=viewer)
    stages: dict[str, StageProgress] = {}
    for version in versions:
        protocol = parse(version)
        for stage in protocol.stages:
            if stage.key not in stages:
                stages[stage.key] = _stage_progress(stage, counts, protocol)
    current = parse(versions[0]) if versions else None
    # A stage of an earlier version is shown only if something is or was in it.
    keys = {stage.key for stage in current.stages} if current else set()
    lacking = shortfalls(project=project, protocol=current) if current else []
    waiting = [one.stage for one in stages.values() if one.open]
    if waiting and roles is not None and roles & OVERSEERS:
        stuck = count_stuck(project=project, stages=waiting, people=roles_of_members(project))
        stages |= {stage.key: replace(stages[stage.key], stuck=count) for stage, count in stuck.items()}
        lacking += [stuck_sentence(stage, count) for stage, count in stuck.items()]
    return Progress(
        statuses={status: counts.get(f"status:{status}", 0) for status in DialogueStatus.values},
        stages=[one for key, one in stages.items() if key in keys or one.open or one.claimed or one.pooled or one.done],
        protocol=current,
        shortfalls=lacking,
    )


def read_my_work(*, actor: User, project: Project) -> MyWork:
    """Return what waits for the actor in a project, and their claims."""
    roles, abilities = roles_and_abilities(project=project, person=actor)
    versions = read_versions(project)
    held = list(
        Claim.objects.filter(project=project, person=actor, state=ClaimState.LIVE)
        .select_related("slot__dialogue")
        .defer("slot__dialogue__search_text")
        .order_by("-heartbeat_at", "-pk")
    )
    queues = queues_for(roles=roles, versions=versions, stage=None)
    if not queues:
        return MyWork(project=project, roles=roles, claims=held)
    training = _training_of(actor, project)
    if training is not None and training.needs_training:
        pauses = pauses_for(actor=actor, project=project, stages=[queue.stage for queue in queues])
        said = [sentence(one, stage_titles(project)) for one in pauses]
        return MyWork(project=project, roles=roles, claims=held, pauses=said, training=training)
    known = {stage.key: stage for version in reversed(versions) for stage in parse(version).stages}
    titles = {key: stage.title for key, stage in known.items()}
    order = {key: place for place, key in enumerate(titles)}
    positions = read_positions(actor=actor, project=project)
    count = partial(count_waiting, person=actor, project=project, limit=MANY, abilities=abilities)
    counts = count(queues=queues, cursors=positions.cursors)
    # Slots before the cursors that were given back, for example: at the end of a queue a claim finds them.
    few = [queue for queue in queues if counts.get(queue.stage, 0) < MANY and queue.stage in positions.cursors]
    if few:
        counts |= count(queues=few, cursors={})
    if not roles & OVERSEERS:
        for stage in positions.gold.keys() & {queue.stage for queue in queues}:
            more = len(items_for(actor=actor, project_id=project.pk, stage=stage, abilities=abilities))
            counts[stage] = min(counts.get(stage, 0) + more, MANY)
    mine = [queue.stage for queue in queues]
    for slot in lapsed_for(actor=actor, project=project, roles=roles, stages=mine, abilities=abilities):
        counts[slot.stage] = min(counts.get(slot.stage, 0) + 1, MANY)
    pauses = pauses_for(actor=actor, project=project, stages=[queue.stage for queue in queues])
    everything = any(one.what != "stage" for one in pauses)
    stuck = {}
    if roles & OVERSEERS:
        stages = [known[queue.stage] for queue in queues]
        stuck = count_stuck(project=project, stages=stages, people=roles_of_members(project))
    waiting = [
        Waiting(
            queue.stage,
            titles[queue.stage],
            counts.get(queue.stage, 0),
            paused=everything or any(one.stage == queue.stage for one in pauses),
            stuck=stuck.get(known[queue.stage]),
        )
        for queue in queues
    ]
    return MyWork(
        project=project,
        roles=roles,
        claims=held,
        waiting=sorted(waiting, key=lambda one: order[one.key]),
        pauses=[sentence(one, titles) for one in pauses],
        stuck=[stuck_sentence(stage, count) for stage, count in stuck.items()],
        training=training,
    )


def _training_of(actor: User, project: Project) -> Standing | None:
    standing = standing_of(project=project, person=actor)
    if standing is None or standing.needs_training:
        return standing
    if standing.state != TraineeState.PASSED or not standing.done:
        return None
    training = GoldItem.training.filter(project=project).values("dialogue")
    reviewed = Review.objects.filter(project=project, person=actor).exclude(dialogue__in=training)
    return None if reviewed.exists() else standing


def _stage_progress(stage: Stage, counts: dict[str, int], protocol: Protocol) -> StageProgress:
    key = stage.key
    outcomes = {
        outcome: counts[f"outcome:{key}:{outcome}"]
        for outcome in (*map(str, Outcome), "not_drawn")
        if f"outcome:{key}:{outcome}" in counts
    }
    return StageProgress(
        stage=stage,
        open=counts.get(f"stage:{key}:open", 0),
        claimed=counts.get(f"stage:{key}:claimed", 0),
        done=counts.get(f"stage:{key}:done", 0),
        pooled=counts.get(f"stage:{key}:pooled", 0),
        settled=counts.get(f"settled:{key}", 0),
        outcomes=outcomes,
        compared=counts.get(f"compared:{key}", 0),
        discrepant=counts.get(f"discrepant:{key}", 0),
        alarm_above=protocol.discrepancy_alarm,
        alarm_after=protocol.alarm_after,
        sampled=counts.get(f"sampled:{key}", 0),
        sampled_errors=counts.get(f"sampled_errors:{key}", 0),
    )
