"""What the demo's people do at their desks: claim, work for a while, hand in. Only what the pages let people do."""

import random
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from annotator.models import Dialogue, Project, User
from annotator.services.dialogues.revisions import check_document
from benchmark.core.formats import READERS
from benchmark.demo.clock import Clock
from reviews.models import Claim, Slot, SlotState
from reviews.services.queue import claims
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.submission.submit import submit_review
from reviews.services.submission.waivers import live_waivers, waive

#: The error type that whoever changes a dialogue names: of the corrections, and of what colleagues disagree on.
ERROR_TYPES = {
    "gaotie-chuxing-02": "answer_wrong",
    "hotel-desk-03": "wrong_argument_value",
    "clinic-desk-03": "wrong_policy_label",
    "library-counter-03": "message_unnatural",
    "warehouse-stock-03": "superfluous_dependency",
    "home-energy-03": "observation_implausible",
    "city-events-03": "wrong_policy_label",
    "personal-finance-03": "wrong_argument_value",
    "code-repository-03": "wrong_information_label",
    "rail-travel-04": "missing_dependency",
    "hotel-desk-04": "wrong_argument_value",
    "clinic-desk-04": "answer_wrong",
    "library-counter-04": "other",
    "personal-finance-04": "wrong_policy_label",
    "rail-travel-01": "wrong_information_label",
    "rail-travel-03": "superfluous_call",
    "clinic-desk-01": "wrong_argument_value",
    "library-counter-01": "superfluous_dependency",
    "warehouse-stock-01": "clarification_wrong",
    "home-energy-01": "wrong_information_label",
    "home-energy-02": "message_unnatural",
    "personal-finance-01": "clarification_wrong",
    "city-events-02": "clarification_wrong",
}

SINGLE, MULTI, CROSS, EXPERT = "self_check_single", "self_check_multi", "cross_check", "expert"
#: Minutes of work that a review of a dialogue with two tasks usually takes.
MINUTES = {SINGLE: 11.0, MULTI: 6.0, CROSS: 7.0, EXPERT: 5.0}
#: A sign of life at least this often, well within a lease.
_BEAT = 240


@dataclass
class Cast:
    """Who plays: annotators take turns, so that everybody has something to show."""

    project: Project
    clock: Clock
    days: list[date]
    administrator: User
    seniors: list[User]
    annotators: list[User]
    corrections: dict[str, dict[str, Any]]
    disagreements: dict[str, dict[str, Any]]
    #: The candidates as they were imported.
    records: dict[str, dict[str, Any]]
    turn: int = field(default=0)
    #: How long things take; always the same.
    chance: random.Random = field(default_factory=lambda: random.Random(11))  # noqa: S311 - no secret

    def next_annotators(self, count: int) -> list[User]:
        """The next people in turn, all different."""
        self.turn += 1
        return [self.annotators[(self.turn + k) % len(self.annotators)] for k in range(count)]

    def begin_day(self, number: int, hour: int = 9) -> None:
        """The morning of one of the demo's working days, unless that has passed."""
        self.clock.go_to(self.days[number], hour, ZoneInfo(self.project.time_zone))


def do(
    cast: Cast,
    person: User,
    dialogue: Dialogue,
    stage: str,
    verdict: str,
    *,
    record: dict[str, Any] | None = None,
    reason: str = "",
    rulings: dict[str, Any] | None = None,
) -> None:
    """Claim the dialogue's slot of a stage and submit."""
    claim = claims.claim_slot(actor=person, slot=open_slot(dialogue, stage))
    names_an_error = verdict == "fix" or (verdict == "reject" and not rulings)
    kind = ERROR_TYPES.get(dialogue.external_id) if names_an_error else None
    submit(
        cast,
        claim,
        verdict,
        document=document_of(record) if record is not None else None,
        named_errors=[{"kind": kind, "anchor": "", "note": ""}] if kind else [],
        reason=reason,
        rulings=rulings,
    )


def submit(
    cast: Cast,
    claim: Claim,
    verdict: str,
    *,
    document: dict[str, Any] | None = None,
    named_errors: list[dict[str, Any]] | None = None,
    reason: str = "",
    rulings: dict[str, Any] | None = None,
) -> None:
    """Work on what is claimed for as long as it takes, and submit."""
    _work(cast, claim)
    if verdict in ("approve", "fix"):
        _waive(claim.person, claim.slot, document or claim.slot.revision.document())
    submit_review(
        actor=claim.person,
        slot=claim.slot,
        token=claim.token,
        verdict=verdict,
        document=document,
        named_errors=named_errors or [],
        reason=reason,
        rulings=rulings or {},
    )
    # A look at the next one, a cup of tea.
    cast.clock.pass_by(cast.chance.uniform(20, 200))


def _work(cast: Cast, claim: Claim) -> None:
    tasks = len(claim.slot.revision.document()["tasks"])
    seconds = 60 * MINUTES[claim.slot.stage] * (0.5 + tasks / 4) * cast.chance.lognormvariate(0, 0.35)
    while seconds > 0:
        beat = min(seconds, _BEAT)
        cast.clock.pass_by(beat)
        # Part of the time one looks elsewhere.
        claims.heartbeat(actor=claim.person, token=claim.token, active_seconds=int(beat * cast.chance.uniform(0.8, 1)))
        seconds -= beat


def _waive(person: User, slot: Slot, document: dict[str, Any]) -> None:
    """Say of each open warning that it was looked at."""
    work = load_slot_work(actor=person, public_id=slot.public_id)
    known = live_waivers(actor=person, dialogue=slot.dialogue)
    for finding in check_document(document, slot.revision.toolset_revision, project=slot.project, stage="submit"):
        if finding.severity == "warning" and (finding.check, finding.anchor, finding.value_hash) not in known:
            waive(
                actor=person,
                work=work,
                check=finding.check,
                anchor=finding.anchor,
                value_hash=finding.value_hash,
                reason="Looked at it: right in this dialogue.",
            )


def open_slot(dialogue: Dialogue, stage: str) -> Slot:
    return Slot.objects.filter(dialogue=dialogue, stage=stage, state=SlotState.OPEN).order_by("index")[0]


def document_of(record: dict[str, Any]) -> dict[str, Any]:
    return READERS["wild"].read(record)[0].document
