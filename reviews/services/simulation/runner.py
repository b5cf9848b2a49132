"""Runs a simulated project through the same services that people use.

The simulated people claim, edit and submit; an administrator draws samples. Nothing here writes review rows directly.
The pure model in ``reviews.core.simulation`` decides how each person judges an item.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q

from annotator.core.schema import canonical, content_hash, load_text
from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue, Job, JobState, Project, Role, User
from annotator.services.dialogues import drafts
from annotator.services.jobs import jobs
from reviews.core.protocols import Protocol, Stage, StageKind, Verdict, offered_verdicts
from reviews.core.simulation import Document, Item, Judgement, Person, SimulationModel, judge, put, settle, value_at
from reviews.models import Claim, Cycle, CycleState, Draw, Review, Slot, SlotState
from reviews.services.cycles import sending_back
from reviews.services.queue.claims import claim_next
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.sampling import draws as sampling
from reviews.services.submission.rulings import Dispute, load_dispute
from reviews.services.submission.submit import submit_review
from reviews.services.submission.waivers import waive_all

REASON = "Checked: correct in this dialogue."
#: Mean number of reviews of an item after which the simulation stops as endless.
MAX_REVIEWS = 60


@dataclass(frozen=True, slots=True)
class ReviewRecord:
    """A submitted review as the model knows it, to compare with what the services counted."""

    item: str
    cycle: int
    stage: str
    round: int
    person: int
    verdict: Verdict
    document: Document


@dataclass(frozen=True, slots=True)
class OpenedItem:
    """An item that a person has claimed and opened."""

    user: User
    person: Person
    claim: Claim
    stage: Stage
    item: Item
    cycle: int
    seen: Document
    dispute: Dispute | None

    @property
    def slot(self) -> Slot:
        return self.claim.slot


@dataclass
class Simulation:
    """A simulated project, with its model and people."""

    model: SimulationModel
    project: Project
    protocol: Protocol
    administrator: User
    users: dict[str, User]
    records: list[ReviewRecord] = field(default_factory=list)
    draws: int = 0
    #: Hashes of revisions that have warnings to waive.
    warned: set[str] = field(default_factory=set)
    _cycles: dict[int, int] = field(default_factory=dict)

    def cycle_number(self, slot: Slot) -> int:
        """Return the number of the slot's cycle."""
        if slot.cycle_id not in self._cycles:
            self._cycles[slot.cycle_id] = Cycle.objects.values_list("number", flat=True).get(pk=slot.cycle_id)
        return self._cycles[slot.cycle_id]

    def next_seed(self) -> str:
        """Return the seed of the next draw."""
        self.draws += 1
        return _seed(self, self.draws)

    def stages_of(self, person: Person) -> Iterator[str | None]:
        """Return the stages in which a person claims work: None (any) for annotators; for senior reviewers their own,
        last stage first.

        A person who settles disputes should not have reviewed the dialogue, so in other stages senior reviewers only
        take slots that are reserved for them.
        """
        if not person.expert:
            yield None
            return
        yield from (stage.key for stage in reversed(self.protocol.stages) if _only_experts(stage))
        # Includes what they have claimed: a connection can break between claim and submit.
        theirs = Q(state=SlotState.OPEN, reserved_for=self.users[person.name])
        held = Q(state=SlotState.CLAIMED, holder=self.users[person.name])
        own = Slot.objects.filter(theirs | held, project=self.project).order_by("position")
        yield from dict.fromkeys(own.values_list("stage", flat=True))


def run_to_end(simulation: Simulation, *, report_progress: Callable[[int], None] = lambda reviews: None) -> None:
    """Let people take turns until every item is verified or rejected; call ``report_progress`` with the reviews so far.

    Raises Conflict with the reason if the simulation cannot end.
    """
    with sampling.simulated_seeds(project=simulation.project, source=simulation.next_seed):
        _review_all(simulation, report_progress)
    _require_end(simulation)


def review_next(simulation: Simulation, person: Person) -> ReviewRecord | None:
    """Claim, review and submit the next item; return None if there is none for this person."""
    user = simulation.users[person.name]
    claims = (claim_next(actor=user, project=simulation.project, stage=stage) for stage in simulation.stages_of(person))
    claim = next((claim for claim in claims if claim is not None), None)
    return None if claim is None else review_claim(simulation, person, claim)


def review_claim(simulation: Simulation, person: Person, claim: Claim) -> ReviewRecord:
    """Review a claimed item and submit the model's judgement."""
    work = load_slot_work(actor=simulation.users[person.name], public_id=claim.slot.public_id)
    slot = work.slot
    opened = OpenedItem(
        user=simulation.users[person.name],
        person=person,
        claim=work.claim,
        stage=work.stage,
        item=simulation.model.item(work.dialogue.external_id),
        cycle=simulation.cycle_number(slot),
        seen=slot.revision.document(),
        dispute=load_dispute(slot) if work.stage.kind is StageKind.EXPERT else None,
    )
    judgement = _judgement(simulation, opened)
    review = _submit(simulation, opened, judgement)
    records = ReviewRecord(
        opened.item.name,
        opened.cycle,
        slot.stage,
        slot.round,
        opened.user.pk,
        Verdict(review.verdict),
        judgement.document,
    )
    simulation.records.append(records)
    return records


def draw(simulation: Simulation) -> bool:
    """Draw a sample if items wait for one; return whether they do."""
    drawn = sampling.close_population_and_draw(actor=simulation.administrator, project=simulation.project)
    if drawn is None:
        return False
    if drawn.carried_out_at is None:
        job = Job.objects.get(project=simulation.project, kind=sampling.JOB, parameters={"draw": drawn.pk})
        jobs.run(job.pk)
    return True


def send_back(simulation: Simulation) -> bool:
    """Send items back to owners whose audit found too many errors; return whether there were any."""
    waiting = Job.objects.filter(project=simulation.project, kind=sending_back.JOB, state=JobState.QUEUED)
    keys = list(waiting.order_by("pk").values_list("pk", flat=True))
    for key in keys:
        jobs.run(key)
    return bool(keys)


# --- in detail --------------------------------------------------------------------------------------------------------


def _review_all(simulation: Simulation, report_progress: Callable[[int], None]) -> None:
    chance = simulation.model.chance("turns")
    people = list(simulation.model.people)
    most = MAX_REVIEWS * len(simulation.model.items)
    while True:
        chance.shuffle(people)
        sittings = ((person, chance.randint(2, 8)) for person in people)
        worked = next((True for person, length in sittings if _review_several(simulation, person, length)), False)
        report_progress(len(simulation.records))
        if len(simulation.records) > most:
            raise Conflict(f"After {len(simulation.records):,} reviews the simulation has not ended.")
        if not worked and not send_back(simulation) and not draw(simulation):
            return


def _only_experts(stage: Stage) -> bool:
    roles = set(map(str, stage.eligible.roles))
    return Role.SENIOR_REVIEWER in roles and Role.ANNOTATOR not in roles


def _review_several(simulation: Simulation, person: Person, length: int) -> bool:
    """Review up to ``length`` items in a row; return whether there was one."""
    done = 0
    while done < length and review_next(simulation, person) is not None:
        done += 1
    return bool(done)


def _judgement(simulation: Simulation, opened: OpenedItem) -> Judgement:
    slot, dispute = opened.slot, opened.dispute
    chance = simulation.model.chance("look", opened.person.name, opened.item.name, opened.cycle, slot.stage, slot.round)
    if dispute is None:
        again = opened.cycle > 1 and opened.stage.kind is StageKind.SELF_CHECK
        if again and chance.random() >= simulation.model.rates.rework:
            return Judgement(Verdict.APPROVE, opened.seen, ())
        offered = offered_verdicts(opened.stage)
        return judge(person=opened.person, item=opened.item, seen=opened.seen, offered=offered, chance=chance)
    return settle(
        person=opened.person,
        item=opened.item,
        base=dispute.base,
        left=dispute.left.document,
        right=dispute.right.document,
        chance=chance,
    )


def _submit(simulation: Simulation, opened: OpenedItem, judgement: Judgement) -> Review:
    slot, dispute, seen = opened.slot, opened.dispute, opened.seen
    refused = judgement.verdict in (Verdict.REJECT, Verdict.ESCALATE)
    rulings = {} if refused or dispute is None else dict(_rulings(simulation, opened, judgement.document))
    edited = seen if refused else _own_edits(opened, judgement)
    overrules = dispute is not None and dispute.is_about_a_rejection
    reason = "The dialogue is unusable." if refused else "The dialogue can be repaired." if overrules else ""
    given: dict[str, Any] = {
        "actor": opened.user,
        "slot": slot,
        "token": opened.claim.token,
        "verdict": "" if rulings else judgement.verdict,
        "reason": reason,
        "named_errors": [] if refused or dispute else _findings(simulation, judgement, seen),
        "checklist": {} if refused else _checklist(opened.stage, seen),
        "rulings": rulings,
    }
    if edited != seen and opened.person.edits:
        _edit(opened, edited)
    elif edited != seen:
        given["document"] = edited
    final = content_hash(canonical(judgement.document))
    if not refused and final in simulation.warned:
        waive_all(actor=opened.user, slot=slot, reason=REASON, document=judgement.document)
    try:
        review = submit_review(**given)
    except Invalid as refusal:
        findings = refusal.details.get("findings", [])
        if final in simulation.warned or not findings or any(one["severity"] != "warning" for one in findings):
            raise
        simulation.warned.add(final)
        waive_all(actor=opened.user, slot=slot, reason=REASON, document=judgement.document)
        review = submit_review(**given)
    stored = review.made_revision.content_hash if review.made_revision else content_hash(canonical(seen))
    if not refused and stored != final:
        raise AssertionError(f"what {opened.person.name} submitted for {opened.item.name} is not what was stored")
    return review


def _rulings(simulation: Simulation, opened: OpenedItem, wanted: Document) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the ruling for each disputed anchor that leads to the version the senior reviewer wants."""
    points = {point.anchor: point for point in opened.item.original.points}
    for disputed in opened.dispute.discrepancies if opened.dispute else ():
        point = points[disputed.anchor]
        value = value_at(wanted, point)
        choice = "left" if value == disputed.left else "right" if value == disputed.right else "third"
        kind = point.kind_of(disputed.right if choice == "left" else disputed.left)
        ruling = {"choice": choice, "reason_kind": _error_type(simulation, kind), "reason": "Matches the dialogue."}
        yield disputed.anchor, ruling | ({"value": value} if choice == "third" else {})


def _own_edits(opened: OpenedItem, judgement: Judgement) -> Document:
    """Return the person's own edits: all their changes, or in a dispute those outside the disputed places."""
    dispute, seen = opened.dispute, opened.seen
    if dispute is None:
        return judgement.document
    edited = load_text(canonical(seen))
    for point in judgement.changed:
        sides = [value_at(side.document, point) for side in (dispute.left, dispute.right)]
        if sides == [value_at(seen, point)] * 2:
            put(edited, point, value_at(judgement.document, point))
    return edited


def _error_type(simulation: Simulation, kind: str) -> str:
    """Return an error type of the model, or “other” where the protocol has others, as that of toolsets has."""
    return kind if kind in simulation.protocol.error_type_keys() else "other"


def _findings(simulation: Simulation, judgement: Judgement, seen: Document) -> list[dict[str, str]]:
    return [
        {"kind": _error_type(simulation, kind), "anchor": point.anchor, "note": "Does not fit the dialogue."}
        for point, kind in judgement.kinds(seen)
    ]


def _checklist(stage: Stage, document: Document) -> dict[str, dict[str, bool]]:
    items = stage.checklist.items
    answers = {"dialogue": {item.key: True for item in items if not item.per_task}}
    answers |= {task["id"]: {item.key: True for item in items if item.per_task} for task in document.get("tasks", ())}
    return {point: given for point, given in answers.items() if given}


def _edit(opened: OpenedItem, wanted: Document) -> None:
    """Change the draft from one version to the other, one edit at a time, as the page does."""
    work = load_slot_work(actor=opened.user, public_id=opened.slot.public_id)
    draft = drafts.open_draft(actor=opened.user, dialogue=work.dialogue, base=work.slot.revision, branch=work.branch)
    for point in opened.item.original.points:
        value = value_at(wanted, point)
        if value != value_at(opened.seen, point):
            operation = {"op": "set", "anchor": point.anchor, "value": value}
            draft = drafts.edit_draft(actor=opened.user, draft=draft, operation=operation, seen=draft.version).draft


def _seed(simulation: Simulation, number: int) -> str:
    return hashlib.sha256(f"{simulation.model.seed}\ndraw\n{number}".encode()).hexdigest()


def _require_end(simulation: Simulation) -> None:
    stuck = Cycle.objects.filter(project=simulation.project, state=CycleState.ACTIVE)
    names = list(
        Dialogue.objects.filter(cycles__in=stuck).order_by("external_id").values_list("external_id", "stage")[:5]
    )
    if names:
        words = ", ".join(f"{name} in {stage}" for name, stage in names)
        slots = Slot.objects.filter(cycle__in=stuck, state=SlotState.OPEN).count()
        raise Conflict(
            f"Nobody can review the remaining {stuck.count()} items ({words}; {slots} open slots). "
            "Simulate more people."
        )
    seeds = list(Draw.objects.filter(project=simulation.project).order_by("pk").values_list("seed", flat=True))
    if seeds != [_seed(simulation, number) for number in range(1, len(seeds) + 1)]:
        raise Conflict(
            "A worker drew a sample in the simulated project, so the result can’t be reproduced. Stop the workers or "
            "use another database."
        )
